"""Sequential stopping: looking often costs no coverage, whatever one stops for."""

from __future__ import annotations

import math

import numpy as np
import pytest

from twotrees.stats.intervals import hodges_lehmann
from twotrees.stats.sequential import decide, look_level, looks


@pytest.mark.parametrize("shape", ["normal", "cauchy", "uniform"])
def test_all_looks_hold_at_once_for_any_symmetric_shape(shape: str) -> None:
    plan = looks(budget=60, until=0.005)
    draw = np.random.default_rng(7)
    missed = 0
    for _ in range(800):
        values = getattr(draw, {"normal": "normal", "cauchy": "standard_cauchy", "uniform": "uniform"}[shape])(size=60)
        values = values - 0.5 if shape == "uniform" else values
        p_values = (hodges_lehmann(values[:n], plan.level).p for n in plan.rounds)
        missed += any(p is not None and p <= 1.0 - plan.level for p in p_values)
    assert missed / 800 <= 0.065


def test_a_naive_look_after_every_round_would_miss_far_more_often() -> None:
    draw = np.random.default_rng(8)
    missed = 0
    for _ in range(200):
        values = draw.normal(size=40)
        missed += any((hodges_lehmann(values[:n], 0.95).p or 1.0) <= 0.05 for n in range(8, 41, 2))
    assert missed / 200 > 0.1


def test_it_stops_when_every_chosen_metric_is_narrow_enough() -> None:
    plan = looks(budget=60, until=0.005)
    draw = np.random.default_rng(9)
    quiet, loud = draw.normal(0.0, 0.001, 60), draw.normal(0.0, 0.02, 60)
    assert decide(plan, {"update_state_ms": quiet[:8]}).stop
    held = decide(plan, {"update_state_ms": quiet[:8], "reset_done_ms": loud[:8]})
    assert not held.stop
    assert "reset_done_ms" in held.reason


def test_it_looks_only_when_the_plan_says_so() -> None:
    plan = looks(budget=60, until=0.005)
    values = [0.0] * 9
    decision = decide(plan, {"m": values})
    assert not decision.stop
    assert decision.intervals == {}
    assert f"after {plan.rounds[1]} rounds" in decision.reason


def test_the_end_of_the_budget_stops_it_and_the_interval_is_reported_as_it_is() -> None:
    plan = looks(budget=20, until=0.0001)
    decision = decide(plan, {"m": list(np.random.default_rng(1).normal(0.0, 0.05, 20))})
    assert decision.stop
    assert "budget ends" in decision.reason
    assert decision.intervals["m"].low is not None


def test_looks_are_few_and_grow() -> None:
    plan = looks(budget=60, until=0.005)
    assert plan.rounds == (8, 12, 17, 24, 34, 48, 60)
    assert 0.95 < plan.level < 1.0 - 0.05 / len(plan.rounds) + 0.01
    assert plan.half_width == pytest.approx(math.log(1.005))


def test_a_single_look_costs_next_to_nothing() -> None:
    assert look_level((20,), 0.95) == pytest.approx(0.95, abs=0.008)  # attainable levels are a grid


@pytest.mark.parametrize("budget", [0, 7, 121])
def test_a_budget_that_cannot_be_looked_at_is_refused(budget: int) -> None:
    with pytest.raises(ValueError):
        looks(budget=budget, until=0.005)
