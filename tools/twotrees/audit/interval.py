"""Closed intervals with exact rational ends: what a printed number can have been before it was rounded.

In: fractions. Out: fractions. Nothing here is a binary float, so no end is ever rounded the wrong way; decimals are
made only for people, and then outward.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

ZERO = Fraction(0)


class Undefined(ArithmeticError):
    """The operation has no value on these intervals, such as a per cent of zero."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from `low` to `high`, both included; None is no bound on that side ("more than 8×")."""

    low: Fraction | None
    high: Fraction | None

    @classmethod
    def point(cls, value: Fraction | int) -> Interval:
        """The interval that holds one value."""
        exact = Fraction(value)
        return cls(exact, exact)

    @property
    def bounded(self) -> bool:
        """Whether both ends are there."""
        return self.low is not None and self.high is not None

    def ends(self) -> tuple[Fraction, Fraction]:
        """Both ends.

        Raises:
            Undefined: an end is missing.
        """
        if self.low is None or self.high is None:
            raise Undefined("a bound, not a value")
        return self.low, self.high

    def overlaps(self, other: Interval) -> bool:
        """Whether some value lies in both."""
        return self.gap(other) == 0

    def gap(self, other: Interval) -> Fraction:
        """How far *other* lies above this interval; negative where it lies below, zero where they overlap."""
        if self.high is not None and other.low is not None and other.low > self.high:
            return other.low - self.high
        if self.low is not None and other.high is not None and other.high < self.low:
            return other.high - self.low
        return ZERO

    def hull(self, other: Interval) -> Interval:
        """The smallest interval that holds both."""
        low = None if self.low is None or other.low is None else min(self.low, other.low)
        high = None if self.high is None or other.high is None else max(self.high, other.high)
        return Interval(low, high)

    def meet(self, other: Interval) -> Interval | None:
        """What lies in both, or None."""
        if not self.overlaps(other):
            return None
        lows = [end for end in (self.low, other.low) if end is not None]
        highs = [end for end in (self.high, other.high) if end is not None]
        return Interval(max(lows, default=None), min(highs, default=None))

    def scaled(self, factor: Fraction) -> Interval:
        """Every value times a positive *factor*."""
        return Interval(
            None if self.low is None else self.low * factor, None if self.high is None else self.high * factor
        )

    def __neg__(self) -> Interval:
        return Interval(None if self.high is None else -self.high, None if self.low is None else -self.low)

    def __add__(self, other: Interval) -> Interval:
        (a, b), (c, d) = self.ends(), other.ends()
        return Interval(a + c, b + d)

    def __sub__(self, other: Interval) -> Interval:
        (a, b), (c, d) = self.ends(), other.ends()
        return Interval(a - d, b - c)

    def __mul__(self, other: Interval) -> Interval:
        (a, b), (c, d) = self.ends(), other.ends()
        products = (a * c, a * d, b * c, b * d)
        return Interval(min(products), max(products))

    def __truediv__(self, other: Interval) -> Interval:
        (a, b), (c, d) = self.ends(), other.ends()
        if c <= 0 <= d:
            raise Undefined("division by what may be zero")
        quotients = (a / c, a / d, b / c, b / d)
        return Interval(min(quotients), max(quotients))


def total(intervals: Sequence[Interval]) -> Interval:
    """The sum of independent values."""
    low = high = ZERO
    for one in intervals:
        least, most = one.ends()
        low, high = low + least, high + most
    return Interval(low, high)


def middle(intervals: Sequence[Interval]) -> Interval:
    """The median: it rises with every argument, so the medians of the ends are its exact ends."""
    ends = [one.ends() for one in intervals]
    return Interval(_median([low for low, _ in ends]), _median([high for _, high in ends]))


def _median(values: Sequence[Fraction]) -> Fraction:
    ordered = sorted(values)
    half, odd = divmod(len(ordered), 2)
    return ordered[half] if odd else (ordered[half - 1] + ordered[half]) / 2


def decimal_text(value: Fraction, places: int, *, up: bool) -> str:
    """*value* with *places* decimals, rounded up or down so that an interval printed from its ends still holds it."""
    scaled = value * 10**places
    whole = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    digits = f"{abs(whole):0{places + 1}d}"
    number = f"{digits[:-places]}.{digits[-places:]}" if places else digits
    return f"-{number}" if whole < 0 else number


def interval_text(interval: Interval, places: int) -> str:
    """An interval for people: `[9.916, 9.919]`, `≥ 8`, `≤ 3`; its ends are rounded outward."""
    low = None if interval.low is None else decimal_text(interval.low, places, up=False)
    high = None if interval.high is None else decimal_text(interval.high, places, up=True)
    if low is None or high is None:
        return f"≥ {low}" if low is not None else f"≤ {high}" if high is not None else "any value"
    return f"[{low}, {high}]" if low != high else low
