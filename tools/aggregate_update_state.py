#!/usr/bin/env python3
"""Recompute every reported number of a campaign from its run files. One file, standard library only, hash-pinned.

In: `--data DATA` (DATA/plan.json and DATA/runs/NNNN.json), or `--published DIR` (the published scripts' file layout).
Out: JSON on standard output: per backend the published keys, and under "twotrees" metrics, effects with intervals,
disjoint attribution, validity and notes. Exit codes: 0 printed, 2 usage, 4 no usable runs, 5 a file that is not intact.

The published definitions are kept to the last bit. A phase value is the median over runs of the median over steps; a
term value is the median over runs of the mean over calls. Python's `sum` of floats became compensated in 3.12, so sums
are made here in either way (`--summation`), and the way taken is printed: any Python can recompute any other's bits.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, NoReturn

SCHEMA = "twotrees-aggregate-v1"
PUBLISHED_PHASES = ("update_state_ms", "env_step_total_ms", "reset_done_ms")
ANCHOR = "termination/anchor_pos"
BODY_REWARDS = tuple(f"reward/motion_body_{kind}" for kind in ("pos", "ori", "lin_vel", "ang_vel"))
TARGETS = (ANCHOR, *BODY_REWARDS)
REFRESH = "command/robot_state_refresh"
MANAGERS = {name: f"manager/{name}" for name in ("command_compute", "command_post_compute", "observation_compute")}
PUBLISHED_FILES = {"phase": ("phase", "phase_r2", "phase_r3"), "terms": ("terms_r2", "terms_r3", "terms_r4")}

TIMED_MODES = ("phase", "terms", "lockstep")

DEFAULT_CONFIDENCE = 0.95
DEFAULT_DELTA = 0.01
# A fixed order (all of one arm, then all of the other; or one arm always first) cannot tell an arm from its place in
# the order. Places alone were seen to make 3 %; a verdict must clear this much more than the interval does.
DEFAULT_ORDER_ALLOWANCE = 0.05
MEAN_MEDIAN_GAP = 0.10
# Arms whose last digits differ may end a few episodes at other steps; beyond this share it is other work.
RESET_TOLERANCE = 0.01
EXACT_SIGNED_RANK_MAX = 120

Json = dict[str, Any]
Summation = Callable[[Iterable[float]], float]


class Refused(Exception):
    """The input cannot be used; `code` is the exit status."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


# ---------------------------------------------------------------------------------------------------- reading


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    result = dict(pairs)
    if len(result) != len(pairs):
        raise ValueError("duplicate key")
    return result


def read_json(path: Path) -> Any:
    """Reads one file; bare NaN and infinities are let through here so that the run that holds them can be named."""
    try:
        return json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_unique)
    except OSError as error:
        raise Refused(f"{path}: cannot be read: {error.strerror}", 2) from None
    except (ValueError, RecursionError) as error:
        raise Refused(f"{path}: not JSON that every reader reads alike: {error}", 5) from None


@dataclass(frozen=True)
class Run:
    """One usable attempt of one planned run: where it came from, and the child's JSON."""

    attempt: int
    run: int
    arm: str
    mode: str
    repeat: int
    facts: Json
    result: Json


@dataclass(frozen=True)
class Campaign:
    """What the plan asked for and what came: arms in order (the first is the baseline), runs, and what is wrong."""

    plan: Json
    arms: tuple[str, ...]
    runs: tuple[Run, ...]
    missing: tuple[str, ...]
    invalid: tuple[str, ...]
    notes: tuple[str, ...]
    digests: frozenset[str]
    parity: Json | None
    add: Summation

    def of(self, arm: str, mode: str) -> list[Run]:
        """The runs of one arm and mode, in planned order."""
        return [run for run in self.runs if run.arm == arm and run.mode == mode]

    @property
    def timing_mode(self) -> str:
        """The mode that phases are read from: lockstep rounds where there are any, else phase runs."""
        return "lockstep" if any(run.mode == "lockstep" for run in self.runs) else "phase"

    def setting(self, key: str, default: float) -> float:
        """A number of the plan's statistics section."""
        return float(self.plan.get("statistics", {}).get(key, default))


def read_campaign(data: Path, add: Summation) -> Campaign:
    """Reads plan and runs, keeps the last ok attempt of each planned run, and names what is missing or invalid."""
    plan = read_json(data / "plan.json")
    if not isinstance(plan, dict) or not plan.get("arms") or not isinstance(plan.get("matrix"), list):
        raise Refused(f"{data / 'plan.json'}: not a plan: arms and matrix are needed", 5)
    attempts = sorted(map(read_attempt, (data / "runs").glob("*.json")), key=lambda one: int(one["attempt"]))
    excluded = {item["run"] if isinstance(item, dict) else int(item) for item in plan.get("exclusions", [])}
    usable = {item["run"]: item for item in _whole_rounds(attempts) if item["status"] == "ok"}
    runs, missing, invalid, notes = [], [], [], []
    for planned in plan["matrix"]:
        name = f"run {planned['run']} ({planned['arm']} {planned['mode']})"
        if planned["run"] in excluded:
            notes.append(f"{name} was excluded by the plan, before the first run")
            continue
        item = usable.get(planned["run"])
        if item is None:
            tried = [one for one in attempts if one["run"] == planned["run"]]
            missing.append(
                f"{name}: {tried[-1]['status']}: {tried[-1].get('reason', '')}" if tried else f"{name}: none"
            )
            continue
        try:
            fault = fault_of(item["result"], plan.get("scale", {}), item["mode"])
            if not fault:
                repeat = int(item.get("round") or item.get("repeat") or 0)
                result = blocks_as_timing(item, plan)
                runs.append(Run(item["attempt"], item["run"], item["arm"], item["mode"], repeat, item, result))
        except (KeyError, TypeError, ValueError, AttributeError) as shape:
            fault = f"not in the documented shape: {shape!r}"
        if fault:
            invalid.append(f"{name}, attempt {item['attempt']}: {fault}")
    if not runs:
        raise Refused(f"{data / 'runs'}: no usable run: {'; '.join(missing + invalid) or 'the matrix is empty'}", 4)
    digests = {one.get("environment", {}).get(when, "") for one in attempts for when in ("before", "after")}
    parity = data / "parity.json"
    return Campaign(
        plan=plan,
        arms=tuple(arm["name"] for arm in plan["arms"]),
        runs=tuple(runs),
        missing=tuple(missing),
        invalid=tuple(invalid),
        notes=tuple(notes),
        digests=frozenset(digest for digest in digests if digest),
        parity=read_json(parity) if parity.exists() else None,
        add=add,
    )


def read_attempt(path: Path) -> Json:
    """One run file; it may be of any status, but must say whose it is."""
    item = read_json(path)
    needed = {"attempt", "run", "arm", "mode", "status", "result"}
    if not isinstance(item, dict) or needed - item.keys():
        raise Refused(f"{path}: not a run file: {', '.join(sorted(needed))} are needed", 5)
    return item


def _whole_rounds(attempts: Sequence[Json]) -> list[Json]:
    """Lockstep workers count only together: drops those whose round lost another worker.

    A round that is tried again has new attempts of every arm: an arm's second attempt begins the next try.
    """
    tries: dict[Any, list[list[Json]]] = {}
    for item in attempts:
        lockstep = item["mode"] == "lockstep"
        of_round = tries.setdefault((item.get("round") or item.get("repeat")) if lockstep else (item["attempt"],), [[]])
        if any(other["arm"] == item["arm"] for other in of_round[-1]):
            of_round.append([])
        of_round[-1].append(item)
    whole = [one for of_round in tries.values() for one in of_round if all(item["status"] == "ok" for item in one)]
    return sorted(chain(*whole), key=lambda item: int(item["attempt"]))


# ------------------------------------------------------------------------------------------- samples and summaries


def to_ms(series: Json) -> list[float]:
    """A sample series in milliseconds; integer nanoseconds are divided exactly as the child divided them."""
    divisor = 1.0e6 if series["unit"] == "ns" else 1.0
    return [value / divisor for value in series["values"]]


def pairwise_sum(values: Sequence[float]) -> float:
    """The sum as NumPy makes it for contiguous float64: eight running sums, halves beyond 128 values."""
    n = len(values)
    if n < 8:
        total = 0.0
        for value in values:
            total += value
        return total
    if n <= 128:
        lanes = list(values[:8])
        whole = n - n % 8
        for start in range(8, whole, 8):
            for lane in range(8):
                lanes[lane] += values[start + lane]
        total = ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]))
        for value in values[whole:]:
            total += value
        return total
    half = n // 2 - (n // 2) % 8
    return pairwise_sum(values[:half]) + pairwise_sum(values[half:])


def summarise(values: Sequence[float]) -> Json:
    """Count, mean, median and 95th percentile (linear interpolation) with NumPy's roundings."""
    if not values:
        return {"count": 0, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}
    ordered = sorted(values)
    place = (len(ordered) - 1) * 0.95
    low = math.floor(place)
    high, share = min(low + 1, len(ordered) - 1), place - low
    gap = ordered[high] - ordered[low]
    p95 = ordered[high] - gap * (1.0 - share) if share >= 0.5 else ordered[low] + gap * share
    mean = pairwise_sum(values) / len(values)
    return {"count": len(values), "mean_ms": mean, "median_ms": float(median(ordered)), "p95_ms": p95}


def plain_sum(values: Iterable[float]) -> float:
    """Left to right, as `sum` did before Python 3.12."""
    total = 0.0
    for value in values:
        total += value
    return total


def compensated_sum(values: Iterable[float]) -> float:
    """Neumaier's compensated sum, as `sum` does it for floats from Python 3.12 on."""
    total = compensation = 0.0
    for value in values:
        after = total + value
        compensation += (total - after) + value if abs(total) >= abs(value) else (value - after) + total
        total = after
    return total + compensation if compensation and math.isfinite(compensation) else total


def blocks_as_timing(item: Json, plan: Json) -> Json:
    """A lockstep worker's result with its timing summaries taken from its blocks, first steps discarded."""
    result: Json = item["result"]
    if item["mode"] != "lockstep":
        return result
    pooled: dict[str, list[float]] = {}
    for block in result["twotrees"]["blocks"]:
        for metric, series in block["samples"].items():
            pooled.setdefault(metric, []).extend(to_ms(series)[discarded(plan) :])
    backend = {name: summarise(values) for name, values in pooled.items() if name.startswith("backend_")}
    timing = {name: summarise(values) for name, values in pooled.items() if name not in backend}
    return {**result, "timing": {**timing, "backend": backend}}


def discarded(plan: Json) -> int:
    """How many steps at the start of each lockstep block are not used (the first after a switch)."""
    return int(plan.get("protocol", {}).get("discard", 1))


def fault_of(result: Json | None, scale: Json, mode: str) -> str:
    """Why a child's result cannot be used, else the empty string. Nothing is clamped, nothing dropped."""
    if not isinstance(result, dict) or not isinstance(result.get("timing"), dict):
        return "no result"
    ours = result.get("twotrees", {})
    if mode == "lockstep":
        if not ours.get("blocks"):
            return "no lockstep blocks"
        series = [(f"{m}, block {b['block']}", s) for b in ours["blocks"] for m, s in b["samples"].items()]
        return next((fault for name, one in series if (fault := fault_of_series(name, one))), "")
    if mode not in TIMED_MODES:
        return ""
    samples = ours.get("samples", {})
    timing = {**{k: v for k, v in result["timing"].items() if k != "backend"}, **result["timing"].get("backend", {})}
    terms = {name: phases["step"] for name, phases in result.get("terms", {}).items()}
    called = {name: one for name, one in terms.items() if one["count"]}
    for name, summary in {**timing, **called, "term_sum_step_ms": result.get("term_sum_step_ms", {})}.items():
        numbers = [summary.get(key) for key in ("mean_ms", "median_ms", "p95_ms") if key in summary]
        if any(not isinstance(number, int | float) or not math.isfinite(number) for number in numbers):
            return f"{name}: a summary is not a finite number"
        if name in ("update_state_ms", "env_step_total_ms") or name in called:
            if min(numbers) <= 0:
                return f"{name}: a summary is zero or negative"
        elif numbers and min(numbers) < 0:
            return f"{name}: a summary is negative"
    measured = result["timing"].get("update_state_ms", {}).get("count")
    if measured is not None and measured != scale.get("measure", measured):
        return f"{measured} steps where {scale['measure']} were planned"
    term_samples = {name: phases["step"] for name, phases in ours.get("term_samples", {}).items()}
    for name, one in [*samples.items(), *term_samples.items()]:
        if fault := fault_of_series(name, one):
            return fault
    for name, one in [*samples.items(), *term_samples.items()]:
        printed = timing.get(name) or terms.get(name)
        if printed and (fault := disagreement(printed, summarise(to_ms(one)))):
            return f"{name}: {fault}"
    return ""


def fault_of_series(name: str, series: Json) -> str:
    """The first sample that no clock can give. Zero is possible only for a count, and for work that was not there."""
    # UniLab's dr_reset_ and set_state_ are parts of a reset, and most steps have none.
    may_be_zero = name.startswith(("reset_done_", "backend_", "dr_reset_", "set_state_")) or "_count" in name
    for place, value in enumerate(series["values"], start=1):
        where = f"{name}: sample {place} is {value!r}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"{where}, not a number"
        if not math.isfinite(value):
            return f"{where}, not finite"
        if value < 0 or (value == 0 and not may_be_zero):
            return f"{where}, which no clock can give"
    return ""


def disagreement(printed: Json, computed: Json) -> str:
    """Where a child's own summary is not that of its samples; a mean may differ by the order of its additions."""
    if printed["count"] != computed["count"]:
        return f"summary counts {printed['count']}, samples are {computed['count']}"
    if printed["median_ms"] != computed["median_ms"]:
        return f"median is {printed['median_ms']!r}, its samples give {computed['median_ms']!r}"
    for key in ("mean_ms", "p95_ms"):
        if not math.isclose(printed[key], computed[key], rel_tol=1e-12, abs_tol=0.0):
            return f"{key} is {printed[key]!r}, its samples give {computed[key]!r}"
    return ""


# ---------------------------------------------------------------------------------------------- the published keys


def term_mean(result: Json, name: str) -> float:
    """Mean over the calls of one probe in one run (calls outside resets)."""
    return float(result["terms"][name]["step"]["mean_ms"])


def phase_median(result: Json, name: str) -> float:
    """Median over the steps of one phase in one run."""
    return float(result["timing"][name]["median_ms"])


def per_update(result: Json, name: str) -> float:
    """Time of one probe per measured step, however many calls a step has."""
    step = result["terms"][name]["step"]
    return float(step["mean_ms"] * step["count"] / result["measure"])


def aggregates(add: Summation) -> dict[str, Callable[[Json], float]]:
    """The published sums of terms, each a function of one run."""

    def observation_terms(result: Json) -> float:
        return add(one["step"]["mean_ms"] for name, one in result["terms"].items() if name.startswith("obs/"))

    def targets(result: Json) -> float:
        return add(term_mean(result, name) for name in TARGETS)

    def every_term(result: Json) -> float:
        return float(result["term_sum_step_ms"]["mean_ms"])

    return {
        "four_body_rewards": lambda result: add(term_mean(result, name) for name in BODY_REWARDS),
        "target_five": targets,
        "all_reward_termination": every_term,
        "other_reward_termination": lambda result: every_term(result) - targets(result),
        "observation_term_calls": observation_terms,
        "observation_post_concat_residual": lambda result: (
            term_mean(result, MANAGERS["observation_compute"]) - observation_terms(result)
        ),
        "two_robot_state_refreshes": lambda result: per_update(result, REFRESH),
    }


def change(before: float, after: float) -> Json:
    """The published five numbers; a per cent of zero is undefined and printed as null."""
    return {
        "before_ms": before,
        "after_ms": after,
        "saved_ms": before - after,
        "reduction_pct": (before - after) / before * 100.0 if before else None,
        "speedup_x": before / after if after else None,
    }


def published(phase: Sequence[list[Json]], terms: Sequence[list[Json]], add: Summation) -> Json:
    """The published aggregate of one backend. *phase* and *terms* each hold (runs before, runs after).

    What a study does not measure is left out, key by key.
    """

    def compared(sets: Sequence[list[Json]], value: Callable[[Json], float]) -> Json | None:
        try:
            before, after = ([value(result) for result in results] for results in sets)
        except KeyError:
            return None
        return change(float(median(before)), float(median(after))) if before and after else None

    out: Json = {}
    for metric in PUBLISHED_PHASES:
        if (line := compared(phase, partial(phase_median, name=metric))) is None:
            continue
        out[metric] = line
        for label, results in zip(("before", "after"), phase, strict=True):
            line[f"{label}_run_medians_ms"] = [result["timing"][metric]["median_ms"] for result in results]
    sums = aggregates(add)
    tables: dict[str, Json] = {"terms": {}, "coarse": {}}
    for name in TARGETS:
        tables["terms"][name] = compared(terms, partial(term_mean, name=name))
    for name in ("four_body_rewards", "target_five", "all_reward_termination", "other_reward_termination"):
        tables["terms"][name] = compared(terms, sums[name])
    for label, name in MANAGERS.items():
        tables["coarse"][label] = compared(terms, partial(term_mean, name=name))
    for name in ("observation_term_calls", "observation_post_concat_residual", "two_robot_state_refreshes"):
        tables["coarse"][name] = compared(terms, sums[name])
    tables = {label: {key: line for key, line in table.items() if line is not None} for label, table in tables.items()}
    if "two_robot_state_refreshes" in tables["coarse"]:
        tables["coarse"]["two_robot_state_refreshes"]["calls_per_update"] = 2.0
    out.update((label, table) for label, table in tables.items())
    _current_shares(out, terms[1])
    return out


def _current_shares(out: Json, after: list[Json]) -> None:
    """Adds what the second arm's managers and terms take of its probe-free stage, in place, where all are measured."""
    parts = [*MANAGERS, "all_reward_termination"]
    lines = {**out["coarse"], **out["terms"]}
    if "update_state_ms" not in out or any(part not in lines for part in parts):
        return
    stage = out["update_state_ms"]["after_ms"]
    compute, post, observation = MANAGERS.values()
    totals = [
        term_mean(run, compute)
        + term_mean(run, post)
        + term_mean(run, observation)
        + run["term_sum_step_ms"]["mean_ms"]
        for run in after
    ]
    out["coarse"]["current_accounted_total_ms"] = float(median(totals))
    out["coarse"]["current_accounted_share_pct"] = out["coarse"]["current_accounted_total_ms"] / stage * 100.0
    out["coarse"]["current_share_pct"] = {part: lines[part]["after_ms"] / stage * 100.0 for part in parts}


def published_layout(folder: Path, add: Summation) -> Json:
    """Aggregates files named as the published scripts name them, for each backend that is there."""
    out: Json = {}
    for backend in ("mujoco", "mjwarp"):
        sets: dict[str, list[list[Json]]] = {}
        paths = {
            mode: [
                [folder / f"{prefix}_{backend}_{suffix}.json" for suffix in suffixes] for prefix in ("base", "final")
            ]
            for mode, suffixes in PUBLISHED_FILES.items()
        }
        every = [path for arms in paths.values() for arm in arms for path in arm]
        if not any(path.exists() for path in every):
            continue
        if absent := [path.name for path in every if not path.exists()]:
            raise Refused(f"{folder}: {backend} is incomplete, missing {', '.join(absent)}", 4)
        for mode, arms in paths.items():
            sets[mode] = [[read_json(path) for path in arm] for arm in arms]
            for path, result in zip(chain(*arms), chain(*sets[mode]), strict=True):
                if fault := fault_of(result, {}, mode):
                    raise Refused(f"{path}: {fault}", 4)
        out[backend] = published(sets["phase"], sets["terms"], add)
    if not out:
        raise Refused(f"{folder}: no file in the published layout, such as base_mujoco_phase.json", 4)
    return out


# --------------------------------------------------------------------------------------------------------- intervals


def incomplete_beta(a: float, b: float, x: float, y: float) -> float:
    """The regularised incomplete beta function I_x(a, b), with y = 1 - x given apart so that no digit is lost.

    Continued fraction by the modified Lentz method: Press et al., Numerical Recipes, 3rd ed. (2007), section 6.4;
    the fraction is Abramowitz & Stegun 26.5.8. Good to about 1e-14 for the a, b >= 0.5 needed here.
    """
    if x <= 0.0 or y <= 0.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(b, a, y, x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(y)) / a
    tiny = 1e-300
    c, d = 1.0, 1.0 / ((1.0 - (a + b) * x / (a + 1.0)) or tiny)
    value = d
    for m in range(1, 10_000):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0)),
        ):
            c, d = (1.0 + step / c) or tiny, 1.0 / ((1.0 + step * d) or tiny)
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return front * value


def student_tail(t: float, df: float) -> float:
    """P(|T| > |t|) for Student's t with *df* degrees of freedom (not necessarily whole): A&S 26.7.1 with 26.5.27."""
    square = t * t
    return incomplete_beta(df / 2.0, 0.5, df / (df + square), square / (df + square))


@cache
def student_quantile(confidence: float, df: float) -> float:
    """The t with P(|T| <= t) = *confidence*, by bisection to the last bits."""
    low, high = 0.0, 1.0
    while student_tail(high, df) > 1.0 - confidence:
        high *= 2.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if student_tail(middle, df) > 1.0 - confidence else (low, middle)
    return (low + high) / 2.0


@dataclass(frozen=True)
class LogRatio:
    """A log-ratio after/before with its interval; the bounds are None where n is too small to give any."""

    center: float
    low: float | None
    high: float | None
    p: float | None
    n_before: int
    n_after: int
    method: str
    cross: tuple[float, float] | None = None  # the t interval beside a signed-rank one


def mean(values: Sequence[float]) -> float:
    """Exactly rounded sum over n, so that it does not depend on the Python version."""
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Unbiased sample variance."""
    center = mean(values)
    return math.fsum((value - center) ** 2 for value in values) / (len(values) - 1)


def t_interval(center: float, error: float, df: float, confidence: float) -> tuple[float, float, float]:
    """(low, high, p) of an estimate with a standard error; without any spread the interval is the point itself."""
    if error == 0.0:
        return center, center, 1.0 if center == 0.0 else 0.0
    reach = student_quantile(confidence, df) * error
    return center - reach, center + reach, student_tail(center / error, df)


def welch(before: Sequence[float], after: Sequence[float], confidence: float) -> LogRatio:
    """Welch's t on logs of per-run values (Welch 1947; df by Satterthwaite 1946): independent runs, unequal spreads.

    Limits: at least two runs per arm; with three, the logs should be near normal, and nothing here can see drift.
    """
    a, b = [math.log(value) for value in before], [math.log(value) for value in after]
    center, n, m, method = mean(b) - mean(a), len(a), len(b), "Welch t on logs of run values"
    if min(n, m) < 2:
        return LogRatio(center, None, None, None, n, m, method)
    va, vb = variance(a) / n, variance(b) / m
    df = (va + vb) ** 2 / (va**2 / (n - 1) + vb**2 / (m - 1)) if va + vb else 1.0
    return LogRatio(center, *t_interval(center, math.sqrt(va + vb), df, confidence), n, m, method)


@cache
def signed_rank_cdf(n: int) -> tuple[float, ...]:
    """P(W+ <= w) for w = 0 … n(n+1)/2, exactly, by adding one rank at a time (Wilcoxon 1945)."""
    mass = [1.0]
    for rank in range(1, n + 1):
        grown = [0.0] * (len(mass) + rank)
        for place, probability in enumerate(mass):
            grown[place] += probability / 2.0
            grown[place + rank] += probability / 2.0
        mass = grown
    total, cdf = 0.0, []
    for probability in mass:
        total += probability
        cdf.append(total)
    return tuple(cdf)


def paired(differences: Sequence[float], confidence: float, what: str) -> LogRatio:
    """Log-ratios of pairs: Hodges-Lehmann with the exact signed-rank interval from six pairs on, t below that.

    Source: Hodges & Lehmann 1963; interval by ordered Walsh averages, Hollander, Wolfe & Chicken 2014, section 3.2-3.3.
    Limits: symmetric differences (a balanced order makes them so); its coverage is at least the stated one.
    """
    n = len(differences)
    cdf = signed_rank_cdf(min(n, EXACT_SIGNED_RANK_MAX))
    if n < 2 or cdf[0] > (1.0 - confidence) / 2.0 or n > EXACT_SIGNED_RANK_MAX:
        method = f"t on logs of {what}"
        if n < 2:
            return LogRatio(mean(differences), None, None, None, n, n, method)
        error = math.sqrt(variance(differences) / n)
        return LogRatio(mean(differences), *t_interval(mean(differences), error, n - 1.0, confidence), n, n, method)
    walsh = sorted((differences[i] + differences[j]) / 2.0 for i in range(n) for j in range(i, n))
    reach = sum(1 for probability in cdf if probability <= (1.0 - confidence) / 2.0)
    positive = sum(1 for value in walsh if value > 0.0)
    zeros = sum(1 for value in walsh if value == 0.0)
    # W+ is the number of positive Walsh averages (Tukey 1949); averages of zero are counted against significance.
    extreme = min(positive + zeros, len(walsh) - positive)
    p = min(1.0, 2.0 * cdf[extreme])
    method = f"Hodges-Lehmann, signed-rank over {what}"
    error = math.sqrt(variance(differences) / n)
    cross = t_interval(mean(differences), error, n - 1.0, confidence)[:2]
    return LogRatio(float(median(walsh)), walsh[reach - 1], walsh[len(walsh) - reach], p, n, n, method, cross)


# ------------------------------------------------------------------------------------------------ metrics and effects


@dataclass(frozen=True)
class Metric:
    """A reported quantity: `summary` of one run (None where the run lacks it) and which of its numbers is the value."""

    name: str
    kind: str
    mode: str
    statistic: str
    summary: Callable[[Json], Json | None]

    def value(self, run: Run) -> float | None:
        """The number of one run that goes into medians over runs."""
        summary = self.summary(run.result)
        return None if summary is None or summary.get(self.statistic) is None else float(summary[self.statistic])


def phase_summary(result: Json, name: str) -> Json | None:
    """One phase of one run: as the child printed it, else from its samples."""
    timing = result["timing"]
    if name in timing or name in timing.get("backend", {}):
        summary: Json = timing.get(name) or timing["backend"][name]
        return summary
    series = result.get("twotrees", {}).get("samples", {}).get(name)
    return None if series is None else summarise(to_ms(series))


def term_summary(result: Json, name: str) -> Json | None:
    """One probe of one run, calls outside resets."""
    step: Json = result.get("terms", {}).get(name, {}).get("step", {"count": 0})
    return step if step["count"] else None


def aggregate_summary(result: Json, name: str, value: Callable[[Json], float]) -> Json | None:
    """A published sum of terms; its median and 95th percentile come from per-step sums where samples are there."""
    try:
        mean_ms = value(result)
    except KeyError:
        return None
    count = result["measure"]
    if name == "all_reward_termination":
        return {**result["term_sum_step_ms"], "mean_ms": mean_ms}
    scored = [term for term in result["terms"] if term.startswith(("reward/", "termination/"))]
    observed = [term for term in result["terms"] if term.startswith("obs/")]
    parts = {
        "four_body_rewards": BODY_REWARDS,
        "target_five": TARGETS,
        "other_reward_termination": [term for term in scored if term not in TARGETS],
        "observation_term_calls": observed,
        "observation_post_concat_residual": [MANAGERS["observation_compute"]],
        "two_robot_state_refreshes": [f"{REFRESH}/first_read", f"{REFRESH}/force"],
    }[name]
    minus = observed if name == "observation_post_concat_residual" else []
    samples = result.get("twotrees", {}).get("term_samples", {})
    series = [to_ms(samples[term]["step"]) if term in samples else [] for term in [*parts, *minus]]
    if not series or any(len(values) != count for values in series):
        return {"count": count, "mean_ms": mean_ms, "median_ms": None, "p95_ms": None}
    signs = [1.0] * len(parts) + [-1.0] * len(minus)
    steps = [math.fsum(sign * values[i] for sign, values in zip(signs, series, strict=True)) for i in range(count)]
    return {**summarise(steps), "mean_ms": mean_ms}


def metrics_of(campaign: Campaign) -> list[Metric]:
    """Every phase, term and aggregate that any run holds, in a stable order."""
    mode = campaign.timing_mode
    phases: dict[str, None] = dict.fromkeys(PUBLISHED_PHASES)
    terms: dict[str, None] = {}
    for run in campaign.runs:
        timing = run.result["timing"]
        named = [*timing, *timing.get("backend", {}), *run.result.get("twotrees", {}).get("samples", {})]
        phases.update(dict.fromkeys(name for name in named if name.endswith("_ms")))
        terms.update(dict.fromkeys(run.result.get("terms", {})))
    made = [Metric(n, "phase", mode, "median_ms", partial(phase_summary, name=n)) for n in phases]
    made += [
        Metric(f"{n}@p95", "quantile", mode, "p95_ms", partial(phase_summary, name=n))
        for n in PUBLISHED_PHASES[:2]
        if n in phases
    ]
    made += [Metric(f"term:{n}", "term", "terms", "mean_ms", partial(term_summary, name=n)) for n in terms]
    if terms:
        for name, value in aggregates(campaign.add).items():
            made.append(
                Metric(name, "aggregate", "terms", "mean_ms", partial(aggregate_summary, name=name, value=value))
            )
    return [metric for metric in made if any(run.mode == metric.mode and metric.value(run) for run in campaign.runs)]


def metric_table(campaign: Campaign, metric: Metric) -> Json:
    """Per arm: each run's numbers, the value (median over runs), and both mean and median beside it."""
    table: Json = {}
    for arm in campaign.arms:
        runs = [(run, summary) for run in campaign.of(arm, metric.mode) if (summary := metric.summary(run.result))]
        if not runs:
            continue
        middle = {
            key: float(median(numbers))
            for key in ("median_ms", "mean_ms", "p95_ms")
            if (numbers := [summary[key] for _, summary in runs if summary[key] is not None])
        }
        lines = [
            {"attempt": run.attempt, "run": run.run, "n": summary["count"]}
            | {key: summary[key] for key in ("median_ms", "mean_ms", "p95_ms")}
            for run, summary in runs
        ]
        table[arm] = {
            "runs": lines,
            "value_ms": middle[metric.statistic],
            "statistic": f"median over runs of the {metric.statistic.removesuffix('_ms')}",
            "median_ms": middle.get("median_ms"),
            "mean_ms": middle["mean_ms"],
            "n_runs": len(runs),
            "n_steps": sum(line["n"] for line in lines),
        }
    return table


def round_log_ratio(before: Run, after: Run, metric: str, campaign: Campaign) -> float | None:
    """One lockstep round's log-ratio: the median over its complete cycles of mean log block median, after less before.

    A cycle (ABBA, BAAB, ABCCBA …) holds each arm twice, so that a linear drift cancels within it: a worker's blocks,
    taken two by two in their order, are its cycles.
    """
    cycles = []
    for run in (before, after):
        series = [block["samples"].get(metric) for block in run.result["twotrees"]["blocks"]]
        kept = [to_ms(one)[discarded(campaign.plan) :] if one else [] for one in series]
        middle = [median(values) if values else 0.0 for values in kept]
        pairs = zip(middle[::2], middle[1::2], strict=False)
        cycles.append([mean([math.log(one), math.log(two)]) if min(one, two) > 0.0 else None for one, two in pairs])
    ratios = [b - a for a, b in zip(*cycles, strict=False) if a is not None and b is not None]
    return float(median(ratios)) if ratios else None


def order_allowance(campaign: Campaign, metric: Metric, before: list[Run], after: list[Run]) -> float:
    """What the order alone may have made, in logs: zero where each arm went first about equally often.

    Else the stated allowance, plus the drift seen within the arms carried over the distance between them.
    """
    firsts = {run.repeat: run.attempt for run in before}
    leads = [1 if firsts[run.repeat] < run.attempt else -1 for run in after if run.repeat in firsts]
    if metric.mode == "lockstep" or (leads and abs(sum(leads)) <= 1):
        return 0.0
    top = bottom = 0.0
    places = []
    for runs in (before, after):
        x = [float(run.attempt) for run in runs]
        y = [math.log(metric.value(run) or 1.0) for run in runs]
        places.append(mean(x))
        top += math.fsum((a - mean(x)) * (b - mean(y)) for a, b in zip(x, y, strict=True))
        bottom += math.fsum((a - mean(x)) ** 2 for a in x)
    drift = abs(top / bottom) * abs(places[1] - places[0]) if bottom else 0.0
    return campaign.setting("order_allowance", DEFAULT_ORDER_ALLOWANCE) + drift


def estimate(campaign: Campaign, metric: Metric, before: list[Run], after: list[Run]) -> LogRatio | None:
    """The log-ratio by the plan's protocol: pairs where runs were paired in the order, else independent runs."""
    # Under a sequential rule each look has an interval of this higher level, so that looking often costs no coverage.
    confidence = campaign.setting("look_confidence", campaign.setting("confidence", DEFAULT_CONFIDENCE))
    protocol = campaign.plan.get("protocol", {})
    partners = {run.repeat: run for run in after}
    pairs = [(run, partners[run.repeat]) for run in before if run.repeat in partners]
    values = [[metric.value(run) for run in runs] for runs in (before, after)]
    if any(value is None or value <= 0.0 for arm in values for value in arm):
        return None
    if metric.mode == "lockstep" and metric.kind == "phase":
        found = [round_log_ratio(a, b, metric.name, campaign) for a, b in pairs]
        logs = [ratio for ratio in found if ratio is not None]
        return paired(logs, confidence, "lockstep rounds") if logs else None
    in_pairs = metric.mode == "lockstep" or "balanced" in protocol.values() or "interleaved" in protocol.values()
    if not pairs or not in_pairs:
        return welch([v for v in values[0] if v], [v for v in values[1] if v], confidence)
    logs = [math.log(metric.value(b) or 1.0) - math.log(metric.value(a) or 1.0) for a, b in pairs]
    return paired(logs, confidence, "lockstep rounds" if metric.mode == "lockstep" else "pairs of runs")


def effects_of(campaign: Campaign, metrics: Sequence[Metric], tables: Mapping[str, Json], valid: bool) -> list[Json]:
    """One effect per metric and non-baseline arm."""
    baseline, effects = campaign.arms[0], []
    for arm in campaign.arms[1:]:
        family = []
        for metric in metrics:
            table = tables[metric.name]
            if baseline not in table or arm not in table:
                continue
            before, after = (
                [run for run in campaign.of(name, metric.mode) if metric.summary(run.result)]
                for name in (baseline, arm)
            )
            ratio = estimate(campaign, metric, before, after)
            allowance = order_allowance(campaign, metric, before, after) if ratio and ratio.low is not None else 0.0
            family.append(effect_line(campaign, metric, arm, table, ratio, allowance, valid))
        holm(family)
        effects += family
    return effects


def effect_line(
    campaign: Campaign, metric: Metric, arm: str, table: Json, ratio: LogRatio | None, allowance: float, valid: bool
) -> Json:
    """One effect as printed: the published five numbers, the ratio with its interval and n, the verdict and why."""
    delta, baseline = campaign.setting("delta", DEFAULT_DELTA), campaign.arms[0]
    numbers = change(table[baseline]["value_ms"], table[arm]["value_ms"])
    point = numbers["after_ms"] / numbers["before_ms"] if numbers["before_ms"] else None
    low = high = None
    if ratio is not None and ratio.method.startswith(("Hodges", "t on")):
        point = math.exp(ratio.center)
    if ratio is not None and ratio.low is not None and ratio.high is not None:
        low, high = math.exp(ratio.low), math.exp(ratio.high)
    verdict, reason = judge(low, high, allowance, delta)
    if not valid:
        verdict, reason = "not comparable", "validity fails; see its list"
    return {
        "metric": metric.name,
        "kind": metric.kind,
        "arm": arm,
        "baseline": baseline,
        **numbers,
        "ratio": point,
        "ratio_low": low,
        "ratio_high": high,
        "confidence": campaign.setting("confidence", DEFAULT_CONFIDENCE),
        "n_before": ratio.n_before if ratio else table[baseline]["n_runs"],
        "n_after": ratio.n_after if ratio else table[arm]["n_runs"],
        "method": ratio.method if ratio else "none: a value is zero or missing",
        "p": ratio.p if ratio else None,
        "t_low": math.exp(ratio.cross[0]) if ratio and ratio.cross else None,
        "t_high": math.exp(ratio.cross[1]) if ratio and ratio.cross else None,
        "order_allowance": allowance,
        "delta": delta,
        "verdict": verdict,
        "reason": reason,
        **({"label": "environments differ"} if campaign.plan.get("environment") == "per-arm" else {}),
    }


def judge(low: float | None, high: float | None, allowance: float, delta: float) -> tuple[str, str]:
    """The verdict on a ratio's interval, widened by what the order may have made, and why it is no other."""
    if low is None or high is None:
        return "not resolved", "too few runs for an interval"
    least, most = low * math.exp(-allowance), high * math.exp(allowance)
    if most < 1.0 or least > 1.0:
        small = " (but inside ±delta)" if least > 1.0 - delta and most < 1.0 + delta else ""
        return ("faster" if most < 1.0 else "slower"), f"the interval is beyond no change{small}"
    if least > 1.0 - delta and most < 1.0 + delta:
        return "equivalent", "the interval is inside ±delta"
    if high < 1.0 or low > 1.0:
        return "not resolved", f"the order was not balanced, and may alone have made {100.0 * allowance:.1f} %"
    return "not resolved", "the interval contains no change"


def holm(family: list[Json]) -> None:
    """Adds `p_holm` in place: p-values adjusted for judging the whole family at once (Holm 1979, step-down)."""
    ranked = sorted((line for line in family if line["p"] is not None), key=lambda line: float(line["p"]))
    running = 0.0
    for place, line in enumerate(ranked):
        running = max(running, min(1.0, (len(ranked) - place) * line["p"]))
        line["p_holm"] = running
    for line in family:
        line.setdefault("p_holm", None)


# -------------------------------------------------------------------------------------------------------- attribution


def disjoint_parts(result: Json, add: Summation) -> dict[str, float]:
    """One instrumented run's update_state in parts that do not overlap, each in milliseconds per step.

    The refreshes are called inside other probes (`nested_in` where the child recorded it, else as in the published
    study: the first inside anchor_pos, the forced one inside post_compute); each is split off and its host shown net.
    """
    every, targets = (aggregates(add)[name](result) for name in ("all_reward_termination", "target_five"))
    parts = {
        "four_body_rewards": aggregates(add)["four_body_rewards"](result),
        "refresh_first_read": per_update(result, f"{REFRESH}/first_read"),
        "refresh_force": per_update(result, f"{REFRESH}/force"),
        "anchor_pos_net": per_update(result, ANCHOR),
        "other_terms": every - targets,
        "command_compute": per_update(result, MANAGERS["command_compute"]),
        "command_post_compute_net": per_update(result, MANAGERS["command_post_compute"]),
        "observation_compute": per_update(result, MANAGERS["observation_compute"]),
    }
    line_of = dict.fromkeys(BODY_REWARDS, "four_body_rewards") | {
        ANCHOR: "anchor_pos_net",
        MANAGERS["command_compute"]: "command_compute",
        MANAGERS["command_post_compute"]: "command_post_compute_net",
        MANAGERS["observation_compute"]: "observation_compute",
    }
    recorded = result.get("twotrees", {}).get("nested_in", {})
    hosts = {"first_read": ANCHOR, "force": MANAGERS["command_post_compute"]}
    for part, usual in hosts.items():
        host = recorded.get(f"{REFRESH}/{part}", usual)
        if host is not None:
            outer = "observation_compute" if host.startswith("obs/") else line_of.get(host, "other_terms")
            parts[outer] -= parts[f"refresh_{part}"]
    return parts


def attribution_of(campaign: Campaign, tables: Mapping[str, Json]) -> tuple[list[Json], list[str]]:
    """Disjoint lines that sum to the probe-free stage with a printed residual, for each non-baseline arm; and notes."""
    stage = tables.get("update_state_ms", {})
    try:
        per_arm = {
            arm: [disjoint_parts(run.result, campaign.add) for run in runs]
            for arm in campaign.arms
            if (runs := campaign.of(arm, "terms")) and arm in stage
        }
    except KeyError as missing:
        return [], [f"no attribution: the terms runs lack the probe {missing}"]
    middle = {
        arm: {line: float(median([one[line] for one in parts])) for line in parts[0]} for arm, parts in per_arm.items()
    }
    rows, notes = [], []
    for arm, lines in middle.items():
        lines["residual"] = stage[arm]["value_ms"] - math.fsum(lines.values())
        for line in ("anchor_pos_net", "command_post_compute_net", "residual"):
            if lines[line] < 0.0:
                notes.append(f"attribution {arm}: {line} is {lines[line]:.4f} ms: below what nested probes can resolve")
        whole = stage[arm]["value_ms"]
        probed = median([phase_median(run.result, "update_state_ms") for run in campaign.of(arm, "terms")])
        notes.append(
            f"attribution {arm}: update_state takes {probed:.3f} ms with probes, {whole:.3f} without; "
            "read the parts by order of magnitude"
        )
    baseline = campaign.arms[0]
    for arm in campaign.arms[1:]:
        if baseline not in middle or arm not in middle:
            continue
        stages = {name: stage[name]["value_ms"] for name in (baseline, arm)}
        saved = stages[baseline] - stages[arm]
        for line in [*middle[arm], "update_state"]:
            before, after = (stages[n] if line == "update_state" else middle[n][line] for n in (baseline, arm))
            rows.append(
                {
                    "arm": arm,
                    "baseline": baseline,
                    "line": line,
                    "kind": {"residual": "residual", "update_state": "stage"}.get(line, "part"),
                    "before_ms": before,
                    "after_ms": after,
                    "saved_ms": before - after,
                    "before_share_pct": before / stages[baseline] * 100.0,
                    "after_share_pct": after / stages[arm] * 100.0,
                    "share_of_saving_pct": (before - after) / saved * 100.0 if saved else None,
                }
            )
    return rows, notes


# ----------------------------------------------------------------------------------------------------------- validity


def agreement(named: Iterable[tuple[str, Any]]) -> tuple[bool, bool, str]:
    """(ok, checked, detail) for facts that must be equal; None is "not recorded", bad only where others are."""
    facts = [(name, json.dumps(value, sort_keys=True)) for name, value in named]
    if not facts or all(value == "null" for _, value in facts):
        return True, False, "not recorded by this profiler"
    first_name, first = facts[0]
    odd = next(((name, value) for name, value in facts if value != first), None)
    if odd is None:
        return True, True, f"equal in {len(facts)} runs"
    return False, True, f"{first_name}: {_short(first)}; {odd[0]}: {_short(odd[1])}"


def _short(text: str, most: int = 160) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def flat(value: Any, at: str = "") -> dict[str, Any]:
    """A nested configuration as dotted keys."""
    if isinstance(value, dict) and value:
        return {k: v for key, item in value.items() for k, v in flat(item, f"{at}.{key}" if at else str(key)).items()}
    return {at: value}


def validity_of(campaign: Campaign) -> list[Json]:
    """The checks in the order in which they can void the comparison, each with what was found."""
    rows: list[Json] = []
    runs, plan = campaign.runs, campaign.plan

    def row(name: str, ok: bool, checked: bool, detail: str) -> None:
        rows.append({"check": name, "ok": ok, "checked": checked, "detail": detail})

    def label(run: Run) -> str:
        return f"run {run.run} ({run.arm} {run.mode})"

    def ours(run: Run, key: str) -> Any:
        return run.result.get("twotrees", {}).get(key)

    bad = [*campaign.missing, *campaign.invalid]
    row("runs", not bad, True, "; ".join(bad) or f"all {len(runs)} planned runs are usable")
    count = len(campaign.digests)
    row(
        "environment",
        count == 1,
        count > 0,
        _count(count, "digest") + " of installed distributions, before and after every attempt",
    )
    row("instrumentation", *_instrumentation(runs))
    for name, key in (("scale", "scale"), ("seeds", "seeds")):
        wanted = plan.get(key, {})
        keys = {"num_envs": "num_envs", "warmup": "warmup", "action": "action_seed", "env": "env_seed"}
        odd = [
            f"{label(run)}: {to} is {run.result[to]}, planned {wanted[of]}"
            for run in runs
            if run.mode in TIMED_MODES
            for of, to in keys.items()
            if of in wanted and to in run.result and run.result[to] != wanted[of]
        ]
        row(name, not odd, True, "; ".join(odd) or "as planned")
    row("provenance", *_provenance(runs))
    row("variables", *agreement((label(run), _neutral(run.facts.get("env"), run.arm)) for run in runs))
    row("config", *_config(runs, plan))
    timed = [run for run in runs if run.mode in TIMED_MODES]
    row("decisions", *agreement((label(run), _decisions(run)) for run in timed))
    modes = sorted({run.mode for run in runs})
    works = [agreement((label(r), _workload(r)) for r in runs if r.mode == mode) for mode in modes]
    resets = [_resets([r for r in runs if r.mode == mode]) for mode in modes]
    first = next((work for work in works + resets if not work[0]), works[0])
    row("workload", first[0], any(work[1] for work in works), first[2])
    compiles = [(label(run), ours(run, "compiles_after_warmup")) for run in runs]
    cold = [f"{name}: {count} compiles after the warm-up" for name, count in compiles if count]
    row("warm", not cold, any(count is not None for _, count in compiles), "; ".join(cold) or "none cold")
    parity = campaign.parity
    row("parity", parity is None or bool(parity.get("ok")), parity is not None, _parity(parity))
    return rows


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _instrumentation(runs: Sequence[Run]) -> tuple[bool, bool, str]:
    odd = [f"run {r.run}: {r.mode}" for r in runs if bool(r.result.get("instrument")) != (r.mode == "terms")]
    return not odd, True, f"probes do not fit the mode: {', '.join(odd)}" if odd else "timing runs carry no probes"


def _provenance(runs: Sequence[Run]) -> tuple[bool, bool, str]:
    files = {
        (run.arm, one["path"], one["sha256"])
        for run in runs
        for one in run.result.get("twotrees", {}).get("provenance") or []
    }
    outside = sorted({path for _, path, _ in files if Path(path).is_absolute() or ".." in Path(path).parts})
    if outside:
        return False, True, f"outside the tree: {', '.join(outside)}"
    names = [key[:2] for key in files]
    changed = sorted({path for arm, path in names if names.count((arm, path)) > 1})
    if changed:
        return False, True, f"not the same content in all runs of an arm: {', '.join(changed)}"
    return True, bool(files), f"{len(files)} files imported from inside the trees, each of one content per arm"


def _neutral(value: Any, arm: str) -> Any:
    """Data with the arm's own name taken out of its texts: paths differ by it, and should differ by nothing else."""
    name = re.compile(rf"(?<![A-Za-z0-9]){re.escape(arm)}(?![A-Za-z0-9])")
    return None if not value else json.loads(name.sub("${ARM}", json.dumps(value)))


def _decisions(run: Run) -> Json | None:
    """What start-up tuners decided; how they came to it (cache hit or miss) is not a decision."""
    decided = run.result.get("twotrees", {}).get("decisions") or run.facts.get("decisions") or {}
    return {name: value for name, value in decided.items() if not name.endswith("_cache")} or None


def _config(runs: Sequence[Run], plan: Json) -> tuple[bool, bool, str]:
    declared = [key for one in [plan, *plan["arms"]] for key in one.get("declared_differences", [])]
    configs = [
        (f"run {run.run} ({run.arm})", _neutral(run.result.get("twotrees", {}).get("config"), run.arm)) for run in runs
    ]
    known = [(name, flat(config)) for name, config in configs if config is not None]
    if not known:
        return agreement((f"run {run.run}", run.result.get("twotrees", {}).get("config_sha256")) for run in runs)
    keys = sorted({key for _, config in known for key in config})
    free = {key for key in keys for one in declared if key == one or key.startswith(f"{one}.")}
    for key in keys:
        ok, _, detail = agreement((name, [config.get(key)]) for name, config in known)
        if not ok and key not in free:
            return False, True, f"{key} differs: {detail}"
    detail = f"equal in {len(known)} of {len(configs)} runs but for {len(free)} declared keys"
    return len(known) == len(configs), True, detail


def _workload(run: Run) -> Json | None:
    counters: Json | None = run.result.get("twotrees", {}).get("workload")
    return None if not counters else {key: value for key, value in counters.items() if key != "reset_counts"}


def _resets(runs: Sequence[Run]) -> tuple[bool, bool, str]:
    totals = [(run, sum(run.result.get("twotrees", {}).get("workload", {}).get("reset_counts", []))) for run in runs]
    least, most = min(totals, key=lambda one: one[1]), max(totals, key=lambda one: one[1])
    detail = f"run {least[0].run} resets {least[1]} environments, run {most[0].run} {most[1]}"
    return most[1] - least[1] <= RESET_TOLERANCE * most[1], True, detail


def _parity(parity: Json | None) -> str:
    if parity is None:
        return "no parity record"
    worst = [term["name"] for term in parity.get("terms", []) if not term.get("ok")]
    return f"differs beyond tolerance: {', '.join(worst) or 'see parity.json'}" if not parity.get("ok") else "holds"


# --------------------------------------------------------------------------------------------------------------- main


def notes_of(campaign: Campaign, metrics: Sequence[Metric], tables: Mapping[str, Json]) -> list[str]:
    """What a reader must know beside the numbers."""
    notes = [f"label: {label}" for label in campaign.plan.get("labels", [])] + list(campaign.notes)
    for metric in metrics:
        for arm, line in tables[metric.name].items():
            middle, average = line["median_ms"], line["mean_ms"]
            if middle and abs(average - middle) > MEAN_MEDIAN_GAP * middle:
                notes.append(
                    f"{metric.name} {arm}: mean {average:.6g} ms and median {middle:.6g} ms part by "
                    f"{100.0 * abs(average - middle) / middle:.0f} %"
                )
    for run in campaign.runs:
        for seen in run.result.get("twotrees", {}).get("lockstep", {}).get("spinning", []):
            share = f"{100.0 * seen['share']:.0f} % of a core ({seen['seen_by']})"
            notes.append(f"run {run.run} ({run.arm}) computed while it should have waited: {share}")
        step = run.result.get("terms", {}).get(REFRESH, {}).get("step")
        if step and step["count"] != 2 * run.result["measure"]:
            per_step = step["count"] / run.result["measure"]
            notes.append(f"run {run.run}: {per_step:g} refreshes per update, where the published table says 2")
    return notes


def aggregate(campaign: Campaign) -> Json:
    """The whole document for one campaign."""
    metrics = metrics_of(campaign)
    tables = {metric.name: metric_table(campaign, metric) for metric in metrics}
    validity = validity_of(campaign)
    effects = effects_of(campaign, metrics, tables, all(row["ok"] for row in validity))
    attribution, attribution_notes = attribution_of(campaign, tables)
    pair = (campaign.arms[0], campaign.arms[min(1, len(campaign.arms) - 1)])
    phase, terms = (
        [[run.result for run in campaign.of(arm, mode)] for arm in pair] for mode in (campaign.timing_mode, "terms")
    )
    return {
        campaign.plan["backend"]: published(phase, terms, campaign.add),
        "twotrees": {
            "schema": SCHEMA,
            "study": campaign.plan.get("study"),
            "backend": campaign.plan["backend"],
            "protocol": campaign.plan.get("protocol", {}).get("name"),
            "arms": list(campaign.arms),
            "summation": "compensated" if campaign.add is compensated_sum else "plain",
            "metrics": tables,
            "effects": effects,
            "attribution": attribution,
            "validity": validity,
            "notes": notes_of(campaign, metrics, tables) + attribution_notes,
        },
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Reads the command line, prints the aggregate, gives the exit status."""

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise Refused(message, 2)

    parser = Parser(description="Recompute every reported number of a campaign from its run files.")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--data", type=Path, help="a bundle's data folder: plan.json and runs/*.json")
    source.add_argument("--published", type=Path, help="a folder with files named as the published scripts name them")
    parser.add_argument(
        "--summation",
        choices=("auto", "plain", "compensated"),
        default="auto",
        help="how floats are summed; auto is as this Python's sum() does it (compensated from 3.12 on)",
    )
    try:
        options = parser.parse_args(argv)
        compensated = {"auto": sys.version_info >= (3, 12), "plain": False, "compensated": True}[options.summation]
        add = compensated_sum if compensated else plain_sum
        if options.published:
            document = published_layout(options.published, add)
        else:
            document = aggregate(read_campaign(options.data, add))
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    except Refused as refused:
        print(f"aggregate_update_state.py: {refused}", file=sys.stderr)
        return refused.code
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
