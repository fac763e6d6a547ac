"""From a value to a place on an axis: per cent of the plot's width, with ticks at round numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    """A labelled place on an axis; `edge` is start or end where a centred label would leave the plot."""

    place_pct: float
    label: str
    edge: str = ""


@dataclass(frozen=True)
class Axis:
    """A linear axis from *low* to *high*."""

    low: float
    high: float

    def place_pct(self, value: float) -> float:
        """Where *value* lies, 0 to 100, held inside the plot."""
        share = (value - self.low) / (self.high - self.low)
        return round(100.0 * min(max(share, 0.0), 1.0), 2)

    def ticks(self, most: int = 5) -> tuple[Tick, ...]:
        """At most *most* + 1 ticks at multiples of 1, 2 or 5 times a power of ten."""
        step = round_step((self.high - self.low) / most)
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        made = []
        for place in range(first, last + 1):
            at = self.place_pct(place * step)
            edge = "start" if at < 4.0 else "end" if at > 96.0 else ""
            made.append(Tick(at, f"{place * step + 0.0:.{decimals}f}", edge))
        return tuple(made)


def round_step(raw: float) -> float:
    """The smallest of 1, 2, 5, 10 times a power of ten that is not below *raw*."""
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1.0, 2.0, 5.0, 10.0) if factor * power >= raw * (1.0 - 1e-9))


def axis_over(values: Sequence[float], *, margin: float = 0.03) -> Axis:
    """An axis that holds all of *values* with a little room; never of no width."""
    low, high = min(values), max(values)
    width = high - low
    if width <= 0.0 or width < 1e-9 * max(abs(low), abs(high)):
        width = abs(high) * 0.02 or 1.0
    return Axis(low - margin * width, high + margin * width)


def without_far_outliers(values: Sequence[float]) -> float:
    """The upper end of an axis on which the bulk of *values* can be told apart; a few may lie beyond.

    The bulk is the middle 96 %; values farther above it than three times its width do not stretch the axis.
    """
    ordered = sorted(values)
    low, high = ordered[int(0.02 * (len(ordered) - 1))], ordered[math.ceil(0.98 * (len(ordered) - 1))]
    limit = high + 3.0 * (high - low)
    return ordered[-1] if ordered[-1] <= limit or high == low else limit
