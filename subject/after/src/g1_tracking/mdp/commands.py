"""The motion command: the frame each robot has to follow, the robot's tracked bodies, and how they relate."""

from typing import Any

import numpy as np

from g1_tracking import robot
from g1_tracking.mdp.sampling import FrameSampler
from g1_tracking.mdp.transforms import RelativePoses
from g1_tracking.rng import episode_uniforms

_POSE, _VELOCITY, _JOINTS = slice(1, 7), slice(7, 13), slice(13, 13 + len(robot.JOINT_NAMES))


class MotionCommand:
    """Tracks one clip per environment. All arrays are float32 over all environments, world frame.

    Attributes:
        time_steps: current frame, (num_envs,) int64.
        command: reference joint positions and velocities, (num_envs, 58).
        body_pos_w, body_quat_w, body_lin_vel_w, body_ang_vel_w: reference bodies, (num_envs, 14, 3 or 4).
        relative: the relation to the robot, see `RelativePoses`.
    """

    def __init__(
        self,
        env: Any,
        sampling: str,
        bins: int,
        uniform_ratio: float,
        failure_rate: float,
        pose_range: list[float],
        velocity_range: list[float],
        joint_range: float,
    ):
        self._env = env
        self.clip = env.clip
        self.body_names: list[str] = env.tracked_bodies
        self.anchor = self.body_names.index(env.anchor_body)
        self._robot_body_ids = env.tracked_body_ids
        self.sampler = FrameSampler(self.clip.frames, sampling, bins, uniform_ratio, failure_rate)
        self._pose_range, self._velocity_range = np.asarray(pose_range), np.asarray(velocity_range)
        self._joint_range = joint_range
        self._reference = np.concatenate((self.clip.joint_pos, self.clip.joint_vel), axis=1)

        def bodies(width: int) -> np.ndarray:
            return np.zeros((env.num_envs, len(self.body_names), width), dtype=np.float32)

        self.time_steps = np.zeros(env.num_envs, dtype=np.int64)
        self.command = np.zeros((env.num_envs, self._reference.shape[1]), dtype=np.float32)
        self.body_pos_w, self.body_quat_w, self.body_lin_vel_w, self.body_ang_vel_w = map(bodies, (3, 4, 3, 3))
        self.relative = RelativePoses(env.num_envs, len(self.body_names), self.anchor)
        self._robot_body_pos_w, self._robot_body_quat_w = bodies(3), bodies(4)
        self._robot_body_lin_vel_w, self._robot_body_ang_vel_w = bodies(3), bodies(3)
        self._copy_robot_body_state = env.backend.state.bind_body_copy(self._robot_body_ids)
        self._robot_cache_step = -1
        self._episodes = np.zeros(env.num_envs, dtype=np.int64)

    @property
    def robot_body_pos_w(self) -> np.ndarray:
        """Positions of the robot's tracked bodies, (num_envs, 14, 3)."""
        self._refresh_robot_state()
        return self._robot_body_pos_w

    @property
    def robot_body_quat_w(self) -> np.ndarray:
        """Orientations of the robot's tracked bodies, (num_envs, 14, 4)."""
        self._refresh_robot_state()
        return self._robot_body_quat_w

    @property
    def robot_body_lin_vel_w(self) -> np.ndarray:
        """Linear velocities of the robot's tracked bodies, (num_envs, 14, 3)."""
        self._refresh_robot_state()
        return self._robot_body_lin_vel_w

    @property
    def robot_body_ang_vel_w(self) -> np.ndarray:
        """Angular velocities of the robot's tracked bodies, (num_envs, 14, 3)."""
        self._refresh_robot_state()
        return self._robot_body_ang_vel_w

    def body_indexes(self, names: list[str]) -> np.ndarray:
        """Indices of tracked bodies.

        Raises:
            ValueError: a body that is not tracked.
        """
        missing = sorted(set(names) - set(self.body_names))
        if missing:
            raise ValueError(f"not tracked: {', '.join(missing)}")
        return np.array([self.body_names.index(name) for name in names])

    def reset(self, env_ids: np.ndarray) -> None:
        """Sample a frame for each environment and put its robot there, perturbed."""
        uniforms = episode_uniforms(self._env.seed, env_ids, self._episodes[env_ids], _JOINTS.stop)
        self._episodes[env_ids] += 1
        self.time_steps[env_ids] = self.sampler.sample(uniforms[:, 0])
        frames = self.time_steps[env_ids]
        signed = 2.0 * uniforms - 1.0
        pose = signed[:, _POSE] * self._pose_range
        root = self.clip.root[frames].astype(np.float64)
        root[:, :3] += pose[:, :3]
        root[:, 3:7] = _turned(root[:, 3:7], pose[:, 3:])
        root[:, 7:] += signed[:, _VELOCITY] * self._velocity_range
        joints = self.clip.joint_pos[frames] + signed[:, _JOINTS] * self._joint_range
        np.clip(joints, *self._env.soft_joint_limits, out=joints)
        qpos = np.concatenate((root[:, :7], joints), axis=1)
        # MuJoCo keeps a free joint's angular velocity in the body frame.
        root[:, 10:] = _rotate_back(root[:, 3:7], root[:, 10:])
        qvel = np.concatenate((root[:, 7:], self.clip.joint_vel[frames]), axis=1)
        self._env.backend.reset_rows(env_ids, qpos, qvel)

    def compute(self, env_ids: np.ndarray | None = None) -> None:
        """Advance the frames of running episodes and load the reference; after a reset load the rows of `env_ids`."""
        if env_ids is not None:
            self._load_reference_rows(env_ids)
            return
        terminations = self._env.termination_manager
        self.sampler.record(self.time_steps[terminations.terminated])
        self.time_steps += ~terminations.done
        frames = self.time_steps
        clip = self.clip
        # `clip` because the sampler keeps frames within the clip; unchecked, np.take needs no second buffer.
        np.take(self._reference, frames, axis=0, out=self.command, mode="clip")
        np.take(clip.body_pos, frames, axis=0, out=self.body_pos_w, mode="clip")
        np.take(clip.body_quat, frames, axis=0, out=self.body_quat_w, mode="clip")
        np.take(clip.body_lin_vel, frames, axis=0, out=self.body_lin_vel_w, mode="clip")
        np.take(clip.body_ang_vel, frames, axis=0, out=self.body_ang_vel_w, mode="clip")

    def post_compute(self, env_ids: np.ndarray | None = None) -> None:
        """Read the robots again, for a command may have moved them, and relate the reference to them."""
        self._refresh_robot_state(force=True, env_ids=env_ids)
        self.relative.update(
            self.body_pos_w, self.body_quat_w, self._robot_body_pos_w, self._robot_body_quat_w, env_ids=env_ids
        )

    def _load_reference_rows(self, env_ids: np.ndarray) -> None:
        frames = self.time_steps[env_ids]
        self.command[env_ids] = self._reference[frames]
        self.body_pos_w[env_ids] = self.clip.body_pos[frames]
        self.body_quat_w[env_ids] = self.clip.body_quat[frames]
        self.body_lin_vel_w[env_ids] = self.clip.body_lin_vel[frames]
        self.body_ang_vel_w[env_ids] = self.clip.body_ang_vel[frames]

    def _refresh_robot_state(self, force: bool = False, env_ids: np.ndarray | None = None) -> None:
        """Copy the tracked bodies out of the backend's state, once per step unless forced."""
        step = self._env.common_step_counter
        if not force and self._robot_cache_step == step:
            return
        own = (self._robot_body_pos_w, self._robot_body_quat_w, self._robot_body_lin_vel_w, self._robot_body_ang_vel_w)
        if env_ids is None:
            self._copy_robot_body_state(*own)
        else:
            for out, values in zip(own, self._env.backend.state.bodies, strict=True):
                out[env_ids] = values[env_ids]
        self._robot_cache_step = step


def _turned(quat: np.ndarray, euler: np.ndarray) -> np.ndarray:
    """Quaternions (rows, 4) turned by roll, pitch, yaw (rows, 3) about the world's axes."""
    cos, sin = np.cos(0.5 * euler), np.sin(0.5 * euler)
    (cr, cp, cy), (sr, sp, sy) = cos.T, sin.T
    a = (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )
    b = quat.T
    return np.stack(
        (
            a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
        ),
        axis=1,
    )


def _rotate_back(quat: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """World vectors (rows, 3) in the frames of unit quaternions (rows, 4)."""
    w, axis = quat[:, :1], quat[:, 1:]
    twice = 2.0 * np.cross(axis, vector)
    return vector - w * twice + np.cross(axis, twice)
