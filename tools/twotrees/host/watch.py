"""The campaign's side of the monitor: starts its process, ends it, and sums up what it wrote."""

from __future__ import annotations

import contextlib
import itertools
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from types import TracebackType
from typing import Any

from twotrees import strict_json
from twotrees.errors import UsageError
from twotrees.host.facts import unknown_reason
from twotrees.host.monitor import MAX_HZ, SCHEMA
from twotrees.host.nvml import HARMLESS

END_TIMEOUT_S = 3.0


class Monitor:
    """Watches the host from a separate process while the `with` block runs.

    Args:
        path: The JSONL file; a second monitor on the same path (a resumed campaign) appends.
        hz: Lines per second, at most 1.

    Raises:
        UsageError: `hz` is out of range.
    """

    def __init__(self, path: Path, hz: float = 1.0, *, root: Path = Path("/")) -> None:
        if not 0 < hz <= MAX_HZ:
            raise UsageError(
                f"{hz:g} is no rate for the monitor", key="host.monitor_hz", mend="use at most 1 per second"
            )
        self.path = path
        self.hz = hz
        self.root = root
        self._process: subprocess.Popen[bytes] | None = None
        self._started = 0.0
        self._fault = ""

    def __enter__(self) -> Monitor:
        package_parent = str(Path(__file__).resolve().parents[2])
        argv = [sys.executable, "-P", "-s", "-m", "twotrees.host.monitor", str(self.path)]
        inherited = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
        argv += ["--hz", str(self.hz), "--root", str(self.root)]
        with contextlib.suppress(OSError):
            self.path.touch()
        try:
            # A session of its own: Ctrl-C reaches the campaign, which then ends the monitor in order.
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": os.pathsep.join([package_parent, *inherited])},
                start_new_session=True,
            )
        except OSError as error:
            self._fault = f"the monitor did not start: {error.strerror}"
        self._started = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self._process
        if process is None:
            return
        died = process.poll()
        # Closing its standard input is what ends it.
        try:
            _, complaint = process.communicate(timeout=END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            _, complaint = process.communicate()
            self._fault = f"the monitor did not end within {END_TIMEOUT_S:g} s and was killed"
        if died is not None:
            lines = complaint.decode("utf-8", "replace").strip().splitlines()
            self._fault = f"the monitor ended early with status {died}: {lines[-1] if lines else 'no message'}"

    @property
    def pid(self) -> int | None:
        """The monitor's process id while it runs."""
        return None if self._process is None else self._process.pid

    def summary(self) -> dict[str, Any]:
        """What the file says, with `fault` when the monitor itself failed; see :func:`summary_of`."""
        summed = summary_of(self.path)
        return {**summed, "fault": self._fault} if self._fault else summed


def summary_of(path: Path) -> dict[str, Any]:
    """Sums up a monitor's file.

    Returns:
        ``{"lines", "unreadable_lines", "seconds", "cost_pct_of_a_core", "start_up_cpu_s", "load_1", "busy_pct",
        "steal_pct", "frequency_mhz", "temperature_c", "thermal_throttling", "quota_throttling", "gpu_throttling"}``;
        readings are ``{"min", "median", "max"}``, throttling is a count; what no line knows is ``{"unknown": reason}``.
        Frequency has also `first_third` and `last_third`: the medians of the fastest core in the first and in the last
        third of the lines.
    """
    lines, unreadable = _lines(path)
    if not lines:
        return {"lines": 0, "unreadable_lines": unreadable, "unknown": "the monitor wrote no line"}
    seconds = round(lines[-1]["time"] - lines[0]["time"], 3)
    fastest = [_reading(line.get("frequency_mhz"), max) for line in lines]
    return {
        "lines": len(lines),
        "unreadable_lines": unreadable,
        "seconds": seconds,
        "cost_pct_of_a_core": _cost(lines),
        "start_up_cpu_s": lines[0].get("own_cpu_s"),
        "load_1": _spread(lines, "load_1"),
        "busy_pct": _spread(lines, "busy_pct"),
        "steal_pct": _spread(lines, "steal_pct"),
        "frequency_mhz": _with_thirds(_spread(lines, "frequency_mhz"), [mhz for mhz in fastest if mhz is not None]),
        "temperature_c": _spread(lines, "temperature_c"),
        "thermal_throttling": _growth(lines, "throttle_counts"),
        "quota_throttling": _growth(lines, "quota_throttled"),
        "gpu_throttling": _gpu_reasons(lines),
    }


def _lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """The readings, and how many lines could not be read (a killed monitor may leave half a line)."""
    try:
        texts = path.read_bytes().splitlines()
    except OSError:
        return [], 0
    lines: list[dict[str, Any]] = []
    unreadable = 0
    for text in texts:
        try:
            line = strict_json.loads(text)
        except strict_json.JsonRefused:
            unreadable += 1
            continue
        if isinstance(line, dict) and isinstance(line.get("time"), (int, float)):
            lines.append(line)
        elif not (isinstance(line, dict) and line.get("schema") == SCHEMA):
            unreadable += 1
    return lines, unreadable


def _cost(lines: list[dict[str, Any]]) -> Any:
    """CPU time per wall time after start-up, in per cent of one core; each monitor on the file counts for itself."""
    spent = wall = 0.0
    for early, late in itertools.pairwise(lines):
        used = late["own_cpu_s"] - early["own_cpu_s"]
        # A smaller total belongs to the monitor of a resumed campaign.
        if used >= 0:
            spent, wall = spent + used, wall + late["time"] - early["time"]
    return round(100.0 * spent / wall, 3) if wall > 0 else {"unknown": "one line gives no rate"}


def _numbers(value: Any) -> list[float]:
    if unknown_reason(value) is not None:
        return []
    values = value.values() if isinstance(value, dict) else [value]
    return [float(item) for item in values if isinstance(item, (int, float)) and not isinstance(item, bool)]


def _reading(value: Any, choose: Any) -> float | None:
    numbers = _numbers(value)
    return choose(numbers) if numbers else None


def _spread(lines: list[dict[str, Any]], key: str) -> Any:
    values = [number for line in lines for number in _numbers(line.get(key))]
    if not values:
        return {"unknown": next(_reasons(lines, key), "no line tells")}
    return {"min": min(values), "median": round(median(values), 3), "max": max(values)}


def _with_thirds(spread: dict[str, Any], fastest: list[float]) -> dict[str, Any]:
    third = len(fastest) // 3
    if not third:
        return spread
    return {**spread, "first_third": median(fastest[:third]), "last_third": median(fastest[-third:])}


def _reasons(lines: list[dict[str, Any]], key: str) -> Iterator[str]:
    for line in lines:
        reason = unknown_reason(line.get(key))
        if reason is not None:
            yield reason


def _growth(lines: list[dict[str, Any]], key: str) -> Any:
    """How much a counter grew from the first line to the last."""
    totals = [sum(numbers) for numbers in (_numbers(line.get(key)) for line in lines) if numbers]
    return int(totals[-1] - totals[0]) if totals else {"unknown": next(_reasons(lines, key), "no line tells")}


def _gpu_reasons(lines: list[dict[str, Any]]) -> Any:
    """For each GPU the reasons that held its clocks down, and in which share of the lines; idling does not count."""
    seen: dict[str, dict[str, int]] = {}
    asked = 0
    for line in lines:
        gpus = line.get("gpu")
        if not isinstance(gpus, dict) or unknown_reason(gpus) is not None:
            continue
        asked += 1
        for uuid, gpu in gpus.items():
            reasons = gpu.get("throttle_reasons")
            for reason in reasons if isinstance(reasons, list) else ():
                if reason not in HARMLESS:
                    counts = seen.setdefault(uuid, {})
                    counts[reason] = counts.get(reason, 0) + 1
    if not asked:
        return {"unknown": next(_reasons(lines, "gpu"), "no line tells")}
    return {uuid: {why: round(count / asked, 3) for why, count in counts.items()} for uuid, counts in seen.items()}
