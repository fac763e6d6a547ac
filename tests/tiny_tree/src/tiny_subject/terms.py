"""The terms: plain functions of the environment, and the managers that call them through their configuration."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tiny_subject import knobs


@dataclass
class TermCfg:
    """One term; `func` is looked up at every call."""

    func: Callable[..., Any]
    params: dict[str, Any] = field(default_factory=dict)
    weight: float = 1.0


def _squared(error: np.ndarray) -> np.ndarray:
    return np.square(error).sum(axis=-1).mean(axis=-1)


def _compiled() -> Callable[..., Any]:
    import numba

    @numba.njit(parallel=True)
    def kernel(error: np.ndarray, out: np.ndarray) -> None:
        for row in numba.prange(error.shape[0]):
            total = np.float32(0.0)
            for body in range(error.shape[1]):
                for axis in range(error.shape[2]):
                    total += error[row, body, axis] ** 2
            out[row] = total / error.shape[1]

    def squared(error: np.ndarray) -> np.ndarray:
        out = np.empty(len(error), dtype=np.float32)
        kernel(error, out)
        return out

    return squared


def compile_one_more() -> None:
    """Compiles a kernel that nobody needs."""
    import numba

    numba.njit(lambda value: value + 1.0)(1.0)


_squared_pos = _compiled() if knobs.numba else _squared


def motion_body_pos(env: Any, std: float) -> np.ndarray:
    """How near the bodies are to their targets, (num_envs,)."""
    motion = env.motion
    value = np.exp(-_squared_pos(motion.read("pos") - motion.target) / std**2)
    return (value + knobs.wrong_reward).astype(np.float32)


def motion_body_ori(env: Any) -> np.ndarray:
    """How upright they are, (num_envs,)."""
    return np.exp(-_squared(env.motion.read("ori")))


def motion_body_lin_vel(env: Any) -> np.ndarray:
    """How slow they are, (num_envs,)."""
    return np.exp(-_squared(env.motion.read("lin_vel")))


def motion_body_ang_vel(env: Any) -> np.ndarray:
    """How slowly they turn, (num_envs,)."""
    return np.exp(-_squared(env.motion.read("ang_vel")))


def action_rate(env: Any) -> np.ndarray:
    """How much the action changed, (num_envs,)."""
    return np.square(env.action - env.last_action).sum(axis=1)


def anchor_pos(env: Any, limit: float) -> np.ndarray:
    """Whether the first body has left its target, (num_envs,) bool."""
    return np.abs(env.motion.read("pos")[:, 0] - env.motion.target[:, 0]).max(axis=1) > limit


def time_out(env: Any) -> np.ndarray:
    """Whether the episode is over, (num_envs,) bool."""
    return env.episode_length >= env.episode_steps


def body_pos(env: Any) -> np.ndarray:
    """Bodies, (num_envs, bodies * 3)."""
    return env.motion.read("pos").reshape(env.num_envs, -1)


def body_lin_vel(env: Any) -> np.ndarray:
    """Their velocities, (num_envs, bodies * 3)."""
    return env.motion.read("lin_vel").reshape(env.num_envs, -1)


def last_action(env: Any) -> np.ndarray:
    """The action of this step, (num_envs, actions)."""
    return env.action


class TermManager:
    """Calls each of its terms once per step, in order."""

    def __init__(self, terms: dict[str, TermCfg]) -> None:
        self._term_names = list(terms)
        self._term_cfgs = list(terms.values())

    def outputs(self, env: Any) -> dict[str, np.ndarray]:
        """Name to what the term returned; a term without weight is not called."""
        return {
            name: term.func(env, **term.params)
            for name, term in zip(self._term_names, self._term_cfgs, strict=True)
            if term.weight
        }


class ObservationManager:
    """Lays the terms of each group side by side."""

    def __init__(self, env: Any, groups: dict[str, dict[str, TermCfg]]) -> None:
        self._env = env
        self._group_obs_term_names = {group: list(terms) for group, terms in groups.items()}
        self._group_obs_term_cfgs = {group: list(terms.values()) for group, terms in groups.items()}

    def compute(self, env_ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Every group, (rows, width) each."""
        return {group: self.compute_group(group, env_ids=env_ids) for group in self._group_obs_term_names}

    def compute_group(self, group: str, env_ids: np.ndarray | None = None) -> np.ndarray:
        """One group, (rows, width)."""
        columns = [term.func(self._env, **term.params) for term in self._group_obs_term_cfgs[group]]
        whole = np.concatenate(columns, axis=1)
        return whole if env_ids is None else whole[env_ids]
