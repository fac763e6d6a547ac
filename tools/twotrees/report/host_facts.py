"""The host as a bundle records it: facts before and after the campaign, and what a monitor saw during it.

The fingerprint is a table of facets whose facts each host decides, so it is flattened and never assumed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from twotrees.host.facts import unknown_reason
from twotrees.report.node import Node, read, read_lines
from twotrees.report.text import clean

# What a reader asks first, in this order: label, then the facts that may hold it; the first known one is shown.
ASKED_FIRST = (
    ("cpu", ("processor.model_name",)),
    ("cores", ("processor.cores",)),
    ("threads", ("processor.threads",)),
    ("usable", ("usable.usable_cores", "usable.cores", "usable.cpus")),
    ("memory", ("memory.total_mib", "memory.total_gib", "memory.total_kib", "memory.total_bytes", "memory.total")),
    ("kernel", ("kernel.release", "kernel.version")),
    ("governor", ("frequency.governor",)),
    ("virtualization", ("virtualization.kind", "virtualization.hypervisor", "virtualization.virtualization")),
    ("gpu", ("gpu.0.name", "gpus.0.name", "gpu.gpus", "gpus.gpus", "gpu.devices")),
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
    """The host before, after and during the campaign; any of them may be empty."""

    before: tuple[Fact, ...]
    after: tuple[Fact, ...]
    readings: tuple[Reading, ...]

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
    before, after = (_fingerprint(folder / f"{when}.json") for when in ("before", "after"))
    readings = tuple(reading for line in read_lines(folder / "monitor.jsonl") if (reading := _reading(line)))
    return Host(before, after, readings) if before or after or readings else None


def _fingerprint(path: Path) -> tuple[Fact, ...]:
    if not path.exists():
        return ()
    value = read(path).value
    facets = value.get("facets", value) if isinstance(value, dict) else value
    return tuple(flat(facets))


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
    moment = parsed_time(line.at("time").text())
    if moment is None:
        return None
    values: dict[str, float] = {}
    _numbers(line.value, "", values)
    return Reading(moment, values)


def _numbers(value: Any, name: str, found: dict[str, float]) -> None:
    if isinstance(value, dict):
        for key, item in value.items():
            _numbers(item, f"{name}.{clean(key)}" if name else clean(key), found)
    elif isinstance(value, list):
        numbers = [float(item) for item in value if isinstance(item, int | float) and not isinstance(item, bool)]
        if numbers:
            found[name] = sum(numbers) / len(numbers)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        found[name] = float(value)


def parsed_time(text: str) -> datetime | None:
    """An ISO 8601 time with its zone, else None."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
