"""The formulas a relation may name: what each takes, in which units, and the interval that its arguments give.

Every formula is written so that each argument stands once (1 - after/before, not (before - after)/before), because
interval arithmetic is exact only then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from twotrees.audit.interval import Interval, Undefined, middle, total

HUNDRED = Interval.point(100)
ONE = Interval.point(1)

Formula = Callable[[Sequence[Interval]], Interval]


@dataclass(frozen=True, slots=True)
class Kind:
    """One formula.

    Attributes:
        least, most: How many arguments; most 0 is no limit.
        gives: Dimension of the result; "same" is the arguments' own.
        says: How a message words it.
        formula: None for rank statements, which give no number.
    """

    least: int
    most: int
    gives: str
    says: str
    formula: Formula | None


def _relative(numerator: Interval, denominator: Interval) -> Interval:
    try:
        return numerator / denominator
    except Undefined:
        raise Undefined("a per cent or ratio of what may be zero") from None


def _difference(of: Sequence[Interval]) -> Interval:
    return of[0] - of[1]


def _ratio(of: Sequence[Interval]) -> Interval:
    return _relative(of[0], of[1])


def _change_of_before(of: Sequence[Interval]) -> Interval:
    return (_relative(of[1], of[0]) - ONE) * HUNDRED


def _change_of_after(of: Sequence[Interval]) -> Interval:
    return (ONE - _relative(of[0], of[1])) * HUNDRED


def _reduction_of_before(of: Sequence[Interval]) -> Interval:
    return -_change_of_before(of)


def _reduction_of_after(of: Sequence[Interval]) -> Interval:
    return -_change_of_after(of)


def _share(of: Sequence[Interval]) -> Interval:
    return _relative(of[0], of[1]) * HUNDRED


def _mean(of: Sequence[Interval]) -> Interval:
    return total(of).scaled(Fraction(1, len(of)))


def _least(of: Sequence[Interval]) -> Interval:
    ends = [one.ends() for one in of]
    return Interval(min(low for low, _ in ends), min(high for _, high in ends))


def _most(of: Sequence[Interval]) -> Interval:
    ends = [one.ends() for one in of]
    return Interval(max(low for low, _ in ends), max(high for _, high in ends))


def _spread(of: Sequence[Interval]) -> Interval:
    return _most(of) - _least(of)


def _residual(of: Sequence[Interval]) -> Interval:
    return of[0] - total(of[1:])


def _product(of: Sequence[Interval]) -> Interval:
    result = of[0]
    for one in of[1:]:
        result = result * one
    return result


def _same(of: Sequence[Interval]) -> Interval:
    return of[0]


def _rate(of: Sequence[Interval]) -> Interval:
    return _relative(Interval.point(1000), of[0])


# kind (and base, for changes) -> formula. `before` and `after` are the arguments' order, whatever the arms are called.
KINDS: Mapping[str, Kind] = {
    "equal": Kind(1, 1, "same", "the same value printed elsewhere", _same),
    "difference": Kind(2, 2, "same", "{0} − {1}", _difference),
    "ratio": Kind(2, 2, "factor", "{0} ÷ {1}", _ratio),
    "change_pct": Kind(2, 2, "percent", "the change from {0} to {1}", _change_of_before),
    "reduction_pct": Kind(2, 2, "percent", "the reduction from {0} to {1}", _reduction_of_before),
    "share_pct": Kind(2, 2, "percent", "the share of {0} in {1}", _share),
    "sum": Kind(1, 0, "same", "the sum of {all}", total),
    "product": Kind(2, 0, "same", "the product of {all}", _product),
    "mean": Kind(1, 0, "same", "the mean of {all}", _mean),
    "median": Kind(1, 0, "same", "the median of {all}", middle),
    "min": Kind(1, 0, "same", "the least of {all}", _least),
    "max": Kind(1, 0, "same", "the greatest of {all}", _most),
    "spread": Kind(2, 0, "same", "the greatest less the least of {all}", _spread),
    "rate": Kind(1, 1, "rate", "steps per second at {0}", _rate),
    "median_of_sums": Kind(2, 0, "same", "the sum of {all}", total),
    "closure": Kind(2, 0, "same", "{0} less its parts", _residual),
    "within": Kind(1, 0, "same", "the range of {all}", None),
    "rank": Kind(2, 0, "", "the order of {all}", None),
    "common_whole": Kind(4, 0, "", "one whole behind value and share in each of {all}", None),
}
BASES = ("before", "after")


def computed(kind: str, base: str, of: Sequence[Interval], envs: int = 1) -> Interval:
    """The interval that one formula gives.

    Args:
        kind: A key of KINDS that has a formula.
        base: Which argument a change is a per cent of.
        of: Arguments in base units.
        envs: Environments per step, for rates.

    Raises:
        Undefined: a per cent of zero, or an argument that is only a bound.
    """
    if base == "after" and kind == "change_pct":
        return _change_of_after(of)
    if base == "after" and kind == "reduction_pct":
        return _reduction_of_after(of)
    formula = KINDS[kind].formula
    if formula is None:
        raise Undefined(f"{kind} gives no number")
    result = formula(of)
    return result.scaled(Fraction(envs)) if kind == "rate" else result


def median_of_sums_floor(parts: Sequence[Interval], runs: int) -> Interval:
    """What n runs' printed medians say about the median over runs of the per-run sums: a lower bound, no upper one.

    Take the r = n//2 + 1 runs with the smallest sums. Each part is below its median in at most r-1 runs, so in one of
    the r at least it is not: the r sums together are at least the sum of the medians, and the greatest of them at least
    an r-th of that and at least the largest median. For odd n that greatest sum is the median; for even n it is the
    upper of the two whose mean is. One run may be as slow as it likes in every part, so nothing printed bounds the sums
    from above, unless n is 1 or 2, where a median is a mean and adds.

    Args:
        parts: Medians over the runs, none negative.
        runs: n.
    """
    whole = total(parts)
    if runs in (1, 2):
        return whole
    r = runs // 2 + 1
    floor = max(whole.ends()[0] / r, *(one.ends()[0] for one in parts))
    return Interval(floor if runs % 2 else floor / 2, None)
