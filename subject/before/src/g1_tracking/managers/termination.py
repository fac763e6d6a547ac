"""The termination manager: which episodes end now, and whether by failure or by time."""

from typing import Any

import numpy as np

from g1_tracking.managers.term import load_terms


class TerminationManager:
    """ORs the terms of each kind.

    Attributes:
        terminated: failures, (num_envs,) bool.
        truncated: ends by time, (num_envs,) bool.
    """

    def __init__(self, config: dict[str, dict[str, Any]], env: Any):
        self._env = env
        terms = load_terms(config, env)
        self._term_names, self._term_cfgs = list(terms), list(terms.values())
        self.terminated = np.zeros(env.num_envs, dtype=bool)
        self.truncated = np.zeros(env.num_envs, dtype=bool)
        self.done = np.zeros(env.num_envs, dtype=bool)

    @property
    def active_terms(self) -> list[str]:
        """Names of the terms."""
        return list(self._term_names)

    def compute(self) -> np.ndarray:
        """Evaluate all terms; returns which episodes end, (num_envs,) bool."""
        self.terminated.fill(False)
        self.truncated.fill(False)
        for term in self._term_cfgs:
            kind = self.truncated if term.time_out else self.terminated
            np.logical_or(kind, term.func(self._env, **term.params), out=kind)
        return np.logical_or(self.terminated, self.truncated, out=self.done)

    def reset(self, env_ids: np.ndarray) -> None:
        """Nothing is kept per episode; the flags of this step stay readable after the reset."""
