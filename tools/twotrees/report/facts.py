"""What a campaign's data folder says, read once and strictly into values that every layout shares.

In: ``data/`` (sealed or not). Out: frozen dataclasses; times in ms, every text harmless (`text.clean`). Nothing is
computed here that `aggregate.json` holds; only its ratio intervals are restated as per cent, factor and ms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twotrees.report.host_facts import Host, read_host
from twotrees.report.node import Node, read, read_lines


@dataclass(frozen=True)
class Range:
    """An interval, low to high."""

    low: float
    high: float


@dataclass(frozen=True)
class Effect:
    """One quantity of one arm against the baseline, as the aggregator printed it.

    `ratio` is after/before with its interval; `saved_ms` and its kin are positive where *arm* is faster. Keys that the
    aggregator leaves undefined (a per cent of zero, an interval of one run) are None. `order_allowance` is what an
    unbalanced order alone may have made, as a log-ratio; a verdict has to clear it beside the interval.
    """

    metric: str
    kind: str
    arm: str
    baseline: str
    before_ms: float
    after_ms: float
    saved_ms: float
    ratio: float | None
    ratio_range: Range | None
    confidence: float
    n_before: int
    n_after: int
    method: str
    delta: float
    verdict: str
    reason: str
    p_holm: float | None
    order_allowance: float

    @property
    def saved_pct(self) -> float | None:
        """Time saved in per cent of the baseline's."""
        return None if self.ratio is None else (1.0 - self.ratio) * 100.0

    @property
    def saved_pct_range(self) -> Range | None:
        """The interval of `saved_pct`."""
        ratio = self.ratio_range
        return None if ratio is None else Range((1.0 - ratio.high) * 100.0, (1.0 - ratio.low) * 100.0)

    @property
    def saved_estimate_ms(self) -> float:
        """What `saved_ms_range` is the interval of: the difference of the values or, from pairs, by their ratio."""
        return self.before_ms * (1.0 - (self.ratio or 0.0)) if self.is_paired_estimate else self.saved_ms

    @property
    def saved_ms_range(self) -> Range | None:
        """The interval of the ratio at the baseline's value: the baseline's own error is within the ratio."""
        ratio = self.ratio_range
        if ratio is None:
            return None
        return Range(self.before_ms * (1.0 - ratio.high), self.before_ms * (1.0 - ratio.low))

    @property
    def speedup_x(self) -> float | None:
        """How many times as fast."""
        return 1.0 / self.ratio if self.ratio else None

    @property
    def speedup_range(self) -> Range | None:
        """The interval of `speedup_x`."""
        ratio = self.ratio_range
        return None if ratio is None or ratio.low <= 0.0 else Range(1.0 / ratio.high, 1.0 / ratio.low)

    @property
    def is_paired_estimate(self) -> bool:
        """Whether `ratio` was estimated from pairs, so that it need not be exactly the quotient of the two medians."""
        return bool(
            self.ratio and self.before_ms and abs(self.after_ms / self.before_ms - self.ratio) > 1e-9 * self.ratio
        )


@dataclass(frozen=True)
class RunValue:
    """One run's numbers of one metric; `median_ms` and `p95_ms` are None where no per-step samples were kept."""

    attempt: int
    run: int
    n_steps: int
    median_ms: float | None
    mean_ms: float
    p95_ms: float | None


@dataclass(frozen=True)
class ArmMetric:
    """One metric of one arm: the reported value and the runs behind it."""

    metric: str
    arm: str
    value_ms: float
    statistic: str
    runs: tuple[RunValue, ...]

    def run_values_ms(self) -> tuple[float, ...]:
        """What of each run went into the value: its median, its mean for terms, its 95th percentile for quantiles."""
        which = self.statistic.rpartition(" ")[2]
        found = [{"mean": run.mean_ms, "p95": run.p95_ms}.get(which, run.median_ms) for run in self.runs]
        return tuple(run.mean_ms if value is None else value for run, value in zip(self.runs, found, strict=True))


@dataclass(frozen=True)
class Part:
    """One disjoint line of the attribution; `kind` is part, residual or stage (the sum)."""

    arm: str
    baseline: str
    line: str
    kind: str
    before_ms: float
    after_ms: float
    saved_ms: float
    before_share_pct: float | None
    after_share_pct: float | None
    share_of_saving_pct: float | None


@dataclass(frozen=True)
class Check:
    """One validity check; `checked` is False where nothing was recorded that could be compared."""

    name: str
    ok: bool
    checked: bool
    detail: str


@dataclass(frozen=True)
class ParityLine:
    """One output of one arm against the baseline's."""

    arm: str
    name: str
    ok: bool
    max_abs_delta: float | None
    reason: str


@dataclass(frozen=True)
class Parity:
    """Whether the arms compute the same things from equal seeds."""

    ok: bool
    steps: int | None
    num_envs: int | None
    tolerance: str
    lines: tuple[ParityLine, ...]


@dataclass(frozen=True)
class Arm:
    """One arm: its pinned commit and tree id, and where its source came from."""

    name: str
    commit: str
    tree: str
    source: str


@dataclass(frozen=True)
class Attempt:
    """One attempt at a planned run; `result` is the child's JSON, untouched, None where there is none."""

    attempt: int
    run: int
    arm: str
    mode: str
    repeat: int
    start: str
    end: str
    wall_s: float | None
    exit: int | None
    signal: str
    status: str
    reason: str
    argv: tuple[str, ...]
    result: Mapping[str, Any] | None

    @property
    def ok(self) -> bool:
        """Whether its result counts."""
        return self.status == "ok"


@dataclass(frozen=True)
class Campaign:
    """Everything that a report lays out."""

    data: Path
    study: str
    title: str
    backend: str
    device: str
    protocol: str
    order: str
    scale: tuple[tuple[str, str], ...]
    seeds: tuple[tuple[str, str], ...]
    created: str
    study_root: str
    replicates: str
    labels: tuple[str, ...]
    confidence: float
    delta: float
    scripts: tuple[tuple[str, str], ...]
    pins: tuple[tuple[str, str], ...]
    arms: tuple[Arm, ...]
    planned: int
    attempts: tuple[Attempt, ...]
    metrics: tuple[ArmMetric, ...]
    effects: tuple[Effect, ...]
    attribution: tuple[Part, ...]
    validity: tuple[Check, ...]
    notes: tuple[str, ...]
    parity: Parity | None
    host: Host | None
    resumed: int
    calibrated: tuple[tuple[str, Range], ...] = ()

    @property
    def failed_checks(self) -> tuple[Check, ...]:
        """The validity checks that void the comparison."""
        return tuple(check for check in self.validity if not check.ok)

    @property
    def lost_attempts(self) -> tuple[Attempt, ...]:
        """Attempts that do not count: failed, timed out, interrupted or invalid."""
        return tuple(attempt for attempt in self.attempts if not attempt.ok)

    @property
    def missing_runs(self) -> int:
        """Planned runs that have no result that counts."""
        return self.planned - len({attempt.run for attempt in self.attempts if attempt.ok})

    def effects_of(self, kind: str, arm: str | None = None) -> tuple[Effect, ...]:
        """The effects of one kind (and arm), in the aggregator's order."""
        return tuple(e for e in self.effects if e.kind == kind and arm in (None, e.arm))

    @property
    def headline(self) -> tuple[Effect, ...]:
        """For each arm beside the baseline, the effect that the verdict is about: the first phase, else the first."""
        first = next((e.metric for kind in ("phase", "aggregate", "term") for e in self.effects_of(kind)), None)
        return tuple(effect for effect in self.effects if effect.metric == first)

    def metric(self, name: str) -> tuple[ArmMetric, ...]:
        """One metric of all arms that have it."""
        return tuple(metric for metric in self.metrics if metric.metric == name)


def read_campaign(data: Path) -> Campaign:
    """Reads a data folder. Only `plan.json` must be there; what else is missing is simply not in the result.

    Raises:
        BundleBroken: a file that is there cannot be read, is not strict JSON, or lacks what its schema demands.
    """
    attempts = (_attempt(read(path)) for path in sorted((data / "runs").glob("*.json")))
    events = [line.at("event").text() for line in read_lines(data / "journal.jsonl")]
    return replace(
        read_outline(data),
        attempts=tuple(sorted(attempts, key=lambda attempt: attempt.attempt)),
        resumed=events.count("resume"),
        host=read_host(data / "host"),
    )


def read_outline(data: Path) -> Campaign:
    """Reads plan, aggregate and parity only: enough for a list of many bundles. Attempts and host stay empty.

    Raises:
        BundleBroken: as `read_campaign`.
    """
    plan = read(data / "plan.json")
    aggregate = _optional(data / "aggregate.json")
    ours = aggregate.at("twotrees") if aggregate else None
    if ours is not None and ours.value is None:
        ours = None
    statistics = plan.at("statistics") if plan.at("statistics").value is not None else Node({}, plan.file)
    return Campaign(
        data=data,
        study=plan.at("study").text("?"),
        title=plan.at("title").text(),
        backend=plan.at("backend").text("?"),
        device=plan.at("device").text(),
        protocol=_member(plan, "protocol", "name"),
        order=_member(plan, "protocol", "order"),
        scale=_pairs(plan.at("scale")),
        seeds=_pairs(plan.at("seeds")),
        created=plan.at("created").text(),
        study_root=plan.at("study_root").text(),
        replicates=plan.at("replicates").text(),
        labels=tuple(label.text() for label in plan.at("labels").items()),
        confidence=statistics.at("confidence").maybe() or 0.95,
        delta=statistics.at("delta").maybe() or 0.01,
        scripts=_pairs(plan.at("scripts")),
        pins=_pairs(plan.at("pins")),
        arms=tuple(_arm(arm) for arm in plan.at("arms").items()),
        planned=len(list(plan.at("matrix").items())),
        attempts=(),
        calibrated=_calibrated(plan.at("control")),
        metrics=() if ours is None else _metrics(ours.at("metrics")),
        effects=() if ours is None else tuple(_effect(line) for line in ours.at("effects").items()),
        attribution=() if ours is None else tuple(_part(line) for line in ours.at("attribution").items()),
        validity=() if ours is None else tuple(_check(line) for line in ours.at("validity").items()),
        notes=() if ours is None else _notes(ours.at("notes")),
        parity=_parity(node) if (node := _optional(data / "parity.json")) else None,
        host=None,
        resumed=0,
    )


def _optional(path: Path) -> Node | None:
    return read(path) if path.exists() else None


def _member(plan: Node, section: str, name: str) -> str:
    node = plan.at(section)
    return "" if node.value is None else node.at(name).text()


def _pairs(node: Node) -> tuple[tuple[str, str], ...]:
    return tuple(
        (name, value.text())
        for name, value in node.members()
        if not isinstance(value.value, dict | list) and value.value is not None
    )


def _arm(node: Node) -> Arm:
    source = node.at("source")
    told = "" if source.value is None else " ".join(f"{name}={value}" for name, value in _pairs(source))
    return Arm(node.at("name").text("?"), node.at("commit").text(), node.at("tree").text(), told)


def _attempt(node: Node) -> Attempt:
    result = node.at("result").value
    return Attempt(
        attempt=node.at("attempt").count(),
        run=node.at("run").count(),
        arm=node.at("arm").text("?"),
        mode=node.at("mode").text("?"),
        repeat=int(node.at("repeat").maybe() or 0),
        start=node.at("start").text(),
        end=node.at("end").text(),
        wall_s=node.at("wall_s").maybe(),
        exit=None if node.at("exit").value is None else node.at("exit").count(),
        signal=node.at("signal").text(),
        status=node.at("status").text("?"),
        reason=node.at("reason").text(),
        argv=tuple(token.text() for token in node.at("argv").items()),
        result=result if isinstance(result, dict) else None,
    )


def _metrics(node: Node) -> tuple[ArmMetric, ...]:
    found = []
    for metric, arms in node.members():
        for arm, table in arms.members():
            runs = tuple(
                RunValue(
                    attempt=run.at("attempt").count(),
                    run=run.at("run").count(),
                    n_steps=run.at("n").count(),
                    median_ms=run.at("median_ms").maybe(),
                    mean_ms=run.at("mean_ms").number(),
                    p95_ms=run.at("p95_ms").maybe(),
                )
                for run in table.at("runs").items()
            )
            statistic = table.at("statistic").text("median over runs of the median")
            found.append(ArmMetric(metric, arm, table.at("value_ms").number(), statistic, runs))
    return tuple(found)


def _calibrated(node: Node) -> tuple[tuple[str, Range], ...]:
    """What A against A showed on this host before the campaign: metric and interval of the ratio."""
    if node.value is None:
        return ()
    found = []
    for metric, line in node.at("metrics").members():
        low, high = line.at("ratio_low").maybe(), line.at("ratio_high").maybe()
        if low is not None and high is not None:
            found.append((metric, Range(low, high)))
    return tuple(found)


def _effect(node: Node) -> Effect:
    low, high = node.at("ratio_low").maybe(), node.at("ratio_high").maybe()
    return Effect(
        metric=node.at("metric").text("?"),
        kind=node.at("kind").text("?"),
        arm=node.at("arm").text("?"),
        baseline=node.at("baseline").text("?"),
        before_ms=node.at("before_ms").number(),
        after_ms=node.at("after_ms").number(),
        saved_ms=node.at("saved_ms").number(),
        ratio=node.at("ratio").maybe(),
        ratio_range=None if low is None or high is None else Range(low, high),
        confidence=node.at("confidence").number(),
        n_before=node.at("n_before").count(),
        n_after=node.at("n_after").count(),
        method=node.at("method").text(),
        delta=node.at("delta").number(),
        verdict=node.at("verdict").text("not resolved"),
        reason=node.at("reason").text(),
        p_holm=node.at("p_holm").maybe(),
        order_allowance=node.at("order_allowance").maybe() or 0.0,
    )


def _notes(node: Node) -> tuple[str, ...]:
    """The notes; those on single terms, of which there may be many, come last."""
    notes = [note.text() for note in node.items()]
    return tuple(sorted(notes, key=lambda note: note.startswith("term:")))


def _part(node: Node) -> Part:
    return Part(
        arm=node.at("arm").text("?"),
        baseline=node.at("baseline").text("?"),
        line=node.at("line").text("?"),
        kind=node.at("kind").text("part"),
        before_ms=node.at("before_ms").number(),
        after_ms=node.at("after_ms").number(),
        saved_ms=node.at("saved_ms").number(),
        before_share_pct=node.at("before_share_pct").maybe(),
        after_share_pct=node.at("after_share_pct").maybe(),
        share_of_saving_pct=node.at("share_of_saving_pct").maybe(),
    )


def _check(node: Node) -> Check:
    return Check(
        name=node.at("check").text("?"),
        ok=node.at("ok").truth(),
        checked=node.at("checked").truth(otherwise=True),
        detail=node.at("detail").text(),
    )


def _parity(node: Node) -> Parity:
    tolerance = ", ".join(f"{name} {value}" for name, value in _pairs(node.at("tolerance")))
    return Parity(
        ok=node.at("ok").truth(),
        steps=None if node.at("steps").value is None else node.at("steps").count(),
        num_envs=None if node.at("num_envs").value is None else node.at("num_envs").count(),
        tolerance=tolerance,
        lines=tuple(
            ParityLine(
                arm=line.at("arm").text(),
                name=line.at("name").text("?"),
                ok=line.at("ok").truth(),
                max_abs_delta=line.at("max_abs_delta").maybe(),
                reason=line.at("reason").text(),
            )
            for line in node.at("terms").items()
        ),
    )
