"""Termination terms: functions of the environment that return (num_envs,) bool."""

from typing import Any

import numba
import numpy as np

from g1_tracking import kernels


def time_out(env: Any) -> np.ndarray:
    """The episode has its full length."""
    return env.episode_length >= env.max_episode_length


def motion_clip_end(env: Any) -> np.ndarray:
    """The clip is at its last frame."""
    return env.motion.time_steps >= env.motion.clip.frames - 1


def anchor_pos(env: Any, threshold: float) -> np.ndarray:
    """The anchor's height is off by more than `threshold`, metres. Reads the robots first in a step."""
    motion, out = env.motion, env.scratch("ended", (env.num_envs,), bool)
    kernels.height_off(motion.body_pos_w, motion.robot_body_pos_w, motion.anchor, np.float32(threshold), out)
    return out


def anchor_ori(env: Any, threshold: float) -> np.ndarray:
    """The anchor leans: the vertical components of gravity in both anchor frames differ by more than `threshold`."""
    motion, out = env.motion, env.scratch("ended", (env.num_envs,), bool)
    _leans(motion.body_quat_w, motion.robot_body_quat_w, motion.anchor, np.float32(threshold), out)
    return out


class ee_body_pos:  # noqa: N801 - a term is named as the configuration names it
    """A hand's or foot's height is off by more than `threshold`, metres, against the relative reference."""

    def __init__(self, env: Any, threshold: float, body_names: list[str]):
        self._ids = env.motion.body_indexes(body_names)

    def __call__(self, env: Any, threshold: float, body_names: list[str]) -> np.ndarray:
        """Which episodes fail, (num_envs,) bool."""
        motion, out = env.motion, env.scratch("ended", (env.num_envs,), bool)
        reference = motion.relative.body_pos_relative_w
        _any_height_off(reference, motion.robot_body_pos_w, self._ids, np.float32(threshold), out)
        return out


@kernels.kernel(parallel_from=16384)
def _leans(reference, actual, body, threshold, out):  # type: ignore[no-untyped-def]
    """out[n] = the vertical parts of one body's two z axes differ by more than `threshold`, unit quaternions."""
    one, two = np.float32(1.0), np.float32(2.0)
    for n in numba.prange(reference.shape[0]):
        rx, ry = reference[n, body, 1], reference[n, body, 2]
        ax, ay = actual[n, body, 1], actual[n, body, 2]
        out[n] = abs((one - two * (rx * rx + ry * ry)) - (one - two * (ax * ax + ay * ay))) > threshold


@kernels.kernel(parallel_from=16384)
def _any_height_off(reference, actual, body_ids, threshold, out):  # type: ignore[no-untyped-def]
    """out[n] = a body's height in reference and in actual differ by more than `threshold`."""
    for n in numba.prange(reference.shape[0]):
        off = False
        for k in range(body_ids.shape[0]):
            off |= abs(reference[n, body_ids[k], 2] - actual[n, body_ids[k], 2]) > threshold
        out[n] = off
