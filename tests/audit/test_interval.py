"""Intervals of printed numbers: exact, wide enough for every rounding, and no wider."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.audit.interval import Interval, Undefined, decimal_text, interval_text, middle, total
from twotrees.audit.printed import numeral, printed

ROUNDINGS = (ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN)
EXACT = st.decimals(min_value=-9999, max_value=9999, allow_nan=False, allow_infinity=False, places=9)


def as_printed(value: Decimal, places: int, rounding: str) -> str:
    return str(value.quantize(Decimal(1).scaleb(-places), rounding=rounding, context=Context(prec=40)))


@given(value=EXACT, places=st.integers(0, 6), rounding=st.sampled_from(ROUNDINGS))
def test_the_exact_value_is_always_inside_its_printed_interval(value: Decimal, places: int, rounding: str) -> None:
    read = numeral(as_printed(value, places, rounding))
    assert read is not None
    low, high = read.interval().ends()
    assert low <= Fraction(value) <= high


@given(value=EXACT, places=st.integers(0, 6))
def test_a_value_beyond_the_interval_is_never_printed_so(value: Decimal, places: int) -> None:
    read = numeral(as_printed(value, places, ROUND_HALF_UP))
    assert read is not None
    low, high = read.interval().ends()
    for outside in (low - Fraction(1, 10**9), high + Fraction(1, 10**9)):
        exact = Context(prec=60).divide(Decimal(outside.numerator), Decimal(outside.denominator))
        texts = {Decimal(as_printed(exact, places, rounding)) for rounding in ROUNDINGS}
        assert Decimal(read.text()) not in texts


@given(value=st.fractions(-100, 100), places=st.integers(0, 8))
def test_decimals_for_people_are_rounded_outward(value: Fraction, places: int) -> None:
    low, high = decimal_text(value, places, up=False), decimal_text(value, places, up=True)
    assert Fraction(low) <= value <= Fraction(high)
    assert Fraction(high) - Fraction(low) <= Fraction(1, 10**places)


INTERVALS = st.tuples(st.fractions(-50, 50), st.fractions(-50, 50)).map(lambda ends: Interval(min(ends), max(ends)))
SHARES = st.fractions(0, 1)


def inside(interval: Interval, share: Fraction) -> Fraction:
    low, high = interval.ends()
    return low + (high - low) * share


@given(a=INTERVALS, b=INTERVALS, s=SHARES, t=SHARES)
def test_arithmetic_on_members_stays_inside_arithmetic_on_intervals(
    a: Interval, b: Interval, s: Fraction, t: Fraction
) -> None:
    x, y = inside(a, s), inside(b, t)
    for got, member in ((a + b, x + y), (a - b, x - y), (a * b, x * y), (-a, -x)):
        low, high = got.ends()
        assert low <= member <= high
    low, high = b.ends()
    if low <= 0 <= high:
        with pytest.raises(Undefined):
            a / b
    else:
        low, high = (a / b).ends()
        assert low <= x / y <= high


@given(intervals=st.lists(INTERVALS, min_size=1, max_size=7), shares=st.lists(SHARES, min_size=7, max_size=7))
def test_the_median_and_the_sum_of_members_stay_inside(intervals: list[Interval], shares: list[Fraction]) -> None:
    members = sorted(inside(one, share) for one, share in zip(intervals, shares, strict=False))
    half = len(members) // 2
    median = members[half] if len(members) % 2 else (members[half - 1] + members[half]) / 2
    for got, member in ((middle(intervals), median), (total(intervals), sum(members, Fraction(0)))):
        low, high = got.ends()
        assert low <= member <= high


def test_a_binary_float_trap_is_no_trap_here() -> None:
    assert 0.1 + 0.2 != 0.3
    tenth, fifth, three = (Interval.point(Fraction(text)) for text in ("0.1", "0.2", "0.3"))
    assert (tenth + fifth).overlaps(three)
    assert not math.isclose(float(Fraction("0.1")), 0.2)


@pytest.mark.parametrize(
    "text, low, high",
    [
        ("29.147", "29.1465", "29.148"),
        ("-9.917", "-9.918", "-9.9165"),
        ("0.0", "-0.1", "0.1"),
        ("8–10", "7.5", "11"),
        ("约 4", "3", "5"),
        ("about 4.23", "4.0185", "4.4415"),
        ("~100", "95", "105"),
        ("87.3k", "87250", "87400"),
        ("1.2e-3", "0.00115", "0.0013"),
        ("1,204", "1203.5", "1205"),
    ],
)
def test_what_a_printed_number_stands_for(text: str, low: str, high: str) -> None:
    read = printed(text)
    assert read is not None
    assert read.interval() == Interval(Fraction(low), Fraction(high))


@pytest.mark.parametrize("text", ["more than 8", "≥ 8", "8+", "超过 8", "至少 8"])
def test_a_lower_bound_has_no_upper_end(text: str) -> None:
    read = printed(text)
    assert read is not None
    assert read.interval() == Interval(Fraction("7.5"), None)
    assert interval_text(read.interval(), 1) == "≥ 7.5"


@pytest.mark.parametrize("text", ["", "ms", "1.2.3", "10–8", "1,23", "--5", "1" * 31, "nan", "inf", "٣"])
def test_what_is_no_number_is_not_read(text: str) -> None:
    assert printed(text) is None


def test_an_exact_setting_was_never_rounded() -> None:
    read = printed("8192")
    assert read is not None
    assert read.interval(exact=True) == Interval.point(8192)


@given(value=EXACT, places=st.integers(0, 6), units=st.integers(-50, 50))
def test_moving_by_units_and_back_prints_the_same(value: Decimal, places: int, units: int) -> None:
    read = numeral(as_printed(value, places, ROUND_HALF_UP))
    assert read is not None
    assert read.moved(units).moved(-units).text() == read.text()
    again = numeral(read.moved(units).text())
    assert again is not None
    assert again.value == read.moved(units).value
