"""The published profiler and ours, one after the other on one tree: the same words, keys and workload."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from measured_child import Ran, environment, run_child
from tiny_tree import write_unilab

from twotrees.runs.attempt import fault_of
from twotrees.study.model import PUBLISHED_FLAGS, PUBLISHED_PROFILER

POST = Path(__file__).resolve().parents[3] / "shared" / "reference" / "post.txt"
HEADINGS = ("/tmp/profile_update_state.py（", "/tmp/aggregate_update_state.py（")


@pytest.fixture(scope="module")
def published() -> bytes:
    """The published profiler, cut from the post and checked by the SHA-256 that the post prints."""
    if not POST.exists():
        pytest.skip("the published post is not on this machine")
    block = POST.read_text(encoding="utf-8").split(HEADINGS[0], 1)[1].split("\n", 1)[1].split(HEADINGS[1], 1)[0]
    source = (block.strip("\n") + "\n").encode()
    assert hashlib.sha256(source).hexdigest() == PUBLISHED_PROFILER
    return source


@pytest.fixture(scope="module", params=[(), ("--instrument",)], ids=["phase", "terms"])
def both(request: pytest.FixtureRequest, published: bytes, tmp_path_factory: pytest.TempPathFactory) -> tuple[Ran, Ran]:
    """The published run and ours, of the same tree with a package `unilab`, with the published words."""
    folder = tmp_path_factory.mktemp("published")
    tree = write_unilab(folder / "tree", fused=True)
    script = folder / "profile_update_state.py"
    script.write_bytes(published)
    path = {"PYTHONPATH": str(tree / "src")}
    theirs = run_child(tree, folder / "theirs.json", *request.param, profiler=script, entry=None, env=path)
    ours = run_child(tree, folder / "ours.json", *request.param, entry=None, env=path)
    return theirs, ours


def shape(value: Any) -> Any:
    """The keys and types of JSON data, without its values."""
    if isinstance(value, dict):
        return {key: shape(item) for key, item in value.items()}
    return type(value).__name__


def without_ours(result: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in result.items() if key != "twotrees"}


def test_ours_has_every_published_key_in_the_published_order_with_the_published_type(both: tuple[Ran, Ran]) -> None:
    theirs, ours = both
    assert shape(without_ours(ours.result)) == shape(theirs.result)
    assert list(without_ours(ours.result)) == list(theirs.result)
    assert list(ours.result["timing"]) == list(theirs.result["timing"])


def test_ours_prints_what_the_published_one_prints(both: tuple[Ran, Ran]) -> None:
    theirs, ours = both
    assert shape(json.loads(ours.out)) == shape(json.loads(theirs.out))
    assert len(ours.out.splitlines()) == len(theirs.out.splitlines()) == 1


def test_both_did_the_same_work(both: tuple[Ran, Ran]) -> None:
    theirs, ours = (ran.result for ran in both)
    told = ("repo", "backend", "num_envs", "warmup", "measure", "instrument", "action_seed", "env_seed")
    assert {key: ours[key] for key in told} == {key: theirs[key] for key in told}
    assert ours["timing"]["reset_done_count"] == theirs["timing"]["reset_done_count"]


def test_both_count_the_same_calls_of_each_term(both: tuple[Ran, Ran]) -> None:
    theirs, ours = (ran.result.get("terms", {}) for ran in both)
    counted = [
        {name: (term["step"]["count"], term["reset"]["count"]) for name, term in terms.items()}
        for terms in (theirs, ours)
    ]
    assert counted[0] == counted[1]


def test_what_a_study_may_ask_of_the_published_profiler_is_what_it_knows(published: bytes) -> None:
    assert set(re.findall(r'add_argument\("(--[a-z-]+)"', published.decode())) == set(PUBLISHED_FLAGS)


def test_the_campaign_accepts_a_result_of_either(both: tuple[Ran, Ran]) -> None:
    for ran in both:
        plan = {"backend": "mujoco", "num_envs": 16, "warmup": 2, "measure": 5, "action_seed": 20260826}
        assert fault_of(ran.result, {**plan, "instrument": ran.result["instrument"]}) == ""


def test_the_published_environment_seed_reaches_the_subject_through_hydra(tmp_path: Path) -> None:
    tree = write_unilab(tmp_path / "tree")
    one, other, last = (
        run_child(tree, tmp_path / f"{seed}.json", entry=None, env_seed=seed).ours for seed in ("123", "7", "123")
    )
    assert one["observation_digest"] == last["observation_digest"] != other["observation_digest"]
    assert one["config"]["env"]["seed"] == 123
    assert one["config"]["sim_backend"] == "mujoco"


def test_each_backend_has_its_own_owner_in_the_subjects_configuration(tmp_path: Path) -> None:
    tree = write_unilab(tmp_path / "tree")
    ran = run_child(tree, tmp_path / "result.json", "--option", "env.extra=1", entry=None, backend="mjwarp")
    assert ran.exit != 0, "an option that the subject's configuration does not know must not pass unseen"
    ran = run_child(tree, tmp_path / "result.json", "--option", "+env.extra=1", entry=None, backend="mjwarp")
    assert (ran.ours["config"]["sim_backend"], ran.ours["config"]["env"]["extra"]) == ("mjwarp", 1)


def test_the_child_needs_nothing_but_numpy_beside_the_subject(tmp_path: Path) -> None:
    text = "import sys, runpy; sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='not main')"
    names = "print(sorted({name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)))"
    profiler = Path(__file__).resolve().parents[2] / "tools" / "profile_update_state.py"
    argv = [sys.executable, "-I", "-c", f"{text}; {names}", os.fspath(profiler)]
    before = [sys.executable, "-I", "-c", f"import sys, numpy; {names}"]
    told = [
        subprocess.run(words, env=environment(), capture_output=True, text=True, check=True).stdout
        for words in (argv, before)
    ]
    assert told[0] == told[1]
