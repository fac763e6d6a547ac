"""The measured child on the real thing: the embedded humanoid, real physics, both arms at 16 environments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from measured_child import Ran, run_child

from twotrees.runs import parity
from twotrees.runs.attempt import fault_of
from twotrees.study import compose, toolkit_root

SUBJECT = toolkit_root() / "subject"
REWARDS = ("motion_body_pos", "motion_body_ori", "motion_body_lin_vel", "motion_body_ang_vel")


def run(folder: Path, name: str, *words: str, layers: tuple[str, ...] = ()) -> Ran:
    """One child on a tree made of `before` and the given layers, its caches in *folder*."""
    tree = folder / f"tree-{name}"
    for layer in ("before", *layers):
        shutil.copytree(SUBJECT / layer, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    private = {key: str(folder / "cache") for key in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "WARP_CACHE_PATH")}
    flags = {"entry": "g1_tracking.entry:make_env", "warmup": "0" if "--parity" in words else "1", "measure": "4"}
    return run_child(tree, folder / f"{name}.json", *words, env={**private, "HOME": str(folder)}, **flags)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("subject")


def test_a_terms_run_of_before_has_every_published_target_and_whole_nanoseconds(folder: Path) -> None:
    ran = run(folder, "terms", "--instrument")
    plan = {"backend": "mujoco", "num_envs": 16, "warmup": 1, "measure": 4, "instrument": True}
    assert fault_of(ran.result, plan) == ""
    terms = ran.result["terms"]
    for name in (*(f"reward/{reward}" for reward in REWARDS), "termination/anchor_pos"):
        assert terms[name]["step"]["count"] == 4
    assert terms["command/robot_state_refresh/first_read"]["step"]["count"] == 4
    assert terms["command/robot_state_refresh/force"]["step"]["count"] == 4
    assert {series["unit"] for series in ran.ours["samples"].values()} == {"ns"}
    assert {item["module"].partition(".")[0] for item in ran.ours["provenance"]} == {"g1_tracking"}
    assert ran.ours["config"]["num_envs"] == 16


def test_after_computes_what_before_computes(folder: Path) -> None:
    traces = {"before": folder / "before.npz", "after": folder / "after.npz"}
    before = run(folder, "before", "--parity", str(traces["before"]))
    after = run(folder, "after", "--parity", str(traces["after"]), layers=("after",))
    assert before.ours["workload"] == after.ours["workload"]
    assert before.ours["config_sha256"] == after.ours["config_sha256"]
    report = parity.compare(traces, compose([])[0].backend.tolerance)
    assert [line for line in report["terms"] if not line["ok"]] == []
    assert report["ok"]
