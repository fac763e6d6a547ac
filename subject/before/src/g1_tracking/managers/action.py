"""The action manager: raw actions in, joint targets out."""

from typing import Any

import numpy as np

from g1_tracking.managers.term import load_terms


class ActionManager:
    """Remembers this and the last action and hands the targets to the backend."""

    def __init__(self, config: dict[str, dict[str, Any]], env: Any):
        self._env = env
        self._terms = load_terms(config, env)
        self.action = np.zeros((env.num_envs, env.num_joints), dtype=np.float32)
        self.prev_action = np.zeros_like(self.action)

    @property
    def active_terms(self) -> list[str]:
        """Names of the terms."""
        return list(self._terms)

    def compute(self, actions: np.ndarray) -> None:
        """Take actions (num_envs, 29) and write the targets they stand for.

        Raises:
            ValueError: a wrong shape.
        """
        if actions.shape != self.action.shape:
            raise ValueError(f"actions must have shape {self.action.shape}, got {actions.shape}")
        np.copyto(self.prev_action, self.action)
        np.copyto(self.action, actions)
        for term in self._terms.values():
            self._env.backend.write_control(term.func(self._env, self.action))

    def reset(self, env_ids: np.ndarray) -> None:
        """Forget the actions of environments that start anew."""
        self.action[env_ids] = 0.0
        self.prev_action[env_ids] = 0.0
