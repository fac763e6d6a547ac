"""Planning and calibration: the predicted power is the power that comes, and a noise floor carries its evidence."""

from __future__ import annotations

import numpy as np
import pytest

from twotrees.stats.calibration import calibrate, share
from twotrees.stats.intervals import hodges_lehmann
from twotrees.stats.planning import resampled_power, rounds_by_t, rounds_needed, t_power


def detected(spread: float, effect: float, rounds: int, trials: int = 600) -> float:
    draw = np.random.default_rng(11)
    found = [hodges_lehmann(draw.normal(np.log1p(effect), spread, rounds), 0.95) for _ in range(trials)]
    return float(np.mean([one.p is not None and one.p <= 0.05 for one in found]))


@pytest.mark.parametrize(("spread", "effect"), [(0.01, 0.01), (0.02, 0.02), (0.005, 0.01)])
def test_the_rounds_that_are_planned_have_the_power_that_was_asked_for(spread: float, effect: float) -> None:
    rounds = rounds_by_t(spread, effect, power=0.9)
    assert rounds is not None
    assert 0.86 <= detected(spread, effect, rounds) <= 1.0


def test_resampled_power_is_that_of_the_interval_itself() -> None:
    pilot = np.random.default_rng(3).normal(0.0, 0.01, 400)
    for rounds in (8, 12, 20):
        assert resampled_power(pilot, 0.01, rounds) == pytest.approx(detected(0.01, 0.01, rounds), abs=0.06)


def test_heavy_tails_cost_rounds_but_less_than_t_fears() -> None:
    pilot = 0.003 * np.random.default_rng(4).standard_t(2, 400)
    needed = rounds_needed(pilot, 0.01)
    feared = rounds_by_t(float(pilot.std(ddof=1)), 0.01)
    assert needed is not None and feared is not None
    assert needed <= feared


def test_a_larger_effect_needs_fewer_rounds() -> None:
    pilot = np.random.default_rng(5).normal(0.0, 0.01, 60)
    one, two, five = (rounds_needed(pilot, effect) for effect in (0.01, 0.02, 0.05))
    assert one is not None and two is not None and five is not None
    assert one > two >= five >= 6


def test_an_effect_far_below_the_noise_needs_more_rounds_than_anybody_runs() -> None:
    assert rounds_needed(np.random.default_rng(6).normal(0.0, 0.05, 60), 0.0005) is None


def test_without_noise_everything_is_seen_and_one_round_sees_nothing() -> None:
    assert t_power(0.0, 0.01, 2) == 1.0
    assert t_power(0.01, 0.01, 1) == 0.0
    assert resampled_power([0.0, 0.001], 0.01, 5) == 0.0


def test_calibration_counts_false_positives_and_says_how_sure_it_is() -> None:
    ratios = np.random.default_rng(7).normal(0.0, 0.004, 400)
    found = calibrate("update_state_ms", ratios, rounds_per_campaign=10)
    assert found.false_positives.trials == 40
    assert found.false_positives.low <= 0.05 <= found.false_positives.high
    assert 0.0003 < found.typical_error < found.floor < 0.006
    assert found.needed[0.01] is not None and found.needed[0.05] == 6


def test_a_biased_control_is_found_out() -> None:
    ratios = np.random.default_rng(8).normal(0.01, 0.004, 100)
    assert calibrate("m", ratios, rounds_per_campaign=10).false_positives.low > 0.5


@pytest.mark.parametrize(("rounds", "per_campaign"), [(5, 6), (30, 5)])
def test_too_few_rounds_to_judge_are_refused(rounds: int, per_campaign: int) -> None:
    with pytest.raises(ValueError):
        calibrate("m", [0.0] * rounds, rounds_per_campaign=per_campaign)


def test_a_share_of_none_and_of_all_have_one_sided_ends() -> None:
    assert (share(0, 20).low, share(20, 20).high) == (0.0, 1.0)
    assert share(0, 20).high == pytest.approx(0.168, abs=0.001)
