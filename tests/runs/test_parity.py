"""Parity: a wrong kernel is found, rounding is not, and nothing compared never reads as equal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.errors import RunFailed
from twotrees.runs import parity
from twotrees.study import Tolerance

TIGHT = Tolerance(absolute=1e-5, relative=1e-4)
STEPS, ENVS = 5, 8


def outputs(seed: int = 0) -> dict[str, Any]:
    """One arm's trace, as a parity run writes it."""
    random = np.random.default_rng(seed)
    return {
        "environments": np.arange(ENVS)[None],
        "reward/motion_body_pos": random.uniform(size=(STEPS, ENVS)).astype(np.float32),
        "termination/anchor_pos": random.uniform(size=(STEPS, ENVS)) < 0.5,
        "step/obs/actor": random.normal(size=(STEPS, ENVS, 3)).astype(np.float32),
        "step/count": random.integers(0, 9, size=(STEPS, ENVS)),
    }


def traces(folder: Path, **arms: dict[str, Any]) -> dict[str, Path]:
    paths = {}
    for arm, arrays in arms.items():
        paths[arm] = folder / f"{arm}.npz"
        np.savez(paths[arm], **arrays)
    return paths


def line(report: dict[str, Any], name: str, arm: str = "after") -> dict[str, Any]:
    (found,) = [line for line in report["terms"] if line["name"] == name and line["arm"] == arm]
    return dict(found)


def test_two_arms_that_give_the_same_arrays_agree_in_every_output(tmp_path: Path) -> None:
    report = parity.compare(traces(tmp_path, before=outputs(), after=outputs()), TIGHT)
    assert report["ok"]
    assert {entry["name"] for entry in report["terms"]} == set(outputs())
    assert all(entry["ok"] and entry["max_abs_delta"] == 0 for entry in report["terms"])
    assert (report["baseline"], report["arms"], report["steps"], report["num_envs"]) == (
        *("before", ["before", "after"]),
        *(STEPS, ENVS),
    )
    assert json.loads(json.dumps(report, allow_nan=False)) == report


def test_rounding_within_the_tolerance_is_told_by_its_size_and_let_pass(tmp_path: Path) -> None:
    after = outputs()
    after["reward/motion_body_pos"] = after["reward/motion_body_pos"] + np.float32(4e-6)
    report = parity.compare(traces(tmp_path, before=outputs(), after=after), TIGHT)
    assert report["ok"]
    assert 0 < line(report, "reward/motion_body_pos")["max_abs_delta"] < 1e-5


def test_a_wrong_kernel_is_named_with_its_size_and_the_first_step_in_which_it_shows(tmp_path: Path) -> None:
    after = outputs()
    after["reward/motion_body_pos"][2:, 3] += 0.25
    report = parity.compare(traces(tmp_path, before=outputs(), after=after), TIGHT)
    wrong = line(report, "reward/motion_body_pos")
    assert not report["ok"]
    assert not wrong["ok"]
    assert wrong["max_abs_delta"] == pytest.approx(0.25, rel=1e-5)
    assert wrong["first_step"] == 2
    assert wrong["share_outside"] == pytest.approx((STEPS - 2) / (STEPS * ENVS))
    assert wrong["reason"] == "outside the tolerance from step 2"
    assert [entry["name"] for entry in report["terms"] if not entry["ok"]] == ["reward/motion_body_pos"]


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_term_that_only_one_arm_has_is_named(tmp_path: Path, side: str) -> None:
    arms = {"before": outputs(), "after": outputs()}
    del arms[side]["reward/motion_body_pos"]
    report = parity.compare(traces(tmp_path, **arms), TIGHT)
    assert not report["ok"]
    assert line(report, "reward/motion_body_pos")["reason"] == "only one of the two arms has it"


def test_shapes_that_differ_are_told(tmp_path: Path) -> None:
    after = outputs()
    after["step/obs/actor"] = after["step/obs/actor"][:, :, :2]
    report = parity.compare(traces(tmp_path, before=outputs(), after=after), TIGHT)
    assert line(report, "step/obs/actor")["reason"] == "shapes differ: (5, 8, 3) and (5, 8, 2)"
    assert not report["ok"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("side", ["before", "after", "both"])
def test_an_output_that_is_not_finite_never_agrees_even_with_itself(tmp_path: Path, value: float, side: str) -> None:
    arms = {"before": outputs(), "after": outputs()}
    for arm in arms if side == "both" else [side]:
        arms[arm]["reward/motion_body_pos"][1, 1] = value
    report = parity.compare(traces(tmp_path, **arms), TIGHT)
    assert not report["ok"]
    assert line(report, "reward/motion_body_pos")["reason"] == "not finite"


def test_one_environment_that_ends_in_one_arm_only_is_outside_every_tolerance(tmp_path: Path) -> None:
    after = outputs()
    after["termination/anchor_pos"][4, 7] ^= True
    report = parity.compare(traces(tmp_path, before=outputs(), after=after), Tolerance(absolute=9.0, relative=9.0))
    wrong = line(report, "termination/anchor_pos")
    assert not report["ok"]
    assert (wrong["first_step"], wrong["max_abs_delta"]) == (4, 1.0)


def test_a_count_that_differs_by_one_is_outside_every_tolerance(tmp_path: Path) -> None:
    after = outputs()
    after["step/count"][0, 0] += 1
    report = parity.compare(traces(tmp_path, before=outputs(), after=after), Tolerance(absolute=9.0, relative=9.0))
    assert not line(report, "step/count")["ok"]


def test_arms_that_kept_other_environments_are_not_compared_as_if_they_were_the_same(tmp_path: Path) -> None:
    after = outputs()
    after["environments"] = after["environments"] + 1
    report = parity.compare(traces(tmp_path, before=outputs(), after=after), TIGHT)
    assert not line(report, "environments")["ok"]


def test_a_float_and_a_double_of_the_same_value_agree(tmp_path: Path) -> None:
    after = outputs()
    after["reward/motion_body_pos"] = after["reward/motion_body_pos"].astype(np.float64)
    assert parity.compare(traces(tmp_path, before=outputs(), after=after), TIGHT)["ok"]


def test_the_larger_a_value_the_further_it_may_lie_apart_by_the_relative_part(tmp_path: Path) -> None:
    before, after = outputs(), outputs()
    before["reward/motion_body_pos"][:] = 1000.0
    after["reward/motion_body_pos"][:] = 1000.05
    pair = traces(tmp_path, before=before, after=after)
    assert parity.compare(pair, Tolerance(absolute=0.0, relative=1e-4))["ok"]
    assert not parity.compare(pair, Tolerance(absolute=0.0, relative=1e-5))["ok"]


def test_every_further_arm_is_compared_with_the_first(tmp_path: Path) -> None:
    wrong = outputs()
    wrong["step/obs/actor"] += 1
    report = parity.compare(traces(tmp_path, before=outputs(), after=outputs(), next=wrong), TIGHT)
    assert not report["ok"]
    assert line(report, "step/obs/actor", "after")["ok"]
    assert not line(report, "step/obs/actor", "next")["ok"]


def test_text_in_a_trace_is_told_and_not_compared_as_numbers(tmp_path: Path) -> None:
    arms = {arm: {**outputs(), "step/name": np.array([["a"] * ENVS] * STEPS)} for arm in ("before", "after")}
    report = parity.compare(traces(tmp_path, **arms), TIGHT)
    assert "not numbers" in line(report, "step/name")["reason"]


@given(st.integers(0, 2**32 - 1), st.floats(0, 1e-3), st.floats(0, 1e-3), st.floats(-2e-3, 2e-3))
def test_the_verdict_is_the_stated_inequality(seed: int, absolute: float, relative: float, shift: float) -> None:
    a = np.random.default_rng(seed).normal(size=(3, 4))
    b = a + shift
    told = parity.compared("after", "x", a, b, Tolerance(absolute=absolute, relative=relative))
    assert told["ok"] == bool((np.abs(a - b) <= absolute + relative * np.abs(a)).all())
    assert told["max_abs_delta"] == np.abs(a - b).max()


# --- traces that are none -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read"),
        (b"", "cannot be read"),
        (b"PK\x03\x04 torn", "cannot be read"),
        (b"no archive at all", "cannot be read"),
    ],
)
def test_a_trace_that_is_missing_or_damaged_is_named(tmp_path: Path, content: bytes | None, told: str) -> None:
    pair = traces(tmp_path, before=outputs())
    pair["after"] = tmp_path / "after.npz"
    if content is not None:
        pair["after"].write_bytes(content)
    with pytest.raises(RunFailed, match=rf"after\.npz: the trace {told}"):
        parity.compare(pair, TIGHT)


def test_a_trace_cut_short_is_named(tmp_path: Path) -> None:
    pair = traces(tmp_path, before=outputs(), after=outputs())
    whole = pair["after"].read_bytes()
    for keep in (len(whole) // 3, len(whole) - 10):
        pair["after"].write_bytes(whole[:keep])
        with pytest.raises(RunFailed, match=r"after\.npz"):
            parity.compare(pair, TIGHT)


def test_a_trace_that_would_run_code_when_it_is_loaded_is_refused(tmp_path: Path) -> None:
    pair = traces(tmp_path, before=outputs(), after={**outputs(), "x": np.array([[print]], dtype=object)})
    with pytest.raises(RunFailed, match=r"after\.npz: the trace cannot be read"):
        parity.compare(pair, TIGHT)


@pytest.mark.parametrize("kept", [(), ("environments",), ("reward/motion_body_pos",)])
def test_two_traces_without_outputs_are_refused_and_not_called_equal(tmp_path: Path, kept: tuple[str, ...]) -> None:
    empty = {name: values for name, values in outputs().items() if name in kept}
    with pytest.raises(RunFailed, match="holds no outputs"):
        parity.compare(traces(tmp_path, before=empty, after=empty), TIGHT)
