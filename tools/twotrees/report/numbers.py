"""How numbers are written, everywhere alike: as many digits as a reader can use, intervals in square brackets."""

from __future__ import annotations

from twotrees.report.facts import Range

NOTHING = "–"


def fixed(value: float, decimals: int) -> str:
    """So many decimals, and no minus before nothing."""
    text = f"{value:.{decimals}f}"
    return text.removeprefix("-") if not text.strip("-0.") else text


def ms(value: float | None, decimals: int | None = None) -> str:
    """Milliseconds to three decimals as published, more below 0.1, or as many as a row of numbers shares."""
    if value is None:
        return NOTHING
    return fixed(value, ms_decimals(value) if decimals is None else decimals)


def ms_decimals(*values: float) -> int:
    """The decimals that give the smallest of *values* three significant digits, at least three and at most five."""
    smallest = min((abs(value) for value in values if value), default=1.0)
    if smallest >= 0.0995:
        return 3
    return 4 if smallest >= 0.00995 else 5


def pct(value: float | None) -> str:
    """Per cent to one decimal as published."""
    return NOTHING if value is None else fixed(value, 1)


def times(value: float | None) -> str:
    """A factor to two decimals as published."""
    return NOTHING if value is None else fixed(value, 2)


def ms_range(value: Range | None, decimals: int = 3) -> str:
    """An interval of milliseconds."""
    return "" if value is None else f"[{fixed(value.low, decimals)}, {fixed(value.high, decimals)}]"


def pct_range(value: Range | None) -> str:
    """An interval of per cent."""
    return "" if value is None else f"[{fixed(value.low, 1)}, {fixed(value.high, 1)}]"


def times_range(value: Range | None) -> str:
    """An interval of factors."""
    return "" if value is None else f"[{fixed(value.low, 2)}, {fixed(value.high, 2)}]"


def delta(value: float | None) -> str:
    """A numerical difference of two outputs."""
    return NOTHING if value is None else ("0" if value == 0.0 else f"{value:.2e}")
