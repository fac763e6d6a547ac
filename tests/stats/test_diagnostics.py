"""Diagnostics name what is there, and stay silent on a quiet run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from twotrees.stats.diagnostics import diagnose, drift, effective_size, mode_levels, tail_weight

Draw = np.random.Generator


def quiet(draw: Draw, n: int = 200) -> np.ndarray:
    return 10.0 * np.exp(draw.normal(0.0, 0.03, n))


def with_stalls(draw: Draw) -> np.ndarray:
    return quiet(draw) * np.where(draw.random(200) < 0.06, 1.0 + draw.exponential(1.0, 200), 1.0)


def on_two_kinds_of_core(draw: Draw) -> np.ndarray:
    return quiet(draw) * np.where(draw.random(200) < 0.4, 1.35, 1.0)


def warming_up(draw: Draw) -> np.ndarray:
    return quiet(draw) * np.linspace(1.1, 1.0, 200)


def beside_a_slow_neighbour(draw: Draw) -> np.ndarray:
    level = np.zeros(200)
    for i in range(1, 200):
        level[i] = 0.9 * level[i - 1] + draw.normal(0.0, 0.02)
    return 10.0 * np.exp(level)


@pytest.mark.parametrize(
    ("shape", "name"),
    [
        (with_stalls, "heavy tail"),
        (on_two_kinds_of_core, "two modes"),
        (warming_up, "drift"),
        (beside_a_slow_neighbour, "autocorrelation"),
    ],
)
def test_what_is_there_is_named(shape: Callable[[Draw], np.ndarray], name: str) -> None:
    named = [{finding.name for finding in diagnose(shape(np.random.default_rng(seed)))} for seed in range(40)]
    assert sum(name in found for found in named) >= 36


def test_a_quiet_run_is_rarely_accused() -> None:
    accused = [bool(diagnose(quiet(np.random.default_rng(seed)))) for seed in range(200)]
    assert np.mean(accused) <= 0.03


def test_few_steps_or_steps_that_are_all_equal_say_nothing() -> None:
    assert diagnose(np.array([1.0, 99.0] * 5)) == ()
    assert diagnose(np.full(100, 7.0)) == ()


def test_the_two_modes_are_where_they_were_put() -> None:
    found = mode_levels(on_two_kinds_of_core(np.random.default_rng(1)))
    assert found is not None
    assert found == pytest.approx((10.0, 13.5), rel=0.03)


def test_the_drift_is_as_large_as_it_was_made() -> None:
    change, p = drift(warming_up(np.random.default_rng(2)))
    assert change == pytest.approx(-0.095, abs=0.02)
    assert p < 1e-6


def test_independent_steps_are_worth_their_number_and_dependent_ones_less() -> None:
    draw = np.random.default_rng(3)
    assert effective_size(draw.normal(size=2000)) > 1500
    worth = effective_size(np.log(np.concatenate([beside_a_slow_neighbour(draw) for _ in range(10)])))
    assert worth == pytest.approx(2000 * (1 - 0.9) / (1 + 0.9), rel=0.5)


def test_a_normal_tail_has_the_weight_that_theory_says() -> None:
    assert tail_weight(np.random.default_rng(4).normal(size=200_000)) == pytest.approx(2.906, abs=0.05)
