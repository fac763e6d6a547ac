"""The observation manager: each group's terms, corrupted by noise if the group says so, checked, side by side."""

from typing import Any

import numpy as np

from g1_tracking.managers.term import TermCfg, load_terms

# Environments at a time: a block is checked while the core's own cache still holds it.
_BLOCK = 512


class ObservationManager:
    """Computes the groups.

    Attributes:
        group_widths: width of each group.
    """

    def __init__(self, config: dict[str, dict[str, Any]], env: Any):
        self._env = env
        self._group_obs_term_names: dict[str, list[str]] = {}
        self._group_obs_term_cfgs: dict[str, list[TermCfg]] = {}
        self._noisy: dict[str, dict[int, np.ndarray]] = {}
        self._finite: dict[str, np.ndarray] = {}
        self._group_buffers: dict[str, list[np.ndarray]] = {}
        self.group_widths: dict[str, int] = {}
        for group, entry in config.items():
            terms = load_terms(entry["terms"], env)
            if not entry["corrupt"]:
                for term in terms.values():
                    term.noise = 0.0
            shapes = [term.func(env, **term.params).shape for term in terms.values()]
            self._group_obs_term_names[group] = list(terms)
            self._group_obs_term_cfgs[group] = list(terms.values())
            self._noisy[group] = {
                index: np.empty(shape, dtype=np.float32)
                for index, (shape, term) in enumerate(zip(shapes, terms.values(), strict=True))
                if term.noise
            }
            self.group_widths[group] = sum(width for _, width in shapes)
            self._finite[group] = np.empty((min(env.num_envs, _BLOCK), self.group_widths[group]), dtype=bool)
            # Two of each, taken in turn: an observation stays valid while the next step is computed.
            self._group_buffers[group] = [
                np.zeros((env.num_envs, self.group_widths[group]), dtype=np.float32) for _ in range(2)
            ]

    @property
    def active_terms(self) -> dict[str, list[str]]:
        """Names of the terms of each group."""
        return {group: list(names) for group, names in self._group_obs_term_names.items()}

    def compute(self, env_ids: np.ndarray | None = None) -> dict[str, np.ndarray]:
        """Compute all groups.

        Args:
            env_ids: after a reset, the environments whose rows are wanted; None for all.

        Returns:
            group -> (rows, width) float32; a full batch stays valid until the next but one.
        """
        return {group: self.compute_group(group, env_ids=env_ids) for group in self._group_obs_term_names}

    def compute_group(self, group: str, env_ids: np.ndarray | None = None) -> np.ndarray:
        """Compute one group; see `compute`.

        Raises:
            FloatingPointError: a term is not finite; names it and the environments.
        """
        columns = []
        for index, term in enumerate(self._group_obs_term_cfgs[group]):
            value = term.func(self._env, **term.params)
            if env_ids is not None:
                value = value[env_ids]
            if term.noise:
                noisy = self._noisy[group][index][: len(value)]
                self._env.noise.random(dtype=np.float32, out=noisy)
                noisy -= np.float32(0.5)
                noisy *= np.float32(2.0 * term.noise)
                noisy += value
                value = noisy
            columns.append(value)
        if env_ids is None:
            buffers = self._group_buffers[group]
            buffers.reverse()
            result = buffers[0]
        else:
            result = np.empty((len(env_ids), self.group_widths[group]), dtype=np.float32)
        for start in range(0, len(result), _BLOCK):
            part = result[start : start + _BLOCK]
            np.concatenate([column[start : start + _BLOCK] for column in columns], axis=1, out=part)
            if not np.isfinite(part, out=self._finite[group][: len(part)]).all():
                raise FloatingPointError(self._not_finite(group, columns, env_ids))
        return result

    def _not_finite(self, group: str, columns: list[np.ndarray], env_ids: np.ndarray | None) -> str:
        """Names the first term of a group that is not finite, and its environments."""
        for name, value in zip(self._group_obs_term_names[group], columns, strict=True):
            rows = np.flatnonzero(~np.isfinite(value).all(axis=1))
            if len(rows):
                bad = rows if env_ids is None else env_ids[rows]
                return f"observation term {group}/{name} is not finite in environments {bad[:10].tolist()}"
        return f"observation group {group} is not finite"

    def reset(self, env_ids: np.ndarray) -> None:
        """Nothing is kept per episode."""
