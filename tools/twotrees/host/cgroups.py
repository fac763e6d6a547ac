"""What control groups allow this process: CPU quota, CPU set and memory, in v1 and v2, through every level above it.

In: `/proc/self/cgroup`, `/proc/self/mountinfo` and the group files. Out: a number, "unlimited", or unknown with
a reason. A limit set above what the container can see stays unseen; the docs say so.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from twotrees.host.facts import Unknown
from twotrees.host.sources import Sources

UNLIMITED = "unlimited"

# cgroup v1 writes "no limit" as the largest page-aligned 64-bit number, which depends on the page size.
V1_NO_MEMORY_LIMIT = 1 << 60


@dataclass(frozen=True)
class Group:
    """One controller's group of this process.

    Attributes:
        version: 1 or 2.
        mount: Where the hierarchy is mounted.
        path: The group's path below that mount; `/` is the mount itself.
    """

    version: int
    mount: str
    path: str

    def levels(self) -> Iterator[str]:
        """The group's folder, then each folder above it, up to the mount."""
        path = self.path.strip("/")
        while path:
            yield f"{self.mount}/{path}"
            path = posixpath.dirname(path)
        yield self.mount


def group_of(sources: Sources, controller: str) -> Group | Unknown:
    """Finds the group that limits *controller* (`cpu`, `cpuset`, `memory`) for this process.

    A controller is bound to one hierarchy only, so a v1 line that names it decides; otherwise it is v2's.
    """
    if sources.system != "Linux":
        return Unknown(f"{sources.system} has no control groups")
    lines = sources.text("/proc/self/cgroup")
    mounts = sources.text("/proc/self/mountinfo")
    if isinstance(lines, Unknown):
        return lines
    if isinstance(mounts, Unknown):
        return mounts
    unified: str | None = None
    for line in lines.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controller in controllers.split(","):
            return _mounted(mounts, path, 1, controller)
        if number == "0" and not controllers:
            unified = path
    if unified is None:
        return Unknown(f"/proc/self/cgroup names no group for {controller}")
    return _mounted(mounts, unified, 2, controller)


def _mounted(mounts: str, path: str, version: int, controller: str) -> Group | Unknown:
    """Joins a group's path with the place where its hierarchy is mounted (proc(5), mountinfo)."""
    for line in mounts.splitlines():
        before, dash, after = line.partition(" - ")
        fields, tail = before.split(), after.split()
        if not dash or len(fields) < 5 or len(tail) < 3:
            continue
        kind, options = tail[0], tail[2].split(",")
        if kind != ("cgroup2" if version == 2 else "cgroup") or (version == 1 and controller not in options):
            continue
        root, mount = _unescaped(fields[3]), _unescaped(fields[4])
        inside = path == root or path.startswith(root.rstrip("/") + "/")
        # In a container without a cgroup namespace the mount shows a subtree, and the path is the host's.
        below = path[len(root.rstrip("/")) :] if inside else path
        return Group(version, mount.rstrip("/"), "/" if ".." in below.split("/") else below or "/")
    return Unknown(f"no cgroup v{version} hierarchy for {controller} is mounted")


def _unescaped(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match.group(1), 8)), field)


def cpu_quota(sources: Sources) -> float | str | Unknown:
    """How many cores' worth of time this process gets at most: the smallest quota from its group upward."""
    group = group_of(sources, "cpu")
    if isinstance(group, Unknown):
        return group
    read = _quota_v2 if group.version == 2 else _quota_v1
    return _smallest(sources, group, "cpu.max" if group.version == 2 else "cpu.cfs_quota_us", read)


def memory_limit(sources: Sources) -> float | str | Unknown:
    """How many bytes this process may use at most: the smallest limit from its group upward."""
    group = group_of(sources, "memory")
    if isinstance(group, Unknown):
        return group
    name = "memory.max" if group.version == 2 else "memory.limit_in_bytes"
    return _smallest(sources, group, name, lambda text, _sources, _folder: _bytes(text, name))


def cpu_set(sources: Sources) -> str | Unknown:
    """The CPU list that the group allows."""
    group = group_of(sources, "cpuset")
    if isinstance(group, Unknown):
        return group
    name = "cpuset.cpus.effective" if group.version == 2 else "cpuset.cpus"
    for folder in group.levels():
        text = sources.text(f"{folder}/{name}")
        if not isinstance(text, Unknown):
            return text
    return Unknown(f"no group above this process has {name}")


def throttled_periods(sources: Sources) -> int | Unknown:
    """How often the quota has stopped this process's group so far."""
    group = group_of(sources, "cpu")
    if isinstance(group, Unknown):
        return group
    for folder in group.levels():
        text = sources.text(f"{folder}/cpu.stat")
        if isinstance(text, Unknown):
            continue
        for line in text.splitlines():
            key, _, value = line.partition(" ")
            if key == "nr_throttled" and value.isdigit():
                return int(value)
    return Unknown("no cpu.stat counts throttled periods")


Read = Callable[[str, Sources, str], "float | str | Unknown"]


def _smallest(sources: Sources, group: Group, name: str, read: Read) -> float | str | Unknown:
    limits: list[float] = []
    fault: Unknown | None = None
    folders = [folder for folder in group.levels() if sources.at(folder).is_dir()]
    if not folders:
        return Unknown(f"{group.mount} is not there")
    for folder in folders:
        if not sources.at(f"{folder}/{name}").exists():
            # The root group has no limit files, nor has a group whose parent does not hand the controller down.
            continue
        text = sources.text(f"{folder}/{name}")
        value = text if isinstance(text, Unknown) else read(text, sources, folder)
        if isinstance(value, Unknown):
            fault = fault or value
        elif not isinstance(value, str):
            limits.append(value)
    if fault is not None:
        # One unreadable level could be the tightest one.
        return fault
    return min(limits) if limits else UNLIMITED


def _quota_v2(text: str, _sources: Sources, folder: str) -> float | str | Unknown:
    fields = text.split()
    if fields[0] == "max":
        return UNLIMITED
    return _cores(fields[0], fields[1] if len(fields) > 1 else "100000", f"{folder}/cpu.max")


def _quota_v1(text: str, sources: Sources, folder: str) -> float | str | Unknown:
    if text.startswith("-"):
        return UNLIMITED
    period = sources.text(f"{folder}/cpu.cfs_period_us")
    return period if isinstance(period, Unknown) else _cores(text, period, f"{folder}/cpu.cfs_quota_us")


def _cores(quota: str, period: str, where: str) -> float | Unknown:
    if not (quota.isdecimal() and period.isdecimal() and int(quota) and int(period)):
        return Unknown(f"{where} reads {quota[:20]!r} in each {period[:20]!r}")
    return round(int(quota) / int(period), 3)


def _bytes(text: str, name: str) -> float | str | Unknown:
    if text == "max":
        return UNLIMITED
    if not text.isdecimal() or not int(text):
        return Unknown(f"{name} reads {text[:40]!r}")
    return UNLIMITED if int(text) >= V1_NO_MEMORY_LIMIT else int(text)
