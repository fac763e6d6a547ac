"""Memory: how much, how much of it is free, huge pages, swap."""

from __future__ import annotations

import os
import re
from typing import Any

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources

THP = "/sys/kernel/mm/transparent_hugepage"
GIB = 1 << 30


def collect(sources: Sources) -> Facts:
    """From `/proc/meminfo`; on macOS from psutil."""
    table = meminfo(sources)

    def size(name: str, *, may_be_zero: bool = False) -> Any:
        if isinstance(table, Unknown):
            return table
        if name not in table:
            return Unknown(f"{sources.system} does not count {name}")
        return table[name] if table[name] or may_be_zero else Unknown(f"{name} reads 0")

    total = size("MemTotal")
    return {
        # The kernel keeps a little for itself, a different little at each boot: compare tenths of a GiB.
        "total_gib": total if isinstance(total, Unknown) else round(total / GIB, 1),
        "total_bytes": total,
        "available_bytes": size("MemAvailable"),
        "swap_total_bytes": size("SwapTotal", may_be_zero=True),
        "swap_free_bytes": size("SwapFree", may_be_zero=True),
        "swappiness": whole(sources.text("/proc/sys/vm/swappiness")),
        "thp": chosen(sources.text(f"{THP}/enabled")),
        "thp_defrag": chosen(sources.text(f"{THP}/defrag")),
        "huge_pages": whole(sources.text("/proc/sys/vm/nr_hugepages")),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "numa_balancing": whole(sources.text("/proc/sys/kernel/numa_balancing")),
        "pressure_some_pct": pressure(sources, "memory"),
    }


def meminfo(sources: Sources) -> dict[str, int] | Unknown:
    """Bytes by the names of `/proc/meminfo`."""
    if sources.system != "Linux":
        return from_psutil()
    text = sources.text("/proc/meminfo")
    if isinstance(text, Unknown):
        return text
    found = re.findall(r"^(\w+):\s+(\d+) kB$", text, re.MULTILINE)
    return {name: int(kib) * 1024 for name, kib in found} or Unknown("/proc/meminfo lists no sizes")


def from_psutil() -> dict[str, int] | Unknown:
    """The same sizes from psutil."""
    import psutil

    try:
        memory, swap = psutil.virtual_memory(), psutil.swap_memory()
    except (psutil.Error, OSError, RuntimeError) as error:
        return Unknown(f"psutil: {error}")
    return {
        "MemTotal": int(memory.total),
        "MemAvailable": int(memory.available),
        "SwapTotal": int(swap.total),
        "SwapFree": int(swap.free),
    }


def whole(text: str | Unknown) -> int | Unknown:
    """A setting that is a whole number and may well be 0."""
    if isinstance(text, Unknown):
        return text
    return int(text) if text.isdecimal() else Unknown(f"reads {text[:40]!r}")


def chosen(text: str | Unknown) -> str | Unknown:
    """The bracketed choice of ``always [madvise] never``."""
    if isinstance(text, Unknown):
        return text
    found = re.search(r"\[([^]]+)\]", text)
    return found.group(1) if found else Unknown(f"reads {text[:40]!r}")


def pressure(sources: Sources, resource: str) -> float | Unknown:
    """Per cent of the last 10 s in which some task waited for *resource* (the kernel's PSI)."""
    text = sources.text(f"/proc/pressure/{resource}")
    if isinstance(text, Unknown):
        return text
    found = re.search(r"^some avg10=(\d+(?:\.\d+)?)", text, re.MULTILINE)
    return float(found.group(1)) if found else Unknown(f"/proc/pressure/{resource} has no avg10")


FACET = Facet(
    "memory",
    collect,
    {
        "total_gib": Kind.SPEED,
        "total_bytes": Kind.LABEL,
        "available_bytes": Kind.STATE,
        "swap_total_bytes": Kind.SPEED,
        "swap_free_bytes": Kind.STATE,
        "swappiness": Kind.SPEED,
        "thp": Kind.SPEED,
        "thp_defrag": Kind.SPEED,
        "huge_pages": Kind.SPEED,
        "page_bytes": Kind.SPEED,
        "numa_balancing": Kind.SPEED,
        "pressure_some_pct": Kind.STATE,
    },
)
