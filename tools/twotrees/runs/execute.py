"""One measured process: started in a group of its own, waited for without polling, ended with all its children.

In: argv, environment, limits, log files. Out: how it ended, when, and what it used. What it means is `attempt.py`'s.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from twotrees.runs.journal import utc_now

TICK_S = 1.0
GRACE_S = 3.0
PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class Ended:
    """How a process ended.

    Attributes:
        start: UTC time before it was started.
        end: UTC time after it was reaped.
        wall_s: Seconds between the two on the monotonic clock.
        exit: Exit status, None when a signal ended it.
        signal: Name of that signal, else None.
        timed_out: Whether it was ended here because its time was over.
        usage: What it and its children used: user_s, sys_s, max_rss_kib, minor and major faults, context switches.
        fault: Why it could not be started, else the empty string.
    """

    start: str
    end: str
    wall_s: float
    exit: int | None
    signal: str | None
    timed_out: bool
    usage: dict[str, float | int]
    fault: str = ""


def run(
    argv: Sequence[str],
    *,
    env: Mapping[str, str],
    cwd: Path,
    out: Path,
    err: Path,
    timeout_s: float,
    tick: Callable[[float], None] = lambda elapsed_s: None,
) -> Ended:
    """Runs *argv* to its end.

    Args:
        argv: The exact command; its program is an absolute path.
        env: All of its environment.
        cwd: Where it runs.
        out: Receives its standard output as bytes.
        err: Receives its standard error as bytes.
        timeout_s: After this its whole group is ended.
        tick: Called about once a second with the seconds since the start, for a progress display.

    Raises:
        KeyboardInterrupt: passed on after the process and its children have been ended.
    """
    start, begin = utc_now(), time.monotonic()
    with out.open("wb") as out_stream, err.open("wb") as err_stream:
        try:
            process = subprocess.Popen(
                argv,
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=out_stream,
                stderr=err_stream,
                start_new_session=True,
                preexec_fn=die_with_parent if sys.platform == "linux" else None,
            )
        except OSError as error:
            fault = f"{argv[0]} did not start: {error.strerror}"
            return Ended(start, utc_now(), time.monotonic() - begin, None, None, False, {}, fault)
        timed_out = False
        try:
            while not ended_within(process.pid, min(TICK_S, max(0.0, timeout_s - (time.monotonic() - begin)))):
                elapsed = time.monotonic() - begin
                if elapsed >= timeout_s:
                    timed_out = True
                    end_group(process.pid)
                tick(elapsed)
        except BaseException:
            end_group(process.pid)
            raise
        finally:
            # Whatever it left behind in its group would disturb the next run. Before it is reaped, because only until
            # then is the number of its group sure to be its own.
            kill_group(process.pid, signal.SIGKILL)
            _, status, usage = os.wait4(process.pid, 0)
            code = process.returncode = os.waitstatus_to_exitcode(status)
        wall_s = time.monotonic() - begin
    return Ended(
        start=start,
        end=utc_now(),
        wall_s=wall_s,
        exit=code if code >= 0 else None,
        signal=signal_name(-code) if code < 0 else None,
        timed_out=timed_out,
        usage=used(usage),
    )


def signal_name(number: int) -> str:
    """Its name; a real-time signal has only a number."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def used(usage: resource.struct_rusage) -> dict[str, float | int]:
    """The parts of rusage that tell whether a run was disturbed; memory in KiB on every platform."""
    rss = usage.ru_maxrss if sys.platform != "darwin" else usage.ru_maxrss // 1024
    return {
        "user_s": usage.ru_utime,
        "sys_s": usage.ru_stime,
        "max_rss_kib": rss,
        "minor_faults": usage.ru_minflt,
        "major_faults": usage.ru_majflt,
        "voluntary_switches": usage.ru_nvcsw,
        "involuntary_switches": usage.ru_nivcsw,
    }


def ended_within(pid: int, seconds: float) -> bool:
    """Waits for a child to end, at most *seconds*, without reaping it and without spending CPU time beside it."""
    if sys.platform != "linux":
        return ended_within_by_kqueue(pid, seconds)
    try:
        descriptor = os.pidfd_open(pid)
    except OSError:  # a kernel, or a sandbox, without it
        return ended_within_by_asking(pid, seconds)
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    finally:
        os.close(descriptor)


def ended_within_by_asking(pid: int, seconds: float) -> bool:
    """The same by asking twenty times a second."""
    deadline = time.monotonic() + seconds
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.05)
    return True


def ended_within_by_kqueue(pid: int, seconds: float) -> bool:
    """The same on macOS and the BSDs."""
    with contextlib.closing(select.kqueue()) as queue:  # type: ignore[attr-defined,unused-ignore]
        watched = select.kevent(  # type: ignore[attr-defined,unused-ignore]
            pid,
            filter=select.KQ_FILTER_PROC,  # type: ignore[attr-defined,unused-ignore]
            flags=select.KQ_EV_ADD,  # type: ignore[attr-defined,unused-ignore]
            fflags=select.KQ_NOTE_EXIT,  # type: ignore[attr-defined,unused-ignore]
        )
        try:
            return bool(queue.control([watched], 1, seconds))
        except ProcessLookupError:  # it has ended already
            return True


def kill_group(pid: int, number: int) -> None:
    """Sends a signal to the group that *pid* leads, if there is anything left of it."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, number)


def end_group(pid: int) -> None:
    """Ends a process and its group: asked first, forced after a grace period."""
    for number, patience in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, GRACE_S)):
        kill_group(pid, number)
        if ended_within(pid, patience):
            return


_libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


def die_with_parent() -> None:
    """Runs in the child before exec: a campaign that is killed outright must not leave a run measuring alone."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
