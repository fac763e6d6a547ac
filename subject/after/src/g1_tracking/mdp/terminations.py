"""Termination terms: functions of the environment that return (num_envs,) bool."""

from typing import Any

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
    motion = env.motion
    error = _up(motion.body_quat_w[:, motion.anchor]) - _up(motion.robot_body_quat_w[:, motion.anchor])
    return np.abs(error, out=error) > np.float32(threshold)


class ee_body_pos:  # noqa: N801 - a term is named as the configuration names it
    """A hand's or foot's height is off by more than `threshold`, metres, against the relative reference."""

    def __init__(self, env: Any, threshold: float, body_names: list[str]):
        self._ids = env.motion.body_indexes(body_names)

    def __call__(self, env: Any, threshold: float, body_names: list[str]) -> np.ndarray:
        """Which episodes fail, (num_envs,) bool."""
        motion = env.motion
        error = motion.relative.body_pos_relative_w[:, self._ids, 2] - motion.robot_body_pos_w[:, self._ids, 2]
        return (np.abs(error, out=error) > np.float32(threshold)).any(axis=1)


def _up(quat: np.ndarray) -> np.ndarray:
    """The world's up axis along the z axes of frames (num_envs, 4)."""
    x, y = quat[:, 1], quat[:, 2]
    return np.float32(1.0) - np.float32(2.0) * (x * x + y * y)
