"""Which runs, in which order, and what makes two campaigns runs of one study."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees import strict_json
from twotrees.digest import canonical_json
from twotrees.runs.plan import PlannedRun, matrix, plan_data, study_root
from twotrees.study import CampaignConfig, Protocol, compose

DOCUMENTED = compose(["protocol=documented"])[0].protocol
BALANCED = dataclasses.replace(DOCUMENTED, name="interleaved", order="balanced")
ARMS = ("before", "after")

arm_lists = st.lists(st.sampled_from("abcdefgh"), min_size=2, max_size=6, unique=True)


def order(runs: tuple[PlannedRun, ...]) -> list[tuple[str, str, int]]:
    return [(run.arm, run.mode, run.repeat) for run in runs]


def with_repeats(protocol: Protocol, phase: int, terms: int) -> Protocol:
    return dataclasses.replace(protocol, phase_runs=phase, terms_runs=terms)


def plan_of(config: CampaignConfig, **changed: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "arms": [
            {"name": arm, "commit": digit * 40, "tree": digit * 40, "source": {"kind": "overlay"}}
            for arm, digit in zip(config.study.arms, "ab", strict=False)
        ],
        "scripts": {"profile_update_state.py": "1" * 64, "aggregate_update_state.py": "2" * 64},
        "pins": {"lock_identity": "3" * 64, "checksums_sha256": "4" * 64},
        "device": "cpu",
        "threads": {"numba": 2, "blas": 2, "physics": 2, "numba_layer": "workqueue"},
        "prepared": [],
        "labels": [],
        "control": None,
        "replicates": None,
        "created": "2026-12-01T00:00:00.000Z",
    }
    runs = matrix(config.study.arms, config.protocol, config.seeds.order, with_parity=True)
    return plan_data(config, runs, **{**given, **changed})


# --- order ----------------------------------------------------------------------------------------------------------


def test_the_documented_order_is_the_published_one_arm_after_the_other_phase_runs_before_terms_runs() -> None:
    runs = matrix(ARMS, DOCUMENTED, order_seed=1, with_parity=False)
    assert order(runs) == [
        *(("before", "phase", repeat) for repeat in (1, 2, 3)),
        *(("before", "terms", repeat) for repeat in (1, 2, 3)),
        *(("after", "phase", repeat) for repeat in (1, 2, 3)),
        *(("after", "terms", repeat) for repeat in (1, 2, 3)),
    ]


def test_the_order_seed_changes_nothing_in_the_documented_order() -> None:
    assert matrix(ARMS, DOCUMENTED, 1, with_parity=True) == matrix(ARMS, DOCUMENTED, 2, with_parity=True)


def test_parity_runs_come_first_one_for_each_arm() -> None:
    runs = matrix(("a", "b", "c"), BALANCED, order_seed=5, with_parity=True)
    assert order(runs)[:3] == [("a", "parity", 1), ("b", "parity", 1), ("c", "parity", 1)]
    assert "parity" not in {run.mode for run in runs[3:]}


def test_a_study_without_terms_runs_has_none() -> None:
    assert {run.mode for run in matrix(ARMS, with_repeats(BALANCED, 2, 0), 1, with_parity=False)} == {"phase"}


@given(arm_lists, st.integers(1, 5), st.integers(0, 4), st.integers(0, 2**53 - 1), st.booleans(), st.booleans())
def test_every_arm_gets_exactly_its_runs_numbered_without_gaps(
    arms: list[str], phase: int, terms: int, seed: int, balanced: bool, with_parity: bool
) -> None:
    protocol = with_repeats(BALANCED if balanced else DOCUMENTED, phase, terms)
    runs = matrix(arms, protocol, seed, with_parity=with_parity)
    assert [run.run for run in runs] == list(range(1, len(runs) + 1))
    for arm in arms:
        assert [run.repeat for run in runs if (run.arm, run.mode) == (arm, "phase")] == list(range(1, phase + 1))
        assert [run.repeat for run in runs if (run.arm, run.mode) == (arm, "terms")] == list(range(1, terms + 1))
        assert sum((run.arm, run.mode) == (arm, "parity") for run in runs) == with_parity


@given(arm_lists, st.integers(1, 12), st.integers(0, 2**53 - 1))
def test_in_the_balanced_order_each_repeat_has_every_arm_once_and_each_arm_leads_equally_often(
    arms: list[str], repeats: int, seed: int
) -> None:
    runs = matrix(arms, with_repeats(BALANCED, repeats, repeats), seed, with_parity=False)
    for mode in ("phase", "terms"):
        names = [run.arm for run in runs if run.mode == mode]
        blocks = [names[start : start + len(arms)] for start in range(0, len(names), len(arms))]
        assert all(sorted(block) == sorted(arms) for block in blocks)
        leads = Counter(block[0] for block in blocks)
        counts = [leads[arm] for arm in arms]
        assert max(counts) - min(counts) <= 1
        if repeats % len(arms) == 0:
            assert counts == [repeats // len(arms)] * len(arms)


def test_the_balanced_order_is_the_same_for_the_same_seed_and_varies_with_it() -> None:
    protocol = with_repeats(BALANCED, 6, 6)
    assert matrix(ARMS, protocol, 7, with_parity=False) == matrix(ARMS, protocol, 7, with_parity=False)
    assert len({matrix(ARMS, protocol, seed, with_parity=False) for seed in range(20)}) > 10


def test_over_many_seeds_no_arm_is_first_more_often_than_another() -> None:
    firsts = Counter(matrix(ARMS, BALANCED, seed, with_parity=False)[0].arm for seed in range(400))
    assert abs(firsts["before"] - firsts["after"]) < 80  # 4 standard deviations


# --- the plan as data -----------------------------------------------------------------------------------------------


def test_the_plan_can_be_read_back_from_its_bytes() -> None:
    plan = plan_of(compose(["scale=smoke"])[0])
    assert strict_json.loads(strict_json.dumps(plan)) == plan
    canonical_json(plan)


def test_the_plan_holds_every_number_that_its_statistics_need() -> None:
    plan = plan_of(compose(["scale=smoke", "protocol.delta=0.02"])[0])
    assert plan["statistics"]["delta"] == 0.02
    assert plan["scale"] == {"name": "smoke", "num_envs": 16, "warmup": 1, "measure": 4}
    assert plan["matrix"][0] == {"run": 1, "arm": "before", "mode": "parity", "repeat": 1}
    assert plan["protocol"]["order"] == "by-arm"


def arms_with(**changed: str) -> list[Mapping[str, Any]]:
    first = {"name": "before", "commit": "a" * 40, "tree": "a" * 40, "source": {"kind": "overlay"}}
    return [{**first, **changed}, {**first, "name": "after", "tree": "b" * 40}]


SAME_STUDY = {
    "another day": ([], {"created": "2027-01-01T00:00:00.000Z"}),
    "another device": ([], {"device": "cuda:0"}),
    "other threads": ([], {"threads": {"numba": 32}}),
    "other pins": ([], {"pins": {"lock_identity": "9" * 64}}),
    "a label": ([], {"labels": ["drift allowed"]}),
    "a control": ([], {"control": {"root": "5" * 64}}),
    "a replication": ([], {"replicates": "6" * 64}),
    "the same trees under another commit id": ([], {"arms": arms_with(commit="c" * 40)}),
    "another order seed": (["seeds.order=1"], {}),
    "another order": (["protocol=interleaved"], {}),
    "more repeats": (["protocol.phase_runs=9"], {}),
    "another name for the same scale": (["scale.name=mine"], {}),
    "another title": (["study.title=x"], {}),
    "another results folder": (["results=elsewhere"], {}),
}
OTHER_STUDY = {
    "another tree": ([], {"arms": arms_with(tree="c" * 40)}),
    "another arm": ([], {"arms": arms_with(name="earlier")}),
    "another script": ([], {"scripts": {"profile_update_state.py": "9" * 64}}),
    "more environments": (["scale.num_envs=17"], {}),
    "a longer warm-up": (["scale.warmup=2"], {}),
    "more steps": (["scale.measure=5"], {}),
    "other actions": (["seeds.action=1"], {}),
    "another environment seed": (["seeds.env=1"], {}),
    "another backend": (["backend=mjwarp", "scale.num_envs=16"], {}),
    "another option": (["+study.options.mujoco.x=y"], {}),
    "another option of the backend": (["+backend.options.x=1"], {}),
    "another command": (["study.command=['{python}','{out}']"], {}),
    "other instruments": (["+study.instrument=['--probe']"], {}),
    "another study": (["study.name=other"], {}),
}


@pytest.mark.parametrize("what", SAME_STUDY)
def test_it_stays_the_same_study_with(what: str) -> None:
    overrides, changed = SAME_STUDY[what]
    ours = plan_of(compose(["scale=smoke", *overrides])[0], **changed)
    assert ours["study_root"] == plan_of(compose(["scale=smoke"])[0])["study_root"]


@pytest.mark.parametrize("what", OTHER_STUDY)
def test_it_is_another_study_with(what: str) -> None:
    overrides, changed = OTHER_STUDY[what]
    ours = plan_of(compose(["scale=smoke", *overrides])[0], **changed)
    assert ours["study_root"] != plan_of(compose(["scale=smoke"])[0])["study_root"]


def test_the_order_of_the_arms_belongs_to_the_study_for_the_first_is_the_baseline() -> None:
    plan = plan_of(compose(["scale=smoke"])[0])
    assert study_root({**plan, "arms": plan["arms"][::-1]}) != plan["study_root"]
