"""One attempt at a planned run, as the bundle keeps it: what was asked, how it ended, and whether its result counts.

A failed attempt is kept with its reason and its logs. Nothing partial ever becomes a number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twotrees import strict_json
from twotrees.runs.execute import Ended
from twotrees.runs.plan import PlannedRun

SCHEMA = "twotrees-run-v1"
TAIL_LINES = 8
CANONICAL = ("update_state_ms", "env_step_total_ms", "reset_done_ms")


def judged(ended: Ended, out: Path, stderr: Path, expected: Mapping[str, Any]) -> tuple[str, str, Any]:
    """Whether a process gave a result that counts.

    Args:
        ended: How it ended.
        out: The result file that it was told to write; its standard output is never parsed.
        stderr: Its standard error.
        expected: Keys of the result and the values that the plan gives them.

    Returns:
        ``(status, reason, result)``: status `ok`, `timeout`, `failed` or `invalid`; the result is None unless the
        file could be read.
    """
    if ended.fault:
        return "failed", ended.fault, None
    if ended.timed_out:
        return "timeout", f"it was ended after {ended.wall_s:.0f} s", None
    if ended.signal is not None:
        return "failed", f"ended by {ended.signal}: {tail(stderr)}", None
    if ended.exit != 0:
        return "failed", f"exit status {ended.exit}: {tail(stderr)}", None
    try:
        result = strict_json.loads(out.read_bytes())
    except FileNotFoundError:
        return "invalid", "it ended well but wrote no result file", None
    except strict_json.JsonRefused as fault:
        return "invalid", f"its result is refused: {fault}", None
    reason = fault_of(result, expected)
    return ("invalid" if reason else "ok"), reason, result


def fault_of(result: Any, expected: Mapping[str, Any]) -> str:
    """Why a result cannot count; empty when it can."""
    if not isinstance(result, dict) or not isinstance(result.get("timing"), dict):
        return "its result has no 'timing'"
    for key, value in expected.items():
        if result.get(key) != value:
            return f"its result says {key} {result.get(key)!r}, the plan {value!r}"
    for metric in CANONICAL:
        summary = result["timing"].get(metric)
        if not isinstance(summary, dict):
            return f"its result has no timing for {metric}"
        for name in ("mean_ms", "median_ms"):
            value = summary.get(name)
            if not isinstance(value, (int, float)) or not math.isfinite(value):
                return f"{metric} {name} is {value!r}"
            if value < 0 or (value == 0 and metric != "reset_done_ms"):
                return f"{metric} {name} is {value!r}, and a time must have passed"
    for metric, series in samples_of(result).items():
        for index, value in enumerate(series):
            if value < 0 or (value == 0 and metric in CANONICAL[:2]):
                return f"{metric} of measured step {index} is {value!r}, and a time must have passed"
    return ""


def samples_of(result: Mapping[str, Any]) -> dict[str, Sequence[float]]:
    """The raw samples that our profiler adds, by metric; none for the published one."""
    ours = result.get("twotrees")
    stored = ours.get("samples", {}) if isinstance(ours, dict) else {}
    return {metric: series.get("values", []) for metric, series in stored.items() if isinstance(series, dict)}


def tail(path: Path) -> str:
    """The last lines of a log that are not empty, as one line of text."""
    try:
        lines = path.read_bytes()[-8192:].decode("utf-8", "replace").splitlines()
    except OSError:
        return "no log"
    told = [line.strip() for line in lines if line.strip()][-TAIL_LINES:]
    return " | ".join(told) or "it said nothing"


def record(
    attempt: int,
    planned: PlannedRun,
    backend: str,
    *,
    argv: Sequence[str],
    env: Mapping[str, str],
    scrubbed: Sequence[str],
    ended: Ended | None,
    status: str,
    reason: str,
    environment: Mapping[str, str | None],
    result: Any,
) -> dict[str, Any]:
    """The data of ``runs/NNNN.json``. *ended* is None for an attempt of which nothing is known but that it began."""
    return {
        "schema": SCHEMA,
        "attempt": attempt,
        "run": planned.run,
        "arm": planned.arm,
        "backend": backend,
        "mode": planned.mode,
        "repeat": planned.repeat,
        "argv": list(argv),
        "env": dict(env),
        "scrubbed": list(scrubbed),
        "start": ended.start if ended else None,
        "end": ended.end if ended else None,
        "wall_s": round(ended.wall_s, 6) if ended else None,
        "exit": ended.exit if ended else None,
        "signal": ended.signal if ended else None,
        "status": status,
        "reason": reason,
        "rusage": ended.usage if ended else {},
        "environment": dict(environment),
        "result": result,
    }
