"""The clocks that time everything: the kernel's clock source, the resolution of the one we use, and the time of day."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind
from twotrees.host.sources import Sources

SOURCE = "/sys/devices/system/clocksource/clocksource0"


def collect(sources: Sources) -> Facts:
    """From sysfs and from Python's own clocks."""
    counter = time.get_clock_info("perf_counter")
    return {
        "source": sources.text(f"{SOURCE}/current_clocksource"),
        "available_sources": sources.text(f"{SOURCE}/available_clocksource"),
        "perf_counter": counter.implementation,
        "perf_counter_resolution_ns": round(counter.resolution * 1e9, 3),
        "utc": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


FACET = Facet(
    "clock",
    collect,
    {
        "source": Kind.SPEED,
        "available_sources": Kind.LABEL,
        "perf_counter": Kind.SPEED,
        "perf_counter_resolution_ns": Kind.LABEL,
        "utc": Kind.STATE,
    },
)
