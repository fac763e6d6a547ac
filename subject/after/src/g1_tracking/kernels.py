"""Numba kernels of the hot path: four body rewards, the anchor height, the copy of the tracked bodies.

Compiled on first use, in init; cached on disk below XDG_CACHE_HOME unless NUMBA_CACHE_DIR says otherwise. Arrays are
float32 and C-contiguous; rewards may be summed in another order than NumPy's, so their last digits differ.
"""

import math
import os
from pathlib import Path

import numba
import numpy as np

from g1_tracking.host import usable_cores

_MAX_THREADS = 8


def _configure_numba() -> None:
    """Settings that a variable of the same name overrides: workqueue layer, cache outside the tree, usable cores only."""
    if "NUMBA_THREADING_LAYER" not in os.environ:
        numba.config.THREADING_LAYER = "workqueue"
    if "NUMBA_CACHE_DIR" not in os.environ:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        numba.config.CACHE_DIR = str(Path(base) / "g1_tracking" / "numba")
    numba.set_num_threads(min(_MAX_THREADS, usable_cores(), numba.config.NUMBA_NUM_THREADS))


_configure_numba()
_parallel = numba.njit(parallel=True, cache=True, error_model="numpy")
# Sums may be reordered into vector lanes; NaN and infinity keep their meaning.
_parallel_sums = numba.njit(
    parallel=True, cache=True, error_model="numpy", fastmath={"reassoc", "contract", "arcp", "nsz"}
)


@_parallel_sums
def distance_reward(reference: np.ndarray, actual: np.ndarray, inverse_variance: np.float32, out: np.ndarray) -> None:
    """out[n] = exp(-inverse_variance x mean over bodies of |reference - actual|^2), arrays (num_envs, bodies, 3)."""
    envs, bodies = reference.shape[0], reference.shape[1]
    scale = -inverse_variance / np.float32(bodies)
    for n in numba.prange(envs):
        total = np.float32(0.0)
        for b in range(bodies):
            for i in range(3):
                error = reference[n, b, i] - actual[n, b, i]
                total += error * error
        out[n] = math.exp(total * scale)


@_parallel_sums
def angle_reward(reference: np.ndarray, actual: np.ndarray, inverse_variance: np.float32, out: np.ndarray) -> None:
    """out[n] = exp(-inverse_variance x mean over bodies of angle^2) between unit quaternions (num_envs, bodies, 4)."""
    envs, bodies = reference.shape[0], reference.shape[1]
    scale = np.float32(-4.0) * inverse_variance / np.float32(bodies)
    one = np.float32(1.0)
    for n in numba.prange(envs):
        total = np.float32(0.0)
        for b in range(bodies):
            dot = (
                reference[n, b, 0] * actual[n, b, 0]
                + reference[n, b, 1] * actual[n, b, 1]
                + reference[n, b, 2] * actual[n, b, 2]
                + reference[n, b, 3] * actual[n, b, 3]
            )
            half = math.acos(min(abs(dot), one))
            total += half * half
        out[n] = math.exp(total * scale)


@_parallel
def height_off(reference: np.ndarray, actual: np.ndarray, body: int, threshold: np.float32, out: np.ndarray) -> None:
    """out[n] = |height of one body in reference - in actual| > threshold, arrays (num_envs, bodies, 3)."""
    for n in numba.prange(reference.shape[0]):
        out[n] = abs(reference[n, body, 2] - actual[n, body, 2]) > threshold


@_parallel
def copy_bodies(
    pos: np.ndarray,
    quat: np.ndarray,
    lin_vel: np.ndarray,
    ang_vel: np.ndarray,
    body_ids: np.ndarray,
    pos_out: np.ndarray,
    quat_out: np.ndarray,
    lin_vel_out: np.ndarray,
    ang_vel_out: np.ndarray,
) -> None:
    """Copy some bodies' rows of four (num_envs, all bodies, 3 or 4) arrays into four (num_envs, len(body_ids), …)."""
    for n in numba.prange(pos.shape[0]):
        for k in range(body_ids.shape[0]):
            b = body_ids[k]
            for i in range(3):
                pos_out[n, k, i] = pos[n, b, i]
            for i in range(4):
                quat_out[n, k, i] = quat[n, b, i]
            for i in range(3):
                lin_vel_out[n, k, i] = lin_vel[n, b, i]
            for i in range(3):
                ang_vel_out[n, k, i] = ang_vel[n, b, i]
