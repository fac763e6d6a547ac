"""Levels of variation: the estimators find what was put in, and intervals respect the levels."""

from __future__ import annotations

import numpy as np
import pytest

from twotrees.stats.hierarchy import Levels, best_repetitions, mean_bounds, ratio_of_means, variance_levels


def nested(
    draw: np.random.Generator, runs: int, blocks: int, steps: int, spreads: tuple[float, float, float]
) -> np.ndarray:
    """Runs, blocks and steps with the given standard deviations, around 10."""
    run, block, step = spreads
    return (
        10.0
        + draw.normal(0.0, run, (runs, 1, 1))
        + draw.normal(0.0, block, (runs, blocks, 1))
        + draw.normal(0.0, step, (runs, blocks, steps))
    )


def test_each_levels_own_variance_is_found_whatever_lies_below_it() -> None:
    draw = np.random.default_rng(1)
    own = np.mean([variance_levels(nested(draw, 6, 5, 4, (0.3, 0.2, 0.5))).own for _ in range(600)], axis=0)
    assert own == pytest.approx([0.25, 0.04, 0.09], rel=0.12)


def test_a_level_that_adds_nothing_is_found_to_add_nothing() -> None:
    draw = np.random.default_rng(2)
    own = np.mean([variance_levels(nested(draw, 6, 5, 4, (0.3, 0.0, 0.5))).own for _ in range(600)], axis=0)
    assert abs(own[1]) < 0.005


def test_a_level_of_one_repetition_cannot_show_its_variance() -> None:
    with pytest.raises(ValueError, match="two repetitions"):
        variance_levels(np.ones((3, 1, 4)))


def test_costly_processes_and_noisy_steps_call_for_many_steps() -> None:
    levels = Levels(observed=(1.0, 1.0), own=(1.0, 0.01), repetitions=(100, 3))
    assert best_repetitions(levels, costs=(0.01, 4.0)) == (200,)
    assert best_repetitions(levels, costs=(4.0, 4.0)) == (10,)


def test_a_level_above_that_adds_nothing_keeps_the_pilots_repetitions_and_one_below_needs_one() -> None:
    levels = Levels(observed=(1.0, 1.0, 1.0), own=(-0.1, 1.0, -0.2), repetitions=(7, 5, 3))
    assert best_repetitions(levels, costs=(1.0, 1.0, 1.0)) == (1, 5)


def test_many_steps_of_few_processes_do_not_make_a_narrow_interval() -> None:
    draw = np.random.default_rng(3)
    samples = nested(draw, 3, 2, 500, (0.3, 0.0, 0.1))
    _, low, high = mean_bounds(samples, 0.95)
    pretended = 1.96 * samples.std() / np.sqrt(samples.size)
    assert high - low > 10 * 2 * pretended


def test_fiellers_interval_covers_the_true_ratio_at_its_level() -> None:
    draw = np.random.default_rng(4)
    held = 0
    for _ in range(600):
        before, after = (nested(draw, 8, 2, 5, (0.3, 0.1, 0.2)) for _ in range(2))
        found = ratio_of_means(before, 0.9 * after, 0.95)
        assert found.ratio_bounds is not None
        held += found.ratio_bounds[0] <= 0.9 <= found.ratio_bounds[1]
    assert 0.94 <= held / 600 <= 0.99  # the smaller arm's degrees of freedom are the cautious choice


def test_a_baseline_that_may_be_zero_has_no_bounded_ratio() -> None:
    before = np.array([0.1, 5.0, 0.1])[:, None]
    assert ratio_of_means(before, before, 0.95).ratio_bounds is None


def test_one_run_has_no_interval() -> None:
    assert ratio_of_means(np.ones((1, 5)), np.ones((1, 5)), 0.95).ratio_bounds is None
