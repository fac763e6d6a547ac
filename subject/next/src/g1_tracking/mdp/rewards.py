"""Reward terms: functions of the environment that return (num_envs,) float32; weights are the manager's."""

from typing import Any

import numba
import numpy as np

from g1_tracking import kernels


def motion_global_root_pos(env: Any, std: float) -> np.ndarray:
    """exp(-|reference anchor position - robot's|^2 / std^2); std in metres."""
    motion = env.motion
    out = env.scratch("reward", (env.num_envs,))
    _squared_distance(motion.body_pos_w, motion.robot_body_pos_w, motion.anchor, np.float32(-1.0 / std**2), out)
    return np.exp(out, out=out)


def motion_global_root_ori(env: Any, std: float) -> np.ndarray:
    """exp(-(angle between reference and robot anchor)^2 / std^2); std in radians."""
    motion = env.motion
    out = env.scratch("reward", (env.num_envs,))
    _squared_angle(motion.body_quat_w, motion.robot_body_quat_w, motion.anchor, np.float32(-1.0 / std**2), out)
    return np.exp(out, out=out)


def motion_body_pos(env: Any, std: float) -> np.ndarray:
    """exp(-mean over bodies of |relative reference position - robot's|^2 / std^2); std in metres."""
    return _distance_reward(env, env.motion.relative.body_pos_relative_w, env.motion.robot_body_pos_w, std)


def motion_body_ori(env: Any, std: float) -> np.ndarray:
    """exp(-mean over bodies of (angle between relative reference and robot)^2 / std^2); std in radians."""
    motion = env.motion
    out = env.scratch("reward", (env.num_envs,))
    reference, actual = motion.relative.body_quat_relative_w, motion.robot_body_quat_w
    kernels.mean_squared_angle(reference, actual, np.float32(-1.0 / std**2), out)
    return np.exp(out, out=out)


def motion_body_lin_vel(env: Any, std: float) -> np.ndarray:
    """exp(-mean over bodies of |reference linear velocity - robot's|^2 / std^2); std in m/s."""
    return _distance_reward(env, env.motion.body_lin_vel_w, env.motion.robot_body_lin_vel_w, std)


def motion_body_ang_vel(env: Any, std: float) -> np.ndarray:
    """exp(-mean over bodies of |reference angular velocity - robot's|^2 / std^2); std in rad/s."""
    return _distance_reward(env, env.motion.body_ang_vel_w, env.motion.robot_body_ang_vel_w, std)


def action_rate_l2(env: Any) -> np.ndarray:
    """Sum over joints of (this action - last action)^2."""
    actions, out = env.action_manager, env.scratch("reward", (env.num_envs,))
    kernels.mean_squared_distance(actions.action, actions.prev_action, 1, np.float32(1.0), out)
    return out


def joint_limit(env: Any) -> np.ndarray:
    """Sum over joints of the squared excess beyond the soft limits, rad^2."""
    out = env.scratch("reward", (env.num_envs,))
    _squared_excess(env.backend.state.joint_pos, *env.soft_joint_limits, out)
    return out


class undesired_contacts:  # noqa: N801 - a term is named as the configuration names it
    """Number of the given bodies whose frame is lower than `height`, metres: they lie on the floor."""

    def __init__(self, env: Any, height: float, body_names: list[str]):
        self._ids = env.motion.body_indexes(body_names)

    def __call__(self, env: Any, height: float, body_names: list[str]) -> np.ndarray:
        """The counts, (num_envs,) float32."""
        out = env.scratch("reward", (env.num_envs,))
        _count_below(env.motion.robot_body_pos_w, self._ids, np.float32(height), out)
        return out


def _distance_reward(env: Any, reference: np.ndarray, actual: np.ndarray, std: float) -> np.ndarray:
    """exp(-mean over bodies of the squared distance / std^2) between two (num_envs, bodies, 3)."""
    envs, bodies = reference.shape[:2]
    out = env.scratch("reward", (envs,))
    flat = (reference.reshape(envs, -1), actual.reshape(envs, -1))
    kernels.mean_squared_distance(*flat, bodies, np.float32(-1.0 / std**2), out)
    return np.exp(out, out=out)


@kernels.kernel(parallel_from=16384)
def _squared_distance(reference, actual, body, scale, out):  # type: ignore[no-untyped-def]
    """out[n] = scale x squared distance of one body, arrays (num_envs, bodies, 3)."""
    for n in numba.prange(reference.shape[0]):
        total = np.float32(0.0)
        for i in range(3):
            error = reference[n, body, i] - actual[n, body, i]
            total += error * error
        out[n] = total * scale


@kernels.kernel(parallel_from=16384)
def _squared_angle(reference, actual, body, scale, out):  # type: ignore[no-untyped-def]
    """out[n] = scale x squared angle of one body, unit quaternions (num_envs, bodies, 4)."""
    for n in numba.prange(reference.shape[0]):
        dot = np.float32(0.0)
        for i in range(4):
            dot += reference[n, body, i] * actual[n, body, i]
        out[n] = np.float32(4.0) * kernels.squared_half_angle(dot) * scale


@kernels.kernel(parallel_from=16384, fastmath=kernels.REORDER_SUMS)
def _squared_excess(values, low, high, out):  # type: ignore[no-untyped-def]
    """out[n] = sum over columns of the squared excess of values[n] beyond low and high."""
    for n in numba.prange(values.shape[0]):
        total = np.float32(0.0)
        for j in range(values.shape[1]):
            excess = values[n, j] - max(min(values[n, j], high[j]), low[j])
            total += excess * excess
        out[n] = total


@kernels.kernel(parallel_from=16384)
def _count_below(positions, body_ids, height, out):  # type: ignore[no-untyped-def]
    """out[n] = number of the bodies that are lower than `height`, positions (num_envs, bodies, 3)."""
    for n in numba.prange(positions.shape[0]):
        count = 0
        for k in range(body_ids.shape[0]):
            count += positions[n, body_ids[k], 2] < height
        out[n] = count
