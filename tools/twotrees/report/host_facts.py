"""The host as a bundle records it: facts before and after the campaign, and what a monitor saw during it.

The fingerprint is a table of facets whose facts each host decides, so it is flattened and never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from twotrees import host
from twotrees.errors import UsageError
from twotrees.host.facts import unknown_reason
from twotrees.report.node import Node, read, read_lines
from twotrees.report.text import clean

# What a reader asks first, in this order: label, then the facts that may hold it; the first known one is shown.
ASKED_FIRST = (
    ("cpu", ("processor.model_name",)),
    ("cores", ("processor.cores",)),
    ("threads", ("processor.threads",)),
    ("usable", ("usable.usable_cores",)),
    ("memory (GiB)", ("memory.total_gib",)),
    ("system", ("kernel.distribution", "kernel.system")),
    ("kernel", ("kernel.release",)),
    ("virtualization", ("virtualization.hypervisor",)),
    ("container", ("virtualization.container",)),
    ("governor", ("frequency.governor",)),
    ("gpu", ("gpu.models",)),
    ("gpu driver", ("gpu.driver_version",)),
    ("python", ("python.version",)),
)


@dataclass(frozen=True)
class Fact:
    """One fact of the host.

    Attributes:
        name: Dotted: facet, then fact.
        value: As text; the reason when it is not known.
        known: Whether it was found out.
    """

    name: str
    value: str
    known: bool


@dataclass(frozen=True)
class Reading:
    """What the monitor saw at one moment: numbers by their dotted name."""

    time: datetime
    values: dict[str, float]


@dataclass(frozen=True)
class Host:
    """The host before, after and during the campaign; any of them may be empty. `warnings`: why it was not quiet."""

    before: tuple[Fact, ...]
    after: tuple[Fact, ...]
    readings: tuple[Reading, ...]
    warnings: tuple[str, ...]

    def asked_first(self) -> tuple[tuple[str, Fact], ...]:
        """The few facts that tell a reader which kind of machine this was."""
        known = {fact.name: fact for fact in self.before}
        found = []
        for label, names in ASKED_FIRST:
            fact = next((known[name] for name in names if name in known and known[name].known), None)
            if fact is not None:
                found.append((label, fact))
        return tuple(found)

    def changed(self) -> tuple[tuple[str, str, str], ...]:
        """Facts that differ after the campaign: (name, before, after)."""
        after = {fact.name: fact for fact in self.after}
        return tuple(
            (fact.name, fact.value, after[fact.name].value)
            for fact in self.before
            if fact.name in after and after[fact.name].value != fact.value
        )


def read_host(folder: Path) -> Host | None:
    """Reads ``data/host``; None when there is nothing.

    Raises:
        BundleBroken: a file that is there is not strict JSON.
    """
    taken = {when: read(path).value for when in ("before", "after") if (path := folder / f"{when}.json").exists()}
    before, after = (tuple(flat(_facets(taken.get(when)))) for when in ("before", "after"))
    monitor = folder / "monitor.jsonl"
    readings = tuple(reading for line in read_lines(monitor) if (reading := _reading(line)))
    if not before and not after and not readings:
        return None
    return Host(before, after, readings, _warnings(taken, monitor))


def _facets(taken: Any) -> Any:
    return taken.get("facets", taken) if isinstance(taken, dict) else {}


def _warnings(taken: dict[str, Any], monitor: Path) -> tuple[str, ...]:
    """Why the host was not quiet, as the room of the host judges it; nothing for facts of another schema."""
    before = taken.get("before")
    if not isinstance(before, dict) or "facets" not in before:
        return ()
    try:
        summary = host.summary_of(monitor) if monitor.exists() else None
        found = host.findings(before, taken.get("after"), summary)
    except (KeyError, TypeError, ValueError, AttributeError, UsageError) as fault:
        # A stranger's bundle may hold facts of any shape; a report on it must still be made.
        return (clean(f"the host's facts cannot be judged: {fault}", 200),)
    return tuple(clean(finding.sentence, 300) for finding in found)


def flat(value: Any, name: str = "") -> Iterator[Fact]:
    """The facts below *value*, each under its dotted name; an array of plain values is one fact."""
    reason = unknown_reason(value)
    if reason is not None:
        yield Fact(name, clean(reason), known=False)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from flat(item, f"{name}.{clean(key)}" if name else clean(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for index, item in enumerate(value):
            yield from flat(item, f"{name}.{index}")
    elif isinstance(value, list):
        yield Fact(name, clean(", ".join(str(item) for item in value)), known=True)
    else:
        yield Fact(name, clean("" if value is None else str(value)), known=True)


def _reading(line: Node) -> Reading | None:
    if not isinstance(line.value, dict):
        return None
    moment = _moment(line.value.get("time"))
    if moment is None:
        return None
    values: dict[str, float] = {}
    for name, value in line.value.items():
        if name != "time":
            _gather(clean(name), value, values)
    return Reading(moment, values)


def _gather(name: str, value: Any, found: dict[str, float]) -> None:
    """A number under its name; of many sensors the hottest, of many cores the mean; what lies deeper by its path."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        found[name] = float(value)
    elif isinstance(value, dict):
        numbers = [
            float(item) for item in value.values() if isinstance(item, int | float) and not isinstance(item, bool)
        ]
        if numbers and len(numbers) == len(value):
            found[name] = max(numbers) if "temp" in name else sum(numbers) / len(numbers)
        else:
            for key, item in value.items():
                _gather(f"{name}.{clean(key)}", item, found)


def _moment(value: Any) -> datetime | None:
    if isinstance(value, str):
        return parsed_time(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return datetime.fromtimestamp(value, UTC)
    except (OverflowError, OSError, ValueError):
        return None


def parsed_time(text: str) -> datetime | None:
    """An ISO 8601 time with its zone, else None."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
