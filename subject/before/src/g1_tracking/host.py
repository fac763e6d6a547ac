"""How many cores this process may use: affinity and cgroup quota, not the number that is installed."""

import math
import os
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def usable_cores() -> int:
    """Cores this process may use, at least 1: the affinity mask, lowered by a cgroup CPU quota."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota = _cgroup_quota()
    return max(1, cores if quota is None else min(cores, math.ceil(quota)))


def _cgroup_quota() -> float | None:
    """The smallest quota of this process's cgroup and its parents, in cores; None when there is none."""
    quotas = []
    for line in _read(Path("/proc/self/cgroup")).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        root = _CGROUP / "cpu" if controllers else _CGROUP
        scope = root / path.lstrip("/")
        while True:
            quotas.append(_quota_of(scope))
            if scope in (root, scope.parent):
                break
            scope = scope.parent
    known = [quota for quota in quotas if quota is not None]
    return min(known) if known else None


def _quota_of(scope: Path) -> float | None:
    v2 = _read(scope / "cpu.max").split()
    if len(v2) == 2 and v2[0] != "max":
        return int(v2[0]) / int(v2[1])
    limit, period = _read(scope / "cpu.cfs_quota_us").strip(), _read(scope / "cpu.cfs_period_us").strip()
    if limit and period and int(limit) > 0:
        return int(limit) / int(period)
    return None


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
