"""How far printed numbers are from satisfying one reading of a relation.

In: a relation, a reading, and the interval of each claim. Out: an `Outcome`: the interval that the arguments give,
and the signed distance to what is printed (zero where some values in the intervals agree).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from twotrees.audit.claims import Reading, Relation
from twotrees.audit.interval import ZERO, Interval, Undefined, total
from twotrees.audit.relations import HUNDRED, computed

Values = Callable[[str], Interval]
NOUGHT = Interval.point(0)


@dataclass(frozen=True, slots=True)
class Outcome:
    """One reading held against what is printed.

    Attributes:
        reading: Which.
        computed: What the arguments give, in base units; None for rank statements and where it is undefined.
        gap: Positive where the printed value is too high, negative where too low, zero where it can be right.
        undefined: Why there is no value, else empty.
    """

    reading: Reading
    computed: Interval | None
    gap: Fraction
    undefined: str = ""


def measured(relation: Relation, reading: Reading, values: Values) -> Outcome:
    """Holds one reading of *relation* against the intervals that *values* gives for its claims."""
    of = [values(one) for one in reading.of]
    try:
        match reading.kind:
            case "rank":
                return Outcome(reading, None, _rank_gap(relation.order, of))
            case "common_whole":
                return _common_whole(reading, of)
            case "within":
                return _within(reading, of, values(relation.result))
            case _:
                given = computed(reading.kind, reading.base, of, relation.envs)
    except Undefined as fault:
        return Outcome(reading, None, ZERO, str(fault))
    return Outcome(reading, given, given.gap(values(relation.result) if relation.result else NOUGHT))


def _rank_gap(order: str, of: Sequence[Interval]) -> Fraction:
    """By how much some pair certainly stands the other way round."""
    rising = order in ("smallest", "ascending")
    pairs = [(of[0], other) for other in of[1:]] if order in ("largest", "smallest") else list(pairwise(of))
    worst = ZERO
    for one, other in pairs:
        (a, b), (c, d) = one.ends(), other.ends()
        worst = max(worst, a - d if rising else c - b)
    return worst


def _common_whole(reading: Reading, of: Sequence[Interval]) -> Outcome:
    """Value and share by turns: is there one whole that all of them are shares of?"""
    wholes = [value / share * HUNDRED for value, share in zip(of[::2], of[1::2], strict=True)]
    ends = [one.ends() for one in wholes]
    low, high = max(one[0] for one in ends), min(one[1] for one in ends)
    if low <= high:
        return Outcome(reading, Interval(low, high), ZERO)
    return Outcome(reading, Interval(high, low), low - high)


def _within(reading: Reading, of: Sequence[Interval], printed: Interval) -> Outcome:
    """Does every argument reach into the printed range?"""
    gaps = [printed.gap(one) for one in of]
    hull = of[0]
    for one in of[1:]:
        hull = hull.hull(one)
    worst = max(gaps, key=abs)
    return Outcome(reading, hull, -worst)


def best(relation: Relation, values: Values) -> Outcome:
    """The reading that what is printed satisfies, or misses by least; a defined one before an undefined one."""
    outcomes = [measured(relation, reading, values) for reading in relation.readings]
    return min(outcomes, key=lambda one: (bool(one.undefined), abs(one.gap)))


def parts_of(reading: Reading, values: Values) -> Interval:
    """The sum of a reading's arguments."""
    return total([values(one) for one in reading.of])
