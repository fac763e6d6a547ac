"""One measured process: how it ended is told truly, and nothing of it is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from waiting import lives, pid_in, wait_dead

from twotrees.runs import execute
from twotrees.runs.execute import Ended

Script = Callable[..., list[str]]
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}

# Starts a background process in its own group, which writes its id and sleeps; then does what is asked.
WITH_GRANDCHILD = """
    import os, subprocess, sys, time
    body = "import os, signal, sys, time; {mood}; print(os.getpid(), file=open(sys.argv[1], 'w')); time.sleep(600)"
    subprocess.Popen([sys.executable, "-I", "-c", body, sys.argv[1]])
    while not (os.path.exists(sys.argv[1]) and open(sys.argv[1]).read().endswith("\\n")):
        time.sleep(0.02)
    {then}
"""
DEAF = "signal.signal(signal.SIGTERM, signal.SIG_IGN)"


def run(argv: list[str], folder: Path, **changed: Any) -> Ended:
    given: dict[str, Any] = {"env": ENV, "cwd": folder, "timeout_s": 30.0, **changed}
    return execute.run(argv, out=folder / "out", err=folder / "err", **given)


# --- how it ended ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1, 3, 4, 130, 255])
def test_the_exit_status_is_told(script: Script, tmp_path: Path, code: int) -> None:
    ended = run(script("import sys; sys.exit(int(sys.argv[1]))", code), tmp_path)
    assert (ended.exit, ended.signal, ended.timed_out, ended.fault) == (code, None, False, "")


@pytest.mark.parametrize("name", ["SIGKILL", "SIGSEGV", "SIGABRT", "SIGTERM"])
def test_the_signal_that_ended_it_is_told_by_name(script: Script, tmp_path: Path, name: str) -> None:
    ended = run(script("import os, signal, sys; os.kill(os.getpid(), signal.Signals[sys.argv[1]])", name), tmp_path)
    assert (ended.exit, ended.signal, ended.timed_out) == (None, name, False)


def test_a_real_time_signal_is_told_by_number(script: Script, tmp_path: Path) -> None:
    ended = run(script("import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)"), tmp_path)
    assert (ended.exit, ended.signal) == (None, f"signal {signal.SIGRTMIN + 3}")


def test_a_program_that_is_not_there_is_a_fault_and_no_exit_status(tmp_path: Path) -> None:
    ended = run([str(tmp_path / "nothing")], tmp_path)
    assert (ended.exit, ended.signal, ended.usage) == (None, None, {})
    assert "did not start: No such file" in ended.fault


def test_a_file_that_is_no_program_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("hello")
    assert "did not start: Permission denied" in run([str(tmp_path / "text")], tmp_path).fault


# --- what it sees ---------------------------------------------------------------------------------------------------


def test_it_sees_exactly_the_variables_that_it_is_given(tmp_path: Path) -> None:
    run(["/usr/bin/env"], tmp_path, env={"PATH": "/usr/bin", "ONLY": "this=one é"})
    assert sorted((tmp_path / "out").read_text().splitlines()) == ["ONLY=this=one é", "PATH=/usr/bin"]


def test_it_runs_in_the_folder_that_it_is_given_and_reads_an_empty_input(script: Script, tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    argv = script("import os, sys; print(os.path.basename(os.getcwd()), repr(sys.stdin.read()))")
    run(argv, tmp_path, cwd=tmp_path / "here")
    assert (tmp_path / "out").read_text() == "here ''\n"


def test_its_output_is_kept_byte_for_byte_and_the_two_streams_apart(script: Script, tmp_path: Path) -> None:
    run(
        script("import os; os.write(1, bytes(range(256))); os.write(2, b'\\xff\\x00\\r\\n\\x1b[31m{')"),
        tmp_path,
    )
    assert (tmp_path / "out").read_bytes() == bytes(range(256))
    assert (tmp_path / "err").read_bytes() == b"\xff\x00\r\n\x1b[31m{"


def test_an_output_larger_than_any_pipe_neither_blocks_it_nor_gets_lost(script: Script, tmp_path: Path) -> None:
    ended = run(script("import os\nfor _ in range(24): os.write(1, b'x' * 2**20); os.write(2, b'y' * 2**18)"), tmp_path)
    assert ended.exit == 0
    assert (tmp_path / "out").stat().st_size == 24 * 2**20
    assert (tmp_path / "err").stat().st_size == 24 * 2**18


def test_it_leads_a_session_of_its_own_so_that_a_ctrl_c_in_the_terminal_is_not_also_its_own(
    script: Script, tmp_path: Path
) -> None:
    run(script("import os; print(os.getsid(0) == os.getpgrp() == os.getpid())"), tmp_path)
    assert (tmp_path / "out").read_text() == "True\n"


# --- what it used ---------------------------------------------------------------------------------------------------


def test_the_cpu_time_and_memory_it_used_are_told(script: Script, tmp_path: Path) -> None:
    argv = script(
        """
        import time
        block = bytearray(b"x") * (64 << 20)
        while time.process_time() < 0.25:
            pass
        """
    )
    usage = run(argv, tmp_path).usage
    assert usage["user_s"] + usage["sys_s"] >= 0.25
    assert usage["max_rss_kib"] >= 64 << 10
    assert set(usage) == {
        *("user_s", "sys_s", "max_rss_kib", "minor_faults", "major_faults"),
        *("voluntary_switches", "involuntary_switches"),
    }
    assert min(usage.values()) >= 0


def test_the_cpu_time_of_a_child_that_it_waited_for_counts(script: Script, tmp_path: Path) -> None:
    argv = script(
        """
        import subprocess, sys
        burn = "import time\\nwhile time.process_time() < 0.2: pass"
        subprocess.run([sys.executable, "-I", "-c", burn])
        """
    )
    usage = run(argv, tmp_path).usage
    assert usage["user_s"] + usage["sys_s"] >= 0.2


def test_start_end_and_duration_belong_together(script: Script, tmp_path: Path) -> None:
    ended = run(script("import time; time.sleep(0.1)"), tmp_path)
    assert ended.start < ended.end
    assert ended.wall_s >= 0.1


def test_the_watcher_is_told_how_long_it_has_run(script: Script, tmp_path: Path) -> None:
    seen: list[float] = []
    run(script("import time; time.sleep(600)"), tmp_path, timeout_s=1.2, tick=seen.append)
    assert len(seen) >= 2
    assert seen == sorted(seen)
    assert seen[0] >= 1.0


# --- nothing is left ------------------------------------------------------------------------------------------------


def test_a_run_that_hangs_is_ended_when_its_time_is_over(script: Script, tmp_path: Path) -> None:
    ended = run(script("import time; time.sleep(600)"), tmp_path, timeout_s=0.3)
    assert (ended.timed_out, ended.exit, ended.signal) == (True, None, "SIGTERM")
    assert ended.wall_s >= 0.3


def test_a_hanging_run_that_does_not_listen_is_killed(script: Script, tmp_path: Path) -> None:
    argv = script("import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)")
    ended = run(argv, tmp_path, timeout_s=0.5)
    assert (ended.timed_out, ended.signal) == (True, "SIGKILL")


def test_a_run_that_leaves_well_when_asked_to_is_over_time_nevertheless(script: Script, tmp_path: Path) -> None:
    argv = script("import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(600)")
    ended = run(argv, tmp_path, timeout_s=0.5)
    assert (ended.timed_out, ended.exit) == (True, 0)


@pytest.mark.parametrize("mood", ["0", DEAF], ids=["listening", "deaf to SIGTERM"])
def test_what_it_left_running_in_the_background_is_ended_with_it(script: Script, tmp_path: Path, mood: str) -> None:
    ended = run(script(WITH_GRANDCHILD.format(mood=mood, then="sys.exit(0)"), tmp_path / "pid"), tmp_path)
    assert ended.exit == 0
    wait_dead(pid_in(tmp_path / "pid"))


@pytest.mark.parametrize("mood", ["0", DEAF], ids=["listening", "deaf to SIGTERM"])
def test_the_time_limit_ends_its_children_too(script: Script, tmp_path: Path, mood: str) -> None:
    argv = script(WITH_GRANDCHILD.format(mood=mood, then="time.sleep(600)"), tmp_path / "pid")
    assert run(argv, tmp_path, timeout_s=2.0).timed_out
    wait_dead(pid_in(tmp_path / "pid"))


def test_an_error_in_the_watcher_ends_the_run_and_is_passed_on(script: Script, tmp_path: Path) -> None:
    def broken(elapsed_s: float) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(script(WITH_GRANDCHILD.format(mood=DEAF, then="time.sleep(600)"), tmp_path / "pid"), tmp_path, tick=broken)
    wait_dead(pid_in(tmp_path / "pid"))
    assert not [child for child in psutil.Process().children() if str(tmp_path) in " ".join(child.cmdline())]


DRIVER = """
    import sys
    sys.path[:0] = {path!r}
    from pathlib import Path
    from twotrees.runs import execute
    folder = Path(sys.argv[1])
    try:
        execute.run(sys.argv[2:], env={env!r}, cwd=folder, out=folder / "out", err=folder / "err", timeout_s=300)
    except KeyboardInterrupt:
        print("stopped by the user", flush=True)
        sys.exit(130)
"""
TELLS_ITS_ID = """
    import os, signal, sys, time
    {mood}
    open(sys.argv[1] + ".part", "w").write(f"{{os.getpid()}}\\n")
    os.rename(sys.argv[1] + ".part", sys.argv[1])
    time.sleep(600)
"""


def driver(script: Script, tmp_path: Path, argv: list[str]) -> subprocess.Popen[str]:
    """A process of its own that runs *argv* as a campaign would."""
    command = script(DRIVER.format(path=sys.path, env=ENV), tmp_path, *argv)
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)


@pytest.mark.parametrize("mood", ["0", DEAF], ids=["listening", "deaf to SIGTERM"])
def test_ctrl_c_ends_the_run_and_is_passed_on(script: Script, tmp_path: Path, mood: str) -> None:
    campaign = driver(script, tmp_path, script(TELLS_ITS_ID.format(mood=mood), tmp_path / "pid"))
    child = pid_in(tmp_path / "pid")
    campaign.send_signal(signal.SIGINT)
    out, err = campaign.communicate(timeout=30)
    assert (campaign.returncode, out, err) == (130, "stopped by the user\n", "")
    assert not lives(child)


def test_a_second_ctrl_c_does_not_leave_the_run_behind(script: Script, tmp_path: Path) -> None:
    campaign = driver(script, tmp_path, script(TELLS_ITS_ID.format(mood=DEAF), tmp_path / "pid"))
    child = pid_in(tmp_path / "pid")
    campaign.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        campaign.wait(0.5)  # it is being patient with the run
    campaign.send_signal(signal.SIGINT)
    campaign.communicate(timeout=30)
    wait_dead(child)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can tie a child's life to its parent's")
def test_when_the_campaign_is_killed_outright_its_run_dies_with_it(script: Script, tmp_path: Path) -> None:
    campaign = driver(script, tmp_path, script(TELLS_ITS_ID.format(mood=DEAF), tmp_path / "pid"))
    child = pid_in(tmp_path / "pid")
    campaign.kill()
    campaign.communicate(timeout=30)
    wait_dead(child)


def test_a_sandbox_without_pidfd_is_served_by_asking(script: Script) -> None:
    process = subprocess.Popen(script("import time; time.sleep(0.3)"))
    assert not execute.ended_within_by_asking(process.pid, 0.0)
    assert execute.ended_within_by_asking(process.pid, 30.0)
    assert os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT) is not None  # still there to be reaped
    assert process.wait() == 0
