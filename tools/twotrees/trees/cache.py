"""Where trees keep what outlives a campaign: clones and wheels in the user's cache, live worktrees in the user's state.

Each store has a lock file of its own, so that a check beside a running campaign waits instead of colliding.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from twotrees.errors import UsageError

APPLICATION = "twotrees"
LOCK_WAIT_S = 1800.0
POLL_S = 0.1


def cache_folder(name: str) -> Path:
    """The folder *name* in the user's cache, made if need be.

    Raises:
        UsageError: it cannot be made or written.
    """
    return _writable(Path(platformdirs.user_cache_path(APPLICATION)) / name, "XDG_CACHE_HOME")


def state_folder(name: str) -> Path:
    """The folder *name* in the user's state folder, made if need be.

    Raises:
        UsageError: it cannot be made or written.
    """
    return _writable(Path(platformdirs.user_state_path(APPLICATION)) / name, "XDG_STATE_HOME")


def _writable(folder: Path, variable: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        reason = fault.strerror or str(fault)
        raise UsageError(
            f"cannot be made: {reason}", file=folder, mend=f"set {variable} to a folder you may write"
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError("is not writable", file=folder, mend=f"set {variable} to a folder you may write")
    return folder


@contextlib.contextmanager
def locked(path: Path, *, wait_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Holds the lock file beside *path*; it falls with the process, so a crash leaves nothing locked.

    Raises:
        UsageError: another process still holds it after *wait_s* seconds.
    """
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("ab") as stream:
        deadline = time.monotonic() + wait_s
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= deadline:
                    raise UsageError(
                        f"another twotrees process has held it for {wait_s:g} s",
                        file=lock,
                        mend="wait for it or end it",
                    ) from None
                time.sleep(POLL_S)
        yield
