"""Numba kernels of the hot path: four body rewards, the anchor height, the copy of the tracked bodies.

Compiled on first use, in init; cached on disk below XDG_CACHE_HOME unless NUMBA_CACHE_DIR says otherwise. Arrays are
C-contiguous float32; sums may run in another order than NumPy's, so their last digits differ.
"""

import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np

from g1_tracking.host import usable_cores

_MAX_THREADS = 8


def _configure_numba() -> int:
    """The workqueue layer, a cache outside the tree, usable cores only; environment variables win. Returns threads."""
    if "NUMBA_THREADING_LAYER" not in os.environ:
        numba.config.THREADING_LAYER = "workqueue"
    if "NUMBA_CACHE_DIR" not in os.environ:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        numba.config.CACHE_DIR = str(Path(base) / "g1_tracking" / "numba")
    threads = min(_MAX_THREADS, usable_cores(), numba.config.NUMBA_NUM_THREADS)
    numba.set_num_threads(threads)
    return threads


_THREADS = _configure_numba()
# Sums may be spread over vector lanes; NaN and infinity keep their meaning.
REORDER_SUMS = {"reassoc", "contract", "arcp", "nsz"}


class Kernel:
    """A kernel over environments, compiled for one thread and for all; the number of environments chooses.

    Waking a sleeping worker costs tens of microseconds, more in a virtual machine: a short kernel is done before that.
    """

    def __init__(self, function: FunctionType, parallel_from: int, fastmath: set[str] | bool):
        self._parallel_from = parallel_from
        options: dict[str, Any] = {"cache": True, "error_model": "numpy", "fastmath": fastmath}
        # The disk cache knows a function by its name, and not whether it was compiled in parallel.
        twin = FunctionType(function.__code__, function.__globals__, f"{function.__name__}_parallel")
        twin.__qualname__ = twin.__name__
        self._serial = numba.njit(**options)(function)
        self._parallel = numba.njit(parallel=True, **options)(twin)
        self.__doc__ = function.__doc__

    def __call__(self, *args: Any) -> Any:
        """Run the kernel; its first argument has one row per environment."""
        parallel = _THREADS > 1 and len(args[0]) >= self._parallel_from
        return (self._parallel if parallel else self._serial)(*args)


def kernel(parallel_from: int, fastmath: set[str] | bool = False) -> Callable[[FunctionType], Kernel]:
    """Make a `Kernel` of a function whose outermost loop is a `numba.prange` over environments.

    Args:
        parallel_from: number of environments from which on all threads take part.
        fastmath: see `numba.njit`.
    """
    return lambda function: Kernel(function, parallel_from, fastmath)


@kernel(parallel_from=4096, fastmath=REORDER_SUMS)
def mean_squared_distance(reference: np.ndarray, actual: np.ndarray, bodies: int, scale: np.float32, out: np.ndarray):
    """out[n] = scale x mean over bodies of |reference - actual|^2, arrays (num_envs, 3 x bodies)."""
    factor = scale / np.float32(bodies)
    for n in numba.prange(reference.shape[0]):
        total = np.float32(0.0)
        for i in range(reference.shape[1]):
            error = reference[n, i] - actual[n, i]
            total += error * error
        out[n] = total * factor


@numba.njit(inline="always", error_model="numpy", fastmath=REORDER_SUMS)
def squared_half_angle(dot: np.float32) -> np.float32:
    """The square of half the angle between two unit quaternions with this inner product.

    acos(x) is sqrt(1 - x) P(x) to 2e-8 (Abramowitz and Stegun 4.4.46): squared it needs no root, and no library call
    keeps the loop around it from running in vector lanes.
    """
    one = np.float32(1.0)
    x = min(abs(dot), one)
    p = np.float32(-0.0012624911)
    p = p * x + np.float32(0.0066700901)
    p = p * x + np.float32(-0.0170881256)
    p = p * x + np.float32(0.0308918810)
    p = p * x + np.float32(-0.0501743046)
    p = p * x + np.float32(0.0889789874)
    p = p * x + np.float32(-0.2145988016)
    p = p * x + np.float32(1.5707963050)
    return (one - x) * p * p


@kernel(parallel_from=4096, fastmath=REORDER_SUMS)
def mean_squared_angle(reference: np.ndarray, actual: np.ndarray, scale: np.float32, out: np.ndarray):
    """out[n] = scale x mean over bodies of angle^2 between unit quaternions, arrays (num_envs, bodies, 4)."""
    bodies = reference.shape[1]
    factor = np.float32(4.0) * scale / np.float32(bodies)
    for n in numba.prange(reference.shape[0]):
        total = np.float32(0.0)
        for b in range(bodies):
            total += squared_half_angle(
                reference[n, b, 0] * actual[n, b, 0]
                + reference[n, b, 1] * actual[n, b, 1]
                + reference[n, b, 2] * actual[n, b, 2]
                + reference[n, b, 3] * actual[n, b, 3]
            )
        out[n] = total * factor


@kernel(parallel_from=65536)
def height_off(reference: np.ndarray, actual: np.ndarray, body: int, threshold: np.float32, out: np.ndarray):
    """out[n] = |height of one body in reference - in actual| > threshold, arrays (num_envs, bodies, 3)."""
    for n in numba.prange(reference.shape[0]):
        out[n] = abs(reference[n, body, 2] - actual[n, body, 2]) > threshold


@kernel(parallel_from=4096)
def load_bodies(
    sensors: np.ndarray,
    body_ids: np.ndarray,
    num_bodies: int,
    pos: np.ndarray,
    quat: np.ndarray,
    lin_vel: np.ndarray,
    ang_vel: np.ndarray,
):
    """Convert some bodies out of sensor blocks (num_envs, nsensordata) into four (num_envs, len(body_ids), 3 or 4).

    A block holds the positions of all `num_bodies`, then their orientations, linear and angular velocities.
    """
    for n in numba.prange(sensors.shape[0]):
        for k in range(body_ids.shape[0]):
            at = body_ids[k] * np.uintp(3)
            for i in range(3):
                pos[n, k, i] = sensors[n, at + i]
                lin_vel[n, k, i] = sensors[n, 7 * num_bodies + at + i]
                ang_vel[n, k, i] = sensors[n, 10 * num_bodies + at + i]
            for i in range(4):
                quat[n, k, i] = sensors[n, 3 * num_bodies + 4 * body_ids[k] + i]
