"""The one place that runs a process to its end: argv in, exit and bytes out, never a shell, always a time limit.

Measured runs have their own room (`runs/execute.py`); this is for the short helpers: git, ssh-keygen, uv, lscpu.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

DRAIN_S = 2.0


@dataclass(frozen=True)
class Finished:
    """A process that has ended, or could not be started.

    Attributes:
        argv: What was asked for.
        exit: Exit status; negative is the signal that ended it; None when it never started or ran out of time.
        stdout: All of its standard output, bytes.
        stderr: All of its standard error, bytes.
        fault: Why there is no exit status, else the empty string.
    """

    argv: tuple[str, ...]
    exit: int | None
    stdout: bytes
    stderr: bytes
    fault: str = ""

    @property
    def ok(self) -> bool:
        """Whether the process ended by itself with status 0."""
        return self.exit == 0

    @property
    def text(self) -> str:
        """Standard output as text, undecodable bytes replaced, outer white space removed."""
        return self.stdout.decode("utf-8", "replace").strip()

    @property
    def complaint(self) -> str:
        """The first line that tells why it failed, wherever the program chose to print it."""
        if self.fault:
            return self.fault
        for stream in (self.stderr, self.stdout):
            for line in stream.decode("utf-8", "replace").splitlines():
                if line.strip():
                    return line.strip()
        return f"exit status {self.exit}"


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float = 60.0,
) -> Finished:
    """Runs *argv* and waits. Never raises for anything the program does; a missing program is a `fault`.

    The process leads a group of its own, so that running out of time ends its children too.
    """
    program = shutil.which(argv[0], path=None if env is None else env.get("PATH", os.defpath))
    if program is None:
        return Finished(tuple(argv), None, b"", b"", f"{argv[0]} is not installed")
    try:
        process = subprocess.Popen(
            [program, *argv[1:]],
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Finished(tuple(argv), None, b"", b"", f"{argv[0]} did not start: {error.strerror}")
    try:
        out, err = process.communicate(stdin, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _kill_group(process.pid)
        out, err = _rest(process)
        return Finished(tuple(argv), None, out, err, f"{argv[0]} gave no answer in {timeout_s:g} s")
    except BaseException:
        _kill_group(process.pid)
        process.wait()
        raise
    return Finished(tuple(argv), process.returncode, out, err)


def _kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def _rest(process: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    """What a killed process had written. A child that left its group may hold the pipes open, and is not waited for."""
    try:
        return process.communicate(timeout=DRAIN_S)
    except subprocess.TimeoutExpired as unfinished:
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        return unfinished.stdout or b"", unfinished.stderr or b""
