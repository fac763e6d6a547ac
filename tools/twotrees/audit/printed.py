"""A number as printed: its digits, sign, "about", range or bound; and the interval of values it can stand for.

In: a piece of text that is one number ("-9.917", "约 4.23", "8–10", "more than 3", "87.3k"). Out: exact intervals.
Half-up, half-even and truncation are all admitted, because a post never says which of them its tables went through.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

from twotrees.audit.interval import Interval

MAX_DIGITS = 30
# "about 4.23" is read as within 5 % or one unit of its last digit, whichever is more: wide enough for honest prose,
# narrow enough that "about 10 ms" for 12 ms is caught.
ABOUT_SHARE = Fraction(5, 100)

_MULTIPLIERS = {"": 1, "k": 10**3, "K": 10**3, "M": 10**6, "G": 10**9, "万": 10**4, "亿": 10**8}
_GROUPING = ",'_\u2009\u202f\u2007"

DIGITS = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]{1,3}(?:'[0-9]{3})+(?![0-9])|[0-9]{1,3}(?:_[0-9]{3})+(?![0-9])"
    r"|[0-9]{1,3}(?:[\u2009\u202f\u2007][0-9]{3})+(?![0-9])|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
)
EXPONENT = r"(?:[eE][+-]?[0-9]{1,2}(?![0-9A-Za-z_.]))?"
MULTIPLIER = r"(?:(?:[kKMG](?![A-Za-z0-9_])|[万亿]))?"
ABOUT_WORDS = (
    r"~|≈|≃|∼|约为?|大约|大概|近似?|左右|接近|"
    r"about|approximately|approx\.?|around|roughly|some|circa|ca\.|c\.|nearly|almost"
)
AT_LEAST_WORDS = (
    r">=|≥|>|超过|至少|不低于|不少于|高于|大于|more than|over|at least|no less than|above|greater than|upwards of"
)
AT_MOST_WORDS = (
    r"<=|≤|<|不到|不超过|至多|最多|低于|小于|少于|up to|at most|less than|no more than|under|below|fewer than"
)
RANGE_SIGN = r"[ ]?[–—][ ]?|-|~"

_NUMERAL = re.compile(
    rf"(?P<sign>[+-])?(?P<digits>{DIGITS})(?P<exponent>{EXPONENT})(?P<multiplier>{MULTIPLIER})", re.ASCII
)
_WHOLE = re.compile(
    rf"\s*(?:(?P<about>{ABOUT_WORDS})\s*|(?P<least>{AT_LEAST_WORDS})\s*|(?P<most>{AT_MOST_WORDS})\s*)?"
    rf"(?P<first>[+-]?(?:{DIGITS}){EXPONENT}{MULTIPLIER})(?:(?:{RANGE_SIGN})(?P<last>(?:{DIGITS}){EXPONENT}{MULTIPLIER}))?"
    rf"\s*(?P<plus>\+)?(?P<after>左右|上下|多)?\s*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Numeral:
    """One printed number.

    `value` is what the digits say, `ulp` the worth of one unit of the last digit, `signed` whether a sign is printed,
    `suffix` what stands behind the digits ("k", "e-3").
    """

    value: Fraction
    ulp: Fraction
    signed: bool
    decimals: int
    suffix: str
    scale: Fraction

    def interval(self) -> Interval:
        """The values that some admissible rounding prints as this."""
        half, whole = self.ulp / 2, self.ulp
        if self.value > 0:
            return Interval(self.value - half, self.value + whole)
        if self.value < 0:
            return Interval(self.value - whole, self.value + half)
        return Interval(-whole, whole)

    def moved(self, units: int) -> Numeral:
        """The number with *units* added at its last digit."""
        return Numeral(self.value + units * self.ulp, self.ulp, self.signed, self.decimals, self.suffix, self.scale)

    def text(self) -> str:
        """The number with the same digits after the point, the same suffix, and a sign where one was printed."""
        whole = self.value / self.ulp
        digits = f"{abs(whole.numerator):0{self.decimals + 1}d}"
        number = f"{digits[: -self.decimals]}.{digits[-self.decimals :]}" if self.decimals else digits
        sign = "-" if whole < 0 else "+" if self.signed and whole > 0 else ""
        return f"{sign}{number}{self.suffix}"


def numeral(text: str) -> Numeral | None:
    """Reads one number without anything around it; None where it is none, or longer than any measurement."""
    match = _NUMERAL.fullmatch(text)
    if match is None or len(text) > MAX_DIGITS:
        return None
    digits = match["digits"].translate({ord(mark): None for mark in _GROUPING})
    whole, _, decimals = digits.partition(".")
    exponent = int(match["exponent"][1:]) if match["exponent"] else 0
    scale = Fraction(10) ** exponent * _MULTIPLIERS[match["multiplier"]]
    sign = -1 if match["sign"] == "-" else 1
    ulp = scale / 10 ** len(decimals)
    return Numeral(
        value=sign * int(whole + decimals) * ulp,
        ulp=ulp,
        signed=bool(match["sign"]),
        decimals=len(decimals),
        suffix=match["exponent"] + match["multiplier"],
        scale=scale,
    )


@dataclass(frozen=True, slots=True)
class Printed:
    """What a claim prints: one number or a range, "about" or not, exactly, or as a bound ("at least", "at most")."""

    first: Numeral
    last: Numeral | None = None
    about: bool = False
    bound: str = ""

    @property
    def decimals(self) -> int:
        """Digits after the point."""
        return max(self.first.decimals, self.last.decimals if self.last else 0)

    def interval(self, *, exact: bool = False) -> Interval:
        """The values that this can stand for; *exact* is for counts and settings, which were never rounded."""
        parts = [one for one in (self.first, self.last) if one is not None]
        reach = parts[0].interval() if not exact else Interval.point(parts[0].value)
        for one in parts:
            here = Interval.point(one.value) if exact else one.interval()
            if self.about:
                slack = max(one.ulp, abs(one.value) * ABOUT_SHARE)
                here = here.hull(Interval(one.value - slack, one.value + slack))
            reach = reach.hull(here)
        if self.bound == "at least":
            return Interval(reach.low, None)
        if self.bound == "at most":
            return Interval(None, reach.high)
        return reach

    def moved(self, units: int) -> Printed:
        """The same with *units* added at the last digit of each of its numbers."""
        last = None if self.last is None else self.last.moved(units)
        return Printed(self.first.moved(units), last, self.about, self.bound)

    def text(self) -> str:
        """The number or range as it would be printed, without its words."""
        return self.first.text() if self.last is None else f"{self.first.text()}–{self.last.text()}"


def printed(text: str) -> Printed | None:
    """Reads a claim's text; None where it is not one number or range with at most one word about its precision."""
    match = _WHOLE.fullmatch(text.replace("\u2212", "-"))
    if match is None:
        return None
    first = numeral(match["first"])
    last = numeral(match["last"]) if match["last"] else None
    if first is None or (match["last"] and last is None):
        return None
    if last is not None and last.value <= first.value:
        return None
    bound = "at least" if match["least"] or match["plus"] else "at most" if match["most"] else ""
    if match["after"] == "多":
        bound = "at least"
    return Printed(first, last, bool(match["about"]) or match["after"] in ("左右", "上下"), bound)
