"""The environment: apply_action, physics, refresh_cache, update_state, reset_done, each under its published key."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import numpy as np

from tiny_subject import knobs, terms
from tiny_subject.motion import BODIES, CommandManager
from tiny_subject.terms import ObservationManager, TermCfg, TermManager

ACTIONS = 3


@dataclass
class State:
    """What a step returns."""

    obs: dict[str, np.ndarray]
    reward: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    info: dict[str, Any]


@dataclass(frozen=True)
class Box:
    """The shape of one environment's action."""

    shape: tuple[int, ...]


class TinyEnv:
    """N sets of point bodies that are pushed by actions."""

    def __init__(self, backend: str, num_envs: int, env_seed: int, options: dict[str, str]) -> None:
        self.num_envs = num_envs
        self.episode_steps = 5
        self.action_space = Box((ACTIONS,))
        self.config = {"backend": backend, "num_envs": num_envs, "option": knobs.option, "options": dict(options)}
        self.decisions = {"chunk_size": knobs.chunk_size, "chunk_cache": knobs.decision}
        self.workload = {"substeps_per_step": 2, "bodies": BODIES}
        self.threads = {"physics": 1}
        self.common_step_counter = 0
        self._autoreset_reset_active = False
        self._random = np.random.default_rng(env_seed)
        self._calls = 0
        self.bodies = tuple(np.zeros((num_envs, BODIES, 3), dtype=np.float32) for _ in range(4))
        self.action = np.zeros((num_envs, ACTIONS), dtype=np.float32)
        self.last_action = np.zeros_like(self.action)
        self.episode_length = np.arange(num_envs) % self.episode_steps
        self.command_manager = CommandManager(self)
        self.motion = self.command_manager.get_term("motion")
        self.termination_manager = TermManager(
            {"anchor_pos": TermCfg(terms.anchor_pos, {"limit": 4.0}), "time_out": TermCfg(terms.time_out)}
        )
        idle = {"idle": TermCfg(terms.action_rate, weight=0.0)} if knobs.idle_term else {}
        self.reward_manager = TermManager(
            {
                **idle,
                "motion_body_pos": TermCfg(terms.motion_body_pos, {"std": 0.5}),
                "motion_body_ori": TermCfg(terms.motion_body_ori, weight=0.5),
                "motion_body_lin_vel": TermCfg(terms.motion_body_lin_vel),
                "motion_body_ang_vel": TermCfg(terms.motion_body_ang_vel),
                "action_rate": TermCfg(terms.action_rate, weight=-0.1),
            }
        )
        self.observation_manager = ObservationManager(
            self,
            {
                "actor": {"body_pos": TermCfg(terms.body_pos), "last_action": TermCfg(terms.last_action)},
                "critic": {"body_pos": TermCfg(terms.body_pos), "body_lin_vel": TermCfg(terms.body_lin_vel)},
            },
        )

    def init_state(self) -> State:
        """Puts every environment at its start."""
        if knobs.junk:
            print("init: NaN {", flush=True)
        self._place(np.arange(self.num_envs))
        self.command_manager.compute()
        self.command_manager.post_compute()
        self.reward_manager.outputs(self)  # compiles whatever has to be compiled
        return self._state(np.zeros(self.num_envs, bool), np.zeros(self.num_envs, bool), np.zeros(self.num_envs))

    def step(self, actions: np.ndarray) -> State:
        """One step of all environments."""
        self._calls += 1
        self._misbehave()
        start = perf_counter_ns()
        self.last_action, self.action = self.action, actions
        applied = perf_counter_ns()
        pos, ori, lin_vel, ang_vel = self.bodies
        lin_vel += 0.05 * actions[:, None, :]
        ang_vel += 0.02 * actions[:, None, :]
        pos += 0.1 * lin_vel
        ori += 0.1 * ang_vel
        moved = perf_counter_ns()
        stepped = perf_counter_ns()
        state = self._update_state()
        updated = perf_counter_ns()
        ended = np.flatnonzero(state.terminated | state.truncated)
        if len(ended) and not knobs.dead_resets:
            self._reset(ended, state)
        end = perf_counter_ns()
        nanoseconds = {
            "env_step_total_ms": end - start,
            "apply_action_ms": applied - start,
            "step_core_ms": stepped - applied,
            "update_state_ms": updated - stepped,
            "reset_done_ms": end - updated,
            "backend_physics_ms": moved - applied,
            "backend_refresh_cache_ms": stepped - moved,
        }
        timing = {key: value / 1e6 for key, value in nanoseconds.items()}
        timing["reset_done_count"] = float(0 if knobs.dead_resets else len(ended))
        if knobs.fake_time and knobs.fake_time[0] == self._calls:
            timing[knobs.fake_time[1]] = float(knobs.fake_time[2])
        timing.pop(knobs.absent_key, None)
        state.info["timing"] = timing
        return state

    def close(self) -> None:
        """Nothing is held."""

    def copy_body_state(self, outputs: tuple[np.ndarray, ...]) -> None:
        """The fused copy of all body states."""
        for source, cached in zip(self.bodies, outputs, strict=True):
            np.copyto(cached, source)

    def _update_state(self) -> State:
        self.common_step_counter += 1
        self.episode_length += 1
        until = perf_counter_ns() + knobs.update_us * 1000
        ends = self.termination_manager.outputs(self)
        rewards = self.reward_manager.outputs(self)
        self.command_manager.compute()
        self.command_manager.post_compute()
        reward = np.zeros(self.num_envs)
        weights = dict(zip(self.reward_manager._term_names, self.reward_manager._term_cfgs, strict=True))
        for name, value in rewards.items():
            reward += weights[name].weight * value
        while perf_counter_ns() < until:
            pass
        return self._state(ends["anchor_pos"], ends["time_out"], reward)

    def _state(self, terminated: np.ndarray, truncated: np.ndarray, reward: np.ndarray) -> State:
        obs = self._map_observations(self.observation_manager.compute())
        return State(obs, reward.astype(np.float32), terminated, truncated, {})

    def _map_observations(self, groups: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        return dict(groups)

    def _reset(self, env_ids: np.ndarray, state: State) -> None:
        self._autoreset_reset_active = True
        try:
            self.episode_length[env_ids] = 0
            self._place(env_ids)
            self.command_manager.compute(env_ids=env_ids)
            self.command_manager.post_compute(env_ids=env_ids)
            for group, rows in self._map_observations(self.observation_manager.compute(env_ids=env_ids)).items():
                state.obs[group][env_ids] = rows
        finally:
            self._autoreset_reset_active = False

    def _place(self, env_ids: np.ndarray) -> None:
        for body_state in self.bodies:
            shape = (len(env_ids), BODIES, 3)
            body_state[env_ids] = self._random.uniform(-0.2, 0.2, size=shape).astype(np.float32)

    def _misbehave(self) -> None:
        if knobs.junk:
            print('{"ready": false} NaN', flush=True)
        if self._calls == knobs.crash_at:
            raise RuntimeError(f"the tiny subject crashes in step {self._calls}")
        if self._calls == knobs.hang_at:
            time.sleep(3600)
        if self._calls == knobs.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if self._calls == knobs.compile_at:
            terms.compile_one_more()
        if self._calls == knobs.cache_file_at:
            Path(os.environ["WARP_CACHE_PATH"], f"kernel-{os.getpid()}").touch()
