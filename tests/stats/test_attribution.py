"""Attribution: disjoint parts, a printed residual, and nothing that was saved counted twice."""

from __future__ import annotations

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest


def lines_of(tool: ModuleType, data: Path) -> dict[str, dict[str, Any]]:
    document = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]
    return {row["line"]: row for row in document["attribution"]}


def test_parts_and_residual_sum_to_the_probe_free_stage(documented_data: Path, tool: ModuleType) -> None:
    rows = lines_of(tool, documented_data)
    stage = rows.pop("update_state")
    for key in ("before_ms", "after_ms", "saved_ms", "share_of_saving_pct", "before_share_pct", "after_share_pct"):
        assert math.fsum(row[key] for row in rows.values()) == pytest.approx(stage[key], abs=1e-9)


def test_the_first_refresh_is_its_own_line_and_not_the_terms(documented_data: Path, tool: ModuleType) -> None:
    document = tool.aggregate(tool.read_campaign(documented_data, tool.plain_sum))
    rows = {row["line"]: row for row in document["twotrees"]["attribution"]}
    wrapper = document["mujoco"]["terms"]["termination/anchor_pos"]
    assert wrapper["saved_ms"] > 4.0
    assert abs(rows["anchor_pos_net"]["saved_ms"]) < 0.1
    assert rows["refresh_first_read"]["saved_ms"] == pytest.approx(4.1, abs=0.3)


def test_what_was_saved_is_not_counted_twice(documented_data: Path, tool: ModuleType) -> None:
    document = tool.aggregate(tool.read_campaign(documented_data, tool.plain_sum))
    published = document["mujoco"]
    naive = published["terms"]["target_five"]["saved_ms"] + published["coarse"]["two_robot_state_refreshes"]["saved_ms"]
    parts = [row["saved_ms"] for row in document["twotrees"]["attribution"] if row["kind"] == "part"]
    assert naive > 1.3 * published["update_state_ms"]["saved_ms"]
    assert math.fsum(parts) == pytest.approx(published["update_state_ms"]["saved_ms"], rel=0.15)


def test_a_refresh_that_another_probe_hosts_is_taken_from_that_one(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    def hosted(attempt: dict[str, Any]) -> None:
        attempt["result"]["twotrees"]["nested_in"] = {
            "command/robot_state_refresh/first_read": "manager/command_compute"
        }

    matrix, results = build.documented_matrix(), build.documented_results()
    usual = lines_of(tool, build.write_campaign(tmp_path / "a", results, matrix))
    other = lines_of(tool, build.write_campaign(tmp_path / "b", results, matrix, attempts=hosted))
    first = usual["refresh_first_read"]["before_ms"]
    assert other["command_compute"]["before_ms"] == pytest.approx(
        usual["command_compute"]["before_ms"] - first, abs=0.1
    )
    assert other["anchor_pos_net"]["before_ms"] == pytest.approx(usual["anchor_pos_net"]["before_ms"] + first, abs=0.1)


def test_a_study_without_these_probes_has_no_attribution_and_says_which_is_missing(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    def poorer(attempt: dict[str, Any]) -> None:
        attempt["result"].get("terms", {}).pop("command/robot_state_refresh/force", None)
        attempt["result"]["twotrees"].get("term_samples", {}).pop("command/robot_state_refresh/force", None)

    data = build.write_campaign(
        tmp_path / "data", build.documented_results(), build.documented_matrix(), attempts=poorer
    )
    document = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]
    assert document["attribution"] == []
    assert any("command/robot_state_refresh/force" in note for note in document["notes"])


def test_every_arm_has_its_own_lines(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    arms = ("before", "after", "next")
    matrix = build.documented_matrix(arms)
    data = build.write_campaign(tmp_path / "data", build.documented_results(2, matrix), matrix, arms=arms)
    document = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]
    per_arm = [row["arm"] for row in document["attribution"] if row["kind"] == "stage"]
    assert per_arm == ["after", "next"]


def test_a_mean_far_from_its_median_is_said(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    def spike(attempt: dict[str, Any]) -> None:
        result = attempt["result"]
        if attempt["mode"] == "terms" and attempt["arm"] == "before":
            ns = result["twotrees"]["term_samples"]["reward/action_rate"]["step"]["values"]
            ns[0] = 50_000_000
            result["terms"]["reward/action_rate"]["step"] = build.summary([value / 1e6 for value in ns])

    data = build.write_campaign(
        tmp_path / "data", build.documented_results(), build.documented_matrix(), attempts=spike
    )
    notes = tool.aggregate(tool.read_campaign(data, tool.plain_sum))["twotrees"]["notes"]
    said = [note for note in notes if note.startswith("term:reward/action_rate before: mean")]
    assert len(said) == 1
    assert "part by" in said[0]
