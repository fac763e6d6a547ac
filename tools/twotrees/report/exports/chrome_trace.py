"""Chrome trace events: the campaign on one timeline, for Perfetto's and Chromium's viewers.

Runs stand where they ran, and so do the monitor's readings. Of a step only the duration is recorded, so steps are laid
one after another up to the end of their run, and say so; within a step its phases stand in the order in which they run.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from twotrees.report.exports.protocol import Exported, write_json
from twotrees.report.facts import Attempt, Campaign
from twotrees.report.host_facts import parsed_time
from twotrees.report.samples import phase_samples

NAME = "chrome-trace"
WHAT = "Chrome trace events for Perfetto and chrome://tracing"

PHASES = ("apply_action_ms", "backend_physics_ms", "backend_refresh_cache_ms", "update_state_ms", "reset_done_ms")
HOST_PID = 1
RUNS, STEPS = 1, 2
US_PER_S, US_PER_MS = 1e6, 1e3

Event = dict[str, Any]


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes ``trace.json``."""
    spans = [(one, start) for one in campaign.attempts if (start := parsed_time(one.start)) is not None]
    left_out = [
        f"attempt {one.attempt}: it is not known when it ran"
        for one in campaign.attempts
        if parsed_time(one.start) is None
    ]
    begin = min((start for _, start in spans), default=None)
    events: list[Event] = []
    pids = {arm.name: place for place, arm in enumerate(campaign.arms, start=HOST_PID + 1)}
    for name, pid in {"host": HOST_PID, **pids}.items():
        events.append(named("process_name", pid, 0, name))
        events.append({"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}})
    for pid in pids.values():
        events.append(named("thread_name", pid, RUNS, "runs"))
        events.append(named("thread_name", pid, STEPS, "steps (measured durations, placed back to back)"))
    if begin is not None:
        for one, start in spans:
            if one.arm in pids:
                events += run_events(one, start, begin, pids[one.arm])
        events += monitor_events(campaign, begin)
    other = {"study": campaign.study, "backend": campaign.backend, "study_root": campaign.study_root}
    trace = {"traceEvents": events, "displayTimeUnit": "ms", "otherData": other}
    return Exported((write_json(out / "trace.json", trace),), tuple(left_out))


def named(what: str, pid: int, tid: int, name: str) -> Event:
    """A metadata event that gives a process or thread its name."""
    return {"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": name}}


def run_events(one: Attempt, start: datetime, begin: datetime, pid: int) -> Iterator[Event]:
    """One run, and the steps of a phase run within it."""
    at = (start - begin).total_seconds() * US_PER_S
    end = parsed_time(one.end)
    wall_s = one.wall_s if one.wall_s is not None else (end - start).total_seconds() if end else 0.0
    yield {
        "ph": "X",
        "name": f"{one.mode} {one.repeat}",
        "cat": "run" if one.ok else "run,lost",
        "pid": pid,
        "tid": RUNS,
        "ts": at,
        "dur": wall_s * US_PER_S,
        "args": {"attempt": one.attempt, "run": one.run, "status": one.status, "reason": one.reason},
    }
    if one.ok and one.mode == "phase":
        yield from step_events(one, at + wall_s * US_PER_S, pid)


def step_events(one: Attempt, end_us: float, pid: int) -> Iterator[Event]:
    """The measured steps, the last one ending with the run, each with its phases inside."""
    samples = phase_samples(one)
    totals = samples.get("env_step_total_ms", [])
    at = end_us - sum(totals) * US_PER_MS
    for step, total in enumerate(totals):
        yield block("env.step", at, total, pid, {"step": step})
        inside = at
        for phase in PHASES:
            values = samples.get(phase, [])
            if step < len(values) and inside + values[step] * US_PER_MS <= at + total * US_PER_MS + 1.0:
                yield block(phase.removesuffix("_ms").removeprefix("backend_"), inside, values[step], pid, {})
                inside += values[step] * US_PER_MS
        at += total * US_PER_MS


def block(name: str, at_us: float, ms: float, pid: int, args: dict[str, Any]) -> Event:
    """One block of time on the steps' line."""
    event = {"ph": "X", "name": name, "cat": "step", "pid": pid, "tid": STEPS, "ts": at_us, "dur": ms * US_PER_MS}
    return {**event, "args": args} if args else event


def monitor_events(campaign: Campaign, begin: datetime) -> Iterator[Event]:
    """Every reading of the monitor as counters."""
    for reading in campaign.host.readings if campaign.host else ():
        at = (reading.time - begin).total_seconds() * US_PER_S
        for name, value in reading.values.items():
            if at >= 0.0:
                yield {"ph": "C", "name": name, "pid": HOST_PID, "tid": 0, "ts": at, "args": {"value": value}}
