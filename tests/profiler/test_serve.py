"""The child as a lockstep worker: it steps when asked and only then, and says so on one line each."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from measured_child import PROFILER, arguments, environment
from tiny_tree import write_tree

from twotrees import strict_json


class Worker:
    """A real worker, spoken to as the controller does."""

    def __init__(self, folder: Path, **knobs: Any) -> None:
        self.out = folder / "result.json"
        tree = write_tree(folder / "tree", **knobs)
        self.process = subprocess.Popen(
            [sys.executable, str(PROFILER), *arguments(tree, self.out, "--serve")],
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        return dict(strict_json.loads(self.process.stdout.readline()))

    def say(self, **request: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()

    def steps(self, n: int) -> dict[str, Any]:
        self.say(do="steps", n=n)
        return self.hear()

    def end(self) -> tuple[int, str, str]:
        """Closes its input and waits: exit status, the rest of its output, its standard error."""
        out, err = self.process.communicate(timeout=60)
        return self.process.returncode, out, err


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    made: list[Worker] = []

    def start(**knobs: Any) -> Worker:
        made.append(Worker(tmp_path, **knobs))
        return made[-1]

    yield start
    for one in made:
        one.process.kill()
        one.process.communicate()


def test_it_is_ready_after_its_warm_up_and_says_who_it_is(worker: Callable[..., Worker]) -> None:
    one = worker()
    assert one.hear() == {"ready": True, "pid": one.process.pid}


def test_it_gives_exactly_the_steps_that_it_was_asked_for_in_whole_nanoseconds(worker: Callable[..., Worker]) -> None:
    one = worker()
    one.hear()
    for n in (1, 4, 2):
        reply = one.steps(n)
        assert set(reply) == {"samples", "cpu_ns", "wall_ns", "idle_cpu_ns"}
        assert {"update_state_ms", "env_step_total_ms", "reset_done_ms"} <= set(reply["samples"])
        assert {len(values) for values in reply["samples"].values()} == {n}
        assert all(isinstance(ns, int) for values in reply["samples"].values() for ns in values)
        assert reply["wall_ns"] >= sum(reply["samples"]["env_step_total_ms"])
        assert reply["idle_cpu_ns"] >= 0


def test_every_reply_has_the_same_metrics(worker: Callable[..., Worker]) -> None:
    one = worker()
    one.hear()
    assert set(one.steps(2)["samples"]) == set(one.steps(3)["samples"])


def test_on_finish_it_writes_all_its_blocks_in_their_order_and_leaves(worker: Callable[..., Worker]) -> None:
    one = worker()
    one.hear()
    replies = [one.steps(n) for n in (3, 2, 4)]
    one.say(do="finish")
    assert one.process.wait(timeout=60) == 0
    result = strict_json.loads(one.out.read_bytes())
    assert result["timing"]["update_state_ms"]["count"] == 9
    blocks = result["twotrees"]["blocks"]
    assert [block["block"] for block in blocks] == [0, 1, 2]
    for block, reply in zip(blocks, replies, strict=True):
        kept = {name: series["values"] for name, series in block["samples"].items()}
        assert kept == reply["samples"]
        assert {series["unit"] for series in block["samples"].values()} == {"ns"}
    assert "samples" not in result["twotrees"]
    assert result["twotrees"]["provenance"]
    assert len(result["twotrees"]["workload"]["reset_counts"]) == 9


def test_the_end_of_its_input_is_a_finish(worker: Callable[..., Worker]) -> None:
    one = worker()
    one.hear()
    one.steps(2)
    exit_status, _, _ = one.end()
    assert exit_status == 0
    assert json.loads(one.out.read_text())["timing"]["update_state_ms"]["count"] == 2


def test_what_the_subject_prints_never_lands_between_two_replies(worker: Callable[..., Worker]) -> None:
    one = worker(junk=True)
    assert one.hear()["ready"] is True
    assert len(one.steps(3)["samples"]["update_state_ms"]) == 3
    exit_status, out, err = one.end()
    assert (exit_status, out) == (0, "")
    assert "Warp 1.14.0 initialized" in err
    assert '{"ready": false} NaN' in err


def test_an_impossible_time_ends_the_worker_without_a_reply_or_a_result(worker: Callable[..., Worker]) -> None:
    one = worker(fake_time=(5, "update_state_ms", "nan"))
    one.hear()
    one.steps(2)
    one.say(do="steps", n=2)
    exit_status, out, err = one.end()
    assert (exit_status, out) == (4, "")
    assert "update_state_ms of measured step 0 is nan" in err
    assert not one.out.exists()


def test_a_worker_that_was_asked_for_nothing_has_no_result(worker: Callable[..., Worker]) -> None:
    one = worker()
    one.hear()
    exit_status, _, err = one.end()
    assert exit_status == 4
    assert "it was asked for no step" in err
    assert not one.out.exists()


def test_a_subject_that_crashes_ends_the_worker_with_its_traceback(worker: Callable[..., Worker]) -> None:
    one = worker(crash_at=4)
    one.hear()
    one.say(do="steps", n=3)
    exit_status, out, err = one.end()
    assert (exit_status, out) == (1, "")
    assert "the tiny subject crashes in step 4" in err


@pytest.mark.parametrize(
    "request_line", ["not json", "[]", '{"do": "dance"}', '{"do": "steps"}', '{"do": "steps", "n": 0}']
)
def test_a_request_that_it_does_not_know_ends_the_worker(worker: Callable[..., Worker], request_line: str) -> None:
    one = worker()
    one.hear()
    assert one.process.stdin is not None
    one.process.stdin.write(request_line + "\n")
    exit_status, out, err = one.end()
    assert (exit_status, out) == (4, "")
    assert "profile_update_state: not a request: " in err
    assert not one.out.exists()
