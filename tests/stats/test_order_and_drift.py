"""Synthetic runners whose arms are equal: what order and drift alone make never becomes a verdict (cases 17, 18)."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from twotrees.runs.lockstep import schedules

LEVEL_MS = 20.0

# Each runner tells by what factor the run at a place (from 0) of a campaign is off, given the arm, and who led.
Runner = Callable[[int, str, str], float]


def first_arm_is_slower(place: int, arm: str, leader: str) -> float:
    return 1.03 if arm == leader else 1.0


def first_arm_is_faster(place: int, arm: str, leader: str) -> float:
    return 0.97 if arm == leader else 1.0


def every_run_is_slower_than_the_last(place: int, arm: str, leader: str) -> float:
    return float(1.01**place)


def every_run_is_faster_than_the_last(place: int, arm: str, leader: str) -> float:
    return float(0.99**place)


def steady(place: int, arm: str, leader: str) -> float:
    return 1.0


RUNNERS = [
    first_arm_is_slower,
    first_arm_is_faster,
    every_run_is_slower_than_the_last,
    every_run_is_faster_than_the_last,
    steady,
]


def phase_result(build: Any, level_ms: float, rng: np.random.Generator) -> dict[str, Any]:
    """A child's result with the published keys alone."""
    timing = {
        name: build.summary(level_ms * factor * np.exp(np.abs(rng.normal(0, 0.01, 20)))) for name, factor in PHASES
    }
    return {"timing": {**timing, "backend": {}}, "measure": 20, "instrument": False}


PHASES = (("update_state_ms", 1.0), ("env_step_total_ms", 4.0), ("reset_done_ms", 0.5))


def campaign(
    build: Any,
    folder: Path,
    matrix: Sequence[tuple[str, str, int]],
    protocol: str,
    runner: Runner,
    seed: int,
    noise: float,
) -> Path:
    rng = np.random.default_rng(seed)
    results = []
    for place, (arm, _, repeat) in enumerate(matrix):
        leader = matrix[0][0] if protocol == "documented" else next(a for a, _, r in matrix if r == repeat)
        level = LEVEL_MS * runner(place, arm, leader) * float(np.exp(rng.normal(0.0, noise)))
        results.append(phase_result(build, level, rng))
    scale = {"num_envs": 64, "warmup": 10, "measure": 20}
    return build.write_campaign(folder, results, list(matrix), protocol={"name": protocol}, scale=scale)


def verdicts(tool: ModuleType, data: Path) -> set[str]:
    document = tool.aggregate(tool.read_campaign(data, tool.plain_sum))
    return {line["verdict"] for line in document["twotrees"]["effects"]}


@pytest.mark.parametrize("noise", [0.0, 0.001, 0.003, 0.01])
@pytest.mark.parametrize("runner", RUNNERS)
def test_the_documented_order_gives_no_verdict_on_equal_arms(
    tmp_path: Path, tool: ModuleType, build: Any, runner: Runner, noise: float
) -> None:
    # As in the published sequence three terms runs lie between the two arms' phase runs; here they are phase runs too.
    for seed in range(4):
        for repeats in (3, 6):
            matrix = [(arm, "phase", r) for arm in ("before", "after") for r in range(1, repeats + 1)]
            data = campaign(build, tmp_path / f"{seed}-{repeats}", matrix, "documented", runner, seed, noise)
            assert verdicts(tool, data).isdisjoint({"faster", "slower"})


# Without any order effect pure noise has false positives at the stated rate; the coverage tests count those.
@pytest.mark.parametrize("noise", [0.0, 0.001, 0.003])
@pytest.mark.parametrize("runner", RUNNERS[:-1])
@pytest.mark.parametrize("repeats", [2, 4, 6, 8])
def test_the_interleaved_order_gives_no_verdict_on_equal_arms(
    tmp_path: Path, tool: ModuleType, build: Any, runner: Runner, noise: float, repeats: int
) -> None:
    matrix = build.interleaved_matrix(repeats)
    data = campaign(build, tmp_path / "data", matrix, "interleaved", runner, repeats, noise)
    assert verdicts(tool, data).isdisjoint({"faster", "slower"})


@pytest.mark.parametrize("runner", RUNNERS)
@pytest.mark.parametrize("rounds", [6, 7, 10, 15])
def test_lockstep_gives_no_verdict_on_equal_arms(
    tmp_path: Path, tool: ModuleType, build: Any, runner: Runner, rounds: int
) -> None:
    matrix, results = [], []
    for schedule in schedules(("before", "after"), rounds=rounds, cycles=4, steps=4, seed=rounds):
        blocks: dict[str, list[dict[str, list[int]]]] = {"before": [], "after": []}
        for place, arm in enumerate(schedule.order):
            ns = round(9e6 * runner(place, arm, schedule.order[0]))
            blocks[arm].append({"update_state_ms": [2 * ns, ns, ns, ns]})
        for arm in schedule.arms:
            matrix.append((arm, "lockstep", schedule.number))
            results.append(build.lockstep_result(np.random.default_rng(0), 0, blocks=blocks[arm]))
    data = build.write_campaign(tmp_path / "data", results, matrix, protocol={"name": "lockstep"})
    assert verdicts(tool, data).isdisjoint({"faster", "slower"})


def test_a_34_per_cent_gain_is_seen_in_the_documented_order(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    data = build.write_campaign(tmp_path / "data", build.documented_results(), build.documented_matrix())
    effects = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]["effects"]
    found = {line["metric"]: line["verdict"] for line in effects}
    assert found["update_state_ms"] == "faster"
    assert found["term:reward/motion_body_pos"] == "faster"
    assert found["reset_done_ms"] == "not resolved"


def test_three_against_three_that_overlap_are_not_resolved(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    rng = np.random.default_rng(0)
    levels = {"before": (19.4, 19.9, 19.2), "after": (19.1, 19.6, 19.3)}
    matrix = [(arm, "phase", r) for arm in levels for r in (1, 2, 3)]
    results = []
    for arm, _, r in matrix:
        result = phase_result(build, 20.0, rng)
        result["timing"]["update_state_ms"] = dict.fromkeys(("mean_ms", "median_ms", "p95_ms"), levels[arm][r - 1])
        result["timing"]["update_state_ms"]["count"] = 20
        results.append(result)
    scale = {"num_envs": 64, "warmup": 10, "measure": 20}
    data = build.write_campaign(tmp_path / "data", results, matrix, scale=scale)
    line = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]["effects"][0]
    assert (line["n_before"], line["n_after"]) == (3, 3)
    assert line["ratio_low"] < 1.0 < line["ratio_high"]
    assert line["verdict"] == "not resolved"


def test_a_verdict_that_only_the_order_could_have_made_says_so(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    matrix = [(arm, "phase", r) for arm in ("before", "after") for r in (1, 2, 3)]
    data = campaign(build, tmp_path / "data", matrix, "documented", first_arm_is_slower, 0, 0.0002)
    line = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]["effects"][0]
    assert line["ratio_high"] < 1.0
    assert line["verdict"] == "not resolved"
    assert "order was not balanced" in line["reason"]
    assert line["order_allowance"] >= 0.05


def test_one_run_per_arm_has_no_interval_and_no_verdict(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    matrix = [("before", "phase", 1), ("after", "phase", 1)]
    data = campaign(build, tmp_path / "data", matrix, "documented", steady, 0, 0.1)
    line = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]["effects"][0]
    assert (line["ratio_low"], line["ratio_high"], line["verdict"]) == (None, None, "not resolved")
    json.dumps(line, allow_nan=False)
