"""The live worktrees, one small file each in the user's state folder, so that what a crash leaves behind is found.

An entry is written before its worktree is made and taken away after it is removed: between the two it is a leftover
exactly when the process that wrote it is gone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from twotrees import digest, strict_json
from twotrees.errors import UsageError
from twotrees.trees import cache, git

SCHEMA = "twotrees-worktree-v1"
# A process's start is told in wall-clock time, which moves when the clock is set; ids are not used again this soon.
SAME_START_S = 120.0


@dataclass(frozen=True)
class Entry:
    """One worktree that was made, or was about to be.

    Attributes:
        path: The worktree.
        git_dir: The repository that it belongs to.
        arm: The arm that it was made for.
        pid: The process that made it.
        born: When that process started, seconds since the epoch: process ids are used again.
        created: When the entry was written, UTC.
    """

    path: Path
    git_dir: Path
    arm: str
    pid: int
    born: float
    created: str

    @property
    def owner_lives(self) -> bool:
        """Whether the process that made it still runs."""
        try:
            return abs(psutil.Process(self.pid).create_time() - self.born) < SAME_START_S
        except psutil.NoSuchProcess:
            return False
        except psutil.AccessDenied:
            return True

    @property
    def own(self) -> bool:
        """Whether this process made it."""
        return self.pid == os.getpid() and self.owner_lives


def _file(path: Path) -> Path:
    return cache.state_folder("worktrees") / f"{digest.sha256_bytes(os.fsencode(path))[:32]}.json"


def note(path: Path, git_dir: Path, arm: str) -> Entry:
    """Writes the entry of a worktree that is about to be made."""
    born = psutil.Process().create_time()
    entry = Entry(path, git_dir, arm, os.getpid(), born, datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))
    record = {"schema": SCHEMA} | {
        key: str(value) if isinstance(value, Path) else value for key, value in asdict(entry).items()
    }
    target = _file(path)
    scratch = target.with_suffix(f".{os.getpid()}.new")
    scratch.write_text(strict_json.dumps(record), encoding="utf-8")
    scratch.replace(target)
    return entry


def _read(file: Path) -> Entry | None:
    """An entry that a crash or a full disk cut short says nothing that could be acted on safely."""
    try:
        record: dict[str, Any] = strict_json.loads(file.read_bytes())
        return Entry(
            Path(record["path"]),
            Path(record["git_dir"]),
            record["arm"],
            record["pid"],
            record["born"],
            record["created"],
        )
    except (OSError, strict_json.JsonRefused, KeyError, TypeError):
        return None


def entry_of(path: Path) -> Entry | None:
    """The entry of the worktree at *path*, if there is one."""
    file = _file(path)
    return _read(file) if file.is_file() else None


def entries() -> Iterator[Entry]:
    """Every entry, oldest first."""
    found = (_read(file) for file in cache.state_folder("worktrees").glob("*.json"))
    yield from sorted(
        (entry for entry in found if entry is not None), key=lambda entry: (entry.created, str(entry.path))
    )


def leftovers() -> tuple[Entry, ...]:
    """The worktrees whose process has ended without removing them."""
    return tuple(entry for entry in entries() if not entry.owner_lives)


def discard(entry: Entry) -> None:
    """Removes a worktree from the disk, from its repository and from the registry; what is already gone is no fault.

    Raises:
        UsageError: something of it cannot be removed.
    """
    if entry.path.is_dir() and not entry.path.is_symlink():
        if entry.git_dir.is_dir():
            git.call(["worktree", "remove", "--force", "--force", str(entry.path)], git_dir=entry.git_dir)
        if entry.path.is_dir():
            _remove_folder(entry.path)
    if entry.git_dir.is_dir():
        git.call(["worktree", "prune", "--expire=now"], git_dir=entry.git_dir)
    _file(entry.path).unlink(missing_ok=True)


def clean() -> tuple[Entry, ...]:
    """Removes every leftover.

    Returns:
        What was removed.

    Raises:
        UsageError: something cannot be removed.
    """
    found = leftovers()
    for entry in sorted(found, key=lambda entry: len(entry.path.parts), reverse=True):
        discard(entry)
        with contextlib.suppress(OSError):  # the campaign's folder of trees, once the last of them is gone
            entry.path.parent.rmdir()
    return found


def _remove_folder(folder: Path) -> None:
    def make_writable_and_retry(function: Callable[..., Any], path: str, _fault: Any) -> None:
        Path(path).parent.chmod(stat.S_IRWXU)
        if not Path(path).is_symlink():
            Path(path).chmod(stat.S_IRWXU)
        function(path)

    try:
        shutil.rmtree(folder, onerror=make_writable_and_retry)
    except OSError as fault:
        raise UsageError(f"cannot be removed: {fault.strerror or fault}", file=folder) from None
