"""Every attempt of a bundle against the plan, the journal and itself: none missing, none extra, none touched up.

In come the run files one by one, out come the few facts that must agree between them. A run's printed summaries are
recomputed from its samples.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from twotrees import digest
from twotrees.bundle import layout
from twotrees.bundle.journal import Story
from twotrees.bundle.plan import Plan, Planned
from twotrees.bundle.read import Contents
from twotrees.bundle.shape import HEX_40, HEX_64, Node
from twotrees.bundle.tags import broken

SCHEMA = "twotrees-run-v1"
STATUSES = ("ok", "failed", "timeout", "interrupted", "invalid", "refused")
POSITIVE = ("update_state_ms", "env_step_total_ms")
CANONICAL = (*POSITIVE, "reset_done_ms")
# NumPy adds pairwise, others left to right; the sum of a few thousand doubles agrees to well within this.
SUM_TOLERANCE = 1e-12
# Where the plan's numbers stand on a run's command line.
OPTIONS = {
    "--backend": "backend",
    "--num-envs": "num_envs",
    "--warmup": "warmup",
    "--measure": "measure",
    "--action-seed": "action_seed",
    "--env-seed": "env_seed",
}


@dataclass
class Facts:
    """What the run files tell together.

    Attributes:
        environments: For all arms, or for each arm that has an environment of its own, the digest of installed
            distributions, and the file that told it first.
        imported: For each arm, path inside the tree to (sha256, blob).
        config: For each arm whose subject tells its composed configuration, its digest.
        without_samples: Runs whose profiler gave no raw samples.
        with_samples: Runs whose profiler did.
        missing: Planned runs of which there is no good attempt.
    """

    environments: dict[str, tuple[str, str]] = field(default_factory=dict)
    imported: dict[str, dict[str, tuple[str, str]]] = field(default_factory=dict)
    config: dict[str, str] = field(default_factory=dict)
    without_samples: list[str] = field(default_factory=list)
    with_samples: list[str] = field(default_factory=list)
    missing: list[int] = field(default_factory=list)


def check_attempts(contents: Contents, plan: Plan, story: Story) -> Facts:
    """Checks all attempts.

    Raises:
        BundleBroken: naming the run file and the reason.
    """
    _check_names(contents, story)
    _check_order(plan, story)
    facts = Facts()
    for attempt, run in story.runs.items():
        path = layout.run_path(attempt)
        record = Node(contents.json(path), path)
        _check_record(record, attempt, plan.matrix[run - 1], plan, story)
        _check_environment(record, plan, facts)
        if story.statuses[attempt] == "ok":
            _check_result(record["result"], plan.matrix[run - 1], plan, facts)
    if facts.with_samples and facts.without_samples:
        broken(facts.without_samples[0], f"no raw samples, though {facts.with_samples[0]} has them")
    good = {run for attempt, run in story.runs.items() if story.statuses[attempt] == "ok"}
    facts.missing = [planned.run for planned in plan.matrix if planned.run not in good]
    return facts


def _check_names(contents: Contents, story: Story) -> None:
    """Each attempt of the journal has its record and two logs, and there are no others."""
    for attempt in story.runs:
        for path in (layout.run_path(attempt), *layout.log_paths(attempt)):
            if path not in contents.files:
                broken(path, "missing")
    for path in (*contents.matching("data/runs"), *contents.matching("data/logs")):
        if (layout.attempt_of_run(path) or layout.attempt_of_log(path)) not in story.runs:
            broken(path, "an attempt that the journal does not chain")


def _check_order(plan: Plan, story: Story) -> None:
    """Runs come in the planned order; only what gave no result is tried again, and only an arm that fails is left."""
    good: set[int] = set()
    tries: dict[int, dict[int, str]] = {}
    last, session = 0, 0
    for attempt, run in story.runs.items():
        path = layout.run_path(attempt)
        planned = plan.matrix[run - 1]
        if planned.mode == "lockstep":
            _begin_round_again(run, tries.setdefault(planned.repeat, {}), good)
            tries[planned.repeat][run] = story.statuses[attempt]
        if run in good:
            broken(path, f"run {run} is measured again though it had a result: no result may be picked")
        place = plan.first_of_round(planned)
        if story.sessions[attempt] == session and place < last:
            broken(path, f"run {run} after run {last}: not the order of the plan")
        last, session = place, story.sessions[attempt]
        if story.statuses[attempt] == "ok":
            good.add(run)
    tried = set(story.runs.values())
    failed_arms = {plan.matrix[run - 1].arm for run in tried - good}
    for planned in plan.matrix:
        if planned.run not in tried and planned.arm not in failed_arms:
            broken(layout.PLAN, f"run {planned.run} ({planned.arm} {planned.mode}) is planned, but was never tried")


def _begin_round_again(run: int, tried: dict[int, str], good: set[int]) -> None:
    """Lockstep workers count only together: where one of a round failed, all of them are tried again."""
    if run in tried and any(status != "ok" for status in tried.values()):
        good.difference_update(tried)
        tried.clear()


def _check_record(record: Node, attempt: int, planned: Planned, plan: Plan, story: Story) -> None:
    record["schema"].equals(SCHEMA, "the format")
    record["attempt"].equals(attempt, "the file's name")
    record["run"].equals(planned.run, "the journal")
    for key in ("arm", "mode", "repeat"):
        record[key].equals(getattr(planned, key), "the plan")
    record["backend"].equals(plan.node["backend"].value, "the plan")
    status = record["status"].text()
    record["status"].equals(story.statuses[attempt], "the journal")
    if status not in STATUSES:
        record["status"].refuse(f"unknown status {status[:40]!a}")
    if status == "ok":
        record["exit"].equals(0, "its status")
        record["signal"].equals(None, "its status")
    elif not record["reason"].text().strip():
        record["reason"].refuse("an attempt that does not count must say why")
    if (start := record["start"]).value is not None or status == "ok":
        if start.moment() < story.planned_at:
            start.refuse("it began before the plan was hashed")
        if record["end"].moment() < start.moment():
            record["end"].refuse("it ended before it began")
    for name, value in record["env"].members():
        if not value.text().isprintable():
            value.refuse(f"variable {name[:40]!a} holds unprintable characters")
    _check_argv(record["argv"], planned, plan)


def _check_argv(argv: Node, planned: Planned, plan: Plan) -> None:
    """The numbers on the command line are those of the plan; a study's own flags are its own."""
    tokens = [item.text() for item in argv.items()]
    expected = plan.expected(planned.mode)
    for flag, key in OPTIONS.items():
        if flag in tokens and key in expected:
            value = tokens[tokens.index(flag) + 1] if tokens.index(flag) + 1 < len(tokens) else ""
            if value != str(expected[key]):
                argv.refuse(f"{flag} {value[:40]!a}, but the plan says {expected[key]}")
    if "--instrument" in tokens and planned.mode != "terms":
        argv.refuse("probes in a run that is not of mode terms")


def _check_environment(record: Node, plan: Plan, facts: Facts) -> None:
    """One digest of installed distributions, before and after every run; an attempt that was cut off may lack it.

    Only where the plan says, and every reader is told, that each arm has an environment of its own is it one by arm.
    """
    group = record["arm"].text() if plan.per_arm else ""
    for when in ("before", "after"):
        found = record["environment"][when]
        if found.value is None and record["status"].value != "ok":
            continue
        value = found.text(HEX_64)
        known, told_by = facts.environments.setdefault(group, (value, record.file))
        if known != value:
            found.refuse(f"other installed packages than in {told_by}: the runs cannot be compared")


def _check_result(result: Node, planned: Planned, plan: Plan, facts: Facts) -> None:
    for key, value in plan.expected(planned.mode).items():
        result[key].equals(value, "the plan")
    ours = result.get("twotrees")
    if ours is None:
        facts.without_samples.append(result.file)
        for metric in CANONICAL:
            result["timing"][metric]["median_ms"].number()
        return
    facts.with_samples.append(result.file)
    if planned.mode == "lockstep":
        _check_timing(result, _pooled(ours["blocks"]), None)
    else:
        measure = result["measure"].integer(1)
        _check_timing(result, dict(ours["samples"].members()), measure)
    if planned.mode == "terms":
        _check_terms(result, ours)
    _check_provenance(ours["provenance"], planned.arm, facts)
    _check_config(ours, planned.arm, facts)


def series_ms(series: Node) -> list[float]:
    """A series of samples in milliseconds, integer nanoseconds divided as the child divides them.

    Raises:
        BundleBroken: a sample that is no number, or negative.
    """
    unit = series["unit"].text()
    if unit not in ("ns", "ms"):
        series["unit"].refuse(f"unknown unit {unit[:20]!a}")
    values = series["values"]
    if not isinstance(values.value, list):
        values.refuse("a list is expected here")
    numbers = []
    for place, value in enumerate(values.value):
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not (whole or (unit == "ms" and isinstance(value, float))) or value < 0:
            values.refuse(f"sample {place} is {str(value)[:40]!a}, which no clock gives")
        numbers.append(value / 1e6 if unit == "ns" else float(value))
    return numbers


def _pooled(blocks: Node) -> dict[str, list[float]]:
    """All samples of a lockstep worker, its blocks one after the other."""
    pooled: dict[str, list[float]] = {}
    for block in blocks.items():
        for name, series in block["samples"].members():
            pooled.setdefault(name, []).extend(series_ms(series))
    return pooled


def summary(values: Sequence[float]) -> dict[str, float]:
    """Count, mean, median and 95th percentile with linear interpolation, in ms; zeros for no values, as published."""
    if not values:
        return {"count": 0, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}
    ordered = sorted(values)
    middle = len(ordered) // 2
    median = ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    place = (len(ordered) - 1) * 0.95
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    p95 = ordered[low] + (ordered[high] - ordered[low]) * (place - low)
    return {"count": len(ordered), "mean_ms": math.fsum(ordered) / len(ordered), "median_ms": median, "p95_ms": p95}


def check_summary(printed: Node, values: Sequence[float]) -> None:
    """A printed summary is that of its samples: count and median exactly, mean and percentile to rounding.

    Raises:
        BundleBroken: it is not.
    """
    for key, value in summary(values).items():
        found = printed[key].number()
        exact = key in ("count", "median_ms")
        if found != value and (exact or not math.isclose(found, value, rel_tol=SUM_TOLERANCE, abs_tol=0.0)):
            printed[key].refuse(f"{found!r}, but its samples give {value!r}")


def _check_timing(result: Node, samples: dict[str, Any], measure: int | None) -> None:
    """Every printed phase has its samples, each printed summary is theirs, and time has passed in each step."""
    timing = result["timing"]
    printed = {name: node for name, node in timing.members() if name not in ("backend", "reset_done_count")}
    backend = {name: node for name, node in timing["backend"].members() if name.endswith("_ms")}
    for name in CANONICAL:
        if name not in samples:
            result.refuse(f"no samples of {name}")
    for name, node in {**printed, **backend}.items():
        if name not in samples:
            node.refuse("a summary without samples")
        values = samples[name] if isinstance(samples[name], list) else series_ms(samples[name])
        if measure is not None and len(values) != measure:
            node.refuse(f"{len(values)} samples, but {measure} steps were measured")
        if name in POSITIVE and min(values, default=0.0) <= 0.0:
            node.refuse("a step that took no time")
        check_summary(node, values)
    counts = result["twotrees"]["workload"]["reset_counts"]
    check_summary(timing["reset_done_count"], [float(count.integer()) for count in counts.items()])


def _check_terms(result: Node, ours: Node) -> None:
    """Every printed term has its samples and the other way, and the printed sum of all is that of the samples."""
    samples = {name: dict(phases.members()) for name, phases in ours["term_samples"].members()}
    printed = {name: dict(phases.members()) for name, phases in result["terms"].members()}
    if samples.keys() != printed.keys():
        result["terms"].refuse(f"terms and term samples differ: {', '.join(sorted(samples.keys() ^ printed.keys()))!a}")
    sums: list[list[float]] = []
    for name, phases in printed.items():
        if phases.keys() != {"step", "reset"} or samples[name].keys() != phases.keys():
            result["terms"].refuse(f"{name[:80]!a} does not have the two phases step and reset")
        for phase, node in phases.items():
            values = series_ms(samples[name][phase])
            check_summary(node, values)
            if phase == "step" and name.startswith(("reward/", "termination/")):
                sums.append(values)
    # A term that is called more often than once a step has more samples; the child sums up to the shortest.
    check_sum_summary(result["term_sum_step_ms"], [math.fsum(step) for step in zip(*sums, strict=False)])


def check_sum_summary(printed: Node, values: Sequence[float]) -> None:
    """As :func:`check_summary`, for values that are themselves sums and so known only to rounding.

    Raises:
        BundleBroken: it is not theirs.
    """
    for key, value in summary(values).items():
        if not math.isclose(printed[key].number(), value, rel_tol=SUM_TOLERANCE, abs_tol=0.0):
            printed[key].refuse(f"{printed[key].value!r}, but the term samples give {value!r}")


def _check_provenance(provenance: Node, arm: str, facts: Facts) -> None:
    """At least one imported file, each inside the tree, and one content for each file in all runs of an arm."""
    known = facts.imported.setdefault(arm, {})
    modules = provenance.items()
    if not modules:
        provenance.refuse("the run imported nothing of the subject, so nobody can say what was measured")
    for module in modules:
        module["module"].text()
        path = module["path"].text()
        if path.startswith("/") or ".." in path.split("/"):
            module["path"].refuse(f"{path[:120]!a} lies outside the tree")
        content = module["sha256"].text(HEX_64), module["blob"].text(HEX_40)
        if known.setdefault(path, content) != content:
            module.refuse(f"{path[:120]!a} has other content than in another run of arm {arm}")


def _check_config(ours: Node, arm: str, facts: Facts) -> None:
    """The composed configuration has the digest that is told of it, and is one in all runs of an arm."""
    if ours["config"].value is None:
        return
    told = ours["config_sha256"].text(HEX_64)
    if facts.config.setdefault(arm, told) != told:
        ours["config_sha256"].refuse(f"another configuration than in another run of arm {arm}")
    text = json.dumps(ours["config"].value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # A path of the measuring machine was replaced by a symbol after the child hashed it; such a config cannot be
    # hashed again here.
    if "${" not in text and digest.sha256_bytes(text.encode()) != told:
        ours["config"].refuse("its digest is not config_sha256")
