"""Reward terms: functions of the environment that return (num_envs,) float32; weights are the manager's."""

from typing import Any

import numpy as np

from g1_tracking import kernels


def motion_global_root_pos(env: Any, std: float) -> np.ndarray:
    """exp(-|reference anchor position - robot's|^2 / std^2); std in metres."""
    motion = env.motion
    error = motion.body_pos_w[:, motion.anchor] - motion.robot_body_pos_w[:, motion.anchor]
    squared = np.einsum("ni,ni->n", error, error)
    return _exp_of(squared, std)


def motion_global_root_ori(env: Any, std: float) -> np.ndarray:
    """exp(-(angle between reference and robot anchor)^2 / std^2); std in radians."""
    motion = env.motion
    dot = np.einsum("ni,ni->n", motion.body_quat_w[:, motion.anchor], motion.robot_body_quat_w[:, motion.anchor])
    return _exp_of(_squared_angle(dot), std)


def motion_body_pos(env: Any, std: float) -> np.ndarray:
    """exp(-mean over bodies of |relative reference position - robot's|^2 / std^2); std in metres."""
    return _distance_reward(env, env.motion.relative.body_pos_relative_w, env.motion.robot_body_pos_w, std)


def motion_body_ori(env: Any, std: float) -> np.ndarray:
    """exp(-mean over bodies of (angle between relative reference and robot)^2 / std^2); std in radians."""
    motion = env.motion
    out = env.scratch("body_reward", (env.num_envs,))
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
    actions = env.action_manager
    change = np.subtract(actions.action, actions.prev_action, out=env.scratch("joints", actions.action.shape))
    return np.einsum("nj,nj->n", change, change)


def joint_limit(env: Any) -> np.ndarray:
    """Sum over joints of the squared excess beyond the soft limits, rad^2."""
    joint_pos = env.backend.state.joint_pos
    low, high = env.soft_joint_limits
    # Two ufuncs, for np.clip is twice as slow when its bounds are arrays.
    excess = np.minimum(joint_pos, high, out=env.scratch("joints", joint_pos.shape))
    np.maximum(excess, low, out=excess)
    np.subtract(joint_pos, excess, out=excess)
    return np.einsum("nj,nj->n", excess, excess)


class undesired_contacts:  # noqa: N801 - a term is named as the configuration names it
    """Number of the given bodies whose frame is lower than `height`, metres: they lie on the floor."""

    def __init__(self, env: Any, height: float, body_names: list[str]):
        self._ids = env.motion.body_indexes(body_names)

    def __call__(self, env: Any, height: float, body_names: list[str]) -> np.ndarray:
        """The counts, (num_envs,) integers."""
        return np.count_nonzero(env.motion.robot_body_pos_w[:, self._ids, 2] < height, axis=1)


def _distance_reward(env: Any, reference: np.ndarray, actual: np.ndarray, std: float) -> np.ndarray:
    """exp(-mean over bodies of the squared distance / std^2) between two (num_envs, bodies, 3)."""
    envs, bodies = reference.shape[:2]
    out = env.scratch("body_reward", (envs,))
    flat = (reference.reshape(envs, -1), actual.reshape(envs, -1))
    kernels.mean_squared_distance(*flat, bodies, np.float32(-1.0 / std**2), out)
    return np.exp(out, out=out)


def _squared_angle(dot: np.ndarray) -> np.ndarray:
    """The squared angle between unit quaternions with these inner products; consumes `dot`."""
    np.abs(dot, out=dot)
    np.minimum(dot, np.float32(1.0), out=dot)
    np.arccos(dot, out=dot)
    np.square(dot, out=dot)
    return np.multiply(dot, np.float32(4.0), out=dot)


def _exp_of(error: np.ndarray, std: float) -> np.ndarray:
    """exp(-error / std^2); consumes `error`."""
    np.multiply(error, np.float32(-1.0 / std**2), out=error)
    return np.exp(error, out=error)
