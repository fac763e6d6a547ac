"""Intervals against SciPy, against each other in two implementations, and against known truths."""

from __future__ import annotations

import itertools
import math
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from twotrees.stats import intervals
from twotrees.stats.intervals import fewest_pairs, hodges_lehmann, paired_t, signed_rank_cdf, welch_log_t

times = st.lists(st.floats(0.5, 50.0), min_size=2, max_size=12)
logs = st.lists(st.floats(-0.5, 0.5).map(lambda x: round(x, 6)), min_size=6, max_size=25)


@given(df=st.floats(1.0, 400.0), confidence=st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.9987]))
def test_the_scripts_own_t_quantile_is_scipys(tool: ModuleType, df: float, confidence: float) -> None:
    theirs = float(scipy_stats.t.isf((1.0 - confidence) / 2.0, df))
    assert tool.student_quantile(confidence, df) == pytest.approx(theirs, rel=1e-12)


@given(t=st.floats(1e-6, 60.0), df=st.floats(1.0, 400.0))
def test_the_scripts_own_t_tail_is_scipys(tool: ModuleType, t: float, df: float) -> None:
    assert tool.student_tail(t, df) == pytest.approx(2.0 * float(scipy_stats.t.sf(t, df)), rel=1e-9, abs=1e-300)


@given(before=times, after=times)
def test_welch_is_scipys_welch(before: list[float], after: list[float]) -> None:
    found = welch_log_t(before, after, 0.95)
    if np.ptp(before) < 1e-6 or np.ptp(after) < 1e-6:
        return
    test = scipy_stats.ttest_ind(np.log(after), np.log(before), equal_var=False)
    bounds = test.confidence_interval(0.95)
    assert found.p == pytest.approx(test.pvalue, rel=1e-9, abs=1e-12)
    assert (found.low, found.high) == pytest.approx((bounds.low, bounds.high), rel=1e-9, abs=1e-12)


@given(before=times, after=times, confidence=st.sampled_from([0.9, 0.95, 0.99]))
def test_script_and_package_give_the_same_welch_interval(
    tool: ModuleType, before: list[float], after: list[float], confidence: float
) -> None:
    ours, theirs = welch_log_t(before, after, confidence), tool.welch(before, after, confidence)
    assert (ours.center, ours.low, ours.high) == pytest.approx((theirs.center, theirs.low, theirs.high), abs=1e-12)


@given(differences=logs, confidence=st.sampled_from([0.9, 0.95, 0.985]))
def test_script_and_package_give_the_same_signed_rank_interval(
    tool: ModuleType, differences: list[float], confidence: float
) -> None:
    ours, theirs = hodges_lehmann(differences, confidence, "x"), tool.paired(differences, confidence, "x")
    assert ours.method == theirs.method
    assert (ours.center, ours.low, ours.high, ours.p) == pytest.approx(
        (theirs.center, theirs.low, theirs.high, theirs.p), abs=1e-12
    )


@pytest.mark.parametrize("n", range(1, 11))
def test_the_signed_rank_distribution_is_that_of_all_sign_patterns(tool: ModuleType, n: int) -> None:
    ranks = np.arange(1, n + 1)
    sums = [int(np.dot(signs, ranks)) for signs in itertools.product((0, 1), repeat=n)]
    expected = np.cumsum(np.bincount(sums, minlength=n * (n + 1) // 2 + 1)) / 2**n
    assert signed_rank_cdf(n) == pytest.approx(expected)
    assert tool.signed_rank_cdf(n) == pytest.approx(expected)


@given(differences=logs)
@settings(max_examples=50)
def test_the_signed_rank_p_value_is_scipys_without_ties(differences: list[float]) -> None:
    values = np.asarray(differences)
    if len(np.unique(np.abs(values))) < values.size or np.any(values == 0.0):
        return
    expected = scipy_stats.wilcoxon(values, method="exact").pvalue
    assert hodges_lehmann(values, 0.95).p == pytest.approx(expected)


@given(differences=logs, shift=st.floats(-0.3, 0.3))
def test_shifting_every_pair_shifts_the_interval(differences: list[float], shift: float) -> None:
    one, other = hodges_lehmann(differences, 0.95), hodges_lehmann([d + shift for d in differences], 0.95)
    assert one.low is not None and one.high is not None
    assert (other.center, other.low, other.high) == pytest.approx(
        (one.center + shift, one.low + shift, one.high + shift), abs=1e-9
    )


@given(differences=logs)
def test_swapping_the_arms_mirrors_the_interval(differences: list[float]) -> None:
    one, other = hodges_lehmann(differences, 0.95), hodges_lehmann([-d for d in differences], 0.95)
    assert one.low is not None and one.high is not None
    assert (other.low, other.high, other.p) == pytest.approx((-one.high, -one.low, one.p), abs=1e-12)


def test_one_wild_round_does_not_move_the_estimate_as_it_moves_the_mean() -> None:
    calm = [0.010, 0.012, 0.009, 0.011, 0.010, 0.013, 0.008, 0.011, 0.010, 0.009]
    wild = [*calm[:-1], 0.36]
    assert hodges_lehmann(wild, 0.95).center == pytest.approx(0.0105, abs=0.001)
    assert paired_t(wild, 0.95).center > 0.04


@pytest.mark.parametrize(("confidence", "fewest"), [(0.95, 6), (0.99, 8), (0.9875, 8), (0.9, 5), (0.5, 2)])
def test_fewer_pairs_than_an_exact_interval_needs_fall_back_to_t(confidence: float, fewest: int) -> None:
    assert fewest_pairs(confidence) == fewest
    draw = np.random.default_rng(0)
    assert "signed-rank" in hodges_lehmann(draw.normal(size=fewest), confidence).method
    if fewest > 2:
        assert "t on logs" in hodges_lehmann(draw.normal(size=fewest - 1), confidence).method


def test_very_many_pairs_use_t() -> None:
    draw = np.random.default_rng(0)
    assert "t on logs" in hodges_lehmann(draw.normal(size=intervals.EXACT_SIGNED_RANK_MAX + 1), 0.95).method


def test_a_single_value_has_an_estimate_and_no_interval() -> None:
    for found in (welch_log_t([1.0], [2.0], 0.95), hodges_lehmann([math.log(2.0)], 0.95)):
        assert found.ratio == pytest.approx(2.0)
        assert found.ratio_bounds is None
        assert found.p is None


def test_values_without_any_spread_give_the_point_itself() -> None:
    assert welch_log_t([2.0, 2.0], [2.0, 2.0], 0.95).ratio_bounds == (1.0, 1.0)
    assert welch_log_t([2.0, 2.0], [4.0, 4.0], 0.95).p == 0.0
