"""The edge of lockstep: one worker as a real process, spoken to in JSON lines over its stdin and stdout.

In: argv, environment, limits, the file that receives its standard error. Out: replies, and how the process ended.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from twotrees import strict_json
from twotrees.runs.execute import Ended, die_with_parent, end_group, ended_within, used
from twotrees.runs.journal import utc_now
from twotrees.runs.lockstep import WorkerDied

MAX_REPLY_BYTES = 64 << 20


@dataclass(frozen=True)
class Limits:
    """How long a worker may take, in seconds.

    Attributes:
        ready_s: From its start to its first line: imports, compilation, warm-up.
        block_s: For one block.
        finish_s: From `finish` to its end.
    """

    ready_s: float
    block_s: float
    finish_s: float = 60.0


class ProcessWorker:
    """A live worker. It leads a process group of its own, and dies when the controller does.

    Args:
        arm: Whose tree it steps.
        argv: The exact command; it must speak the protocol on stdin and stdout.
        env: All of its environment.
        cwd: Where it runs.
        err: Receives its standard error as bytes.
        limits: How long it may take.
        cores: The cores that it may use, None for all; the same for every arm.

    Attributes:
        ended: How it ended, once it has.

    Raises:
        WorkerDied: it could not be started.
    """

    def __init__(
        self,
        arm: str,
        argv: Sequence[str],
        *,
        env: Mapping[str, str],
        cwd: Path,
        err: Path,
        limits: Limits,
        cores: Collection[int] | None = None,
    ) -> None:
        self.arm = arm
        self.ended: Ended | None = None
        self._limits = limits
        self._is_ready = False
        self._timed_out = False
        self._unread = b""
        self._pidfd: list[int] = []
        self._start, self._began = utc_now(), time.monotonic()

        def in_child() -> None:
            die_with_parent()
            if cores is not None:
                os.sched_setaffinity(0, cores)

        with err.open("wb") as err_stream:
            try:
                self._process = subprocess.Popen(
                    argv,
                    env=dict(env),
                    cwd=cwd,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=err_stream,
                    start_new_session=True,
                    preexec_fn=in_child if sys.platform == "linux" else None,
                )
            except (OSError, subprocess.SubprocessError) as fault:
                reason = f"{argv[0]} did not start: {fault}"
                self.ended = Ended(self._start, utc_now(), 0.0, None, None, False, {}, reason)
                raise WorkerDied(arm, reason) from None

        if hasattr(os, "pidfd_open"):
            self._pidfd.append(os.pidfd_open(self.pid))

    @property
    def pid(self) -> int:
        """Of the process that was started."""
        return self._process.pid

    def ready(self) -> None:
        """Waits for its first line, unless it has come.

        Raises:
            WorkerDied: it ended, took too long, or said something else.
        """
        if self._is_ready:
            return
        if self._reply(self._limits.ready_s, "to be ready").get("ready") is not True:
            raise WorkerDied(self.arm, 'its first line is not {"ready": true, …}')
        self._is_ready = True

    def steps(self, n: int) -> Mapping[str, Any]:
        """Asks for *n* more steps and waits for the reply.

        Raises:
            WorkerDied: as in `ready`.
        """
        self._ask({"do": "steps", "n": n})
        return self._reply(self._limits.block_s, f"for {n} steps")

    def finish(self) -> None:
        """Asks it to write its result and leave.

        Raises:
            WorkerDied: it did not leave in time, or not with status 0.
        """
        self._ask({"do": "finish"})
        if not ended_within(self.pid, self._limits.finish_s):
            self._timed_out = True
            raise WorkerDied(self.arm, f"did not end within {self._limits.finish_s:g} s of finish", timed_out=True)
        self._reap()
        if self.ended is None or self.ended.exit != 0:
            raise WorkerDied(self.arm, f"ended with {self._how()} after finish")

    def end(self) -> None:
        """Ends it and its group, whatever state it is in."""
        if self.ended is None:
            end_group(self.pid)
            self._reap()

    def tree_cpu_ns(self) -> int | None:
        """CPU time of the process and of all it started, living or waited for; None once it cannot be read."""
        try:
            tree = psutil.Process(self.pid)
            family = [tree, *tree.children(recursive=True)]
            own = tree.cpu_times()
            seconds = getattr(own, "children_user", 0.0) + getattr(own, "children_system", 0.0)
            for member in family:
                times = member.cpu_times()
                seconds += times.user + times.system
        except psutil.Error:
            return None
        return int(seconds * 1e9)

    def _ask(self, request: Mapping[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(strict_json.dumps_line(request).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            raise self._death() from None

    def _reply(self, patience_s: float, what: str) -> dict[str, Any]:
        """One line of its standard output as data; waits without using CPU time."""
        assert self._process.stdout is not None
        stream, deadline = self._process.stdout.fileno(), time.monotonic() + patience_s
        while b"\n" not in self._unread:
            left = deadline - time.monotonic()
            heard = select.select([stream, *self._pidfd], [], [], max(0.0, left))[0]
            if not heard:
                self._timed_out = True
                raise WorkerDied(self.arm, f"gave no reply in {patience_s:g} s when asked {what}", timed_out=True)
            if stream not in heard:  # it is dead, and a child of its keeps the pipe open
                raise self._death()
            chunk = os.read(stream, 1 << 16)
            if not chunk:
                raise self._death()
            self._unread += chunk
            if len(self._unread) > MAX_REPLY_BYTES:
                raise WorkerDied(self.arm, f"its reply is longer than {MAX_REPLY_BYTES} bytes")
        line, _, self._unread = self._unread.partition(b"\n")
        try:
            reply = strict_json.loads(line)
        except strict_json.JsonRefused as fault:
            raise WorkerDied(self.arm, f"its reply is refused: {fault}: {line[:80]!r}") from None
        if not isinstance(reply, dict):
            raise WorkerDied(self.arm, f"its reply is not an object: {line[:80]!r}")
        return reply

    def _death(self) -> WorkerDied:
        """The error for a worker whose pipe is closed."""
        if not ended_within(self.pid, 1.0):
            return WorkerDied(self.arm, "closed its standard output while it lives")
        self._reap()
        return WorkerDied(self.arm, f"ended with {self._how()}")

    def _how(self) -> str:
        ended = self.ended
        return "no status" if ended is None else ended.signal or f"exit status {ended.exit}"

    def _reap(self) -> None:
        """Collects its status and resource use, closes the pipes, and ends what it left behind in its group."""
        while self._pidfd:
            os.close(self._pidfd.pop())
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
        _, status, usage = os.wait4(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self.ended = Ended(
            start=self._start,
            end=utc_now(),
            wall_s=time.monotonic() - self._began,
            exit=code if code >= 0 else None,
            signal=signal.Signals(-code).name if code < 0 else None,
            timed_out=self._timed_out,
            usage=used(usage),
        )
