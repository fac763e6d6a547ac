"""One planned run as one process of its own, from its argv to its record."""

from __future__ import annotations

from twotrees.runs import attempt as attempts
from twotrees.runs import execute, journal
from twotrees.runs.plan import PlannedRun
from twotrees.runs.setting import Matrix, Outcome, Watcher, begin, conclude, interrupt


def one_attempt(
    matrix: Matrix, log: journal.Journal, number: int, planned: PlannedRun, before: str, watcher: Watcher
) -> Outcome:
    """Runs one planned run once, *before* being the digest of the packages that it finds.

    Its record is on the disk and in the journal when this returns.
    """
    arm, work = matrix.arms[planned.arm], matrix.work
    begun = begin(matrix, log, number, planned, before)
    watcher.run_started(planned)
    try:
        ended = execute.run(
            begun.argv,
            env=arm.env,
            cwd=arm.folder,
            out=work.log(number, "out"),
            err=work.log(number, "err"),
            timeout_s=matrix.timeout_s,
            tick=watcher.run_ticked,
        )
    except BaseException as stop:
        interrupt(matrix, log, begun, stop)
        raise
    status, reason, result = attempts.judged(ended, begun.out, work.log(number, "err"), matrix.expected(planned))
    if status == "ok" and planned.mode == "parity" and not work.trace(planned.arm).is_file():
        status, reason = "invalid", "it ended well but wrote no trace"
    outcome = conclude(matrix, log, begun, ended, status, reason, result)
    watcher.run_ended(planned, outcome.status, ended.wall_s)
    return outcome
