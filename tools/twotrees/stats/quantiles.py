"""Quantile metrics: the median, p95 and p99 of one process's steps, with intervals that assume nothing of their shape.

In: the steps of a run. Out: the quantile and its order-statistic interval. Across runs or rounds a quantile is a run
value like any other, and goes through `intervals`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats as distributions

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Quantile:
    """A quantile of one sample.

    Attributes:
        share: Such as 0.95.
        value: Linear interpolation (Hyndman & Fan 1996, type 7), as the published profiler takes it.
        low: Lower order statistic; None when the sample is too small to bound it from below.
        high: Upper order statistic, likewise.
        n: Sample size.
    """

    share: float
    value: float
    low: float | None
    high: float | None
    n: int


def quantile(steps: Array, share: float, confidence: float = 0.95) -> Quantile:
    """The quantile with its binomial order-statistic interval.

    Source: David & Nagaraja, Order Statistics, 3rd ed. 2003, section 7.1.
    Limits: independent steps: with autocorrelation it is too narrow (see `diagnostics.effective_size`). p99 needs about
    370 steps before its upper bound exists at 95 %.

    Args:
        steps: One process's samples, any order.
        share: Strictly between 0 and 1.
        confidence: Two-sided level.
    """
    ordered = np.sort(np.asarray(steps, float))
    n, tail = ordered.size, (1.0 - confidence) / 2.0
    below = distributions.binom(n, share)
    # X_(k) is a lower bound at this level when P(at most k-1 values lie below the quantile) <= tail, k from 1.
    k = int(below.ppf(tail))
    lower = k if below.cdf(k - 1) <= tail else k - 1
    upper = int(below.isf(tail)) + 1
    while upper <= n and below.sf(upper - 1) > tail:
        upper += 1
    return Quantile(
        share=share,
        value=float(np.quantile(ordered, share)),
        low=float(ordered[lower - 1]) if lower >= 1 else None,
        high=float(ordered[upper - 1]) if upper <= n else None,
        n=n,
    )


def fewest_steps(share: float, confidence: float = 0.95) -> int:
    """The fewest steps with which the upper bound of this quantile exists: share^n must not exceed half the error."""
    return int(np.ceil(np.log((1.0 - confidence) / 2.0) / np.log(share)))
