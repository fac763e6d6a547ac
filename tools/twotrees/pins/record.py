"""RECORD: what a distribution's files must hash to, and whether they do. In: installed distributions. Out: findings."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from twotrees.pins.environment import Distribution, Environment
from twotrees.pins.finding import Finding

# PEP 376 wants sha256 or better; anything weaker proves nothing.
ALGORITHMS = frozenset({"sha256", "sha384", "sha512"})
# RECORD cannot hold its own hash; the two signature files are exempt by the wheel specification.
UNHASHED = frozenset({"RECORD", "RECORD.jws", "RECORD.p7s"})
# virtualenv and uv put these into every environment, without a RECORD.
ENVIRONMENT_FILES = frozenset({"_virtualenv.py", "_virtualenv.pth"})
CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class Row:
    """One line of a RECORD.

    Attributes:
        path: Where the file is.
        name: As RECORD spells it.
        algorithm: Empty when the line has no hash.
        digest: URL-safe base64 without padding.
    """

    path: Path
    name: str
    algorithm: str
    digest: str


def rows(distribution: Distribution) -> tuple[list[Row], list[Finding]]:
    """A distribution's RECORD, and what is wrong with its lines."""
    record = distribution.folder / "RECORD"
    home = distribution.folder.parent
    found: list[Row] = []
    faults: list[Finding] = []
    try:
        text = record.read_text(encoding="utf-8")
    except FileNotFoundError:
        what = f"{distribution.name} {distribution.version} has no RECORD, so that its files cannot be checked"
        return [], [Finding("record", distribution.folder.name, what, "install it from a wheel")]
    except (OSError, UnicodeDecodeError) as error:
        return [], [Finding("record", f"{distribution.folder.name}/RECORD", f"cannot be read: {error}")]
    for number, line in enumerate(csv.reader(text.splitlines()), 1):
        if not line:
            continue
        algorithm, equals, digest = line[1].partition("=") if len(line) == 3 else ("", "", "")
        if len(line) != 3 or not line[0] or bool(line[1]) is not bool(equals and digest):
            what = f"line {number} is malformed: {','.join(line)[:80]!r}"
            faults.append(Finding("record", f"{distribution.folder.name}/RECORD", what, _again(distribution)))
            continue
        found.append(Row(Path(os.path.normpath(home / line[0])), line[0], algorithm, digest))
    return found, faults


def _again(distribution: Distribution) -> str:
    # uv links installed files to its cache, so that an edit reaches the cache too and would be installed again.
    name = distribution.name
    return f"reinstall it: uv cache clean {name} && uv sync --reinstall-package {name}"


def is_bytecode(name: str) -> bool:
    """Whether a file is bytecode, which the interpreter writes itself and a fresh cache folder makes irrelevant."""
    return name.endswith((".pyc", ".pyo")) or "__pycache__" in Path(name).parts


def verify(
    environment: Environment, *, workers: int | None = None, progress: Callable[[int, int], None] | None = None
) -> list[Finding]:
    """Compares every file of every distribution with RECORD, and names files that no RECORD lists.

    Args:
        environment: What to verify.
        workers: Threads that hash; hashing and reading both let go of the interpreter.
        progress: Called with (files done, files in all) now and then.

    Returns:
        One finding for each edited, missing, unlisted or unverifiable file.
    """
    found: list[Finding] = []
    jobs: list[tuple[Distribution, Row]] = []
    listed: set[Path] = set()
    for distribution in environment.distributions:
        lines, faults = rows(distribution)
        found += faults
        for row in lines:
            listed.add(row.path)
            if not is_bytecode(row.name) and row.path.name not in UNHASHED:
                jobs.append((distribution, row))
    threads = workers or min(8, (os.cpu_count() or 1) + 1)
    with ThreadPoolExecutor(threads) as pool:
        for done, fault in enumerate(pool.map(lambda job: _check(*job), jobs, chunksize=64), 1):
            if fault is not None:
                found.append(fault)
            if progress is not None and (done % 256 == 0 or done == len(jobs)):
                progress(done, len(jobs))
    found += [
        Finding("unlisted", _shown(path, environment), "lies in site-packages, and no RECORD lists it", "remove it")
        for path in unlisted(environment, listed)
    ]
    return found


def _shown(path: Path, environment: Environment) -> str:
    for folder in environment.folders:
        if path.is_relative_to(folder):
            return path.relative_to(folder).as_posix()
    return path.as_posix()


def _check(distribution: Distribution, row: Row) -> Finding | None:
    where, owner = row.name, f"{distribution.name} {distribution.version}"
    if not row.algorithm:
        return Finding("unhashed", where, f"RECORD of {owner} gives no hash for it", _again(distribution))
    if row.algorithm not in ALGORITHMS:
        what = f"RECORD of {owner} hashes it with {row.algorithm}, which proves nothing"
        return Finding("unhashed", where, what, _again(distribution))
    try:
        digest = _hashed(row.path, row.algorithm)
    except FileNotFoundError:
        return Finding("missing-file", where, f"belongs to {owner} and is missing", _again(distribution))
    except OSError as error:
        return Finding("missing-file", where, f"belongs to {owner} and cannot be read: {error.strerror}")
    if digest != row.digest.rstrip("="):
        return Finding("edited", where, f"differs from what {owner} installed", _again(distribution))
    return None


def _hashed(path: Path, algorithm: str) -> str:
    digest = hashlib.new(algorithm)
    with path.open("rb", buffering=0) as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")


def unlisted(environment: Environment, listed: set[Path]) -> Iterator[Path]:
    """Files in site-packages that no RECORD lists: they can be imported, and no hash speaks for them."""
    for folder in environment.folders:
        bare = [item.folder for item in environment.distributions if item.record_sha256 is None]
        yield from _walk(folder, listed, bare)


def _walk(folder: Path, listed: set[Path], skipped: Sequence[Path]) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            path = Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                if entry.name != "__pycache__" and path not in skipped:
                    yield from _walk(path, listed, skipped)
            elif path not in listed and not is_bytecode(entry.name) and entry.name not in ENVIRONMENT_FILES:
                yield path
