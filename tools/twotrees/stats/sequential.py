"""Sequential stopping: `until=±0.5%` runs rounds until every chosen interval is that narrow, or the budget ends.

Looking at an interval again and again and stopping when it pleases costs coverage. Here the rounds after which one may
look are fixed before the first, and every look's interval has a level so much higher that, with the stated confidence,
all of them hold at once. Whatever one then stops for (narrowness, a verdict, impatience), the interval is honest.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from twotrees.stats.intervals import EXACT_SIGNED_RANK_MAX, LogRatio, fewest_pairs, hodges_lehmann, signed_rank_cdf

# Enough that the level's own error is a few thousandths of the error it stands for; a second or two, once per schedule.
SIMULATED_SEQUENCES = 20_000
SEED = 20260826


@dataclass(frozen=True)
class Looks:
    """When one may look, fixed in the plan.

    Attributes:
        rounds: Numbers of good rounds after which there is a look, increasing; the last is the budget.
        confidence: With which all looks' intervals hold at once.
        level: Confidence of each look's interval by itself.
        half_width: Stop when every chosen metric's interval is within this of its center, as a log-ratio.
    """

    rounds: tuple[int, ...]
    confidence: float
    level: float
    half_width: float


@dataclass(frozen=True)
class Decision:
    """What a look came to.

    Attributes:
        stop: Whether to stop.
        reason: Why, or why not.
        intervals: Metric to its interval at the look's level; empty when it was no time to look.
    """

    stop: bool
    reason: str
    intervals: Mapping[str, LogRatio]


def looks(*, budget: int, until: float, confidence: float = 0.95, first: int = 8, growth: float = 1.4) -> Looks:
    """A schedule of looks that grows geometrically: few looks, none of them long after the time to stop.

    Args:
        budget: Rounds after which it ends in any case.
        until: Such as 0.005 for ±0.5 %.
        confidence: Of the reported interval.
        first: Rounds before the first look.
        growth: From one look to the next.

    Raises:
        ValueError: the budget is below the first look, or too large for exact intervals.
    """
    if not first <= budget <= EXACT_SIGNED_RANK_MAX:
        raise ValueError(f"the budget must be from {first} to {EXACT_SIGNED_RANK_MAX} rounds")
    rounds = [first]
    while rounds[-1] < budget:
        rounds.append(min(budget, max(rounds[-1] + 1, math.ceil(rounds[-1] * growth))))
    level = look_level(tuple(rounds), confidence)
    while fewest_pairs(level) > rounds[0]:  # a first look that cannot have an interval is no look
        rounds = rounds[1:]
        if not rounds:
            raise ValueError("so few rounds have no interval of this confidence")
        level = look_level(tuple(rounds), confidence)
    return Looks(tuple(rounds), confidence, level, math.log1p(until))


@cache
def look_level(rounds: tuple[int, ...], confidence: float) -> float:
    """The level of each look's signed-rank interval with which all looks hold at once.

    For symmetric differences the signs are independent of the ranks of magnitude, at every length, so the joint
    distribution of the signed-rank statistics over all looks does not depend on the differences' distribution. It is
    simulated here, from a fixed seed; the level is that of the two-sided p-value whose minimum over the looks is as
    small as itself with probability 1 - confidence, as Pocock 1977 (Biometrika 64) does it for normal data. One
    standard error of the simulation is taken off, towards caution.

    Args:
        rounds: Numbers of rounds at the looks, increasing.
        confidence: For all looks at once.
    """
    draw = np.random.default_rng(SEED)
    values = draw.normal(size=(SIMULATED_SEQUENCES, rounds[-1]))
    smallest = np.ones(SIMULATED_SEQUENCES)
    for n in rounds:
        ranks = np.abs(values[:, :n]).argsort(axis=1).argsort(axis=1) + 1
        positive = np.where(values[:, :n] > 0.0, ranks, 0).sum(axis=1)
        cdf = np.asarray(signed_rank_cdf(n))
        p = 2.0 * np.minimum(cdf[positive], cdf[n * (n + 1) // 2 - positive])
        smallest = np.minimum(smallest, p)
    error = 1.0 - confidence
    cautious = error - math.sqrt(error * confidence / SIMULATED_SEQUENCES)
    # The largest attainable p that, as the limit at every look, rejects no more than the cautious share of sequences.
    candidates, counts = np.unique(smallest, return_counts=True)
    allowed = np.add.accumulate(counts) <= cautious * SIMULATED_SEQUENCES
    limit = float(candidates[allowed][-1]) if allowed.any() else 0.0
    return 1.0 - limit * (1.0 + 1e-9)  # so that rounding cannot push an attained p beyond its own limit


def decide(plan: Looks, log_ratios: Mapping[str, Sequence[float]]) -> Decision:
    """Whether to stop after the rounds so far.

    Args:
        plan: The looks, from the plan that was written before the first round.
        log_ratios: Chosen metric to its log-ratios, one per good round.
    """
    n = min((len(values) for values in log_ratios.values()), default=0)
    if n not in plan.rounds:
        later = [look for look in plan.rounds if look > n]
        return Decision(not later, f"next look after {later[0]} rounds" if later else "beyond the budget", {})
    found = {metric: hodges_lehmann(values[:n], plan.level, "rounds") for metric, values in log_ratios.items()}
    widths = {metric: half_width(one) for metric, one in found.items()}
    widest = max(widths, key=lambda metric: widths[metric])
    if widths[widest] <= plan.half_width:
        return Decision(True, f"every interval is within ±{100.0 * math.expm1(plan.half_width):.2g} %", found)
    told = f"{widest} is within ±{100.0 * math.expm1(widths[widest]):.2g} % after {n} rounds"
    return Decision(n == plan.rounds[-1], told + (", and the budget ends" if n == plan.rounds[-1] else ""), found)


def half_width(interval: LogRatio) -> float:
    """Half the length of an interval, as a log-ratio; infinite where there is none."""
    if interval.low is None or interval.high is None:
        return math.inf
    return (interval.high - interval.low) / 2.0
