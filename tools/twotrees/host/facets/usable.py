"""What of the host this process may use: affinity, quota, memory limit; each apart from the count of cores."""

from __future__ import annotations

import os
from typing import Any

from twotrees.host import cgroups
from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown, cpu_list
from twotrees.host.sources import Sources, here


def collect(sources: Sources) -> Facts:
    """Affinity from the scheduler, limits from the control groups."""
    affinity = sources.affinity()
    quota = cgroups.cpu_quota(sources)
    group = cgroups.group_of(sources, "cpu")
    return {
        "affinity": affinity if isinstance(affinity, Unknown) else cpu_list(affinity),
        "affinity_count": affinity if isinstance(affinity, Unknown) else len(affinity),
        "quota_cores": quota,
        "cgroup": group if isinstance(group, Unknown) else f"v{group.version}",
        "cpuset": cgroups.cpu_set(sources),
        "usable_cores": cores(affinity, quota),
        "memory_limit_bytes": cgroups.memory_limit(sources),
        "throttled_periods": cgroups.throttled_periods(sources),
        "nice": os.getpriority(os.PRIO_PROCESS, 0) if hasattr(os, "getpriority") else Unknown("no priorities here"),
    }


def cores(affinity: frozenset[int] | Unknown, quota: Any) -> int | Unknown:
    """Whole cores that can run at once: a quota of 1.5 sustains one thread; a second one is stopped half the time."""
    if isinstance(affinity, Unknown):
        count = os.cpu_count()
        if count is None:
            return affinity
    else:
        count = len(affinity)
    if isinstance(quota, (int, float)):
        count = min(count, int(quota))
    return max(1, count)


def usable_cores(sources: Sources | None = None) -> int:
    """The cores in the affinity mask, or fewer where the control group's quota is smaller; at least 1."""
    asked = sources or here()
    count = cores(asked.affinity(), cgroups.cpu_quota(asked))
    return 1 if isinstance(count, Unknown) else count


FACET = Facet(
    "usable",
    collect,
    {
        "affinity": Kind.LABEL,
        "affinity_count": Kind.SPEED,
        "quota_cores": Kind.SPEED,
        "cgroup": Kind.LABEL,
        "cpuset": Kind.LABEL,
        "usable_cores": Kind.SPEED,
        "memory_limit_bytes": Kind.SPEED,
        "throttled_periods": Kind.STATE,
        "nice": Kind.SPEED,
    },
)
