"""The environment: apply_action, physics, refresh_cache, update_state, reset_done, each timed, for N robots at once."""

from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any

import mujoco
import numpy as np

from g1_tracking import robot
from g1_tracking.backends import make_backend
from g1_tracking.managers.action import ActionManager
from g1_tracking.managers.command import CommandManager
from g1_tracking.managers.observation import ObservationManager
from g1_tracking.managers.reward import RewardManager
from g1_tracking.managers.termination import TerminationManager
from g1_tracking.motion import generate_clip


@dataclass
class EnvState:
    """What a step returns.

    Attributes:
        obs: group -> (num_envs, width) float32; valid until the next but one step.
        reward: (num_envs,) float32.
        terminated: failures, (num_envs,) bool.
        truncated: ends by time, (num_envs,) bool.
        info: `timing` (milliseconds by phase), `log`.
    """

    obs: dict[str, np.ndarray]
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, Any]


@dataclass(frozen=True)
class ActionSpace:
    """The shape of one environment's action; any real number is an action."""

    shape: tuple[int, ...]
    dtype: Any = np.float32


class TrackingEnv:
    """N humanoids that follow a motion.

    Attributes:
        config: the composed configuration.
        decisions, threads, workload: what the backend decided, runs with, and does per step.
        noise: the generator of the observation noise.
        common_step_counter: number of state updates so far.
    """

    def __init__(self, config: dict[str, Any]):
        task = config["task"]
        control, motion = task["control"], task["motion"]
        self.config = config
        self.num_envs: int = config["num_envs"]
        self.num_joints = len(robot.JOINT_NAMES)
        self.seed: int = config["env"]["seed"]
        self.step_dt: float = control["sim_dt"] * control["substeps"]
        self.max_episode_length = round(control["max_episode_s"] / self.step_dt)
        self.soft_joint_limits = _soft_limits(control["soft_joint_limit_factor"])
        self.tracked_bodies: list[str] = motion["tracked_bodies"]
        self.anchor_body: str = motion["anchor_body"]
        self.tracked_body_ids = np.array([robot.BODY_NAMES.index(name) for name in self.tracked_bodies])
        self.action_space = ActionSpace((self.num_joints,))

        model = mujoco.MjModel.from_xml_string(robot.build_mjcf(control["sim_dt"]))
        self.clip = generate_clip(model, motion["frames"], self.step_dt, self.tracked_body_ids)
        self.backend = make_backend(config["backend"], model, self.num_envs, control["substeps"])
        self.noise = np.random.Generator(np.random.SFC64(self.seed))
        self._scratch: dict[tuple[str, tuple[int, ...]], np.ndarray] = {}
        self.episode_length = np.zeros(self.num_envs, dtype=np.int64)
        self.common_step_counter = 0
        self._autoreset_reset_active = False

        self.action_manager = ActionManager(task["actions"], self)
        self.command_manager = CommandManager(task["commands"], self)
        self.motion = self.command_manager.get_term("motion")
        self.termination_manager = TerminationManager(task["terminations"], self)
        self.reward_manager = RewardManager(task["rewards"], self)
        self.observation_manager = ObservationManager(task["observations"], self)
        self.decisions: dict[str, Any] = dict(self.backend.decisions)
        self.threads: dict[str, Any] = dict(self.backend.threads)
        self.workload: dict[str, Any] = {
            "num_envs": self.num_envs,
            "substeps_per_step": control["substeps"],
            "tracked_bodies": len(self.tracked_bodies),
            "motion_frames": self.clip.frames,
        }
        self._state: EnvState | None = None

    def scratch(self, name: str, shape: tuple[int, ...], dtype: type = np.float32) -> np.ndarray:
        """An array whose memory stays from step to step; its content does not outlive the term that fills it."""
        key = (name, shape)
        if key not in self._scratch:
            self._scratch[key] = np.empty(shape, dtype=dtype)
        return self._scratch[key]

    def init_state(self) -> EnvState:
        """Start all episodes and run every term once, so that whatever compiles lazily has compiled."""
        everyone = np.arange(self.num_envs)
        self.backend.refresh()
        self.command_manager.reset(everyone)
        self._load_commands(everyone)
        self.termination_manager.compute()
        self.reward_manager.compute(self.step_dt)
        self.command_manager.post_compute()
        self.reward_manager.reset(everyone)
        self.termination_manager.compute()
        obs = self._map_observations(self.observation_manager.compute())
        zeros = np.zeros(self.num_envs, dtype=bool)
        reward = np.zeros(self.num_envs, dtype=np.float32)
        self._state = EnvState(obs, reward, zeros, zeros.copy(), {"timing": {}, "log": {}})
        return self._state

    def step(self, actions: np.ndarray) -> EnvState:
        """Advance all robots by one control step; ended episodes start anew.

        Args:
            actions: (num_envs, 29) float32.

        Returns:
            The state after the step. Rewards and flags are those of the ended episodes, observations those of new ones.

        Raises:
            RuntimeError: before `init_state`.
            FloatingPointError: a reward or observation is not finite.
        """
        if self._state is None:
            raise RuntimeError("init_state comes before step")
        start = perf_counter_ns()
        self.action_manager.compute(actions)
        applied = perf_counter_ns()
        self.backend.step()
        stepped = perf_counter_ns()
        state = self._update_state()
        updated = perf_counter_ns()
        done = np.flatnonzero(self.termination_manager.done)
        if len(done):
            self._autoreset_reset_active = True
            try:
                self._reset(done, state)
            finally:
                self._autoreset_reset_active = False
        end = perf_counter_ns()
        nanoseconds = {
            "env_step_total": end - start,
            "apply_action": applied - start,
            "step_core": stepped - applied,
            "update_state": updated - stepped,
            "reset_done": end - updated,
            **self.backend.timing_ns,
        }
        # Published as float milliseconds; ns / 1e6 is exact enough that round(ms * 1e6) gives the nanoseconds back.
        timing = {f"{name}_ms": value / 1e6 for name, value in nanoseconds.items()}
        timing["reset_done_count"] = float(len(done))
        state.info["timing"] = timing
        self._state = state
        return state

    def close(self) -> None:
        """Stop the backend's threads."""
        self.backend.close()

    def _update_state(self) -> EnvState:
        self.episode_length += 1
        self.common_step_counter += 1
        terminations = self.termination_manager
        terminations.compute()
        reward = self.reward_manager.compute(self.step_dt)
        self.command_manager.compute()
        self.command_manager.post_compute()
        obs = self._map_observations(self.observation_manager.compute())
        return EnvState(obs, reward.copy(), terminations.terminated.copy(), terminations.truncated.copy(), {"log": {}})

    def _reset(self, env_ids: np.ndarray, state: EnvState) -> None:
        self.command_manager.reset(env_ids)
        self.action_manager.reset(env_ids)
        state.info["log"] = self.reward_manager.reset(env_ids)
        self.termination_manager.reset(env_ids)
        self.observation_manager.reset(env_ids)
        self.episode_length[env_ids] = 0
        self._load_commands(env_ids)
        fresh = self._map_observations(self.observation_manager.compute(env_ids=env_ids))
        for group, rows in fresh.items():
            state.obs[group][env_ids] = rows

    def _load_commands(self, env_ids: np.ndarray) -> None:
        self.command_manager.compute(env_ids=env_ids)
        self.command_manager.post_compute(env_ids=env_ids)

    def _map_observations(self, groups: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The managers' groups as the state's; refuses a group of a wrong width."""
        for group, values in groups.items():
            width = self.observation_manager.group_widths[group]
            if values.shape[1:] != (width,):
                raise ValueError(f"observation group {group!r} has shape {values.shape}, expected (rows, {width})")
        return dict(groups)


def _soft_limits(factor: float) -> tuple[np.ndarray, np.ndarray]:
    """Joint ranges shrunk about their centres, (29,) float32 each."""
    centre, half = robot.JOINT_LIMITS.mean(axis=1), 0.5 * np.ptp(robot.JOINT_LIMITS, axis=1)
    return (centre - factor * half).astype(np.float32), (centre + factor * half).astype(np.float32)
