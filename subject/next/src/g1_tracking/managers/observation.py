"""The observation manager: each group's terms, corrupted by noise if the group says so, checked, side by side.

One kernel makes one pass: it reads the terms where they are, adds the noise, writes the group's rows, and checks them.
"""

from typing import Any

import numba
import numpy as np

from g1_tracking import kernels
from g1_tracking.managers.term import TermCfg, load_terms

# Environments at a time: their rows stay in the core's own cache while term after term fills them.
_BLOCK = 128


@kernels.kernel(parallel_from=4096, fastmath={"reassoc"})
def _assemble(env_ids, terms, noise_at, noise_width, uniform, out):  # type: ignore[no-untyped-def]
    """Put the rows `env_ids` of the terms side by side; returns how many blocks hold a value that is not finite.

    Term t has (uniform - 1/2) x noise_width[t] added, row by row from uniform[noise_at[t]] on, if that is not negative.
    """
    rows, bad = env_ids.shape[0], 0
    half, zero = np.float32(0.5), np.float32(0.0)
    for block in numba.prange((rows + _BLOCK - 1) // _BLOCK):
        first, last = block * _BLOCK, min(rows, (block + 1) * _BLOCK)
        at = 0
        for t in range(len(terms)):
            term, start, factor = terms[t], noise_at[t], noise_width[t]
            width = term.shape[1]
            for i in range(first, last):
                source, target = term[env_ids[i]], out[i, at : at + width]
                if start < 0:
                    for j in range(width):
                        target[j] = source[j]
                else:
                    numbers = uniform[start + i * width : start + (i + 1) * width]
                    for j in range(width):
                        target[j] = (numbers[j] - half) * factor + source[j]
            at += width
        # Zero times a number is zero; times NaN or an infinity it is NaN, and so is the sum.
        check = zero
        for i in range(first, last):
            for j in range(at):
                check += zero * out[i, j]
        bad += check != zero
    return bad


class _Noise:
    """The uniform numbers of a group, in the order in which term after term would draw them."""

    def __init__(self, num_envs: int, widths: list[int], terms: list[TermCfg]):
        noisy = np.array([bool(term.noise) for term in terms])
        columns = np.where(noisy, widths, 0)
        # Per row: where a term's numbers start, and how many there are.
        self._before, self._columns = np.where(noisy, np.cumsum(columns) - columns, -1), int(columns.sum())
        self._buffer = np.empty(num_envs * self._columns, dtype=np.float32)
        self.widths = np.array([2.0 * term.noise for term in terms], dtype=np.float32)

    def starts(self, rows: int) -> np.ndarray:
        """Where each term's numbers start for a batch of rows; negative without noise."""
        return self._before * rows

    def draw(self, generator: np.random.Generator, rows: int) -> np.ndarray:
        """Fresh numbers in [0, 1) for a batch of rows, flat."""
        uniform = self._buffer[: rows * self._columns]
        generator.random(dtype=np.float32, out=uniform)
        return uniform


class ObservationManager:
    """Computes the groups.

    Attributes:
        group_widths: width of each group.
    """

    def __init__(self, config: dict[str, dict[str, Any]], env: Any):
        self._env = env
        self._group_obs_term_names: dict[str, list[str]] = {}
        self._group_obs_term_cfgs: dict[str, list[TermCfg]] = {}
        self._noise: dict[str, _Noise] = {}
        self._everyone = np.arange(env.num_envs)
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
            self._noise[group] = _Noise(env.num_envs, [width for _, width in shapes], list(terms.values()))
            self.group_widths[group] = sum(width for _, width in shapes)
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
        terms = tuple(
            np.ascontiguousarray(term.func(self._env, **term.params)) for term in self._group_obs_term_cfgs[group]
        )
        rows = self._everyone if env_ids is None else env_ids
        if env_ids is None:
            buffers = self._group_buffers[group]
            buffers.reverse()
            result = buffers[0]
        else:
            result = np.empty((len(env_ids), self.group_widths[group]), dtype=np.float32)
        noise = self._noise[group]
        if _assemble(
            rows, terms, noise.starts(len(rows)), noise.widths, noise.draw(self._env.noise, len(rows)), result
        ):
            raise FloatingPointError(self._not_finite(group, terms, rows))
        return result

    def _not_finite(self, group: str, terms: tuple[np.ndarray, ...], env_ids: np.ndarray) -> str:
        """Names the first term of a group that is not finite, and its environments."""
        for name, value in zip(self._group_obs_term_names[group], terms, strict=True):
            bad = env_ids[~np.isfinite(value[env_ids]).all(axis=1)]
            if len(bad):
                return f"observation term {group}/{name} is not finite in environments {bad[:10].tolist()}"
        return f"observation group {group} is not finite"

    def reset(self, env_ids: np.ndarray) -> None:
        """Nothing is kept per episode."""
