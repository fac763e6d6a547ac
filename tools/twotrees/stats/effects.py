"""Effects: a log-ratio becomes a verdict, against a stated smallest effect and what the order alone may have made.

In: log-ratios with intervals. Out: verdicts with their reasons, and p-values adjusted for judging many at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Verdict = Literal["faster", "slower", "equivalent", "not resolved", "not comparable"]

DEFAULT_DELTA = 0.01
DEFAULT_ORDER_ALLOWANCE = 0.05


class Judgement(NamedTuple):
    """A verdict and why it is no other."""

    verdict: Verdict
    reason: str


def judge(
    bounds: tuple[float, float] | None, *, delta: float = DEFAULT_DELTA, allowance: float = 0.0, valid: bool = True
) -> Judgement:
    """The verdict on the interval of after/before.

    `faster` and `slower`: the interval, widened by the allowance, lies beyond 1. `equivalent`: it lies within ±delta of
    1; at 95 % this is the two one-sided test at 2.5 % (Schuirmann 1987, J. Pharmacokinet. Biopharm. 15). Else
    `not resolved`, which says that the data cannot tell, not that there is no effect.

    Args:
        bounds: Ratio bounds, None when there were too few values.
        delta: The smallest effect worth naming, as a fraction.
        allowance: What the order of runs may have made, as a log-ratio; see `order_allowance`.
        valid: Whether every validity check holds.
    """
    if not valid:
        return Judgement("not comparable", "validity fails; see its list")
    if bounds is None:
        return Judgement("not resolved", "too few runs for an interval")
    low, high = bounds[0] * math.exp(-allowance), bounds[1] * math.exp(allowance)
    inside = low > 1.0 - delta and high < 1.0 + delta
    if high < 1.0 or low > 1.0:
        small = " (but inside ±delta)" if inside else ""
        return Judgement("faster" if high < 1.0 else "slower", f"the interval is beyond no change{small}")
    if inside:
        return Judgement("equivalent", "the interval is inside ±delta")
    if bounds[1] < 1.0 or bounds[0] > 1.0:
        return Judgement(
            "not resolved", f"the order was not balanced, and may alone have made {100.0 * allowance:.1f} %"
        )
    return Judgement("not resolved", "the interval contains no change")


def is_balanced(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]]) -> bool:
    """Whether each arm went first about equally often, over the repeats that both have.

    Args:
        before: ``(repeat, place in the campaign)`` of each baseline run.
        after: Likewise of the other arm.
    """
    places = dict(before)
    leads = [1 if places[repeat] < place else -1 for repeat, place in after if repeat in places]
    return bool(leads) and abs(sum(leads)) <= 1


def order_allowance(
    before: tuple[Array, Array], after: tuple[Array, Array], floor: float = DEFAULT_ORDER_ALLOWANCE
) -> float:
    """What a fixed order may have made of nothing, as a log-ratio.

    With all of one arm before all of the other, an arm cannot be told from its place. The allowance is a stated floor
    (a first arm was seen 3 % off on identical code) plus the drift seen within the arms (least squares, one slope for
    both, Fisher's analysis of covariance 1932) carried over the distance between their mean places.

    Args:
        before: Places in the campaign, and positive run values, of the baseline.
        after: Likewise of the other arm.
        floor: What place alone may make.
    """
    top = bottom = 0.0
    for places, values in (before, after):
        x, y = places - math.fsum(places) / places.size, np.log(values)
        y = y - math.fsum(y) / y.size
        top += math.fsum(x * y)
        bottom += math.fsum(x * x)
    distance = abs(math.fsum(after[0]) / after[0].size - math.fsum(before[0]) / before[0].size)
    return floor + (abs(top / bottom) * distance if bottom else 0.0)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P-values adjusted for judging all of them at once: step-down Bonferroni (Holm 1979, Scand. J. Stat. 6).

    Holds for any dependence between the metrics. None (no interval) stays None and does not count.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, place) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * p))
        adjusted[place] = running
    return adjusted
