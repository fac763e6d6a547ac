"""A parity run: every term's output in every step, so that two arms can be compared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measured_child import Ran
from tiny_tree import OBSERVATIONS, REWARDS, TERMINATIONS

from twotrees.runs import parity
from twotrees.study import Tolerance

TIGHT = Tolerance(absolute=1e-6, relative=1e-6)
Child = Callable[..., Ran]
Trace = Callable[..., Path]


@pytest.fixture
def trace(child: Child, tmp_path: Path) -> Trace:
    """Runs a parity run of a tree with the given knobs and gives its trace."""

    def run(num_envs: int = 16, warmup: int = 0, **knobs: Any) -> Path:
        path = tmp_path / f"trace{len(list(tmp_path.glob('trace*')))}.npz"
        flags = {"num_envs": str(num_envs), "warmup": str(warmup), "measure": "7"}
        ran = child("--parity", str(path), flags=flags, **knobs)
        assert ran.result["twotrees"]["workload"]["steps"] == 7
        return path

    return run


def arrays(path: Path) -> dict[str, Any]:
    with np.load(path) as stored:
        return {name: stored[name] for name in stored.files}


def test_the_trace_holds_every_output_of_every_step(trace: Trace) -> None:
    found = arrays(trace())
    per_environment = {
        *(f"reward/{name}" for name in REWARDS),
        *(f"termination/{name}" for name in TERMINATIONS),
        *("step/reward", "step/terminated", "step/truncated"),
    }
    assert {name: found[name].shape for name in per_environment} == dict.fromkeys(per_environment, (7, 16))
    for group, names in OBSERVATIONS.items():
        widths = [found[f"obs/{group}/{name}"].shape[2] for name in names]
        assert found[f"step/obs/{group}"].shape == (7, 16, sum(widths))
    assert found["environments"].tolist() == [list(range(16))]


def test_an_output_is_copied_for_subjects_reuse_their_buffers(trace: Trace) -> None:
    found = arrays(trace())
    for name in ("reward/motion_body_pos", "obs/actor/body_pos", "step/obs/actor"):
        assert not any(np.array_equal(found[name][step], found[name][step + 1]) for step in range(6)), name


def test_what_is_computed_again_within_a_reset_is_left_out(trace: Trace) -> None:
    found = arrays(trace())
    assert found["step/truncated"].any(), "nothing was reset, so that this test could not fail"
    assert len(found["obs/actor/body_pos"]) == 7


def test_at_most_256_environments_are_kept_spread_from_the_first_to_the_last(trace: Trace) -> None:
    found = arrays(trace(num_envs=1000))
    kept = found["environments"][0]
    assert len(kept) == len(set(kept)) == 256
    assert (kept[0], kept[-1]) == (0, 999)
    assert np.diff(kept).max() <= 4
    assert found["reward/motion_body_pos"].shape == (7, 256)


def test_arms_that_compute_the_same_in_different_ways_agree(trace: Trace) -> None:
    report = parity.compare({"before": trace(), "after": trace(fused=True)}, TIGHT)
    assert report["ok"]
    assert report["steps"] == 7


def test_a_wrong_reward_is_found_and_named_and_so_is_all_that_follows_from_it(trace: Trace) -> None:
    report = parity.compare({"before": trace(), "after": trace(fused=True, wrong_reward=1e-3)}, TIGHT)
    assert not report["ok"]
    wrong = {line["name"]: line["first_step"] for line in report["terms"] if not line["ok"]}
    assert wrong == {"reward/motion_body_pos": 0, "step/reward": 0}


def test_an_arm_that_resets_nothing_is_found_in_the_step_after_the_first_reset(trace: Trace) -> None:
    report = parity.compare({"before": trace(), "after": trace(dead_resets=True)}, TIGHT)
    assert not report["ok"]


def test_a_warm_up_before_the_trace_is_stepped_and_left_out(trace: Trace) -> None:
    whole, later = arrays(trace()), arrays(trace(warmup=3))
    assert len(later["step/reward"]) == 7
    np.testing.assert_array_equal(later["step/obs/critic"][:4], whole["step/obs/critic"][3:])


def test_the_trace_is_loaded_without_running_code_from_it(trace: Trace) -> None:
    with np.load(trace(), allow_pickle=False) as stored:
        assert all(stored[name].dtype.kind in "biuf" for name in stored.files)
