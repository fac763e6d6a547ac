"""`uv.lock`: what it pins, the identity of those pins, and what an interpreter should hold by it.

In: the lock file. Out: frozen data. The identity is over (name, version, file hash) alone, so that the same files from
another index are the same pins.
"""

from __future__ import annotations

import re
import tomllib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.markers import InvalidMarker, Marker

from twotrees.digest import sha256_bytes
from twotrees.errors import PinsDiffer
from twotrees.pins.environment import normalised


@dataclass(frozen=True)
class Dependency:
    """An edge of the locked graph.

    Attributes:
        name: Normalised name of the package it leads to.
        version: Given only where the lock has several versions of it.
        extras: Extras of that package that are wanted.
        marker: When it applies; empty for always.
    """

    name: str
    version: str | None
    extras: tuple[str, ...]
    marker: str


@dataclass(frozen=True)
class LockedPackage:
    """One package at one version.

    Attributes:
        name: Normalised name.
        version: Empty for a project whose version is dynamic.
        source: Kind of source: `registry`, `git`, `url`, `path`, `directory`, `editable`, `virtual`.
        location: URL or path of the source.
        files: What was hashed, sorted: each 64 hex digits, or ``unhashed <file>``, or ``git <commit>``.
        dependencies: By extra, by group (``group:NAME``), and under the empty string those that always apply.
    """

    name: str
    version: str
    source: str
    location: str
    files: tuple[str, ...]
    dependencies: Mapping[str, tuple[Dependency, ...]]

    @property
    def is_own(self) -> bool:
        """Whether it is a project of the checkout itself, whose content CHECKSUMS covers and not the lock."""
        return self.source in {"editable", "virtual", "directory"}


@dataclass(frozen=True)
class Lock:
    """A whole lock file.

    Attributes:
        path: Where it was read.
        requires_python: Its Python range.
        packages: As in the file.
        requirements: What the project demanded when it was locked: (extra or ``group:NAME`` or empty, name, specifier).
    """

    path: Path
    requires_python: str
    packages: tuple[LockedPackage, ...]
    requirements: frozenset[tuple[str, str, str]]

    @property
    def registries(self) -> tuple[str, ...]:
        """Index URLs, the most used one first."""
        urls = [package.location for package in self.packages if package.source == "registry"]
        return tuple(sorted(set(urls), key=lambda url: (-urls.count(url), url)))

    @property
    def root(self) -> LockedPackage | None:
        """The project that the lock belongs to."""
        return next((package for package in self.packages if package.is_own and package.location == "."), None)

    def versions(self, name: str) -> tuple[str, ...]:
        """Every locked version of *name*."""
        return tuple(package.version for package in self.packages if package.name == normalised(name))


def read(path: Path) -> Lock:
    """Reads a lock file.

    Raises:
        PinsDiffer: it is missing, unreadable, not TOML, or not a uv lock of version 1.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PinsDiffer("there is no such lock file", file=path, mend="run `uv lock`") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PinsDiffer(f"cannot be read: {error}", file=path) from None
    except tomllib.TOMLDecodeError as error:
        raise PinsDiffer(f"is not TOML: {error}", file=path, mend="restore it from git, or run `uv lock`") from None
    if data.get("version") != 1:
        raise PinsDiffer(f"lock version {data.get('version')!r} is not known", file=path, key="version")
    try:
        packages = tuple(_package(entry) for entry in data.get("package", []))
        requirements = frozenset(_requirements(data.get("package", [])))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise PinsDiffer(f"is not shaped like a uv lock: {type(error).__name__} {error}", file=path) from None
    return Lock(path, str(data.get("requires-python", "")), packages, requirements)


def _package(entry: dict[str, Any]) -> LockedPackage:
    source, location = next(iter(entry["source"].items()))
    files = {_file(item) for item in [*entry.get("wheels", []), *([entry["sdist"]] if "sdist" in entry else [])]}
    if source == "git":
        files.add(f"git {str(location).rpartition('#')[2]}")
    edges = {"": entry.get("dependencies", []), **entry.get("optional-dependencies", {})}
    edges |= {f"group:{group}": items for group, items in entry.get("dev-dependencies", {}).items()}
    return LockedPackage(
        normalised(entry["name"]),
        str(entry.get("version", "")),
        source,
        str(location),
        tuple(sorted(files)),
        {key: tuple(map(_dependency, items)) for key, items in edges.items()},
    )


def _file(item: dict[str, Any]) -> str:
    algorithm, _, digest = str(item.get("hash", "")).partition(":")
    if algorithm == "sha256" and re.fullmatch("[0-9a-f]{64}", digest):
        return digest
    name = str(item.get("url") or item.get("path") or item.get("filename") or "file").rpartition("/")[2]
    return f"unhashed {name}"


def _dependency(item: dict[str, Any]) -> Dependency:
    return Dependency(
        normalised(item["name"]), item.get("version"), tuple(item.get("extra", ())), str(item.get("marker", ""))
    )


def _requirements(entries: Sequence[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """What `[package.metadata]` of the root project says was demanded."""
    for entry in entries:
        if entry["source"].get("editable") != "." and entry["source"].get("virtual") != ".":
            continue
        metadata = entry.get("metadata", {})
        for item in metadata.get("requires-dist", []):
            found = re.search(r"extra == '([^']+)'", item.get("marker", ""))
            yield (normalised(found.group(1)) if found else "", *_demand(item))
        for group, items in metadata.get("requires-dev", {}).items():
            for item in items:
                yield (f"group:{normalised(group)}", *_demand(item))


def _demand(item: dict[str, Any]) -> tuple[str, str]:
    return normalised(item["name"]), specifier_text(str(item.get("specifier", "")))


def specifier_text(text: str) -> str:
    """A version specifier with its clauses sorted, so that order and spaces do not matter."""
    return ",".join(sorted(clause.strip() for clause in text.split(",") if clause.strip()))


def identity(path: Path) -> str:
    """The identity of a lock file's pins; see :func:`identity_of`.

    Raises:
        PinsDiffer: as :func:`read`.
    """
    return identity_of(read(path))


def identity_of(lock: Lock) -> str:
    """SHA-256 over the sorted set of lines ``name version sha256``, each ended by LF.

    The checkout's own projects are left out. A git source counts by its commit, a file without a hash by its name.
    """
    lines = {
        f"{package.name} {package.version} {digest}\n"
        for package in lock.packages
        if not package.is_own
        for digest in package.files or ("no files",)
    }
    return sha256_bytes("".join(sorted(lines)).encode())


def expected(
    lock: Lock, *, extras: Sequence[str] = (), groups: Sequence[str] = (), markers: Mapping[str, str]
) -> dict[str, str]:
    """What `uv sync` would install: normalised name to version.

    Args:
        lock: The lock.
        extras: Extras of the root project.
        groups: Its dependency groups.
        markers: The marker environment of the interpreter (PEP 508).

    Raises:
        PinsDiffer: the lock has no root project, lacks an extra or a group, or contradicts itself.
    """
    root = lock.root
    if root is None:
        raise PinsDiffer("the lock has no project of its own", file=lock.path)
    wanted = [*(normalised(extra) for extra in extras), *(f"group:{normalised(group)}" for group in groups)]
    for key in wanted:
        if key not in {normalised_key(known) for known in root.dependencies}:
            what = (
                f"the lock knows no {'group' if key.startswith('group:') else 'extra'} {key.removeprefix('group:')!r}"
            )
            raise PinsDiffer(what, file=lock.path, mend="run `uv lock`")
    by_name: dict[str, list[LockedPackage]] = {}
    for package in lock.packages:
        by_name.setdefault(package.name, []).append(package)
    chosen = {root.name: root.version}
    done: set[tuple[str, str, str]] = set()
    queue = deque((root, key) for key in ("", *wanted))
    while queue:
        package, key = queue.popleft()
        if (package.name, package.version, key) in done:
            continue
        done.add((package.name, package.version, key))
        for edge in _edges(package, key):
            if not _applies(edge.marker, markers, lock):
                continue
            target = _target(edge, by_name, lock)
            chosen[target.name] = target.version
            queue.extend((target, extra) for extra in ("", *edge.extras))
    return chosen


def normalised_key(key: str) -> str:
    """An extra's name, or ``group:`` and a group's, in its one spelling."""
    head, colon, tail = key.partition(":")
    return f"{head}:{normalised(tail)}" if colon else normalised(key)


def _edges(package: LockedPackage, key: str) -> tuple[Dependency, ...]:
    return next((edges for known, edges in package.dependencies.items() if normalised_key(known) == key), ())


def _applies(marker: str, markers: Mapping[str, str], lock: Lock) -> bool:
    if not marker:
        return True
    try:
        return Marker(marker).evaluate({**markers, "extra": ""})
    except InvalidMarker as error:
        raise PinsDiffer(f"the marker {marker!r} cannot be read: {error}", file=lock.path) from None


def _target(edge: Dependency, by_name: Mapping[str, list[LockedPackage]], lock: Lock) -> LockedPackage:
    candidates = [item for item in by_name.get(edge.name, []) if edge.version in (None, item.version)]
    if len(candidates) != 1:
        what = f"{edge.name} {edge.version or ''} is demanded and locked {len(candidates)} times".replace("  ", " ")
        raise PinsDiffer(what, file=lock.path, mend="run `uv lock`")
    return candidates[0]
