"""Quantiles of one process: values as published, intervals that hold for any shape."""

from __future__ import annotations

import numpy as np
import pytest

from twotrees.stats.quantiles import fewest_steps, quantile


@pytest.mark.parametrize("share", [0.5, 0.95, 0.99])
def test_the_interval_holds_the_true_quantile_at_its_level(share: float) -> None:
    draw = np.random.default_rng(1)
    truth = float(np.quantile(draw.lognormal(0.0, 0.5, 2_000_000), share))
    n = max(60, fewest_steps(share) + 40)
    found = [quantile(draw.lognormal(0.0, 0.5, n), share) for _ in range(800)]
    held = np.mean([one.low <= truth <= one.high for one in found if one.low is not None and one.high is not None])
    assert held >= 0.945


def test_the_value_is_numpys() -> None:
    steps = np.random.default_rng(2).lognormal(size=137)
    assert quantile(steps, 0.95).value == float(np.percentile(steps, 95))


def test_too_few_steps_bound_a_high_quantile_from_below_only() -> None:
    steps = np.random.default_rng(3).lognormal(size=100)
    found = quantile(steps, 0.99)
    assert found.high is None
    assert found.low is not None and found.low < found.value


@pytest.mark.parametrize(("share", "fewest"), [(0.5, 6), (0.95, 72), (0.99, 368)])
def test_the_fewest_steps_are_those_from_which_an_upper_bound_exists(share: float, fewest: int) -> None:
    draw = np.random.default_rng(4)
    assert fewest_steps(share) == fewest
    assert quantile(draw.random(fewest), share).high is not None
    assert quantile(draw.random(fewest - 1), share).high is None
