"""Findings of a whole campaign: what stands out is told with how many runs show it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twotrees.stats.findings import findings


def drifting(build: Any, attempt: dict[str, Any]) -> None:
    """Makes every phase run of the baseline 20 % slower from its first step to its last."""
    if attempt["arm"] != "before" or attempt["mode"] != "phase":
        return
    result = attempt["result"]
    values = result["twotrees"]["samples"]["update_state_ms"]["values"]
    values[:] = [round(ns * (1.0 + 0.2 * place / len(values))) for place, ns in enumerate(values)]
    result["timing"]["update_state_ms"] = build.summary([ns / 1e6 for ns in values])


def test_a_drift_in_every_run_of_an_arm_is_told_first(tmp_path: Path, build: Any) -> None:
    data = build.write_campaign(
        tmp_path / "data",
        build.documented_results(),
        build.documented_matrix(),
        attempts=lambda attempt: drifting(build, attempt),
    )
    lines = findings(data, ["update_state_ms"])
    told = [line for line in lines if line.startswith("update_state_ms before: drift in 3 of 3 runs")]
    assert len(told) == 1
    assert "drifts by +1" in told[0]


def test_a_quiet_campaign_has_next_to_nothing_to_tell(documented_data: Path) -> None:
    assert len(findings(documented_data)) <= 2


def test_runs_without_samples_tell_nothing(tmp_path: Path, build: Any) -> None:
    data = build.write_campaign(
        tmp_path / "data",
        build.documented_results(),
        build.documented_matrix(),
        attempts=lambda attempt: attempt["result"].pop("twotrees"),
    )
    assert findings(data) == []
