"""The geometry of the page's figures: what lies where, in per cent of a plot's width. No markup, no colours.

In: facts and samples. Out: frozen shapes that the template draws; text scales with the page, plots with the window.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import median

from twotrees.report import numbers
from twotrees.report.facts import Campaign, Effect, Part, Range
from twotrees.report.host_facts import Reading, parsed_time
from twotrees.report.samples import phase_samples
from twotrees.report.scale import Axis, Tick, axis_over, without_far_outliers
from twotrees.report.words import Words

# Dots are drawn on a grid of so many places across and down; two on one place are drawn once.
ACROSS, DOWN = 1000, 24
# Label, and what the monitor's name for it has in it; the first name that fits is drawn.
WATCHED = (
    ("frequency", ("frequency",)),
    ("temperature", ("temperature",)),
    ("load", ("load",)),
    ("busy", ("busy",)),
    ("steal", ("steal",)),
    ("gpu clock", ("gpu", "clock")),
    ("gpu temperature", ("gpu", "temperature")),
)


@dataclass(frozen=True)
class Strip:
    """One run's samples: across is time taken, down is the order in which they were measured."""

    label: str
    arm: int
    dots: str
    median_pct: float | None
    summary: str
    beyond: str


@dataclass(frozen=True)
class Distribution:
    """All runs of one phase on one axis."""

    metric: str
    strips: tuple[Strip, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Bar:
    """One line of the waterfall."""

    label: str
    kind: str
    start_pct: float
    width_pct: float
    value: str


@dataclass(frozen=True)
class Waterfall:
    """From the baseline's stage to an arm's, part by part."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]


@dataclass(frozen=True)
class Interval:
    """An effect beside its number: interval, point, no change, and the band of effects not worth naming."""

    low_pct: float | None
    high_pct: float | None
    point_pct: float | None
    zero_pct: float
    band_low_pct: float
    band_high_pct: float


@dataclass(frozen=True)
class Slot:
    """One attempt on the timeline."""

    start_pct: float
    width_pct: float
    mode: str
    ok: bool
    title: str


@dataclass(frozen=True)
class Lane:
    """All attempts of one arm in time."""

    label: str
    arm: int
    slots: tuple[Slot, ...]


@dataclass(frozen=True)
class Watch:
    """What the monitor saw of one quantity: a line on `ACROSS` by 100."""

    label: str
    line: str
    low: str
    high: str


@dataclass(frozen=True)
class Timeline:
    """Runs in the order of time, and the host below them; `unit` is that of the ticks, s or min."""

    lanes: tuple[Lane, ...]
    watches: tuple[Watch, ...]
    ticks: tuple[Tick, ...]
    unit: str


@dataclass(frozen=True)
class ControlRow:
    """Runs of one arm around their own median, in per cent; or the effect to compare them with."""

    label: str
    arm: int
    places_pct: tuple[float, ...]
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Control:
    """What one and the same code shows, beside the effect."""

    rows: tuple[ControlRow, ...]
    ticks: tuple[Tick, ...]
    zero_pct: float


def distributions(campaign: Campaign, words: Words) -> list[Distribution]:
    """One figure for each phase that the aggregator reports, in its order."""
    order = {arm.name: place for place, arm in enumerate(campaign.arms)}
    timed = [one for one in campaign.attempts if one.ok and one.mode in ("phase", "lockstep") and one.arm in order]
    lockstep = any(one.mode == "lockstep" for one in timed)
    timed = [one for one in timed if (one.mode == "lockstep") == lockstep]
    timed.sort(key=lambda one: (order[one.arm], one.attempt))
    series = [(one, phase_samples(one)) for one in timed]
    phases = dict.fromkeys(effect.metric for effect in campaign.effects_of("phase"))
    phases.update(dict.fromkeys(metric.metric for metric in campaign.metrics if metric.metric in _all_names(series)))
    made = []
    for name in phases:
        values = [(one, samples[name]) for one, samples in series if name in samples]
        pooled = [value for _, many in values for value in many]
        if not pooled:
            continue
        axis = axis_over([min(pooled), without_far_outliers(pooled)])
        strips = tuple(_strip(f"{one.arm} {one.repeat}", order[one.arm], many, axis) for one, many in values)
        made.append(Distribution(words.metric(name), strips, axis.ticks()))
    return made


def _all_names(series: Sequence[tuple[object, dict[str, list[float]]]]) -> set[str]:
    return {name for _, samples in series for name in samples}


def _strip(label: str, arm: int, values: Sequence[float], axis: Axis) -> Strip:
    last = max(len(values) - 1, 1)
    places = {
        (round(axis.place_pct(value) * ACROSS / 100), 2 + round(step / last * (DOWN - 4)))
        for step, value in enumerate(values)
    }
    dots = "".join(f"M{x} {y}h0" for x, y in sorted(places, key=lambda place: (place[1], place[0])))
    beyond = [value for value in values if value > axis.high]
    middle = median(values)
    return Strip(
        label=label,
        arm=arm,
        dots=dots,
        median_pct=axis.place_pct(middle),
        summary=f"{numbers.ms(middle)} ms (n {len(values)})",
        beyond=f"+{len(beyond)} → {numbers.ms(max(beyond))}" if beyond else "",
    )


def waterfall(campaign: Campaign, arm: str, words: Words) -> Waterfall | None:
    """The attribution of one arm; largest savings first, the residual last. None where there is none."""
    lines = [part for part in campaign.attribution if part.arm == arm]
    stage = next((part for part in lines if part.kind == "stage"), None)
    if stage is None:
        return None
    parts = sorted((p for p in lines if p.kind == "part"), key=lambda part: -part.saved_ms)
    parts += [part for part in lines if part.kind == "residual"]
    level, reached = stage.before_ms, [0.0, stage.before_ms, stage.after_ms]
    for part in parts:
        level -= part.saved_ms
        reached.append(level)
    axis = Axis(min(reached), max(reached) * 1.02)
    bars = [_bar(f"{words.part(stage.line)}: {stage.baseline}", "stage", 0.0, stage.before_ms, axis, stage.before_ms)]
    level = stage.before_ms
    for part in parts:
        bars.append(_change(part, level, axis, words))
        level -= part.saved_ms
    bars.append(_bar(f"{words.part(stage.line)}: {arm}", "stage", 0.0, stage.after_ms, axis, stage.after_ms))
    return Waterfall(tuple(bars), axis.ticks())


def _change(part: Part, level: float, axis: Axis, words: Words) -> Bar:
    kind = "residual" if part.kind == "residual" else "saved" if part.saved_ms >= 0.0 else "added"
    sign = "−" if part.saved_ms >= 0.0 else "+"
    bar = _bar(words.part(part.line), kind, level - part.saved_ms, level, axis, abs(part.saved_ms))
    return Bar(bar.label, bar.kind, bar.start_pct, bar.width_pct, f"{sign}{bar.value}")


def _bar(label: str, kind: str, one_end: float, other_end: float, axis: Axis, value: float) -> Bar:
    start, end = sorted((axis.place_pct(one_end), axis.place_pct(other_end)))
    return Bar(label, kind, start, round(max(end - start, 0.15), 2), f"{numbers.ms(value, 3)} ms")


def intervals(effects: Sequence[Effect]) -> list[Interval]:
    """Small interval marks for one table, all on one axis of per cent saved."""
    known = [(effect.saved_pct, effect.saved_pct_range, effect.delta * 100.0) for effect in effects]
    ends = [end for point, interval, delta in known for end in _ends(point, interval, delta)]
    # One interval without bounds to speak of must not make a line of all others.
    axis = axis_over([max(min(ends, default=-1.0), -110.0), min(max(ends, default=1.0), 110.0)])
    made = []
    for point, interval, delta in known:
        made.append(
            Interval(
                low_pct=None if interval is None else axis.place_pct(interval.low),
                high_pct=None if interval is None else axis.place_pct(interval.high),
                point_pct=None if point is None else axis.place_pct(point),
                zero_pct=axis.place_pct(0.0),
                band_low_pct=axis.place_pct(-delta),
                band_high_pct=axis.place_pct(delta),
            )
        )
    return made


def _ends(point: float | None, interval: Range | None, delta: float) -> list[float]:
    ends = [-delta, delta]
    ends += [point] if point is not None else []
    return ends + ([interval.low, interval.high] if interval is not None else [])


def timeline(campaign: Campaign, words: Words) -> Timeline | None:
    """Every attempt whose start is known, and the monitor's readings; None where no start is known."""
    spans = [
        (one, start, parsed_time(one.end) or start)
        for one in campaign.attempts
        if (start := parsed_time(one.start)) is not None
    ]
    if not spans:
        return None
    begin, end = min(start for _, start, _ in spans), max(stop for _, _, stop in spans)
    whole_s = max((end - begin).total_seconds(), 1.0)
    unit, unit_s = ("min", 60.0) if whole_s > 180.0 else ("s", 1.0)
    axis = Axis(0.0, whole_s / unit_s)

    def place(moment: datetime) -> float:
        return axis.place_pct((moment - begin).total_seconds() / unit_s)

    lanes = []
    for index, arm in enumerate(campaign.arms):
        slots = tuple(
            Slot(
                start_pct=place(start),
                width_pct=round(max(place(stop) - place(start), 0.2), 2),
                mode=one.mode if one.mode in ("phase", "terms", "parity") else "other",
                ok=one.ok,
                title=f"{one.attempt}: {one.arm} {one.mode} {one.repeat}, {one.status}",
            )
            for one, start, stop in spans
            if one.arm == arm.name
        )
        lanes.append(Lane(arm.name, index, slots))
    readings = campaign.host.readings if campaign.host else ()
    inside = [reading for reading in readings if begin <= reading.time <= end]
    return Timeline(tuple(lanes), tuple(_watches(inside, place, words)), axis.ticks(), unit)


def _watches(readings: Sequence[Reading], place: Callable[[datetime], float], words: Words) -> list[Watch]:
    if len(readings) < 2:
        return []
    names = dict.fromkeys(name for reading in readings for name in reading.values)
    made = []
    for label, parts in WATCHED:
        own = [name for name in names if ("gpu" in name) == ("gpu" in parts)]
        name = next((name for name in own if all(part in name for part in parts)), None)
        if name is None:
            continue
        points = [(reading.time, reading.values[name]) for reading in readings if name in reading.values]
        if len(points) < 2:
            continue
        values = [value for _, value in points]
        down = axis_over(values, margin=0.1)
        line = " ".join(
            f"{place(moment) * ACROSS / 100:.0f},{100.0 - down.place_pct(value):.0f}" for moment, value in points
        )
        made.append(
            Watch(
                words.watched.get(label, label),
                line,
                f"{min(values):.4g}",
                f"{max(values):.4g} {unit_of(name)}".strip(),
            )
        )
    return made


def unit_of(name: str) -> str:
    """The unit at the end of a monitor's name for a quantity."""
    return {"mhz": "MHz", "c": "°C", "pct": "%", "w": "W"}.get(name.rpartition("_")[2], "")


def control(campaign: Campaign) -> Control | None:
    """Runs of each arm around their own median, and the effects of the headline metric on the same axis."""
    headline = campaign.headline
    if not headline:
        return None
    order = {arm.name: place for place, arm in enumerate(campaign.arms)}
    spreads = []
    for metric in campaign.metric(headline[0].metric):
        values = metric.run_values_ms()
        if len(values) > 1 and min(values) > 0.0:
            middle = median(values)
            spreads.append((metric.arm, [(value / middle - 1.0) * 100.0 for value in values]))
    changes = [(effect, effect.ratio_range) for effect in headline if effect.ratio is not None]
    if not spreads or not changes:
        return None
    reached = [0.0, *(value for _, many in spreads for value in many)]
    for effect, interval in changes:
        reached.append(((effect.ratio or 1.0) - 1.0) * 100.0)
        if interval is not None:
            reached += [max((interval.low - 1.0) * 100.0, -100.0), min((interval.high - 1.0) * 100.0, 200.0)]
    axis = axis_over(reached)
    rows = [
        ControlRow(f"{arm} / {arm}", order.get(arm, 0), tuple(axis.place_pct(value) for value in many), None)
        for arm, many in spreads
    ]
    for effect, interval in changes:
        ends = None
        if interval is not None:
            ends = (axis.place_pct((interval.low - 1.0) * 100.0), axis.place_pct((interval.high - 1.0) * 100.0))
        point = axis.place_pct(((effect.ratio or 1.0) - 1.0) * 100.0)
        rows.append(ControlRow(f"{effect.arm} / {effect.baseline}", order.get(effect.arm, 0), (point,), ends))
    return Control(tuple(rows), axis.ticks(), axis.place_pct(0.0))
