"""The work folder of one campaign: where everything lies until it is sealed, and what a resume starts from."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twotrees import strict_json
from twotrees.errors import PinsDiffer, UsageError
from twotrees.runs.surroundings import Private

UNFINISHED = ".work"
SPACE_NEEDED_BYTES = 500 * 2**20


@dataclass(frozen=True)
class Work:
    """A campaign's folder, ``results/.work/<campaign>``.

    Attributes:
        root: The folder.
    """

    root: Path

    @property
    def data(self) -> Path:
        """What will become the bundle's `data/`."""
        return self.root / "data"

    @property
    def plan(self) -> Path:
        """The plan, written before the first run."""
        return self.data / "plan.json"

    @property
    def journal(self) -> Path:
        """The hash-chained journal."""
        return self.data / "journal.jsonl"

    @property
    def config(self) -> Path:
        """The composed configuration, from which a resume starts."""
        return self.root / "campaign.json"

    def private(self, arm: str) -> Private:
        """An arm's own home, caches and temporary folder."""
        return Private(self.root / "private" / arm)

    def trace(self, arm: str) -> Path:
        """Where an arm's parity run writes its outputs."""
        return self.root / "traces" / f"{arm}.npz"

    def log(self, attempt: int, stream: str) -> Path:
        """An attempt's ``out`` or ``err`` log."""
        return self.data / "logs" / f"{attempt:04d}.{stream}"

    def run(self, attempt: int) -> Path:
        """An attempt's record."""
        return self.data / "runs" / f"{attempt:04d}.json"

    def make(self) -> None:
        """Creates the folders."""
        for folder in ("data/runs", "data/logs", "data/pins", "data/host", "data/trees", "data/config"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        for folder in ("traces", "results", "scripts"):
            (self.root / folder).mkdir(exist_ok=True)

    def remove(self) -> None:
        """Deletes the folder, once its content is sealed."""
        shutil.rmtree(self.root, ignore_errors=True)


def results_folder(results: Path, *, needed_bytes: int = SPACE_NEEDED_BYTES) -> Path:
    """Makes the results folder and proves that it can be written to and has *needed_bytes* of room.

    Raises:
        UsageError: it is a file, cannot be written, or the disk is nearly full.
    """
    try:
        (results / UNFINISHED).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=results / UNFINISHED):
            pass
    except OSError as error:
        raise UsageError(
            f"cannot be written: {error.strerror}", file=results, key="results", mend="choose another: results=FOLDER"
        ) from None
    free = shutil.disk_usage(results).free
    if free < needed_bytes:
        raise UsageError(
            f"only {free // 2**20} MiB are free and a campaign needs {needed_bytes // 2**20}",
            file=results,
            mend="make room, or choose another disk: results=FOLDER",
        )
    return results


def unfinished(results: Path) -> list[Work]:
    """Work folders with a plan, newest first: what `resume` can finish."""
    folders = (results / UNFINISHED).glob("*/data/plan.json")
    return [Work(path.parents[1]) for path in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)]


def write_json(path: Path, value: object) -> None:
    """Writes a JSON file so that it is either wholly there or not there, also after a power cut."""
    draft = path.with_name(path.name + ".part")
    with draft.open("w", encoding="utf-8") as stream:
        stream.write(strict_json.dumps(value))
        stream.flush()
        os.fsync(stream.fileno())
    draft.replace(path)


@contextlib.contextmanager
def host_lock(what: str, path: Path | None = None) -> Iterator[None]:
    """Holds this host for one campaign: two at once would measure each other.

    The lock is the kernel's and ends with the process, however it ends.

    Args:
        what: What holds it, told to whoever finds it taken.
        path: The lock file; by default the one that TWOTREES_LOCK names, else one for the whole host.

    Raises:
        PinsDiffer: another campaign holds it.
        UsageError: what lies at *path* is no file that could be locked.
    """
    # Not the user's own TMPDIR: two jobs with folders of their own would not see each other.
    path = path or Path(os.environ.get("TWOTREES_LOCK", "/tmp/twotrees-campaign.lock"))
    try:
        descriptor = lock_file(path)
    except OSError as error:
        raise UsageError(f"cannot be locked: {error.strerror}", file=path, mend="remove what lies there") from None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 200).decode("utf-8", "replace").strip() or "another campaign"
            raise PinsDiffer(
                f"this host is being measured by {holder}", file=path, mend="wait until it has ended"
            ) from None
        with contextlib.suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.write(descriptor, f"{what} (process {os.getpid()})".encode())
        yield
    finally:
        os.close(descriptor)


def lock_file(path: Path) -> int:
    """Opens the lock file, made if missing; another user's file in a sticky folder can be locked, though not written.

    Raises:
        OSError: it is a link, a folder, or cannot be opened at all.
    """
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    except PermissionError:
        return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
