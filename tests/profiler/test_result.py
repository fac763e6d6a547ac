"""What a measured child writes: the published keys, and beside them what a reader can check them with."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest
from measured_child import Ran
from tiny_tree import OBSERVATIONS, REWARDS, TERMINATIONS

from twotrees import strict_json

SUMMARY = {"count", "mean_ms", "median_ms", "p95_ms"}
PUBLISHED = {
    *("repo", "backend", "num_envs", "warmup", "measure", "instrument", "action_seed", "env_seed", "timing"),
}
REFRESH = "command/robot_state_refresh"
Child = Callable[..., Ran]


# --- the published keys ---------------------------------------------------------------------------------------------


def test_a_phase_result_has_the_published_keys_and_one_of_ours(phase: Ran) -> None:
    assert set(phase.result) == PUBLISHED | {"twotrees"}
    timing = phase.result["timing"]
    assert set(timing) == {"update_state_ms", "env_step_total_ms", "reset_done_ms", "reset_done_count", "backend"}
    assert set(timing["backend"]) == {"backend_physics_ms", "backend_refresh_cache_ms"}
    for summary in [*(timing[name] for name in timing if name != "backend"), *timing["backend"].values()]:
        assert set(summary) == SUMMARY


def test_a_terms_result_has_each_term_in_steps_and_resets_and_their_sum(terms: Ran) -> None:
    assert set(terms.result) == PUBLISHED | {"terms", "term_sum_step_ms", "twotrees"}
    assert set(terms.result["terms"]) == {
        *(f"reward/{name}" for name in REWARDS),
        *(f"termination/{name}" for name in TERMINATIONS),
        *(f"obs/{group}/{name}" for group, names in OBSERVATIONS.items() for name in names),
        *("manager/command_compute", "manager/command_post_compute", "manager/map_observations"),
        *("manager/observation_compute", "manager/observation_compute_group"),
        *("command/body_state_copy", REFRESH, f"{REFRESH}/first_read", f"{REFRESH}/force"),
    }
    for phases in terms.result["terms"].values():
        assert {name: set(summary) for name, summary in phases.items()} == {"step": SUMMARY, "reset": SUMMARY}


def test_the_result_says_what_it_was_asked_to_do(phase: Ran, terms: Ran) -> None:
    asked = {"backend": "mujoco", "num_envs": 16, "warmup": 2, "measure": 5, "action_seed": 20260826, "env_seed": 123}
    assert {key: phase.result[key] for key in asked} == asked
    assert Path(phase.result["repo"]).name == "tree"
    assert (phase.result["instrument"], terms.result["instrument"]) == (False, True)


def test_the_published_keys_are_printed_and_the_file_is_the_result(phase: Ran) -> None:
    printed = json.loads(phase.out)
    assert printed == {key: value for key, value in phase.result.items() if key != "twotrees"}


def test_the_file_is_what_a_strict_reader_accepts(terms: Ran) -> None:
    strict_json.loads(terms.file.read_bytes())


# --- samples --------------------------------------------------------------------------------------------------------


def test_every_measured_step_is_there_as_whole_nanoseconds_and_no_warm_up_step(phase: Ran) -> None:
    samples = phase.ours["samples"]
    assert set(samples) == {
        *("update_state_ms", "env_step_total_ms", "reset_done_ms", "apply_action_ms", "step_core_ms"),
        *("backend_physics_ms", "backend_refresh_cache_ms"),
    }
    for series in samples.values():
        assert series["unit"] == "ns"
        assert len(series["values"]) == 5
        assert all(isinstance(value, int) for value in series["values"])


def test_every_summary_can_be_recomputed_from_the_samples(phase: Ran) -> None:
    for name in ("update_state_ms", "env_step_total_ms", "reset_done_ms"):
        values = [ns / 1e6 for ns in phase.ours["samples"][name]["values"]]
        told = phase.result["timing"][name]
        assert told["count"] == len(values)
        assert told["median_ms"] == median(values)
        assert told["mean_ms"] == pytest.approx(fmean(values), rel=1e-12)
        assert told["p95_ms"] == float(np.percentile(np.array(values), 95))


def test_a_phase_takes_no_longer_than_the_step_it_is_part_of(phase: Ran) -> None:
    samples = {name: series["values"] for name, series in phase.ours["samples"].items()}
    parts = ("apply_action_ms", "step_core_ms", "update_state_ms", "reset_done_ms")
    for step, total in enumerate(samples["env_step_total_ms"]):
        assert sum(samples[part][step] for part in parts) == total


def test_a_time_that_is_no_whole_nanosecond_is_kept_as_the_subject_gave_it(child: Child) -> None:
    ran = child(fake_time=(4, "backend_physics_ms", 0.1234567891))
    assert ran.ours["samples"]["backend_physics_ms"]["unit"] == "ms"
    assert ran.ours["samples"]["backend_physics_ms"]["values"][1] == 0.1234567891
    assert ran.ours["samples"]["update_state_ms"]["unit"] == "ns"


def test_what_a_tree_does_longer_takes_longer(child: Child) -> None:
    slow = child(update_us=3000).result["timing"]["update_state_ms"]["median_ms"]
    assert slow >= 3.0  # it waits that long on the same clock


# --- probes ---------------------------------------------------------------------------------------------------------


def counts(ran: Ran) -> dict[str, tuple[int, int]]:
    return {name: (term["step"]["count"], term["reset"]["count"]) for name, term in ran.result["terms"].items()}


def resets(ran: Ran) -> int:
    """In how many measured steps something was reset."""
    return sum(count > 0 for count in ran.ours["workload"]["reset_counts"])


def test_rewards_and_terminations_are_called_once_in_each_measured_step_and_never_in_a_reset(terms: Ran) -> None:
    told = counts(terms)
    names = [*(f"reward/{name}" for name in REWARDS), *(f"termination/{name}" for name in TERMINATIONS)]
    assert {told[name] for name in names} == {(5, 0)}


def test_calls_within_an_automatic_reset_are_kept_apart_from_those_of_the_step(terms: Ran) -> None:
    told, again = counts(terms), resets(terms)
    assert again > 0
    once = {(5, again)}
    assert {told[name] for name in told if name.startswith("obs/")} == once
    assert {told[name] for name in told if name.startswith("manager/") and "group" not in name} == once
    assert told["manager/observation_compute_group"] == (10, 2 * again)


def test_a_refresh_counts_when_it_copies_as_first_read_or_as_forced(terms: Ran) -> None:
    told, again = counts(terms), resets(terms)
    assert told[f"{REFRESH}/first_read"] == (5, 0)
    assert told[f"{REFRESH}/force"] == (5, again)
    assert told[REFRESH] == (10, again)


def test_a_reader_that_finds_the_cache_current_is_not_charged_with_a_refresh(terms: Ran) -> None:
    readers = [name for name in terms.result["terms"] if "_body_" in name or name.endswith(("anchor_pos", "body_pos"))]
    assert len(readers) >= 7
    assert counts(terms)[f"{REFRESH}/first_read"][0] == 5


def test_the_fused_copy_is_timed_where_there_is_one(terms: Ran, child: Child) -> None:
    assert counts(terms)["command/body_state_copy"] == (10, 0)
    assert "command/body_state_copy" not in child("--instrument").result["terms"]


def test_the_first_read_lies_within_the_term_that_happens_to_read_first(terms: Ran) -> None:
    samples = terms.ours["term_samples"]
    anchor = samples["termination/anchor_pos"]["step"]["values"]
    first = samples[f"{REFRESH}/first_read"]["step"]["values"]
    assert all(inner < outer for inner, outer in zip(first, anchor, strict=True))


def test_the_sum_of_the_terms_is_the_sum_of_every_reward_and_termination_call_step_by_step(terms: Ran) -> None:
    samples = terms.ours["term_samples"]
    names = [name for name in samples if name.startswith(("reward/", "termination/"))]
    calls = [samples[name]["step"]["values"] for name in names]
    sums = [sum(step) / 1e6 for step in zip(*calls, strict=True)]
    told = terms.result["term_sum_step_ms"]
    assert told["count"] == 5
    assert told["mean_ms"] == pytest.approx(fmean(sums), rel=1e-12)
    assert told["median_ms"] == pytest.approx(median(sums), rel=1e-12)


def test_a_term_that_is_never_called_neither_appears_nor_empties_the_sum(child: Child) -> None:
    result = child("--instrument", idle_term=True).result
    assert "reward/idle" not in result["terms"]
    assert result["term_sum_step_ms"]["count"] == 5
    assert result["term_sum_step_ms"]["mean_ms"] > 0


def test_every_term_summary_can_be_recomputed_from_its_samples(terms: Ran) -> None:
    for name, phases in terms.result["terms"].items():
        for which, told in phases.items():
            values = [ns / 1e6 for ns in terms.ours["term_samples"][name][which]["values"]]
            assert told["count"] == len(values)
            assert told["mean_ms"] == (pytest.approx(fmean(values), rel=1e-12) if values else 0.0)


def test_the_cost_of_a_probe_is_told_with_every_terms_run_and_with_no_other(terms: Ran, phase: Ran) -> None:
    assert isinstance(terms.ours["probe_cost_ns"], int)
    assert "probe_cost_ns" not in phase.ours


def test_probes_change_nothing_that_is_computed(child: Child) -> None:
    plain, probed = child().ours, child("--instrument").ours
    assert plain["observation_digest"] == probed["observation_digest"]
    assert plain["workload"] == probed["workload"]


# --- evidence -------------------------------------------------------------------------------------------------------


def test_every_imported_file_of_the_subject_is_named_with_its_hash_and_git_blob(phase: Ran) -> None:
    tree = phase.file.parent / "tree"
    told = {item["module"]: item for item in phase.ours["provenance"]}
    modules = ("entry", "env", "knobs", "motion", "terms")
    assert set(told) == {"tiny_subject", *(f"tiny_subject.{name}" for name in modules)}
    for item in told.values():
        path = tree / item["path"]
        assert item["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        blob = subprocess.run(["git", "hash-object", str(path)], capture_output=True, text=True, check=True).stdout
        assert item["blob"] == blob.strip()


def test_the_workload_is_counted(phase: Ran) -> None:
    workload = phase.ours["workload"]
    assert (workload["steps"], workload["num_envs"], workload["substeps_per_step"]) == (5, 16, 2)
    assert len(workload["reset_counts"]) == 5
    assert sum(workload["reset_counts"]) > 0
    assert fmean(workload["reset_counts"]) == phase.result["timing"]["reset_done_count"]["mean_ms"]


def test_an_arm_that_quietly_resets_nothing_can_be_told_by_its_workload(phase: Ran, child: Child) -> None:
    assert sum(child(dead_resets=True).ours["workload"]["reset_counts"]) == 0


def test_the_actions_are_the_published_ones_warm_up_included(phase: Ran) -> None:
    random = np.random.default_rng(20260826)
    digest = hashlib.sha256()
    for _ in range(2 + 5):
        digest.update(random.uniform(-1.0, 1.0, size=(16, 3)).astype(np.float32).tobytes())
    assert phase.ours["workload"]["action_digest"] == digest.hexdigest()


def test_two_arms_that_compute_the_same_end_in_the_same_observations(phase: Ran, terms: Ran) -> None:
    assert phase.ours["observation_digest"] == terms.ours["observation_digest"]


def test_another_seed_gives_other_actions_and_other_observations(phase: Ran, child: Child) -> None:
    other = child(flags={"action_seed": "1"}).ours
    assert other["workload"]["action_digest"] != phase.ours["workload"]["action_digest"]
    assert other["observation_digest"] != phase.ours["observation_digest"]
    assert child(flags={"env_seed": "7"}).ours["observation_digest"] != phase.ours["observation_digest"]


def test_the_composed_configuration_is_kept_with_its_hash_and_options_reach_the_subject(child: Child) -> None:
    one = child("--option", "device=cpu", "--option", "text=a=b").ours
    assert one["config"]["options"] == {"device": "cpu", "text": "a=b"}
    canonical = json.dumps(one["config"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert one["config_sha256"] == hashlib.sha256(canonical.encode()).hexdigest()
    assert child(option="x").ours["config_sha256"] != child(option="y").ours["config_sha256"]


def test_what_a_start_up_tuner_decided_is_kept(child: Child) -> None:
    assert child(decision="hit").ours["decisions"]["chunk_cache"] == "hit"


def test_the_first_step_and_the_start_are_told_apart_from_the_window(phase: Ran) -> None:
    assert phase.ours["first_call_ms"] > 0
    assert phase.ours["init_ms"] > 0
    assert math.isfinite(phase.ours["init_ms"])
    assert phase.ours["max_rss_kib"] > 1024


# --- threads and compilation ----------------------------------------------------------------------------------------


def test_thread_counts_are_those_in_force_in_the_child(child: Child) -> None:
    ours = child(numba=True, env={"NUMBA_NUM_THREADS": "1", "NUMBA_THREADING_LAYER": "workqueue"}).ours
    threads = ours["threads"]
    assert (threads["numba_threads"], threads["numba_layer"]) == (1, "workqueue")
    assert threads["usable_cpus"] >= 1
    assert threads["physics"] == 1
    assert {"internal_api", "num_threads"} <= set(threads["blas"][0])
    assert ours["compiles_after_warmup"] == 0  # its kernel was compiled at the start


def test_a_thread_count_that_numba_ignores_is_not_the_one_that_is_told(child: Child) -> None:
    threads = child(import_only="numba", env={"NUMBA_NUM_THREADS": "abc"}).ours["threads"]
    assert threads["numba_threads"] == threads["usable_cpus"]


def test_a_numba_that_never_ran_in_parallel_is_not_started_by_asking(child: Child) -> None:
    threads = child(import_only="numba", env={"NUMBA_NUM_THREADS": "2"}).ours["threads"]
    assert (threads["numba_layer"], threads["numba_threads"]) == ("never started", 2)


def test_a_subject_without_numba_has_no_numba_threads(phase: Ran) -> None:
    assert "numba_threads" not in phase.ours["threads"]


def test_a_kernel_compiled_within_the_window_is_counted_and_marks_the_run_cold(child: Child) -> None:
    assert child(import_only="numba", compile_at=4).ours["compiles_after_warmup"] > 0


def test_a_kernel_compiled_in_the_warm_up_is_not(child: Child) -> None:
    assert child(import_only="numba", compile_at=2).ours["compiles_after_warmup"] == 0


def test_a_new_file_in_a_private_kernel_cache_counts_too(child: Child, tmp_path: Path) -> None:
    (tmp_path / "warp").mkdir()
    assert child(env={"WARP_CACHE_PATH": str(tmp_path / "warp")}, cache_file_at=4).ours["compiles_after_warmup"] == 1
    assert child(env={"WARP_CACHE_PATH": str(tmp_path / "warp")}, cache_file_at=1).ours["compiles_after_warmup"] == 0


def test_a_compiler_that_is_first_imported_within_the_window_counts(child: Child) -> None:
    assert child(compile_at=4).ours["compiles_after_warmup"] > 0
