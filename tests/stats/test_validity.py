"""Validity before speed: each check finds its fault, says where, and voids every verdict."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from twotrees.stats.agreement import differences
from twotrees.stats.recompute import aggregate

Attempt = dict[str, Any]
Edit = Callable[[Attempt], None]


def evidence(attempt: Attempt) -> dict[str, Any]:
    ours: dict[str, Any] = attempt["result"]["twotrees"]
    return ours


def in_after(edit: Edit) -> Edit:
    return lambda attempt: edit(attempt) if attempt["arm"] == "after" else None


def in_the_last(edit: Edit) -> Edit:
    return lambda attempt: edit(attempt) if attempt["attempt"] == 12 else None


FAULTS: dict[str, tuple[Edit, str]] = {
    "environment": (in_the_last(lambda a: a["environment"].update(after="f" * 64)), "2 digests"),
    "instrumentation": (in_the_last(lambda a: a["result"].update(instrument=False)), "run 12"),
    "scale": (in_the_last(lambda a: a["result"].update(num_envs=32)), "num_envs is 32, planned 64"),
    "seeds": (in_after(lambda a: a["result"].update(action_seed=1)), "action_seed is 1"),
    "provenance": (
        in_the_last(lambda a: evidence(a)["provenance"][0].update(path="/usr/lib/g1/env.py")),
        "outside the tree: /usr/lib/g1/env.py",
    ),
    "variables": (in_after(lambda a: a["env"].update(NUMBA_NUM_THREADS="1")), "NUMBA_NUM_THREADS"),
    "config": (in_after(lambda a: evidence(a)["config"]["env"].update(seed=7)), "env.seed differs"),
    "decisions": (in_after(lambda a: evidence(a)["decisions"].update(chunk_size=8)), "chunk_size"),
    "workload": (in_after(lambda a: evidence(a)["workload"].update(action_digest="00")), "action_digest"),
    "warm": (in_the_last(lambda a: evidence(a).update(compiles_after_warmup=2)), "2 compiles after the warm-up"),
}


def write(build: Any, folder: Path, edit: Edit, **keys: Any) -> Path:
    return build.write_campaign(folder, build.documented_results(), build.documented_matrix(), attempts=edit, **keys)


def printed(tool: ModuleType, data: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, str(tool.__file__), "--data", str(data)], capture_output=True, text=True, check=True
    )
    ours: dict[str, Any] = json.loads(done.stdout)["twotrees"]
    assert list(differences({"twotrees": ours}, {"twotrees": aggregate(data)["twotrees"]})) == []
    return ours


def failing(ours: dict[str, Any]) -> dict[str, str]:
    return {row["check"]: row["detail"] for row in ours["validity"] if not row["ok"]}


@pytest.mark.parametrize("check", FAULTS)
def test_a_fault_fails_its_own_check_alone_and_voids_every_verdict(
    tmp_path: Path, tool: ModuleType, build: Any, check: str
) -> None:
    edit, detail = FAULTS[check]
    ours = printed(tool, write(build, tmp_path / "data", edit))
    assert list(failing(ours)) == [check]
    assert detail in failing(ours)[check]
    assert {line["verdict"] for line in ours["effects"]} == {"not comparable"}


def test_a_sound_campaign_fails_nothing(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    assert failing(printed(tool, write(build, tmp_path / "data", lambda attempt: None))) == {}


def test_a_file_with_other_content_in_one_run_of_an_arm_is_another_tree(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    edit = in_the_last(lambda a: evidence(a)["provenance"][0].update(sha256="9" * 64))
    assert "src/g1/env.py" in failing(printed(tool, write(build, tmp_path / "data", edit)))["provenance"]


def test_a_declared_difference_of_configuration_is_no_fault(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    edit = in_after(lambda a: evidence(a)["config"]["env"].update(seed=7))
    data = write(build, tmp_path / "data", edit, declared_differences=["env.seed"])
    assert failing(printed(tool, data)) == {}


def test_paths_that_differ_by_the_arms_name_alone_are_no_difference(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    def edit(attempt: Attempt) -> None:
        evidence(attempt)["config"]["assets"] = f"${{WORK}}/trees/{attempt['arm']}/assets"

    assert failing(printed(tool, write(build, tmp_path / "data", edit))) == {}


def test_a_cache_hit_beside_a_miss_with_the_same_decision_is_no_fault(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    edit = in_the_last(lambda a: evidence(a)["decisions"].update(chunk_cache="miss"))
    assert failing(printed(tool, write(build, tmp_path / "data", edit))) == {}


def test_fewer_resets_are_other_work(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    edit = in_after(lambda a: evidence(a)["workload"].update(reset_counts=[0] * 100))
    assert "workload" in failing(printed(tool, write(build, tmp_path / "data", edit)))


def test_one_reset_more_or_less_is_rounding_not_other_work(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    edit = in_after(lambda a: evidence(a)["workload"].update(reset_counts=[3] * 99 + [4]))
    assert failing(printed(tool, write(build, tmp_path / "data", edit))) == {}


@pytest.mark.parametrize(("ok", "fails"), [(True, []), (False, ["parity"])])
def test_parity_counts_where_there_is_a_record(
    tmp_path: Path, tool: ModuleType, build: Any, ok: bool, fails: list[str]
) -> None:
    data = write(build, tmp_path / "data", lambda attempt: None)
    (data / "parity.json").write_text(json.dumps({"ok": ok, "terms": [{"name": "step/reward", "ok": ok}]}))
    assert list(failing(printed(tool, data))) == fails


def test_what_the_published_profiler_does_not_record_is_said_to_be_unchecked(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    ours = printed(tool, write(build, tmp_path / "data", lambda attempt: attempt["result"].pop("twotrees")))
    unchecked = {row["check"] for row in ours["validity"] if not row["checked"]}
    assert unchecked == {"provenance", "config", "decisions", "workload", "warm", "parity"}
    assert failing(ours) == {}


@pytest.mark.parametrize(
    ("value", "unit"), [(0, "ns"), (-5, "ns"), (float("nan"), "ms"), (float("inf"), "ms"), (True, "ns"), ("7", "ns")]
)
def test_a_sample_that_no_clock_gives_makes_its_run_invalid_by_name(
    tmp_path: Path, tool: ModuleType, build: Any, value: Any, unit: str
) -> None:
    def edit(attempt: Attempt) -> None:
        series = evidence(attempt)["samples"]["update_state_ms"]
        series["values"][4] = value
        series["unit"] = unit

    data = write(build, tmp_path / "data", lambda attempt: in_the_last(edit)(attempt))
    path = data / "runs" / "0003.json"
    attempt = json.loads(path.read_text())
    edit(attempt)
    path.write_text(json.dumps(attempt))
    campaign = tool.read_campaign(data, tool.plain_sum)
    assert [line.split(":")[0] for line in campaign.invalid] == [
        "run 3 (before phase), attempt 3",
        "run 12 (after terms), attempt 12",
    ]
    assert "update_state_ms: sample 5 is" in campaign.invalid[0]


def test_a_term_call_that_takes_no_time_makes_its_run_invalid(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    def edit(attempt: Attempt) -> None:
        evidence(attempt)["term_samples"]["reward/action_rate"]["step"]["values"][0] = 0

    ours = printed(tool, write(build, tmp_path / "data", in_the_last(edit)))
    assert "reward/action_rate: sample 1 is 0" in failing(ours)["runs"]


def test_a_step_without_resets_may_take_no_reset_time(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    def edit(attempt: Attempt) -> None:
        values = evidence(attempt)["samples"]["reset_done_ms"]["values"]
        values[0] = 0
        attempt["result"]["timing"]["reset_done_ms"] = build.summary([ns / 1e6 for ns in values])

    assert failing(printed(tool, write(build, tmp_path / "data", in_the_last(edit)))) == {}


def test_a_run_with_fewer_steps_than_planned_never_becomes_a_median(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    data = write(build, tmp_path / "data", lambda attempt: None)
    plan = json.loads((data / "plan.json").read_text())
    plan["scale"]["measure"] = 200
    (data / "plan.json").write_text(json.dumps(plan))
    with pytest.raises(tool.Refused, match="100 steps where 200 were planned"):
        tool.read_campaign(data, tool.plain_sum)


def test_a_failed_attempt_counts_as_nothing_and_its_retry_counts(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    data = write(build, tmp_path / "data", lambda attempt: None)
    first = data / "runs" / "0001.json"
    good = json.loads(first.read_text())
    first.write_text(json.dumps({**good, "status": "failed", "reason": "ended by SIGKILL", "result": None}))
    (data / "runs" / "0013.json").write_text(json.dumps({**good, "attempt": 13}))
    ours = printed(tool, data)
    assert failing(ours) == {}
    assert [run["attempt"] for run in ours["metrics"]["update_state_ms"]["before"]["runs"]] == [13, 2, 3]


def test_a_run_that_the_plan_excluded_is_not_missed(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    edit = in_the_last(lambda a: a.update(status="failed", result=None))
    data = write(build, tmp_path / "data", edit, exclusions=[{"run": 12, "reason": "no time"}])
    ours = printed(tool, data)
    assert failing(ours) == {}
    assert any("run 12" in note and "excluded" in note for note in ours["notes"])


def lockstep_attempts(build: Any, folder: Path, statuses: list[list[str]]) -> Path:
    """Rounds of two workers; *statuses* gives, for each round, its tries as pairs such as "ok failed"."""
    import numpy as np

    rng = np.random.default_rng(1)
    matrix = [(arm, "lockstep", r) for r in range(1, len(statuses) + 1) for arm in ("before", "after")]
    blocks = [{"update_state_ms": [9_000_000] * 5} for _ in range(4)]
    results = [build.lockstep_result(rng, 0, blocks=blocks) for _ in matrix]
    data = build.write_campaign(folder, results, matrix, protocol={"name": "lockstep"})
    templates = [json.loads(path.read_text()) for path in sorted((data / "runs").glob("*.json"))]
    for path in (data / "runs").glob("*.json"):
        path.unlink()
    number = 0
    for r, tries in enumerate(statuses):
        for attempted in tries:
            for worker, status in enumerate(attempted.split()):
                number += 1
                attempt = {**templates[2 * r + worker], "attempt": number, "status": status}
                (data / "runs" / f"{number:04d}.json").write_text(json.dumps(attempt))
    return data


def test_a_round_counts_for_all_of_its_arms_or_for_none(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    data = lockstep_attempts(build, tmp_path / "data", [["ok ok"], ["ok failed", "failed ok"], ["failed ok", "ok ok"]])
    ours = printed(tool, data)
    runs = ours["metrics"]["update_state_ms"]
    assert [run["attempt"] for run in runs["before"]["runs"]] == [1, 9]
    assert [run["attempt"] for run in runs["after"]["runs"]] == [2, 10]
    assert "run 3 (before lockstep)" in failing(ours)["runs"]


@pytest.mark.parametrize(
    ("file", "text", "code", "complaint"),
    [
        ("plan.json", "{", 5, "plan.json"),
        ("plan.json", "{}", 5, "arms and matrix"),
        ("runs/0001.json", '{"attempt": 1, "attempt": 2}', 5, "duplicate key"),
        ("runs/0001.json", "[]", 5, "not a run file"),
        ("runs/0001.json", "[" * 100_000, 5, "0001.json"),
    ],
)
def test_a_broken_file_is_one_clear_line_and_its_exit_code(
    tmp_path: Path, tool: ModuleType, build: Any, file: str, text: str, code: int, complaint: str
) -> None:
    data = write(build, tmp_path / "data", lambda attempt: None)
    (data / file).write_text(text)
    done = subprocess.run([sys.executable, str(tool.__file__), "--data", str(data)], capture_output=True, text=True)
    assert done.returncode == code
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, tool: ModuleType) -> None:
    for argv in (["--data", str(tmp_path / "none")], [], ["--data", "a", "--published", "b"], ["--nonsense"]):
        done = subprocess.run([sys.executable, str(tool.__file__), *argv], capture_output=True, text=True)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1
