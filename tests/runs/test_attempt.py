"""Whether a run's result counts: only a whole, finite, planned one does, and the reason is told in words."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees import strict_json
from twotrees.runs import execute
from twotrees.runs.attempt import TAIL_CHARACTERS, fault_of, judged, record, tail
from twotrees.runs.execute import Ended
from twotrees.runs.plan import PlannedRun

WELL = Ended("2026-12-01T00:00:00.000Z", "2026-12-01T00:00:09.000Z", 9.0, 0, None, False, {"user_s": 8.5})
PLAN: dict[str, Any] = {
    "backend": "mujoco",
    "num_envs": 16,
    "warmup": 1,
    "measure": 3,
    "instrument": False,
    "action_seed": 20260826,
}


def summary(count: int = 3, value: float = 1.5) -> dict[str, Any]:
    return {"count": count, "mean_ms": value, "median_ms": value, "p95_ms": value}


def published() -> dict[str, Any]:
    """A phase result with the published profiler's keys and nothing else."""
    return {
        "repo": "/somewhere/unilab-before",
        **PLAN,
        "env_seed": 123,
        "timing": {
            "update_state_ms": summary(),
            "env_step_total_ms": summary(value=4.0),
            "reset_done_ms": summary(value=0.5),
            "reset_done_count": summary(value=2.0),
            "backend": {"backend_physics_ms": summary(value=2.0)},
        },
    }


def ours() -> dict[str, Any]:
    samples = {
        "update_state_ms": {"unit": "ns", "values": [1500000, 1400000, 1600000]},
        "env_step_total_ms": {"unit": "ns", "values": [4000000, 4000000, 4000000]},
        "reset_done_ms": {"unit": "ns", "values": [500000, 0, 600000]},
    }
    return {**published(), "twotrees": {"schema": "twotrees-result-v1", "samples": samples}}


def instrumented() -> dict[str, Any]:
    terms = {"termination/anchor_pos": {"step": summary(), "reset": summary(0, 0.0)}}
    return {**published(), "instrument": True, "terms": terms, "term_sum_step_ms": summary()}


def verdict(tmp_path: Path, text: str | bytes, ended: Ended = WELL, **plan: Any) -> tuple[str, str, Any]:
    out, err = tmp_path / "result.json", tmp_path / "err"
    out.write_bytes(text if isinstance(text, bytes) else text.encode())
    err.write_text("Traceback:\n  boom\n")
    return judged(ended, out, err, {**PLAN, **plan})


# --- what counts ----------------------------------------------------------------------------------------------------


def test_the_published_profilers_result_counts(tmp_path: Path) -> None:
    result = published()
    assert verdict(tmp_path, json.dumps(result, indent=2)) == ("ok", "", result)


def test_the_published_profilers_terms_result_counts(tmp_path: Path) -> None:
    assert verdict(tmp_path, json.dumps(instrumented()), instrument=True)[:2] == ("ok", "")


def test_our_result_with_raw_samples_counts(tmp_path: Path) -> None:
    assert verdict(tmp_path, json.dumps(ours()))[:2] == ("ok", "")


def test_a_run_in_which_nothing_had_to_be_reset_counts(tmp_path: Path) -> None:
    result = ours()
    result["timing"]["reset_done_ms"] = summary(value=0.0)
    result["twotrees"]["samples"]["reset_done_ms"]["values"] = [0, 0, 0]
    assert verdict(tmp_path, json.dumps(result))[0] == "ok"


# --- how it ended ---------------------------------------------------------------------------------------------------


def ended_as(**changed: Any) -> Ended:
    return dataclasses.replace(WELL, **changed)


@pytest.mark.parametrize(
    ("ended", "status", "told"),
    [
        (ended_as(exit=1), "failed", "exit status 1: Traceback: | boom"),
        (ended_as(exit=None, signal="SIGKILL"), "failed", "ended by SIGKILL: Traceback: | boom"),
        (ended_as(exit=None, signal="SIGTERM", timed_out=True, wall_s=1800.2), "timeout", "it was ended after 1800 s"),
        (ended_as(exit=0, timed_out=True), "timeout", "it was ended after 9 s"),
        (ended_as(exit=None, fault="python did not start: gone"), "failed", "python did not start: gone"),
    ],
)
def test_a_run_that_did_not_end_well_never_counts_though_it_left_a_good_result(
    tmp_path: Path, ended: Ended, status: str, told: str
) -> None:
    assert verdict(tmp_path, json.dumps(ours()), ended) == (status, told, None)


def test_a_run_that_wrote_no_file_is_invalid_whatever_it_printed(tmp_path: Path) -> None:
    status, reason, result = judged(WELL, tmp_path / "nothing.json", tmp_path / "err", PLAN)
    assert (status, reason, result) == ("invalid", "it ended well but wrote no result file", None)


def test_a_folder_in_place_of_the_file_is_told(tmp_path: Path) -> None:
    assert judged(WELL, tmp_path, tmp_path / "err", PLAN)[:2] == (
        "invalid",
        "its result cannot be read: Is a directory",
    )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("Warp 1.14.0 initialized\n" + json.dumps({"timing": {}}), "not JSON"),
        (json.dumps(published())[:-9], "not JSON"),
        (json.dumps(published()) + "{}", "not JSON"),
        ("\ufeff" + json.dumps(published()), "not JSON"),
        (json.dumps(published()).replace("1.5", "NaN", 1), "NaN is not a JSON number"),
        (json.dumps(published()).replace("1.5", "Infinity", 1), "Infinity is not a JSON number"),
        (json.dumps(published()).replace("1.5", "-Infinity", 1), "-Infinity is not a JSON number"),
        (json.dumps(published()).replace("1.5", "1e999", 1), "number overflows"),
        (json.dumps(published()).replace("{", '{"backend": "mujoco", ', 1), "duplicate key 'backend'"),
        (json.dumps(published()).replace("20260826", "9007199254740993"), "integer beyond 2^53"),
        (b'{"backend": "\xff"}', "not UTF-8 at byte 13"),
        ("[" * 100_000, "nested deeper"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_a_result_that_readers_could_read_differently_is_refused_whole(
    tmp_path: Path, text: str | bytes, told: str
) -> None:
    status, reason, result = verdict(tmp_path, text)
    assert (status, result) == ("invalid", None)
    assert reason.startswith("its result is refused: ")
    assert told in reason


# --- what it says ---------------------------------------------------------------------------------------------------


def changed(result: dict[str, Any], *path: str | int, to: Any = None) -> dict[str, Any]:
    """A copy in which the value at *path* is another, or is gone."""
    result = copy.deepcopy(result)
    inner: Any = result
    for part in path[:-1]:
        inner = inner[part]
    if to is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = to
    return result


UPDATE = ("timing", "update_state_ms")
SAMPLES = ("twotrees", "samples", "update_state_ms")
INVALID: list[tuple[dict[str, Any], str]] = [
    (changed(published(), "timing"), "its result has no 'timing'"),
    (changed(published(), "timing", to=[1]), "its result has no 'timing'"),
    (changed(published(), "num_envs", to=8), "its result says num_envs 8, the plan 16"),
    (changed(published(), "backend", to="mjwarp"), "its result says backend 'mjwarp', the plan 'mujoco'"),
    (changed(published(), "warmup", to=0), "its result says warmup 0, the plan 1"),
    (changed(published(), "measure", to=100), "its result says measure 100, the plan 3"),
    (changed(published(), "instrument", to=True), "its result says instrument True, the plan False"),
    (changed(published(), "action_seed"), "its result says action_seed None, the plan 20260826"),
    (changed(published(), *UPDATE), "its result has no timing for update_state_ms"),
    (changed(published(), "timing", "reset_done_ms"), "its result has no timing for reset_done_ms"),
    (changed(published(), *UPDATE, to=3.0), "its result has no timing for update_state_ms"),
    (changed(published(), *UPDATE, "count", to=2), "update_state_ms counts 2 steps, the plan 3"),
    (changed(published(), *UPDATE, "count"), "update_state_ms counts None steps, the plan 3"),
    (changed(published(), *UPDATE, "median_ms"), "update_state_ms median_ms is None"),
    (changed(published(), *UPDATE, "mean_ms", to="1.5"), "update_state_ms mean_ms is '1.5'"),
    (changed(published(), *UPDATE, "mean_ms", to=True), "update_state_ms mean_ms is True"),
    (changed(published(), *UPDATE, "mean_ms", to=0.0), "update_state_ms mean_ms is 0.0, and a time must have passed"),
    (changed(published(), *UPDATE, "median_ms", to=-1), "update_state_ms median_ms is -1, and a time must have passed"),
    (
        changed(published(), "timing", "reset_done_ms", "mean_ms", to=-0.5),
        "reset_done_ms mean_ms is -0.5, and a time must have passed",
    ),
    (
        changed(ours(), *SAMPLES, "values", 1, to=-5),
        "update_state_ms of measured step 1 is -5, and a time must have passed",
    ),
    (
        changed(ours(), *SAMPLES, "values", 2, to=0),
        "update_state_ms of measured step 2 is 0, and a time must have passed",
    ),
    (changed(ours(), *SAMPLES, "values", 0, to="NaN"), "update_state_ms of measured step 0 is 'NaN'"),
    (changed(ours(), *SAMPLES, "values", 0, to=True), "update_state_ms of measured step 0 is True"),
    (changed(ours(), *SAMPLES, "values", 0), "update_state_ms has 2 samples, the plan 3"),
    (changed(ours(), *SAMPLES, "values"), "update_state_ms has samples without values"),
    (changed(ours(), *SAMPLES, to=[1, 2, 3]), "update_state_ms has samples without values"),
    (changed(ours(), "twotrees", "samples", to=[1]), "samples has samples without values"),
]


@pytest.mark.parametrize(("result", "told"), INVALID, ids=[told for _, told in INVALID])
def test_a_result_is_invalid_when(tmp_path: Path, result: dict[str, Any], told: str) -> None:
    assert verdict(tmp_path, json.dumps(result)) == ("invalid", told, result)


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (changed(instrumented(), "terms"), "its result has no 'terms'"),
        (changed(instrumented(), "terms", to={}), "its result has no 'terms'"),
        (changed(instrumented(), "terms", to=[1]), "terms is [1], not a summary"),
        (
            changed(instrumented(), "terms", "termination/anchor_pos", "step", "mean_ms", to=-1.0),
            "termination/anchor_pos mean_ms is -1.0, and a time must have passed",
        ),
        (
            changed(instrumented(), "terms", "termination/anchor_pos", to=3),
            "termination/anchor_pos is None, not a summary",
        ),
    ],
    ids=str,
)
def test_a_terms_result_is_invalid_when(tmp_path: Path, result: dict[str, Any], told: str) -> None:
    assert verdict(tmp_path, json.dumps(result), instrument=True)[:2] == ("invalid", told)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["count", "step", "x"]), inner),
    max_leaves=6,
)
places = st.sampled_from(
    [
        *[("timing",), UPDATE, (*UPDATE, "count"), (*UPDATE, "mean_ms"), ("terms",), ("twotrees",)],
        *[("twotrees", "samples"), SAMPLES, (*SAMPLES, "values"), (*SAMPLES, "values", 1), ("measure",)],
    ]
)


@given(places, json_values)
def test_no_value_in_any_place_of_a_result_is_more_than_invalid(place: tuple[Any, ...], value: Any) -> None:
    whole = {**ours(), "terms": instrumented()["terms"]}
    inner: Any = whole
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    assert isinstance(fault_of(whole, PLAN), str)


@given(json_values)
def test_no_json_at_all_counts_as_a_result_by_accident(value: Any) -> None:
    assert fault_of(value, PLAN)


# --- real processes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "status", "told"),
    [
        ("raise ValueError('no such body: pelvis')", "failed", "ValueError: no such body: pelvis"),
        ("import os; os.abort()", "failed", "ended by SIGABRT"),
        ("import time; time.sleep(600)", "timeout", "it was ended after"),
        ("print('{\"timing\": {}}')", "invalid", "it ended well but wrote no result file"),
        ("import sys; sys.exit(3)", "failed", "exit status 3: it said nothing"),
    ],
)
def test_what_became_of_a_real_process_is_told(
    script: Callable[..., list[str]], tmp_path: Path, text: str, status: str, told: str
) -> None:
    files = {"out": tmp_path / "out", "err": tmp_path / "err"}
    ended = execute.run(script(text), env={}, cwd=tmp_path, **files, timeout_s=1.0)
    found, reason, result = judged(ended, tmp_path / "result.json", tmp_path / "err", PLAN)
    assert (found, result) == (status, None)
    assert told in reason


# --- the tail of a log ----------------------------------------------------------------------------------------------


def test_the_tail_is_one_line_of_what_can_be_printed(tmp_path: Path) -> None:
    (tmp_path / "err").write_bytes(b"\n\x1b[31mred\x1b[0m\r\x07 50%\xff\n\n  last\x00 line \n")
    told = tail(tmp_path / "err")
    assert told.endswith("| last  line")
    assert told.isprintable()
    assert "red" in told


def test_the_tail_of_a_flood_is_short_and_its_end(tmp_path: Path) -> None:
    (tmp_path / "err").write_bytes(b"x" * 100_000 + b"\nValueError: at last\n")
    told = tail(tmp_path / "err")
    assert len(told) <= TAIL_CHARACTERS
    assert told.endswith("ValueError: at last")


def test_a_log_that_is_not_there_or_empty_is_told(tmp_path: Path) -> None:
    assert tail(tmp_path / "err") == "no log"
    (tmp_path / "err").write_text("\n \n")
    assert tail(tmp_path / "err") == "it said nothing"


# --- the record -----------------------------------------------------------------------------------------------------


def recorded(ended: Ended | None, status: str, reason: str) -> dict[str, Any]:
    return record(
        4,
        PlannedRun(3, "before", "phase", 2),
        "mujoco",
        argv=["python", "x.py"],
        env={"PATH": "/bin"},
        scrubbed=["EDITOR"],
        ended=ended,
        status=status,
        reason=reason,
        environment={"before": "a" * 64, "after": "a" * 64},
        result=ours() if status == "ok" else None,
    )


def test_a_record_tells_which_attempt_at_which_run_of_which_arm_it_was() -> None:
    told = recorded(WELL, "ok", "")
    assert [told[key] for key in ("attempt", "run", "arm", "mode", "repeat")] == [4, 3, "before", "phase", 2]
    assert (told["start"], told["end"], told["exit"], told["signal"]) == (WELL.start, WELL.end, 0, None)
    assert told["rusage"] == {"user_s": 8.5}
    assert strict_json.loads(strict_json.dumps(told)) == told


def test_an_attempt_of_which_only_the_beginning_is_known_has_no_end() -> None:
    told = recorded(None, "interrupted", "the campaign was killed while it ran")
    assert (told["end"], told["exit"], told["result"], told["rusage"]) == (None, None, None, {})
    assert set(told) == set(recorded(WELL, "ok", ""))
