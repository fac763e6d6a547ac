"""The host copy of the robots' state, one array per quantity, and the getters through which the managers read it."""

from collections.abc import Callable

import numpy as np

from g1_tracking import kernels, robot


class RobotState:
    """State of all robots after a step; world frame, metres, radians, seconds, float32.

    Attributes:
        body_pos: all bodies, (num_envs, 30, 3).
        body_quat: w x y z, (num_envs, 30, 4).
        body_lin_vel: of the body frame's origin, (num_envs, 30, 3).
        body_ang_vel: (num_envs, 30, 3).
        joint_pos: (num_envs, 29).
        joint_vel: (num_envs, 29).
        base_lin_vel: velocimeter in the pelvis, body frame, (num_envs, 3).
        base_ang_vel: gyro in the torso, body frame, (num_envs, 3).
    """

    def __init__(self, num_envs: int):
        def block(*shape: int) -> np.ndarray:
            return np.zeros((num_envs, *shape), dtype=np.float32)

        self.body_pos = block(robot.NUM_BODIES, 3)
        self.body_quat = block(robot.NUM_BODIES, 4)
        self.body_lin_vel = block(robot.NUM_BODIES, 3)
        self.body_ang_vel = block(robot.NUM_BODIES, 3)
        self.joint_pos = block(len(robot.JOINT_NAMES))
        self.joint_vel = block(len(robot.JOINT_NAMES))
        self.base_lin_vel = block(3)
        self.base_ang_vel = block(3)
        self._sensor_blocks = self._split_sensors(num_envs)

    def _split_sensors(self, num_envs: int) -> list[tuple[int, np.ndarray]]:
        """Where each sensor block starts, and the flat view of the array that it fills."""
        blocks = []
        at = 0
        for values in (self.body_pos, self.body_quat, self.body_lin_vel, self.body_ang_vel):
            flat = values.reshape(num_envs, -1)
            blocks.append((at, flat))
            at += flat.shape[1]
        return [*blocks, (robot.BASE_LIN_VEL_AT, self.base_lin_vel), (robot.BASE_ANG_VEL_AT, self.base_ang_vel)]

    def load(self, sensors: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Copy the state of all robots.

        Args:
            sensors: the sensor block, (num_envs, nsensordata).
            qpos: generalised positions, (num_envs, 36).
            qvel: generalised velocities, (num_envs, 35).
        """
        for at, flat in self._sensor_blocks:
            np.copyto(flat, sensors[:, at : at + flat.shape[1]], casting="same_kind")
        np.copyto(self.joint_pos, qpos[:, 7:], casting="same_kind")
        np.copyto(self.joint_vel, qvel[:, 6:], casting="same_kind")

    def load_rows(self, env_ids: np.ndarray, sensors: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Copy the state of some robots; the arguments hold one row per entry of `env_ids`."""
        for at, flat in self._sensor_blocks:
            flat[env_ids] = sensors[:, at : at + flat.shape[1]]
        self.joint_pos[env_ids] = qpos[:, 7:]
        self.joint_vel[env_ids] = qvel[:, 6:]

    def bind_body_copy(self, body_ids: np.ndarray) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]:
        """The full-batch getter of the tracked bodies: one pass over all four quantities.

        Args:
            body_ids: the bodies, (bodies,) integers.

        Returns:
            A callable that fills position, orientation, linear and angular velocity, (num_envs, bodies, 3 or 4) each.
        """

        def copy(pos: np.ndarray, quat: np.ndarray, lin_vel: np.ndarray, ang_vel: np.ndarray) -> None:
            kernels.copy_bodies(
                self.body_pos,
                self.body_quat,
                self.body_lin_vel,
                self.body_ang_vel,
                body_ids,
                pos,
                quat,
                lin_vel,
                ang_vel,
            )

        return copy
