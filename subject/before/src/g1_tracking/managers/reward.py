"""The reward manager: the weighted sum of the reward terms, per second of simulated time."""

from typing import Any

import numpy as np

from g1_tracking.managers.term import load_terms


class RewardManager:
    """Sums weight x term x dt and keeps each term's sum over the episode.

    Attributes:
        reward: of the last step, (num_envs,) float32.
    """

    def __init__(self, config: dict[str, dict[str, Any]], env: Any):
        self._env = env
        terms = load_terms(config, env)
        self._term_names, self._term_cfgs = list(terms), list(terms.values())
        self.reward = np.zeros(env.num_envs, dtype=np.float32)
        self._weighted = np.empty(env.num_envs, dtype=np.float32)
        self._episode_sums = {name: np.zeros(env.num_envs, dtype=np.float32) for name in terms}

    @property
    def active_terms(self) -> list[str]:
        """Names of the terms."""
        return list(self._term_names)

    def compute(self, dt: float) -> np.ndarray:
        """Evaluate all terms for a step of `dt` seconds; returns the reward, (num_envs,) float32.

        Raises:
            FloatingPointError: a term is not finite; names it.
        """
        self.reward.fill(0.0)
        for name, term in zip(self._term_names, self._term_cfgs, strict=True):
            value = term.func(self._env, **term.params)
            np.multiply(value, np.float32(term.weight * dt), out=self._weighted)
            self.reward += self._weighted
            self._episode_sums[name] += self._weighted
        if not np.isfinite(self.reward).all():
            raise FloatingPointError(f"reward term {self._not_finite()!r} is not finite")
        return self.reward

    def _not_finite(self) -> str:
        """The first term whose episode sum is not finite."""
        return next(name for name, sums in self._episode_sums.items() if not np.isfinite(sums).all())

    def reset(self, env_ids: np.ndarray) -> dict[str, float]:
        """Close episodes; returns the mean sum of each term over them."""
        log = {}
        for name, sums in self._episode_sums.items():
            log[f"episode_reward/{name}"] = float(sums[env_ids].mean())
            sums[env_ids] = 0.0
        return log
