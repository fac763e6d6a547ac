"""Lockstep rounds: from blocks that took turns to one log-ratio for each round and metric.

In: each worker's blocks in their order. Out: log-ratios, one for each round, ready for `intervals.hodges_lehmann`.
Within a round cycles are averaged; inference is over rounds alone, because memory layout and compiled code are drawn
anew with each process and no number of steps averages them out.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def block_medians(blocks: Sequence[Array], discard: int = 1) -> Array:
    """The median step of each block without its first *discard* steps; NaN where nothing is left."""
    kept = (np.asarray(block, float)[discard:] for block in blocks)
    return np.array([np.median(block) if block.size else np.nan for block in kept])


def cycle_log_ratios(before: Sequence[Array], after: Sequence[Array], discard: int = 1) -> Array:
    """One log-ratio for each complete cycle: mean log block median of *after* less that of *before*.

    A worker has two blocks in every cycle (ABBA, BAAB, ABCCBA …), so its blocks, two by two, are its cycles. Whatever
    drifts linearly over a cycle cancels.

    Args:
        before: The baseline worker's blocks in order, each an array of step times.
        after: The other worker's.
        discard: Steps at the start of each block that are not used.
    """
    means = []
    for blocks in (before, after):
        middle = block_medians(blocks[: len(blocks) // 2 * 2], discard)
        middle[~(middle > 0.0)] = np.nan
        means.append(np.log(middle).reshape(-1, 2).mean(axis=1))
    shared = min(len(means[0]), len(means[1]))
    ratios: Array = means[1][:shared] - means[0][:shared]
    return ratios[np.isfinite(ratios)]


def round_log_ratio(before: Sequence[Array], after: Sequence[Array], discard: int = 1) -> float | None:
    """A round's log-ratio: the median over its cycles, so that a burst of noise spoils cycles, not the round."""
    ratios = cycle_log_ratios(before, after, discard)
    return float(np.median(ratios)) if ratios.size else None


def round_quantile_log_ratio(
    before: Sequence[Array], after: Sequence[Array], share: float, discard: int = 1
) -> float | None:
    """A round's log-ratio of a quantile, such as p95, of all kept steps: single blocks are too short to have one."""
    pooled = [np.concatenate([np.asarray(block, float)[discard:] for block in blocks]) for blocks in (before, after)]
    if min(steps.size for steps in pooled) == 0:
        return None
    low, high = (float(np.quantile(steps, share)) for steps in pooled)
    return float(np.log(high) - np.log(low)) if min(low, high) > 0.0 else None
