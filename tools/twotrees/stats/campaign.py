"""A campaign's data as the statistics need it: planned runs with their last ok attempt, as typed numbers.

In: DATA/plan.json and DATA/runs/NNNN.json, read strictly. Out: `Campaign`. This is the package's own reading of the run
files, apart from `tools/aggregate_update_state.py`, so that two programs that share no code must agree.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from twotrees import strict_json
from twotrees.errors import BundleBroken, RunFailed, UsageError

Array = npt.NDArray[np.float64]
Json = dict[str, Any]

TIMED = ("phase", "terms", "lockstep")
STRICTLY_POSITIVE = ("update_state_ms", "env_step_total_ms")


@dataclass(frozen=True)
class Summary:
    """One quantity in one run, in milliseconds; median and p95 are None where no samples or summary give them."""

    n: int
    mean_ms: float
    median_ms: float | None
    p95_ms: float | None


@dataclass(frozen=True)
class MeasuredRun:
    """A planned run with a result that counts.

    Attributes:
        attempt: Its number in the campaign: its place in time.
        run: Its number in the plan.
        arm: Whose tree was stepped.
        mode: phase, terms, lockstep or parity.
        repeat: Which repeat, or which round, it is.
        attempt_facts: Everything the attempt recorded besides the result.
        result: The child's JSON.
        summaries: Phase (or backend phase) to its summary; for lockstep from the blocks' kept steps.
        terms: Probe to its summary over the calls outside resets.
        steps: Phase to its raw step times in ms, where there are samples.
        blocks: Phase to the step times of each lockstep block, first steps included.
        calls: Probe to its raw call times in ms outside resets, where there are samples.
    """

    attempt: int
    run: int
    arm: str
    mode: str
    repeat: int
    attempt_facts: Json
    result: Json
    summaries: Mapping[str, Summary]
    terms: Mapping[str, Summary]
    steps: Mapping[str, Array]
    blocks: Mapping[str, Sequence[Array]]
    calls: Mapping[str, Array]

    @property
    def evidence(self) -> Json:
        """What our child recorded beyond the published keys; empty for the published one."""
        ours: Json = self.result.get("twotrees", {})
        return ours


@dataclass(frozen=True)
class Campaign:
    """All that counts of one campaign.

    Attributes:
        plan: As written before the first run.
        arms: Names; the first is the baseline.
        runs: In planned order.
        unusable: What is missing or invalid, one line each.
        digests: Digests of the installed distributions that any attempt recorded.
        parity: The parity record, if there is one.
    """

    plan: Json
    arms: tuple[str, ...]
    runs: tuple[MeasuredRun, ...]
    unusable: tuple[str, ...]
    digests: frozenset[str]
    parity: Json | None

    def of(self, arm: str, mode: str) -> list[MeasuredRun]:
        """The runs of an arm and mode, in planned order."""
        return [run for run in self.runs if run.arm == arm and run.mode == mode]

    @property
    def timing_mode(self) -> str:
        """Where phases are read from: lockstep rounds if there are any, else phase runs."""
        return "lockstep" if any(run.mode == "lockstep" for run in self.runs) else "phase"

    @property
    def discard(self) -> int:
        """Steps at the start of each lockstep block that are not used."""
        return int(self.plan.get("protocol", {}).get("discard", 1))

    def setting(self, key: str, default: float) -> float:
        """A number of the plan's statistics section."""
        return float(self.plan.get("statistics", {}).get(key, default))


def read(data: Path) -> Campaign:
    """Reads a bundle's data folder.

    Raises:
        UsageError: there is no plan to read.
        BundleBroken: a run file cannot be read.
        RunFailed: no run counts.
    """
    plan = strict_json.read(data / "plan.json", error=UsageError)
    if not isinstance(plan, dict) or not plan.get("arms") or not isinstance(plan.get("matrix"), list):
        raise BundleBroken("arms and matrix are needed", file=data / "plan.json")
    attempts = [strict_json.read(path, error=BundleBroken) for path in sorted((data / "runs").glob("*.json"))]
    attempts.sort(key=lambda item: int(item["attempt"]))
    counting = {item["run"]: item for item in itertools.chain.from_iterable(whole_groups(attempts))}
    excluded = {item["run"] if isinstance(item, dict) else item for item in plan.get("exclusions", [])}
    discard = int(plan.get("protocol", {}).get("discard", 1))
    runs, unusable = [], []
    for planned in plan["matrix"]:
        if planned["run"] in excluded:
            continue
        item = counting.get(planned["run"])
        fault = "no attempt counts" if item is None else ""
        if item is not None:
            try:
                run = measured(item, discard)
                fault = fault_of(run, plan.get("scale", {}))
                runs += [] if fault else [run]
            except (KeyError, TypeError, ValueError, AttributeError) as shape:
                fault = f"not in the documented shape: {shape!r}"
        if fault:
            unusable.append(f"run {planned['run']} ({planned['arm']} {planned['mode']}): {fault}")
    if not runs:
        raise RunFailed(f"no run counts: {'; '.join(unusable)}", file=data / "runs")
    digests = {item.get("environment", {}).get(when) for item in attempts for when in ("before", "after")}
    parity = data / "parity.json"
    return Campaign(
        plan=plan,
        arms=tuple(arm["name"] for arm in plan["arms"]),
        runs=tuple(runs),
        unusable=tuple(unusable),
        digests=frozenset(digest for digest in digests if digest),
        parity=strict_json.read(parity, error=BundleBroken) if parity.exists() else None,
    )


def whole_groups(attempts: Sequence[Json]) -> Iterator[list[Json]]:
    """Attempts that count: single ok ones, and all workers of a lockstep round when every one of them is ok."""
    by_round: dict[int, list[Json]] = {}
    for item in attempts:
        if item["mode"] == "lockstep":
            by_round.setdefault(item.get("round") or item.get("repeat") or 0, []).append(item)
        elif item["status"] == "ok":
            yield [item]
    for workers in by_round.values():
        tries: list[list[Json]] = []
        for item in workers:
            if not tries or item["arm"] in {other["arm"] for other in tries[-1]}:
                tries.append([])
            tries[-1].append(item)
        yield from (one for one in tries if all(item["status"] == "ok" for item in one))


def milliseconds(series: Mapping[str, Any]) -> Array:
    """A sample series in ms, shape ``(n,)``."""
    values = np.asarray(series["values"], dtype=np.float64)
    return values / 1e6 if series["unit"] == "ns" else values


def measured(item: Json, discard: int) -> MeasuredRun:
    """One attempt as numbers."""
    result: Json = item["result"]
    ours = result.get("twotrees", {})
    steps = {name: milliseconds(series) for name, series in ours.get("samples", {}).items()}
    blocks: dict[str, list[Array]] = {}
    for block in ours.get("blocks", []):
        for name, series in block["samples"].items():
            blocks.setdefault(name, []).append(milliseconds(series))
    if item["mode"] == "lockstep":
        steps = {name: np.concatenate([block[discard:] for block in series]) for name, series in blocks.items()}
        summaries = {name: summary_of(values) for name, values in steps.items()}
    else:
        timing = result["timing"]
        printed = {name: line for name, line in timing.items() if name != "backend"} | timing.get("backend", {})
        summaries = {name: printed_summary(line) for name, line in printed.items()}
        summaries |= {name: summary_of(values) for name, values in steps.items() if name not in summaries}
    terms = {name: phases["step"] for name, phases in result.get("terms", {}).items() if phases["step"]["count"]}
    return MeasuredRun(
        attempt=item["attempt"],
        run=item["run"],
        arm=item["arm"],
        mode=item["mode"],
        repeat=int(item.get("round") or item.get("repeat") or 0),
        attempt_facts={key: value for key, value in item.items() if key != "result"},
        result=result,
        summaries=summaries,
        terms={name: printed_summary(line) for name, line in terms.items()},
        steps=steps,
        blocks=blocks,
        calls={name: milliseconds(phases["step"]) for name, phases in ours.get("term_samples", {}).items()},
    )


def printed_summary(line: Mapping[str, Any]) -> Summary:
    """A summary as the child printed it."""
    return Summary(line["count"], line["mean_ms"], line["median_ms"], line.get("p95_ms"))


def summary_of(steps: Array) -> Summary:
    """A summary of raw samples, as the published profiler makes it: NumPy's mean, median and linear percentile."""
    if not steps.size:
        return Summary(0, 0.0, 0.0, 0.0)
    middle, high = float(np.median(steps)), float(np.percentile(steps, 95))
    return Summary(int(steps.size), float(np.mean(steps)), middle, high)


def fault_of(run: MeasuredRun, scale: Mapping[str, Any]) -> str:
    """Why a run does not count; empty when it does. Nothing is clamped, nothing dropped."""
    if run.mode not in TIMED:
        return ""
    if run.mode == "lockstep" and not run.blocks:
        return "no lockstep blocks"
    raw = {name: np.concatenate(series) for name, series in run.blocks.items()} or run.steps
    for name, values in [*raw.items(), *run.calls.items()]:
        # UniLab's dr_reset_ and set_state_ are parts of a reset, and most steps have none.
        may_be_zero = name.startswith(("reset_done_", "backend_", "dr_reset_", "set_state_")) or "_count" in name
        wrong = ~np.isfinite(values) | (values < 0.0) | ((values == 0.0) & (not may_be_zero))
        if wrong.any():
            return f"{name}: sample {int(np.argmax(wrong)) + 1} is {values[np.argmax(wrong)]!r}"
    if run.mode == "lockstep":
        return ""
    planned = scale.get("measure")
    if planned is not None and "update_state_ms" in run.summaries and run.summaries["update_state_ms"].n != planned:
        return f"{run.summaries['update_state_ms'].n} steps where {planned} were planned"
    for name, summary in [*run.summaries.items(), *run.terms.items()]:
        numbers = [v for v in (summary.mean_ms, summary.median_ms, summary.p95_ms) if v is not None]
        if not all(math.isfinite(value) and value >= 0.0 for value in numbers):
            return f"{name}: a summary is not a time"
        if min(numbers) == 0.0 and (name in STRICTLY_POSITIVE or name in run.terms):
            return f"{name}: a summary is zero"
        samples = run.steps.get(name, run.calls.get(name))
        if samples is not None and (fault := disagreement(summary, summary_of(samples))):
            return f"{name}: {fault}"
    return ""


def disagreement(printed: Summary, computed: Summary) -> str:
    """Where a printed summary is not that of its samples; means may differ by the order of additions."""
    if printed.n != computed.n or printed.median_ms != computed.median_ms:
        return "count or median is not that of the samples"
    for name in ("mean_ms", "p95_ms"):
        told, found = getattr(printed, name), getattr(computed, name)
        if told is not None and not math.isclose(told, found, rel_tol=1e-12):
            return f"{name} is {told!r}, the samples give {found!r}"
    return ""
