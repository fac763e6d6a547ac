"""Lockstep with real processes: the worker that comes with twotrees, and workers that misbehave as real ones do."""

from __future__ import annotations

import json
import os
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from twotrees.runs.lockstep import Round, Schedule, WorkerDied, run_round, schedules
from twotrees.runs.lockstep_process import Limits, ProcessWorker

LIMITS = Limits(ready_s=20.0, block_s=5.0, finish_s=10.0)

SUBJECT = """
def plus(loops):
    def make():
        def step():
            total = 0
            for i in range(loops):
                total += i
        return step
    return make

small = plus(2000)
large = plus(4000)

def prints_a_lot():
    def step():
        print("progress: 50 %", flush=True)
    return step

def phases():
    def step():
        return {"update_state_ms": 1000, "env_step_total_ms": 3000}
    return step
"""


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Starts a worker; everything it started is ended after the test."""
    (tmp_path / "subject.py").write_text(SUBJECT)
    started: list[ProcessWorker] = []

    def start(arm: str, *argv: str, limits: Limits = LIMITS, **keys: Any) -> ProcessWorker:
        env = {**os.environ, "PYTHONPATH": str(tmp_path)}
        worker = ProcessWorker(arm, argv, env=env, cwd=tmp_path, err=tmp_path / f"{arm}.err", limits=limits, **keys)
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.end()


def serving(entry: str, out: Path) -> list[str]:
    return [sys.executable, "-m", "twotrees.runs.worker_protocol", f"subject:{entry}", "--out", str(out)]


def scripted(body: str) -> list[str]:
    """A worker of a few lines that is ready, then does what *body* says."""
    lines = 'import json, sys, time, os\nprint(json.dumps({"ready": True, "pid": os.getpid()}), flush=True)\n'
    return [sys.executable, "-c", lines + textwrap.dedent(body)]


def is_gone(pid: int) -> bool:
    """Whether a process has ended, or does so within seconds: a signal takes its time."""
    for _ in range(200):
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


def one_schedule(cycles: int = 2) -> Schedule:
    return schedules(("a", "b"), rounds=1, cycles=cycles, steps=4, seed=3)[0]


def test_any_python_callable_can_be_a_worker_and_leaves_its_blocks(tmp_path: Path, start: Any) -> None:
    outs = {arm: tmp_path / f"{arm}.json" for arm in "ab"}
    workers = {"a": start("a", *serving("small", outs["a"])), "b": start("b", *serving("large", outs["b"]))}
    ended = run_round(workers, one_schedule(), time.monotonic_ns)
    assert ended.status == "ok", ended.reason
    assert ended.spinning == ()
    for arm in "ab":
        blocks = json.loads(outs[arm].read_text())["twotrees"]["blocks"]
        told = [list(block.samples["step_ms"]) for block in ended.blocks if block.arm == arm]
        assert [block["samples"]["step_ms"] for block in blocks] == [{"unit": "ns", "values": ns} for ns in told]
        assert workers[arm].ended.exit == 0


def test_a_callable_may_report_its_own_phases(tmp_path: Path, start: Any) -> None:
    worker = start("a", *serving("phases", tmp_path / "a.json"))
    worker.ready()
    assert worker.steps(2)["samples"] == {"update_state_ms": [1000, 1000], "env_step_total_ms": [3000, 3000]}


def test_what_the_subject_prints_does_not_land_between_replies(tmp_path: Path, start: Any) -> None:
    worker = start("a", *serving("prints_a_lot", tmp_path / "a.json"))
    worker.ready()
    assert len(worker.steps(3)["samples"]["step_ms"]) == 3


def against_a_good_one(start: Any, tmp_path: Path, argv: list[str], **keys: Any) -> tuple[Round, dict[str, Any]]:
    workers = {"a": start("a", *serving("small", tmp_path / "a.json")), "b": start("b", *argv, **keys)}
    return run_round(workers, one_schedule(), time.monotonic_ns), workers


@pytest.mark.parametrize(
    ("body", "status", "complaint"),
    [
        ("sys.stdin.readline(); os.kill(os.getpid(), 11)", "failed", "SIGSEGV"),
        ("sys.stdin.readline(); sys.exit(7)", "failed", "exit status 7"),
        ("sys.stdin.readline(); print('50 %', flush=True); time.sleep(9)", "failed", "refused"),
        ("sys.stdin.readline(); print('{\"cpu_ns\": NaN}', flush=True); time.sleep(9)", "failed", "NaN"),
        ("sys.stdin.readline(); print('[1]', flush=True); time.sleep(9)", "failed", "not an object"),
        ("sys.stdin.readline(); os.close(1); time.sleep(30)", "failed", "closed its standard output"),
        ("sys.stdin.readline(); time.sleep(30)", "timeout", "gave no reply in 1 s"),
    ],
)
def test_a_worker_that_misbehaves_ends_its_round(
    tmp_path: Path, start: Any, body: str, status: str, complaint: str
) -> None:
    limits = Limits(ready_s=20.0, block_s=1.0, finish_s=5.0)
    ended, workers = against_a_good_one(start, tmp_path, scripted(body), limits=limits)
    assert ended.status == status
    assert ended.reason.startswith("b: ")
    assert complaint in ended.reason
    assert not any(psutil.pid_exists(worker.pid) for worker in workers.values())


def test_a_worker_that_fails_at_its_end_fails_its_round(tmp_path: Path, start: Any) -> None:
    ended, _ = against_a_good_one(start, tmp_path, serving("small", tmp_path / "no" / "such" / "folder.json"))
    assert ended.status == "failed"
    assert "exit status 1 after finish" in ended.reason


def test_a_program_that_is_not_there_says_so(start: Any) -> None:
    with pytest.raises(WorkerDied, match="did not start"):
        start("a", "/no/such/program")


def test_a_first_line_that_is_not_ready_is_refused(start: Any) -> None:
    worker = start("a", sys.executable, "-c", "print('{\"hello\": 1}', flush=True); import time; time.sleep(9)")
    with pytest.raises(WorkerDied, match="first line"):
        worker.ready()


def test_a_thread_that_spins_while_its_worker_waits_is_flagged(tmp_path: Path, start: Any) -> None:
    spinner = """
    import threading
    def spin():
        while True:
            pass
    threading.Thread(target=spin, daemon=True).start()
    replied = time.process_time_ns()
    for line in sys.stdin:
        if "finish" in line:
            break
        idle = time.process_time_ns() - replied
        time.sleep(0.02)
        reply = {"samples": {"x": [5000000] * 4}, "cpu_ns": 0, "wall_ns": 20000000, "idle_cpu_ns": idle}
        print(json.dumps(reply), flush=True)
        replied = time.process_time_ns()
    os._exit(0)
    """
    ended, _ = against_a_good_one(start, tmp_path, scripted(spinner))
    assert ended.status == "ok", ended.reason
    assert ("b", "worker") in [(one.arm, one.seen_by) for one in ended.spinning]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin a process to cores")
def test_workers_stay_on_the_cores_that_they_are_given(tmp_path: Path, start: Any) -> None:
    core = min(os.sched_getaffinity(0))
    worker = start("a", *serving("small", tmp_path / "a.json"), cores={core})
    worker.ready()
    assert os.sched_getaffinity(worker.pid) == {core}


def test_what_a_worker_left_behind_is_ended_with_it(tmp_path: Path, start: Any) -> None:
    leaves = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open("child.pid", "w").write(str(child.pid))
    sys.stdin.readline()
    sys.exit(0)
    """
    worker = start("a", *scripted(leaves))
    worker.ready()
    with pytest.raises(WorkerDied, match="exit status 0"):
        worker.steps(2)
    worker.end()
    pid = int((tmp_path / "child.pid").read_text())
    assert is_gone(pid)
