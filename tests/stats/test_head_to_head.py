"""The head-to-head benchmark: effects of exactly known size, scores counted as they should be, one short real trial."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

from head_to_head_score import markdown, matched_limit, plot, scores  # noqa: E402
from head_to_head_work import WORKLOADS, run, units_of  # noqa: E402


@pytest.mark.parametrize(("effect", "units"), [(0.0, 400), (0.005, 402), (0.01, 404), (0.02, 408), (0.05, 420)])
def test_a_true_effect_is_a_whole_number_of_units(effect: float, units: int) -> None:
    assert units_of(effect) == units


def test_an_effect_that_cannot_be_made_exactly_is_refused() -> None:
    with pytest.raises(ValueError, match="whole number"):
        units_of(0.0033)


@pytest.mark.parametrize("workload", ["pure_python", "mujoco_step"])
def test_a_workload_gives_as_many_samples_as_were_asked_for(workload: str) -> None:
    assert workload in WORKLOADS
    times = run(workload, 8, 5)
    assert len(times) == 5
    assert min(times) > 0


def trial(tool: str, effect: float, number: int, spread: float, *, noisy: bool = False, **keys: Any) -> dict[str, Any]:
    draw = np.random.default_rng(number)
    before = np.exp(draw.normal(0.0, spread, 12))
    after = np.exp(draw.normal(math.log1p(effect), spread, 12))
    estimate = float(np.log(after).mean() - np.log(before).mean())
    low, high = estimate - spread, estimate + spread
    line = {"tool": tool, "effect": effect, "noisy": noisy, "workload": "pure_python", "fault": None, "wall_s": 10.0}
    line |= {"estimate": estimate, "low": low, "high": high, "p": None, "before": list(before), "after": list(after)}
    return {**line, "says": "slower" if low > 0 else "faster" if high < 0 else "same", **keys}


@pytest.fixture
def trials() -> list[dict[str, Any]]:
    return [
        trial(tool, effect, number, spread)
        for tool, spread in (("sharp", 0.002), ("blunt", 0.03))
        for effect in (0.0, 0.01)
        for number in range(60)
    ]


def test_a_sharper_tool_scores_better_and_neither_cries_wolf(trials: list[dict[str, Any]]) -> None:
    found = {(line.tool, line.judge): line for line in scores(trials)}
    sharp, blunt = found["sharp", "Welch"], found["blunt", "Welch"]
    assert sharp.detected[0.01].value == 1.0
    assert blunt.detected[0.01].value < 0.3
    assert sharp.typical_error < blunt.typical_error / 5
    assert max(sharp.false_positives.value, blunt.false_positives.value) < 0.15
    assert sharp.coverage is not None and sharp.coverage.value > 0.88


def test_power_is_compared_where_all_have_five_per_cent_of_false_positives(trials: list[dict[str, Any]]) -> None:
    found = {(line.tool, line.judge): line for line in scores(trials)}
    limit = matched_limit([float(p) for p in np.linspace(0.001, 1.0, 100)])
    assert limit is not None and 0.04 < limit < 0.06
    assert found["sharp", "own"].matched is None  # its own verdict has no p-value here
    matched = found["sharp", "Mann-Whitney"].matched
    assert matched is not None and matched[0.01].value == 1.0


def test_telling_the_wrong_direction_detects_nothing() -> None:
    lines = [trial("t", effect, n, 0.001) for effect in (0.0, 0.05) for n in range(30)]
    for line in lines:
        if line["effect"]:
            line["before"], line["after"], line["says"] = line["after"], line["before"], "faster"
    assert {score.detected[0.05].count for score in scores(lines)} == {0}


def test_failed_trials_are_listed_and_not_scored(trials: list[dict[str, Any]]) -> None:
    broken = trial("sharp", 0.0, 99, 0.001) | {"fault": "RuntimeError: ended with 2", "estimate": None}
    text = markdown([*trials, broken])
    assert "Trials that failed (1)" in text
    assert "sharp on pure_python: RuntimeError" in text
    assert text.count("\n| sharp | own |") == 1


def test_the_plot_is_a_picture(tmp_path: Path, trials: list[dict[str, Any]]) -> None:
    noisy = [trial("sharp", effect, n, 0.01, noisy=True) for effect in (0.0, 0.01) for n in range(20)]
    plot([*trials, *noisy], tmp_path / "plot.png")
    assert (tmp_path / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_a_short_real_run_appends_trials_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    out = tmp_path / "trials.jsonl"
    argv = [sys.executable, str(BENCHMARKS / "head_to_head.py"), "run", "--out", str(out), "--trials", "1"]
    argv += ["--workload", "pure_python", "--effect", "0.05", "--noise", "with", "--budget", "0.5"]
    argv += ["--tool", "twotrees lockstep"]
    subprocess.run(argv, check=True, capture_output=True)
    lines = [json.loads(text) for text in out.read_text().splitlines()]
    assert [(line["tool"], line["fault"]) for line in lines] == [("twotrees lockstep", None)]
    assert lines[0]["n_before"] == lines[0]["n_after"] == 6
    assert math.isfinite(lines[0]["estimate"])
    again = subprocess.run(argv, check=True, capture_output=True, text=True)
    assert again.stdout == ""
    assert len(out.read_text().splitlines()) == 1
