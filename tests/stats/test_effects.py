"""Verdicts follow from intervals; many at once are adjusted."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.stats.effects import holm, is_balanced, judge, order_allowance


@pytest.mark.parametrize(
    ("bounds", "verdict"),
    [
        ((0.60, 0.70), "faster"),
        ((1.02, 1.30), "slower"),
        ((0.995, 1.005), "equivalent"),
        ((0.98, 1.005), "not resolved"),
        ((0.90, 1.20), "not resolved"),
        ((0.995, 0.999), "faster"),
        (None, "not resolved"),
    ],
)
def test_a_verdict_is_where_the_interval_lies(bounds: tuple[float, float] | None, verdict: str) -> None:
    assert judge(bounds, delta=0.01).verdict == verdict


def test_nothing_is_faster_when_validity_fails() -> None:
    assert judge((0.1, 0.2), valid=False).verdict == "not comparable"


def test_an_effect_too_small_to_matter_says_so() -> None:
    assert "inside ±delta" in judge((0.995, 0.999), delta=0.01).reason


def test_what_the_order_may_have_made_is_no_effect() -> None:
    assert judge((0.96, 0.98), allowance=0.05).verdict == "not resolved"
    assert judge((0.60, 0.70), allowance=0.05).verdict == "faster"
    assert judge((0.995, 1.005), allowance=0.05).verdict == "not resolved"


@given(low=st.floats(0.3, 2.0), width=st.floats(0.0, 0.5), delta=st.floats(0.001, 0.1), allowance=st.floats(0.0, 0.2))
def test_swapping_the_arms_swaps_faster_and_slower(low: float, width: float, delta: float, allowance: float) -> None:
    high = low + width
    swapped = {"faster": "slower", "slower": "faster"}
    one = judge((low, high), delta=delta, allowance=allowance).verdict
    other = judge((1.0 / high, 1.0 / low), delta=delta, allowance=allowance).verdict
    if "equivalent" not in (one, other):  # ±delta is a little wider above 1 than below, seen in logs
        assert swapped.get(one, one) == other


@pytest.mark.parametrize(
    ("before", "after", "balanced"),
    [
        ([(1, 1), (2, 4)], [(1, 2), (2, 3)], True),
        ([(1, 1), (2, 2), (3, 3)], [(1, 4), (2, 5), (3, 6)], False),
        ([(1, 1), (2, 3), (3, 5)], [(1, 2), (2, 4), (3, 6)], False),
        ([(1, 1), (2, 4), (3, 5)], [(1, 2), (2, 3), (3, 6)], True),
        ([], [], False),
    ],
)
def test_an_order_is_balanced_when_each_arm_went_first_about_equally_often(
    before: list[tuple[int, int]], after: list[tuple[int, int]], balanced: bool
) -> None:
    assert is_balanced(before, after) is balanced


def test_the_allowance_is_its_floor_plus_the_drift_between_the_arms() -> None:
    places = np.arange(6.0)
    values = np.exp(0.01 * places)
    before, after = (places[:3], values[:3]), (places[3:], values[3:])
    assert order_allowance(before, after, 0.05) == pytest.approx(0.05 + 0.03)
    assert order_allowance((places[:3], values[:1].repeat(3)), (places[3:], values[:1].repeat(3)), 0.05) == 0.05


def test_holm_is_bonferroni_for_the_smallest_and_never_decreases() -> None:
    assert holm([0.01, None, 0.04, 0.03]) == pytest.approx([0.03, None, 0.06, 0.06])


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_an_adjusted_p_value_is_never_smaller_and_keeps_its_rank(p_values: list[float]) -> None:
    adjusted = holm(list(p_values))
    for p, one in zip(p_values, adjusted, strict=True):
        assert one is not None and p <= one <= 1.0
    order = np.argsort(p_values, kind="stable")
    ranked = [adjusted[place] for place in order]
    assert all(a is not None and b is not None and a <= b + 1e-15 for a, b in itertools.pairwise(ranked))


def test_judging_a_hundred_equal_metrics_at_once_rarely_finds_one() -> None:
    draw = np.random.default_rng(5)
    wrong = sum(min(p for p in holm(list(draw.random(100))) if p is not None) < 0.05 for _ in range(1000))
    assert wrong / 1000 == pytest.approx(0.05, abs=0.02)
    assert math.isclose(min(x for x in holm([0.5]) if x is not None), 0.5)
