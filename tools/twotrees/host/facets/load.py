"""What else the host is doing: load, uptime, stolen time, heavy processes; two readings a moment apart."""

from __future__ import annotations

import os
import time
from typing import Any

from twotrees.host import monitor
from twotrees.host.facet import Facet
from twotrees.host.facets.memory import pressure
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources, Usage

# A process below this share of one core is background noise; the list would be long and say nothing.
HEAVY_PCT = 10.0


def collect(sources: Sources) -> Facts:
    """Averages since boot would hide the present, so counters are read twice and subtracted."""
    started = time.perf_counter()
    before, ticks = sources.processes(), monitor.cpu_ticks(sources.root)
    sources.pause(sources.interval_s)
    after, later = sources.processes(), monitor.cpu_ticks(sources.root)
    seconds = time.perf_counter() - started
    busy, steal = monitor.shares(ticks, later)
    averages = load_averages(sources)
    return {
        "load_1": averages if isinstance(averages, Unknown) else averages[0],
        "load_5": averages if isinstance(averages, Unknown) else averages[1],
        "load_15": averages if isinstance(averages, Unknown) else averages[2],
        "busy_pct": Unknown("two readings of /proc/stat gave no difference") if busy is None else busy,
        "steal_pct": Unknown("two readings of /proc/stat gave no difference") if steal is None else steal,
        "heavy_processes": heavy(before, after, seconds),
        "uptime_s": uptime(sources),
        "cpu_pressure_some_pct": pressure(sources, "cpu"),
    }


def load_averages(sources: Sources) -> list[float] | Unknown:
    """The averages over 1, 5 and 15 minutes."""
    if sources.system != "Linux":
        try:
            return [round(value, 2) for value in os.getloadavg()]
        except OSError as error:
            return Unknown(f"getloadavg: {error}")
    text = sources.text("/proc/loadavg")
    if isinstance(text, Unknown):
        return text
    try:
        return [float(field) for field in text.split()[:3]] if len(text.split()) >= 3 else Unknown("too few fields")
    except ValueError:
        return Unknown(f"/proc/loadavg reads {text[:40]!r}")


def heavy(before: list[Usage] | Unknown, after: list[Usage] | Unknown, seconds: float) -> Any:
    """The foreign processes that used most, by name and per cent of one core; names only, arguments may be private."""
    if isinstance(before, Unknown):
        return before
    if isinstance(after, Unknown):
        return after
    earlier = {usage.pid: usage.cpu_s for usage in before}
    shares = [
        (100.0 * (usage.cpu_s - earlier[usage.pid]) / seconds, usage.name) for usage in after if usage.pid in earlier
    ]
    return [
        {"name": name, "core_pct": round(share, 1)}
        for share, name in sorted(shares, reverse=True)
        if share >= HEAVY_PCT
    ][:10]


def uptime(sources: Sources) -> int | Unknown:
    """Whole seconds since boot."""
    if sources.system != "Linux":
        import psutil

        return int(time.time() - psutil.boot_time())
    text = sources.text("/proc/uptime")
    if isinstance(text, Unknown):
        return text
    try:
        return int(float(text.split()[0]))
    except ValueError:
        return Unknown(f"/proc/uptime reads {text[:40]!r}")


FACET = Facet(
    "load",
    collect,
    dict.fromkeys(
        (
            *("load_1", "load_5", "load_15", "busy_pct", "steal_pct", "heavy_processes", "uptime_s"),
            "cpu_pressure_some_pct",
        ),
        Kind.STATE,
    ),
)
