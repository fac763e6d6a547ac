"""Drives the matrix: each planned run that has no result yet, in order, with the journal before and after it.

In: a written plan and what each arm's runs may see. Out: `runs/NNNN.json` for every attempt. Started again after a
crash it goes on where the journal ends.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from twotrees import strict_json
from twotrees.digest import sha256_file
from twotrees.errors import PinsDiffer, RunFailed
from twotrees.runs import journal
from twotrees.runs.plan import PlannedRun
from twotrees.runs.rounds import one_round
from twotrees.runs.setting import Arm, Matrix, Outcome, Watcher, interrupted, keep
from twotrees.runs.single import one_attempt
from twotrees.runs.work import Work

__all__ = ["Arm", "Matrix", "Outcome", "Watcher", "drive", "recorded"]

ROUNDS_FAILED_AT_MOST = 3


def drive(matrix: Matrix, watcher: Watcher) -> None:
    """Runs what has not been run.

    Raises:
        RunFailed: a run gave no usable result and the matrix stops at failures, or lockstep rounds fail one after the
            other; every attempt is kept.
        PinsDiffer: a run imported the wrong code, or the installed packages changed under the campaign.
        KeyboardInterrupt: the running attempt is kept as interrupted.
    """
    log, lines = journal.read(matrix.work.journal)
    close_open_attempt(matrix, log, lines)
    done = finished(matrix.work, lines)
    installed = next(iter(done.values()), None)
    number = sum(line["event"] == "start" for line in lines)
    failed: set[str] = set()
    failed_rounds = 0
    for unit in units(matrix.runs):
        first = unit[0]
        if all(planned.run in done for planned in unit) or any(planned.arm in failed for planned in unit):
            continue
        before = unchanged(matrix, installed, first)
        installed = before
        if first.mode == "lockstep":
            outcomes = one_round(matrix, log, number + 1, unit, before, watcher)
        else:
            outcomes = [one_attempt(matrix, log, number + 1, first, before, watcher)]
        wrong = [(planned, outcome) for planned, outcome in zip(unit, outcomes, strict=True) if outcome.status != "ok"]
        number += len(unit)
        for planned, outcome in wrong:
            if outcome.pins_differ:
                mend = "a result of other code or packages is never used"
                raise PinsDiffer(outcome.reason, file=name_of(planned), mend=mend)
        if not wrong:
            failed_rounds = 0
            continue
        if first.mode == "lockstep":
            failed_rounds += 1
            if failed_rounds < ROUNDS_FAILED_AT_MOST:
                continue  # a worker that dies ends its round, not the campaign
        planned, outcome = next((pair for pair in wrong if pair[1].status != "interrupted"), wrong[0])
        if matrix.stop_on_failure:
            raise RunFailed(
                f"{outcome.status}: {outcome.reason}",
                file=matrix.work.log(number - len(unit) + 1 + unit.index(planned), "err"),
                key=name_of(planned),
                mend="mend its cause and `nox -s resume`; nothing that has been measured is lost",
            )
        failed.add(planned.arm)  # an arm that cannot run once is not asked eleven times more


def units(runs: Sequence[PlannedRun]) -> Iterator[list[PlannedRun]]:
    """What is run at once: the workers of a lockstep round together, every other run alone."""
    for _, group in groupby(
        runs, key=lambda run: ("round", run.repeat) if run.mode == "lockstep" else ("run", run.run)
    ):
        yield list(group)


def name_of(planned: PlannedRun) -> str:
    """A run as messages name it."""
    return f"run {planned.run} ({planned.arm} {planned.mode} {planned.repeat})"


def unchanged(matrix: Matrix, installed: str | None, planned: PlannedRun) -> str:
    """The digest of the installed packages, which must be those of the runs before.

    Raises:
        PinsDiffer: they are others.
    """
    now = matrix.environment_digest()
    if now != (installed or now):
        what = "the installed packages are no longer those of the runs before it"
        mend = "install them again as they were and resume, or begin anew"
        raise PinsDiffer(what, file=name_of(planned), mend=mend)
    return now


def finished(work: Work, lines: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """The runs that have a result, and the digest of the packages they ran with.

    Raises:
        RunFailed: a record is not the one that the journal names.
    """
    done = {}
    for line in lines:
        if line["event"] != "end" or line["status"] != "ok":
            continue
        path = work.data / line["file"]
        if not path.is_file() or sha256_file(path) != line["sha256"]:
            what = "is not the record that the journal names"
            raise RunFailed(what, file=path, mend="start a new campaign; this one was changed by hand")
        done[line["run"]] = strict_json.read(path, error=RunFailed)["environment"]["before"]
    return done


def close_open_attempt(matrix: Matrix, log: journal.Journal, lines: list[dict[str, Any]]) -> None:
    """After a crash: the attempt that had begun and of which no end is known becomes an interrupted one."""
    if not lines or lines[-1]["event"] == "plan":
        return
    ended = {line["attempt"] for line in lines if line["event"] == "end"}
    begun = [line for line in lines if line["event"] == "start" and line["attempt"] not in ended]
    for line in begun:
        planned = matrix.runs[line["run"] - 1]
        number = line["attempt"]
        out = matrix.work.root / "results" / f"{number:04d}.json"
        argv = matrix.arms[planned.arm].argv(planned, out, matrix.work.trace(planned.arm))
        for stream in ("out", "err"):
            matrix.work.log(number, stream).touch()
        environment = {"before": None, "after": None}
        reason = "the campaign was killed while it ran"
        keep(matrix, log, interrupted(matrix, number, planned, argv, reason, environment))


def recorded(work: Work) -> list[dict[str, Any]]:
    """Every attempt's record, in order.

    Raises:
        RunFailed: a record cannot be read.
    """
    return [strict_json.read(path, error=RunFailed) for path in sorted((work.data / "runs").glob("*.json"))]
