"""Waiting for what other processes do: never a fixed sleep, never without an end."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import psutil

PATIENCE_S = 20.0


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and waits to be reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(condition: Callable[[], bool], what: str) -> None:
    """Waits for something that another process does; fails when it does not come."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain for: {what}"
        time.sleep(0.02)


def pid_in(path: Path) -> int:
    """The process id that a script wrote to *path*, once it is there."""
    wait_until(lambda: path.is_file() and path.read_text().endswith("\n"), f"a process id in {path.name}")
    return int(path.read_text())


def wait_dead(pid: int) -> None:
    """Waits for the end of a process; fails when it lives on."""
    wait_until(lambda: not lives(pid), f"the end of process {pid}")
