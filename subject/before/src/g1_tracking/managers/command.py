"""The command manager: what the robots are asked to do next."""

from typing import Any

import numpy as np

from g1_tracking.managers.term import load_terms


class CommandManager:
    """Advances the commands after rewards and terminations, then recomputes what depends on the robots' pose."""

    def __init__(self, config: dict[str, dict[str, Any]], env: Any):
        self._terms = {name: term.func for name, term in load_terms(config, env).items()}

    @property
    def active_terms(self) -> list[str]:
        """Names of the terms."""
        return list(self._terms)

    def get_term(self, name: str) -> Any:
        """The command called `name`."""
        return self._terms[name]

    def reset(self, env_ids: np.ndarray) -> None:
        """Sample a new command for environments that start anew, and put their robots there."""
        for term in self._terms.values():
            term.reset(env_ids)

    def compute(self, env_ids: np.ndarray | None = None) -> None:
        """Advance the commands of all environments, or load those of `env_ids` after a reset."""
        for term in self._terms.values():
            term.compute(env_ids=env_ids)

    def post_compute(self, env_ids: np.ndarray | None = None) -> None:
        """Recompute what relates the command to the robots' pose."""
        for term in self._terms.values():
            term.post_compute(env_ids=env_ids)
