"""The host copy of the robots' state, one array per quantity, and the one copy through which the managers read it.

The backend owns the choice of bodies: it converts and keeps only those that were bound, so the copy is a straight pass.
"""

from collections.abc import Callable

import numpy as np

from g1_tracking import kernels, robot

BodyCopy = Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], None]


class RobotState:
    """State of all robots after a step; world frame, metres, radians, seconds, float32.

    Attributes:
        bodies: of the bound bodies position, orientation (w x y z), linear velocity of the frame's origin and angular
            velocity, (num_envs, bound bodies, 3 or 4) each.
        joint_pos: (num_envs, 29).
        joint_vel: (num_envs, 29).
        base_lin_vel: velocimeter in the pelvis, body frame, (num_envs, 3).
        base_ang_vel: gyro in the torso, body frame, (num_envs, 3).
    """

    def __init__(self, num_envs: int):
        self._num_envs = num_envs
        self._body_ids = np.empty(0, dtype=np.uintp)
        self.bodies: tuple[np.ndarray, ...] = ()
        self.joint_pos, self.joint_vel = self._block(len(robot.JOINT_NAMES)), self._block(len(robot.JOINT_NAMES))
        self.base_lin_vel, self.base_ang_vel = self._block(3), self._block(3)
        self._sensor_blocks = (
            (robot.BASE_LIN_VEL_AT, self.base_lin_vel),
            (robot.BASE_ANG_VEL_AT, self.base_ang_vel),
        )

    def _block(self, *shape: int) -> np.ndarray:
        return np.zeros((self._num_envs, *shape), dtype=np.float32)

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
        # Last, for it is what the next stage reads first.
        kernels.load_bodies(sensors, self._body_ids, robot.NUM_BODIES, *self.bodies)

    def load_rows(self, env_ids: np.ndarray, sensors: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Copy the state of some robots; the arguments hold one row per entry of `env_ids`."""
        at = 0
        for values, (_, width) in zip(self.bodies, robot.BODY_SENSORS, strict=True):
            block = sensors[:, at : at + robot.NUM_BODIES * width].reshape(len(env_ids), robot.NUM_BODIES, width)
            values[env_ids] = block[:, self._body_ids]
            at += robot.NUM_BODIES * width
        for at, flat in self._sensor_blocks:
            flat[env_ids] = sensors[:, at : at + flat.shape[1]]
        self.joint_pos[env_ids] = qpos[:, 7:]
        self.joint_vel[env_ids] = qvel[:, 6:]

    def bind_body_copy(self, body_ids: np.ndarray) -> BodyCopy:
        """Keep these bodies from now on, and give the full-batch copy of them.

        Args:
            body_ids: the bodies, (bodies,) integers.

        Returns:
            A callable that fills position, orientation, linear and angular velocity, (num_envs, bodies, 3 or 4) each.
        """
        self._body_ids = body_ids.astype(np.uintp)
        self.bodies = tuple(self._block(len(body_ids), width) for _, width in robot.BODY_SENSORS)

        def copy(pos: np.ndarray, quat: np.ndarray, lin_vel: np.ndarray, ang_vel: np.ndarray) -> None:
            for values, out in zip(self.bodies, (pos, quat, lin_vel, ang_vel), strict=True):
                np.copyto(out, values)

        return copy
