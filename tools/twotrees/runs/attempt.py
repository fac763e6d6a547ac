"""One attempt at a planned run, as the bundle keeps it: what was asked, how it ended, and whether its result counts.

A failed attempt is kept with its reason and its logs. Nothing partial ever becomes a number.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from twotrees import strict_json
from twotrees.runs.execute import Ended
from twotrees.runs.plan import PlannedRun

SCHEMA = "twotrees-run-v1"
TAIL_LINES = 8
CANONICAL = ("update_state_ms", "env_step_total_ms", "reset_done_ms")
ALWAYS_POSITIVE = CANONICAL[:2]  # nobody has to be reset in a step, and that takes no time
TAIL_CHARACTERS = 1000


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
    except OSError as fault:
        return "invalid", f"its result cannot be read: {fault.strerror or fault}", None
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
        if "measure" in expected and summary.get("count") != expected["measure"]:
            return f"{metric} counts {summary.get('count')!r} steps, the plan {expected['measure']!r}"
        if reason := fault_of_summary(metric, summary, ("mean_ms", "median_ms")):
            return reason
    if expected.get("instrument") and not result.get("terms"):
        return "its result has no 'terms'"
    for name, summary in term_summaries(result):
        if reason := fault_of_summary(name, summary, ("mean_ms",)):
            return reason
    for metric, series in samples_of(result).items():
        if reason := fault_of_samples(metric, series, expected):
            return reason
    return ""


def fault_of_summary(metric: str, summary: Any, names: Sequence[str]) -> str:
    """Why the values called *names* in a summary cannot be times; empty when they can."""
    if not isinstance(summary, dict):
        return f"{metric} is {summary!r}, not a summary"
    for name in names:
        value = summary.get(name)
        if not is_number(value):
            return f"{metric} {name} is {value!r}"
        if value < 0 or (value == 0 and metric in ALWAYS_POSITIVE):
            return f"{metric} {name} is {value!r}, and a time must have passed"
    return ""


def fault_of_samples(metric: str, series: Any, expected: Mapping[str, Any]) -> str:
    """Why raw samples cannot be times, or are not one for each measured step; empty when they are."""
    values = series.get("values") if isinstance(series, dict) else None
    if not isinstance(values, list):
        return f"{metric} has samples without values"
    if metric in CANONICAL and len(values) != expected.get("measure", len(values)):
        return f"{metric} has {len(values)} samples, the plan {expected['measure']!r}"
    for index, value in enumerate(values):
        if not is_number(value):
            return f"{metric} of measured step {index} is {value!r}"
        if value < 0 or (value == 0 and metric in ALWAYS_POSITIVE):
            return f"{metric} of measured step {index} is {value!r}, and a time must have passed"
    return ""


def is_number(value: Any) -> TypeGuard[float]:
    """Whether *value* is a finite JSON number; `true` is none, though Python counts with it."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def term_summaries(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Name and step summary of every term; the name alone with None where there is no such summary."""
    terms = result.get("terms", {})
    if not isinstance(terms, dict):
        yield "terms", terms
        return
    for name, phases in terms.items():
        yield name, phases.get("step") if isinstance(phases, dict) else None


def samples_of(result: Mapping[str, Any]) -> Mapping[str, Any]:
    """The raw samples that our profiler adds, by metric; none for the published one."""
    ours = result.get("twotrees")
    stored = ours.get("samples", {}) if isinstance(ours, dict) else {}
    return stored if isinstance(stored, dict) else {"samples": stored}


def tail(path: Path) -> str:
    """What a log ends with, as one line of text: the exception of a traceback, else the last lines."""
    try:
        lines = path.read_bytes()[-8192:].decode("utf-8", "replace").splitlines()
    except OSError:
        return "no log"
    printable = ("".join(char if char.isprintable() else " " for char in line).strip() for line in lines)
    told = [line for line in printable if line][-TAIL_LINES:]
    if any(line.startswith("Traceback (most") for line in lines) and told:
        told = told[-1:]
    return " | ".join(told)[-TAIL_CHARACTERS:] or "it said nothing"


def decided(logs: Sequence[Path], patterns: Mapping[str, str]) -> dict[str, str]:
    """What a start-up tuner said in the logs that it decided.

    Args:
        logs: The files, bytes of any encoding, searched in order.
        patterns: A name, and the pattern whose group 1 is the value; of several matches the last counts.
    """
    text = b"\n".join(path.read_bytes() for path in logs if path.is_file())
    found = {name: re.findall(pattern.encode(), text) for name, pattern in patterns.items()}
    # With more than one group, a match is a tuple of them.
    last = {name: one[-1][0] if isinstance(one[-1], tuple) else one[-1] for name, one in found.items() if one}
    return {name: value.decode("utf-8", "replace") for name, value in last.items()}


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
