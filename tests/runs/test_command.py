"""The exact tokens of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twotrees.runs.command import Command, expected
from twotrees.runs.plan import PlannedRun
from twotrees.study import compose

PHASE, TERMS, PARITY = (PlannedRun(1, "before", mode, 1) for mode in ("phase", "terms", "parity"))  # type: ignore[arg-type]
OUT, TRACE = Path("/w/results/0001.json"), Path("/w/traces/before.npz")


def command(*overrides: str, device: str = "cpu") -> Command:
    config = compose(["scale=smoke", *overrides])[0]
    threads: dict[str, Any] = {"numba": 2, "blas": 2, "physics": 2, "numba_layer": "workqueue"}
    return Command(config, Path("/v/bin/python"), Path("/w/p.py"), Path("/w/trees/before"), device, threads)


def value_of(argv: list[str], flag: str) -> str:
    return argv[argv.index(flag) + 1]


def test_a_phase_run_is_the_published_command_with_its_values() -> None:
    argv = command().argv(PHASE, OUT, TRACE)
    assert argv[:3] == ["/v/bin/python", "/w/p.py", "--repo"]
    assert value_of(argv, "--repo") == "/w/trees/before"
    assert [value_of(argv, flag) for flag in ("--backend", "--num-envs", "--warmup", "--measure", "--action-seed")] == [
        *("mujoco", "16", "1", "4", "20260826")
    ]
    assert value_of(argv, "--out") == str(OUT)
    assert "--instrument" not in argv
    assert "--parity" not in argv


def test_a_terms_run_is_the_same_command_and_instruments_at_its_end() -> None:
    assert command().argv(TERMS, OUT, TRACE) == [*command().argv(PHASE, OUT, TRACE), "--instrument"]


def test_a_parity_run_has_no_warm_up_its_own_number_of_steps_and_a_trace() -> None:
    argv = command("protocol.parity.steps=7").argv(PARITY, OUT, TRACE)
    assert (value_of(argv, "--warmup"), value_of(argv, "--measure")) == ("0", "7")
    assert argv[-2:] == ["--parity", str(TRACE)]


DEVICE_AND_THREADS = (
    *("++study.options.mujoco.device='{device}'", "++study.options.mujoco.threads='{physics_threads}'"),
    "++study.options.mjwarp.unheard=of",
)


def options(*overrides: str, device: str = "cpu") -> dict[str, str]:
    argv = command(*DEVICE_AND_THREADS, *overrides, device=device).argv(PHASE, OUT, TRACE)
    given = [argv[index + 1] for index, token in enumerate(argv) if token == "--option"]
    assert len(given) == len({text.partition("=")[0] for text in given}), "an option is given twice"
    return dict(text.split("=", 1) for text in given)


def test_each_option_of_this_backend_is_given_with_device_and_threads_filled_in() -> None:
    assert options("++backend.options.chunk=24", device="cuda:1") == {"device": "cuda:1", "threads": "2", "chunk": "24"}


def test_an_option_of_the_backend_wins_over_the_studys() -> None:
    assert options("++backend.options.threads=1") == {"device": "cpu", "threads": "1"}


def test_a_value_with_spaces_braces_and_equals_signs_stays_one_token() -> None:
    argv = command("study.command=['{python}','a b={arm} {{x}} {num_envs}','{out}']").argv(PHASE, OUT, TRACE)
    assert argv == ["/v/bin/python", "a b=before {x} 16", str(OUT)]


def test_what_a_result_must_say_is_what_its_command_asked_for() -> None:
    config = compose(["scale=smoke", "protocol.parity.steps=7"])[0]
    assert expected(config, PHASE) == {
        "backend": "mujoco",
        "num_envs": 16,
        "warmup": 1,
        "measure": 4,
        "instrument": False,
        "action_seed": 20260826,
        "env_seed": 123,
    }
    assert expected(config, TERMS)["instrument"] is True
    assert (expected(config, PARITY)["warmup"], expected(config, PARITY)["measure"]) == (0, 7)
