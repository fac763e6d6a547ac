"""What is installed against what is locked: by name and version, by source, and every file by its RECORD."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from packaging.markers import default_environment
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from twotrees import process
from twotrees.errors import PinsDiffer
from twotrees.pins import lock as locks
from twotrees.pins import record
from twotrees.pins.environment import Distribution, Environment
from twotrees.pins.finding import Finding

# PEP 508's variables, computed without any package, because the interpreter asked may have none.
_MARKER_PROBE = """
import json, os, platform, sys
implementation = sys.implementation.version
full = "{0.major}.{0.minor}.{0.micro}".format(implementation)
full += "" if implementation.releaselevel == "final" else implementation.releaselevel[0] + str(implementation.serial)
print(json.dumps({
    "implementation_name": sys.implementation.name, "implementation_version": full, "os_name": os.name,
    "platform_machine": platform.machine(), "platform_release": platform.release(),
    "platform_system": platform.system(), "platform_version": platform.version(),
    "python_full_version": platform.python_version(), "sys_platform": sys.platform,
    "platform_python_implementation": platform.python_implementation(),
    "python_version": ".".join(platform.python_version_tuple()[:2]),
}))
"""


def markers_of(interpreter: Path | None = None) -> dict[str, str]:
    """The marker environment (PEP 508) of an interpreter, the running one by default.

    Raises:
        PinsDiffer: the interpreter does not start.
    """
    if interpreter is None:
        return {key: str(value) for key, value in default_environment().items()}
    finished = process.run([str(interpreter), "-I", "-c", _MARKER_PROBE], timeout_s=30)
    try:
        if not finished.ok:
            raise ValueError(finished.complaint)
        return {str(key): str(value) for key, value in json.loads(finished.text).items()}
    except ValueError as fault:
        raise PinsDiffer(f"the interpreter does not tell its platform: {fault}", file=interpreter) from None


def against_lock(
    lock: locks.Lock,
    environment: Environment,
    *,
    extras: Sequence[str] = (),
    groups: Sequence[str] = (),
    markers: Mapping[str, str] | None = None,
    files: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> list[Finding]:
    """Compares an environment with a lock.

    Args:
        lock: What should be there.
        environment: What is there.
        extras: Extras of the root project that must be installed.
        groups: Dependency groups that must be installed. Others may be, at their locked versions.
        markers: The interpreter's marker environment; the running one's by default.
        files: Whether to hash every file too.
        progress: Passed to :func:`record.verify`.

    Raises:
        PinsDiffer: the lock cannot be followed.
    """
    platform = markers_of() if markers is None else markers
    found = list(_python(lock, platform))
    found += _versions(lock, environment, locks.expected(lock, extras=extras, groups=groups, markers=platform))
    found += _sources(lock, environment)
    if files:
        found += record.verify(environment, progress=progress)
    return found


def _python(lock: locks.Lock, markers: Mapping[str, str]) -> Iterator[Finding]:
    version = markers["python_full_version"]
    try:
        fits = SpecifierSet(lock.requires_python).contains(version, prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        fits = False
    if not fits:
        what = f"is {version}, the lock wants {lock.requires_python}"
        yield Finding("python", "Python", what, f"make the environment with Python {lock.requires_python}")


def _versions(lock: locks.Lock, environment: Environment, expected: Mapping[str, str]) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for item in environment.distributions:
        if item.name in seen:
            what = f"is installed twice, as {seen[item.name]} and as {item.version}; the first on the path wins"
            yield Finding("twice", item.name, what, f"reinstall it: uv sync --reinstall-package {item.name}")
            continue
        seen[item.name] = item.version
        # A group that was not asked for may be installed too, at any version that the lock has for some platform.
        allowed = (expected[item.name],) if item.name in expected else lock.versions(item.name)
        if not allowed:
            yield Finding(
                "not-locked", item.name, f"version {item.version} is installed and not in the lock", "uv sync"
            )
        elif not any(_same(item.version, version) for version in allowed):
            what = f"version {item.version} is installed, the lock has {' and '.join(allowed)}"
            yield Finding("version", item.name, what, "run `uv sync`")
    for name, version in sorted(expected.items()):
        root = lock.root
        if name not in seen and not (root is not None and name == root.name and root.source == "virtual"):
            yield Finding("missing", name, f"the lock has version {version}, and none is installed", "run `uv sync`")


def _same(left: str, right: str) -> bool:
    # A dynamic version is not in the lock.
    if not right:
        return True
    try:
        return Version(left) == Version(right)
    except InvalidVersion:
        return left == right


def _sources(lock: locks.Lock, environment: Environment) -> Iterator[Finding]:
    for item in environment.distributions:
        package = next((known for known in lock.packages if known.name == item.name), None)
        if package is None:
            continue
        if package.source == "registry" and item.source:
            what = f"was installed from {_origin(item)}, the lock has it from an index"
            yield Finding("source", item.name, what, f"reinstall it: uv sync --reinstall-package {item.name}")
        elif package.source == "git" and item.source.removeprefix("git ") not in package.location:
            what = f"was installed from {_origin(item)}, the lock has {package.location.rpartition('#')[2]}"
            yield Finding("source", item.name, what, f"reinstall it: uv sync --reinstall-package {item.name}")


def _origin(item: Distribution) -> str:
    if item.editable:
        return "a folder, editable, so that no RECORD covers its files"
    return f"a {item.source}" if item.source else "an index"
