"""Observation terms: functions of the environment that return (num_envs, width) float32, clean; noise is the manager's.

A term may return a buffer of its owner; callers do not write to it.
"""

from typing import Any

import numpy as np

from g1_tracking import robot

_STANCE = robot.STANCE.astype(np.float32)


def command(env: Any) -> np.ndarray:
    """Reference joint positions and velocities, (num_envs, 58)."""
    return env.motion.command


def motion_anchor_pos_b(env: Any) -> np.ndarray:
    """The reference anchor in the robot's anchor frame, metres, (num_envs, 3)."""
    return env.motion.relative.motion_anchor_pos_b


def motion_anchor_ori_b(env: Any) -> np.ndarray:
    """Its x and y axes there, (num_envs, 6)."""
    return env.motion.relative.motion_anchor_ori_b


def base_lin_vel(env: Any) -> np.ndarray:
    """Velocimeter in the pelvis, m/s, (num_envs, 3)."""
    return env.backend.state.base_lin_vel


def base_ang_vel(env: Any) -> np.ndarray:
    """Gyro in the torso, rad/s, (num_envs, 3)."""
    return env.backend.state.base_ang_vel


def joint_pos_rel(env: Any) -> np.ndarray:
    """Joint positions relative to the stance, radians, (num_envs, 29)."""
    joint_pos = env.backend.state.joint_pos
    return np.subtract(joint_pos, _STANCE, out=env.scratch("joint_pos_rel", joint_pos.shape))


def joint_vel(env: Any) -> np.ndarray:
    """Joint velocities, rad/s, (num_envs, 29)."""
    return env.backend.state.joint_vel


def last_action(env: Any) -> np.ndarray:
    """The action of this step, (num_envs, 29)."""
    return env.action_manager.action


def robot_body_pos_b(env: Any) -> np.ndarray:
    """The robot's tracked bodies in its anchor frame, metres, (num_envs, 42)."""
    return env.motion.relative.robot_body_pos_b


def robot_body_ori_b(env: Any) -> np.ndarray:
    """Their x and y axes there, (num_envs, 84)."""
    return env.motion.relative.robot_body_ori_b
