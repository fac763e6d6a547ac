"""The package and the pinned script recompute the same aggregate from the same run files."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from twotrees.stats.agreement import differences
from twotrees.stats.recompute import aggregate


def printed_by(tool: ModuleType, data: Path, *more: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-I", str(tool.__file__), "--data", str(data), *more],
        capture_output=True,
        text=True,
        check=True,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def lockstep_campaign(build: Any, folder: Path, rounds: int = 8, seed: int = 4, gain: float = 0.97) -> Path:
    """Rounds of two workers with ten blocks each, the second arm *gain* times the first."""
    rng = np.random.default_rng(seed)
    matrix = [(arm, "lockstep", r) for r in range(1, rounds + 1) for arm in ("before", "after")]
    results = []
    for arm, _, _ in matrix:
        own = float(np.exp(rng.normal(0.0, 0.003))) * (gain if arm == "after" else 1.0)
        blocks = [
            {
                name: build.noisy_ns(rng, level * own, 6)
                for name, level in (("update_state_ms", 9.0), ("env_step_total_ms", 30.0))
            }
            for _ in range(10)
        ]
        results.append(build.lockstep_result(rng, int(arm == "after"), blocks=blocks))
    return build.write_campaign(folder, results, matrix, protocol={"name": "lockstep", "discard": 1})


def documented(build: Any, folder: Path) -> Path:
    return build.write_campaign(folder, build.documented_results(), build.documented_matrix())


def three_arms(build: Any, folder: Path) -> Path:
    arms = ("before", "after", "next")
    matrix = build.documented_matrix(arms)
    return build.write_campaign(folder, build.documented_results(9, matrix), matrix, arms=arms)


def interleaved(build: Any, folder: Path) -> Path:
    matrix = build.interleaved_matrix(7, ("phase", "terms"))
    protocol = {"name": "interleaved", "order": "balanced"}
    return build.write_campaign(folder, build.documented_results(5, matrix), matrix, protocol=protocol)


def with_one_run_that_failed(build: Any, folder: Path) -> Path:
    def fail_the_second(attempt: dict[str, Any]) -> None:
        if attempt["attempt"] == 2:
            attempt.update(status="failed", reason="ended by SIGSEGV", result=None)

    matrix = build.documented_matrix()
    return build.write_campaign(folder, build.documented_results(3), matrix, attempts=fail_the_second)


def without_terms(build: Any, folder: Path) -> Path:
    matrix = [(arm, "phase", r) for arm in ("before", "after") for r in (1, 2, 3)]
    return build.write_campaign(folder, build.documented_results(6, matrix), matrix)


CAMPAIGNS = [documented, three_arms, interleaved, with_one_run_that_failed, without_terms, lockstep_campaign]


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_package_and_script_agree(tmp_path: Path, tool: ModuleType, build: Any, campaign: Any) -> None:
    data = campaign(build, tmp_path / "data")
    assert list(differences(printed_by(tool, data), aggregate(data))) == []


@pytest.mark.parametrize("summation", ["plain", "compensated"])
def test_they_agree_in_either_summation_so_that_any_python_can_check_any_other(
    tmp_path: Path, tool: ModuleType, build: Any, summation: str
) -> None:
    data = documented(build, tmp_path / "data")
    printed = printed_by(tool, data, "--summation", summation)
    assert printed["twotrees"]["summation"] == summation
    assert list(differences(printed, aggregate(data, summation=summation))) == []


def test_every_metric_has_an_interval_and_n(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    effects = printed_by(tool, documented(build, tmp_path / "data"))["twotrees"]["effects"]
    assert {line["kind"] for line in effects} == {"phase", "quantile", "term", "aggregate"}
    for line in effects:
        assert line["ratio_low"] <= line["ratio"] <= line["ratio_high"] or line["kind"] == "quantile"
        assert (line["n_before"], line["n_after"]) == (3, 3)


def test_one_last_bit_of_one_published_number_is_a_difference(tmp_path: Path, build: Any) -> None:
    document = aggregate(documented(build, tmp_path / "data"))
    edited = copy.deepcopy(document)
    line = edited["mujoco"]["update_state_ms"]
    line["before_ms"] = float(np.nextafter(line["before_ms"], 0.0))
    assert list(differences(document, edited)) == [
        f"mujoco.update_state_ms.before_ms: recorded {document['mujoco']['update_state_ms']['before_ms']!r}, "
        f"recomputed {line['before_ms']!r}"
    ]


def test_a_changed_verdict_interval_or_missing_effect_is_a_difference(tmp_path: Path, build: Any) -> None:
    document = aggregate(documented(build, tmp_path / "data"))
    for edit in (
        lambda effects: effects[0].update(verdict="slower"),
        lambda effects: effects[0].update(ratio_low=effects[0]["ratio_low"] * (1 + 1e-9)),
        lambda effects: effects.pop(),
        lambda effects: effects[0].pop("n_before"),
    ):
        edited = copy.deepcopy(document)
        edit(edited["twotrees"]["effects"])
        assert len(list(differences(document, edited))) == 1


def test_a_sample_that_differs_from_its_summary_makes_the_run_invalid_in_both(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    def edit(attempt: dict[str, Any]) -> None:
        if attempt["attempt"] == 1:
            attempt["result"]["twotrees"]["samples"]["update_state_ms"]["values"][0] += 10_000_000

    data = build.write_campaign(tmp_path / "d", build.documented_results(), build.documented_matrix(), attempts=edit)
    printed = printed_by(tool, data)
    assert list(differences(printed, aggregate(data))) == []
    check = printed["twotrees"]["validity"][0]
    assert not check["ok"]
    assert "attempt 1" in check["detail"] and "update_state_ms" in check["detail"]
    assert {line["verdict"] for line in printed["twotrees"]["effects"]} == {"not comparable"}
