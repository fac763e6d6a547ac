"""Levels of variation: runs within an arm, blocks within a run, steps within a block.

In: nested samples. Out: how much each level varies, intervals that respect the levels, and how many repetitions of
each level buy the most certainty for the time. After Kalibera & Jones, "Rigorous benchmarking in reasonable time" (ISMM
2013) and "Quantifying performance changes with effect size confidence intervals" (2012, arXiv:2007.10899).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats as distributions

from twotrees.stats.intervals import LogRatio

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Levels:
    """Variances of a balanced nested design, lowest level (steps) first.

    Attributes:
        observed: S_i²: variance of the means of level i around the mean above them, averaged.
        own: T_i²: what level i itself adds, corrected for what the levels below leave in their means; an estimate may
            be negative, which says that the level adds nothing that can be seen.
        repetitions: How many of each level there are.
    """

    observed: tuple[float, ...]
    own: tuple[float, ...]
    repetitions: tuple[int, ...]


def variance_levels(samples: Array) -> Levels:
    """Splits the variance of a nested design by level.

    Source: Kalibera & Jones 2013: T_1² = S_1², T_i² = S_i² - S_(i-1)²/r_(i-1), the unbiased estimators.

    Args:
        samples: Shape ``(r_n, …, r_1)``: runs first, steps last; at least two along every axis.

    Raises:
        ValueError: an axis has fewer than two.
    """
    if samples.ndim < 1 or min(samples.shape) < 2:
        raise ValueError("every level needs at least two repetitions to show its variance")
    observed, means = [], samples.astype(float)
    for _ in range(samples.ndim):
        observed.append(float(np.mean(np.var(means, axis=-1, ddof=1))))
        means = means.mean(axis=-1)
    sizes = samples.shape[::-1]
    own = [observed[0]] + [observed[i] - observed[i - 1] / sizes[i - 1] for i in range(1, len(observed))]
    return Levels(tuple(observed), tuple(own), tuple(int(size) for size in sizes))


def best_repetitions(levels: Levels, costs: Sequence[float]) -> tuple[int, ...]:
    """Repetitions of every level but the top one that give the narrowest interval for the time.

    Source: Kalibera & Jones 2013: r_i = ceil(sqrt(c_(i+1)/c_i · T_i²/T_(i+1)²)).
    Limits: where a level above adds nothing visible (T² <= 0) it need not be repeated for its own sake, and the level
    below it gets all the repetitions that were made in the pilot.

    Args:
        levels: From a pilot.
        costs: Seconds that one more repetition of each level costs beyond those below it, lowest level first.
    """
    best = []
    for i in range(len(levels.own) - 1):
        below, above = levels.own[i], levels.own[i + 1]
        if above <= 0.0:
            best.append(levels.repetitions[i])
        elif below <= 0.0:
            best.append(1)
        else:
            best.append(max(1, math.ceil(math.sqrt(costs[i + 1] / costs[i] * below / above))))
    return tuple(best)


def mean_bounds(samples: Array, confidence: float) -> tuple[float, float, float]:
    """(mean, low, high) of a nested design: t on the means of the top level, whose spread holds all levels' variation.

    Source: Kalibera & Jones 2013 (S_n²/n of the highest level, n - 1 degrees of freedom).
    Limits: needs at least two runs; the many steps below do not add degrees of freedom, and pretending that they do is
    the usual way to an interval that is far too narrow.
    """
    tops = samples.reshape(samples.shape[0], -1).mean(axis=1)
    center = float(tops.mean())
    reach = float(distributions.t.isf((1.0 - confidence) / 2.0, tops.size - 1)) * float(tops.std(ddof=1))
    reach /= math.sqrt(tops.size)
    return center, center - reach, center + reach


def ratio_of_means(before: Array, after: Array, confidence: float) -> LogRatio:
    """The effect size after/before of two nested designs, by Fieller's theorem on the means of runs.

    Source: Kalibera & Jones 2012; Fieller 1954 (J. R. Stat. Soc. B 16).
    Limits: there is no bounded interval when the baseline's mean is not clearly above zero; low and high are then None.
    The degrees of freedom are those of the smaller arm, minus one: the conservative choice, as in the paper.

    Args:
        before: Shape ``(runs, …)`` of the baseline.
        after: Shape ``(runs, …)`` of the other arm.
        confidence: For example 0.95.
    """
    x, y = (array.reshape(array.shape[0], -1).mean(axis=1) for array in (before, after))
    mx, my = float(x.mean()), float(y.mean())
    method, center = "Fieller on means of runs", math.log(my / mx)
    fewest = min(x.size, y.size)
    if fewest < 2:
        return LogRatio(center, None, None, None, x.size, y.size, method)
    vx, vy = float(x.var(ddof=1)) / x.size, float(y.var(ddof=1)) / y.size
    t = float(distributions.t.isf((1.0 - confidence) / 2.0, fewest - 1))
    a, b, c = mx**2 - t**2 * vx, mx * my, my**2 - t**2 * vy
    inside = b**2 - a * c
    if a <= 0.0 or inside < 0.0:
        return LogRatio(center, None, None, None, x.size, y.size, method)
    low, high = (b - math.sqrt(inside)) / a, (b + math.sqrt(inside)) / a
    score = abs(my - mx) / math.sqrt(vx + vy) if vx + vy else math.inf
    p = 2.0 * float(distributions.t.sf(score, fewest - 1))
    lower, upper = (math.log(low), math.log(high)) if low > 0.0 else (None, None)
    return LogRatio(center, lower, upper, p, x.size, y.size, method)
