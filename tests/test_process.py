"""Short helpers run to their end: whatever a program does, there is an answer in time and nothing is left of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from waiting import pid_in, wait_dead

from twotrees import process

PYTHON = [sys.executable, "-I", "-c"]
SLEEPER = "import os, sys, time; print(os.getpid(), file=open(sys.argv[1], 'w'), flush=True); time.sleep(600)"


def test_what_it_printed_and_its_status_are_told() -> None:
    done = process.run([*PYTHON, "import sys; print(' out '); print('err', file=sys.stderr); sys.exit(3)"])
    assert (done.ok, done.exit, done.fault) == (False, 3, "")
    assert (done.stdout, done.stderr, done.text) == (b" out \n", b"err\n", "out")


def test_success_is_status_zero() -> None:
    assert process.run(["true"]).ok
    assert not process.run(["false"]).ok


def test_a_signal_is_a_negative_status() -> None:
    assert process.run([*PYTHON, "import os; os.abort()"]).exit == -signal.SIGABRT


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import sys; sys.exit('\\n  fatal: not a git repository\\nmore')", "fatal: not a git repository"),
        ("print('NVML: Driver/library version mismatch'); exit(18)", "NVML: Driver/library version mismatch"),
        ("import sys; print('out'); print('err', file=sys.stderr); exit(1)", "err"),
        ("exit(7)", "exit status 7"),
        ("import os; os.write(2, b'\\xff broken\\n'); exit(1)", "\ufffd broken"),
    ],
)
def test_the_complaint_is_the_first_line_that_tells_why_on_whichever_stream(text: str, complaint: str) -> None:
    assert process.run([*PYTHON, text]).complaint == complaint


def test_a_program_that_is_not_installed_is_a_fault_and_no_exception() -> None:
    done = process.run(["no-such-program-anywhere", "--version"])
    assert (done.ok, done.exit, done.complaint) == (False, None, "no-such-program-anywhere is not installed")


def test_a_program_is_looked_for_in_the_path_that_it_is_given(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("#!/bin/sh\necho mine\n")
    (tmp_path / "mine").chmod(0o755)
    assert process.run(["mine"], env={"PATH": str(tmp_path)}).text == "mine"
    assert process.run(["mine"], env={"PATH": "/usr/bin"}).fault == "mine is not installed"


def test_a_file_that_cannot_be_run_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "broken").write_bytes(b"\x7fELF nonsense")
    (tmp_path / "broken").chmod(0o755)
    assert "did not start" in process.run([str(tmp_path / "broken")]).fault


def test_a_folder_that_is_not_there_is_a_fault(tmp_path: Path) -> None:
    assert "did not start" in process.run(["true"], cwd=tmp_path / "nowhere").fault


def test_it_reads_what_it_is_given_and_nothing_else() -> None:
    assert process.run(["cat"], stdin=b"a\x00b").stdout == b"a\x00b"
    assert process.run(["cat"]).stdout == b""


def test_a_program_that_does_not_read_its_input_is_no_fault() -> None:
    assert process.run(["true"], stdin=b"x" * 2**20).ok


def test_no_shell_looks_at_its_words(tmp_path: Path) -> None:
    word = f"$(touch {tmp_path}/x); `id` * ' \" \n"
    assert process.run(["printf", "%s", word]).stdout == word.encode()
    assert list(tmp_path.iterdir()) == []


def test_much_output_on_both_streams_does_not_block_it() -> None:
    done = process.run([*PYTHON, "import os\nfor _ in range(64): os.write(1, b'x' * 2**16); os.write(2, b'y' * 2**16)"])
    assert (len(done.stdout), len(done.stderr)) == (2**22, 2**22)


def test_its_environment_and_folder_are_those_it_is_given(tmp_path: Path) -> None:
    told = process.run(["env"], env={"PATH": "/usr/bin:/bin", "A": "b=c"}, cwd=tmp_path).text
    assert {"A=b=c", "PATH=/usr/bin:/bin"} <= set(told.splitlines())
    assert "HOME=" not in told
    assert process.run(["pwd", "-P"], cwd=tmp_path).text == str(tmp_path.resolve())


def test_a_program_that_hangs_is_ended_with_its_children_and_what_it_said_is_kept(tmp_path: Path) -> None:
    text = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-c", {SLEEPER!r}, sys.argv[1]])
print("before it hung", flush=True)
time.sleep(600)
"""
    done = process.run([*PYTHON, text, str(tmp_path / "pid")], timeout_s=2.0)
    assert (done.ok, done.exit) == (False, None)
    assert done.fault == f"{sys.executable} gave no answer in 2 s"
    assert done.stdout == b"before it hung\n"
    wait_dead(pid_in(tmp_path / "pid"))


def test_a_child_that_left_the_group_and_holds_the_pipes_is_not_waited_for(tmp_path: Path) -> None:
    text = f"""
import subprocess, sys, time
subprocess.Popen([sys.executable, "-I", "-c", {SLEEPER!r}, sys.argv[1]], start_new_session=True)
time.sleep(600)
"""
    begin = time.monotonic()
    done = process.run([*PYTHON, text, str(tmp_path / "pid")], timeout_s=1.0)
    assert done.exit is None
    assert time.monotonic() - begin < 60  # the child sleeps for ten minutes
    os.kill(pid_in(tmp_path / "pid"), signal.SIGKILL)


def test_ctrl_c_ends_it_and_is_passed_on(tmp_path: Path) -> None:
    text = f"""
import sys
sys.path[:0] = {sys.path!r}
from twotrees import process
process.run([sys.executable, "-I", "-c", {SLEEPER!r}, sys.argv[1]], timeout_s=600)
"""
    caller = subprocess.Popen([*PYTHON, text, str(tmp_path / "pid")], stderr=subprocess.PIPE, start_new_session=True)
    child = pid_in(tmp_path / "pid")
    caller.send_signal(signal.SIGINT)
    _, err = caller.communicate(timeout=30)
    assert b"KeyboardInterrupt" in err
    wait_dead(child)
