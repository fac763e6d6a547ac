"""Progress beside a measurement: honest estimates, cheap on a terminal, plain in a pipe."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from twotrees.report.progress import Progress, duration
from twotrees.runs.plan import PlannedRun

RUNS = [
    PlannedRun(1, "before", "phase", 1),
    PlannedRun(2, "before", "phase", 2),
    PlannedRun(3, "after", "phase", 1),
    PlannedRun(4, "after", "terms", 1),
]


def console(file: io.StringIO, *, terminal: bool, width: int = 100) -> Console:
    return Console(file=file, force_terminal=terminal, width=width, _environ={"TERM": "xterm"})


def test_a_pipe_gets_one_plain_line_for_each_run_with_the_estimate() -> None:
    file = io.StringIO()
    progress = Progress(console(file, terminal=False), RUNS, guess_s=10.0)
    for run in RUNS:
        progress.run_started(run)
        for second in range(1, 4):
            progress.run_ticked(float(second))
        progress.run_ended(run, "ok", 3.0)
    lines = file.getvalue().splitlines()
    assert lines[0] == "run 1 of 4: before phase 1; about 40 s left (rough)"
    assert lines[1] == "run 2 of 4: before phase 2; about 16 s left (rough)"
    assert len(lines) == len(RUNS)
    assert "\x1b" not in file.getvalue() and "\r" not in file.getvalue()


def test_the_estimate_is_called_rough_only_while_a_remaining_run_has_no_like_that_has_ended() -> None:
    progress = Progress(console(io.StringIO(), terminal=False), RUNS[:3], guess_s=10.0)
    progress.run_ended(RUNS[0], "ok", 4.0)
    assert progress.remaining_s(RUNS[1], 1.0) == (3.0 + 4.0, True)
    progress.run_ended(RUNS[2], "ok", 6.0)
    assert progress.remaining_s(RUNS[1], 1.0) == (3.0 + 6.0, False)


def test_a_run_that_takes_longer_than_expected_never_makes_the_estimate_negative() -> None:
    progress = Progress(console(io.StringIO(), terminal=False), RUNS[:1], guess_s=10.0)
    assert progress.remaining_s(RUNS[0], 99.0) == (0.0, True)


def test_a_lockstep_round_is_waited_for_once_not_once_for_each_worker() -> None:
    workers = [PlannedRun(1 + 2 * r + w, arm, "lockstep", r + 1) for r in range(3) for w, arm in enumerate(("a", "b"))]
    file = io.StringIO()
    progress = Progress(console(file, terminal=False), workers, guess_s=10.0)
    progress.run_started(workers[0])
    assert file.getvalue() == "run 1 of 6: lockstep round 1; about 30 s left (rough)\n"
    progress.run_ended(workers[0], "ok", 20.0)
    progress.run_ended(workers[1], "ok", 20.0)
    assert progress.remaining_s(workers[2], 5.0) == (15.0 + 20.0, False)


def test_a_failed_run_teaches_nothing_and_leaves_a_line() -> None:
    file = io.StringIO()
    progress = Progress(console(file, terminal=False), RUNS, guess_s=10.0)
    progress.run_started(RUNS[0])
    progress.run_ended(RUNS[0], "timeout", 1800.0)
    assert progress.expected_s(RUNS[1]) == (10.0, True)
    assert file.getvalue().splitlines()[-1] == "run 1 of 4: before phase 1 timeout after 30 min 00 s"


def test_a_terminal_gets_one_line_that_is_refreshed_at_most_once_a_second() -> None:
    file = io.StringIO()
    progress = Progress(console(file, terminal=True), RUNS, guess_s=10.0)
    progress.run_started(RUNS[0])
    for tick in range(1, 101):
        progress.run_ticked(tick / 20)
    assert 4 <= file.getvalue().count("\x1b[2K") <= 5
    assert "\n" not in file.getvalue()
    assert "run 1 of 4  before phase 1  5 s  about 35 s left (rough)" in file.getvalue()


def test_the_live_line_never_wraps() -> None:
    file = io.StringIO()
    progress = Progress(console(file, terminal=True, width=30), RUNS, guess_s=10.0)
    progress.run_started(RUNS[0])
    progress.run_ticked(1.0)
    shown = file.getvalue().rsplit("\r", 1)[-1]
    assert len(shown) <= 29


def test_leaving_the_context_frees_the_line_for_an_error_message() -> None:
    file = io.StringIO()
    with pytest.raises(KeyboardInterrupt), Progress(console(file, terminal=True), RUNS, guess_s=10.0) as progress:
        progress.run_started(RUNS[0])
        raise KeyboardInterrupt
    assert file.getvalue().endswith("\x1b[2K\r")


def test_a_dumb_terminal_gets_plain_lines() -> None:
    file = io.StringIO()
    dumb = Console(file=file, force_terminal=True, width=100, _environ={"TERM": "dumb"})
    Progress(dumb, RUNS, guess_s=10.0).run_started(RUNS[0])
    assert file.getvalue() == "run 1 of 4: before phase 1; about 40 s left (rough)\n"


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (125, "2 min 05 s"), (3780, "1 h 03 min")]
)
def test_durations_are_said_as_people_say_them(seconds: float, said: str) -> None:
    assert duration(seconds) == said
