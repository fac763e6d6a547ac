"""The host copy of the robots' state, one array per quantity, and the getters through which the managers read it."""

import numpy as np

from g1_tracking import robot


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

    # The full-batch getters. The ids are the caller's, so they are checked: np.take's default.

    def take_body_pos(self, body_ids: np.ndarray, out: np.ndarray) -> None:
        """Positions of some bodies of all robots into `out` (num_envs, len(body_ids), 3)."""
        np.take(self.body_pos, body_ids, axis=1, out=out)

    def take_body_quat(self, body_ids: np.ndarray, out: np.ndarray) -> None:
        """Orientations of some bodies of all robots into `out` (num_envs, len(body_ids), 4)."""
        np.take(self.body_quat, body_ids, axis=1, out=out)

    def take_body_lin_vel(self, body_ids: np.ndarray, out: np.ndarray) -> None:
        """Linear velocities of some bodies of all robots into `out` (num_envs, len(body_ids), 3)."""
        np.take(self.body_lin_vel, body_ids, axis=1, out=out)

    def take_body_ang_vel(self, body_ids: np.ndarray, out: np.ndarray) -> None:
        """Angular velocities of some bodies of all robots into `out` (num_envs, len(body_ids), 3)."""
        np.take(self.body_ang_vel, body_ids, axis=1, out=out)
