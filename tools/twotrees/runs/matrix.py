"""Drives the matrix: each planned run that has no result yet, in order, with the journal before and after it.

In: a written plan and what each arm's runs may see. Out: `runs/NNNN.json` for every attempt. Started again after a
crash it goes on where the journal ends.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from twotrees import strict_json
from twotrees.digest import sha256_file
from twotrees.errors import EXIT_PINS_DIFFER, PinsDiffer, RunFailed
from twotrees.runs import attempt as attempts
from twotrees.runs import execute, journal
from twotrees.runs.plan import PlannedRun
from twotrees.runs.surroundings import Private, Roots
from twotrees.runs.work import Work, write_json


class Watcher(Protocol):
    """Sees the matrix go by: a progress display, or nobody."""

    def run_started(self, planned: PlannedRun) -> None:
        """Called before a run."""

    def run_ticked(self, elapsed_s: float) -> None:
        """Called about once a second during a run."""

    def run_ended(self, planned: PlannedRun, status: str, wall_s: float) -> None:
        """Called after a run."""


@dataclass(frozen=True)
class Arm:
    """What one arm's runs are given.

    Attributes:
        name: The arm.
        env: All environment variables.
        scrubbed: Names that were taken out.
        private: Its own folders.
        argv: Makes the argv of a run: (planned run, result file, trace file) to tokens.
        roots: Folders that its records name by symbols.
        imported_wrong: Tells what is wrong with the files that a result says it imported; empty when nothing is.
    """

    name: str
    env: Mapping[str, str]
    scrubbed: Sequence[str]
    private: Private
    roots: Roots
    argv: Callable[[PlannedRun, Path, Path], list[str]]
    imported_wrong: Callable[[Sequence[Mapping[str, Any]]], Sequence[str]]


@dataclass(frozen=True)
class Matrix:
    """Everything that stays the same from run to run.

    Attributes:
        work: The campaign's folder.
        runs: The planned runs.
        arms: By name.
        backend: Backend name.
        expected: For a planned run, the result keys that must have the plan's values.
        timeout_s: Limit of one run.
        stop_on_failure: Whether a failed run ends the matrix.
        environment_digest: Digest of the installed distributions, taken before and after each run.
        frozen_cache: Whether every run finds the tuner state that the first run left.
    """

    work: Work
    runs: Sequence[PlannedRun]
    arms: Mapping[str, Arm]
    backend: str
    expected: Callable[[PlannedRun], Mapping[str, Any]]
    timeout_s: float
    stop_on_failure: bool
    environment_digest: Callable[[], str]
    frozen_cache: bool


@dataclass(frozen=True)
class Outcome:
    """What came of one attempt.

    Attributes:
        status: As in its record.
        reason: Why it does not count; empty when it does.
        pins_differ: Whether it failed because the code or the packages were not the pinned ones.
    """

    status: str
    reason: str
    pins_differ: bool


def drive(matrix: Matrix, watcher: Watcher) -> None:
    """Runs what has not been run.

    Raises:
        RunFailed: a run gave no usable result and the matrix stops at failures; its attempt is kept.
        PinsDiffer: a run imported the wrong code, or the installed packages changed under the campaign.
        KeyboardInterrupt: the running attempt is kept as interrupted.
    """
    log, lines = journal.read(matrix.work.journal)
    close_open_attempt(matrix, log, lines)
    done = finished(matrix.work, lines)
    installed = next(iter(done.values()), None)
    number = sum(line["event"] == "start" for line in lines)
    failed: set[str] = set()
    for planned in matrix.runs:
        if planned.run in done or planned.arm in failed:
            continue
        where = f"run {planned.run} ({planned.arm} {planned.mode} {planned.repeat})"
        before = matrix.environment_digest()
        if before != (installed or before):
            what = "the installed packages are no longer those of the runs before it"
            raise PinsDiffer(what, file=where, mend="install them again as they were and resume, or begin anew")
        installed = before
        number += 1
        outcome = one_attempt(matrix, log, number, planned, before, watcher)
        if outcome.status == "ok":
            continue
        if outcome.pins_differ:
            raise PinsDiffer(outcome.reason, file=where, mend="a result of other code or packages is never used")
        if matrix.stop_on_failure:
            raise RunFailed(
                f"{outcome.status}: {outcome.reason}",
                file=matrix.work.log(number, "err"),
                key=where,
                mend="mend its cause and `nox -s resume`; nothing that has been measured is lost",
            )
        failed.add(planned.arm)  # an arm that cannot run once is not asked eleven times more


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


def one_attempt(
    matrix: Matrix, log: journal.Journal, number: int, planned: PlannedRun, before: str, watcher: Watcher
) -> Outcome:
    """Runs one planned run once, *before* being the digest of the packages that it finds.

    Its record is on the disk and in the journal when this returns.
    """
    arm, work = matrix.arms[planned.arm], matrix.work
    out, trace = work.root / "results" / f"{number:04d}.json", work.trace(planned.arm)
    argv = arm.argv(planned, out, trace)
    if planned.mode == "parity":
        trace.unlink(missing_ok=True)  # of an earlier attempt
    snapshot = work.root / "frozen-cache"
    if matrix.frozen_cache and snapshot.is_dir():
        arm.private.restore_cache(snapshot)
    log.append("start", attempt=number, run=planned.run, arm=planned.arm, mode=planned.mode)
    watcher.run_started(planned)
    cwd = arm.private.root / "tmp"
    try:
        ended = execute.run(
            argv,
            env=arm.env,
            cwd=cwd,
            out=work.log(number, "out"),
            err=work.log(number, "err"),
            timeout_s=matrix.timeout_s,
            tick=watcher.run_ticked,
        )
    except BaseException as stop:
        reason = "stopped by the user" if isinstance(stop, KeyboardInterrupt) else f"stopped by {type(stop).__name__}"
        environment = {"before": before, "after": None}
        keep(matrix, log, interrupted(matrix, number, planned, argv, reason, environment))
        raise
    status, reason, result = attempts.judged(ended, out, work.log(number, "err"), matrix.expected(planned))
    if status == "ok" and planned.mode == "parity" and not trace.is_file():
        status, reason = "invalid", "it ended well but wrote no trace"
    after = matrix.environment_digest()
    pins_differ = ended.exit == EXIT_PINS_DIFFER
    if after != before:
        pins_differ, status, reason = True, "invalid", "the installed packages changed while it ran"
    ours = result.get("twotrees") if isinstance(result, dict) else None
    if status == "ok" and isinstance(ours, dict) and (wrong := arm.imported_wrong(ours.get("provenance", []))):
        pins_differ, status, reason = True, "invalid", "; ".join(wrong)
    record = attempts.record(
        number,
        planned,
        matrix.backend,
        argv=arm.roots.symbolic(argv),
        env=arm.roots.symbolic(arm.env),
        scrubbed=arm.scrubbed,
        ended=ended,
        status=status,
        reason=arm.roots.symbolic(reason),
        environment={"before": before, "after": after},
        result=arm.roots.symbolic(result),
    )
    keep(matrix, log, record)
    if matrix.frozen_cache and status == "ok" and not snapshot.is_dir():
        freeze(arm.private.cache, snapshot)
    watcher.run_ended(planned, status, ended.wall_s)
    return Outcome(status, reason, pins_differ)


def freeze(cache: Path, snapshot: Path) -> None:
    """Copies the tuner's cache to *snapshot*, which is there as a whole or not at all."""
    draft = snapshot.with_name(snapshot.name + ".part")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(cache, draft)
    draft.rename(snapshot)


def keep(matrix: Matrix, log: journal.Journal, record: Mapping[str, Any]) -> None:
    """Writes an attempt's record, then says so in the journal."""
    path = matrix.work.run(record["attempt"])
    write_json(path, record)
    log.append(
        "end",
        attempt=record["attempt"],
        run=record["run"],
        status=record["status"],
        file=f"runs/{path.name}",
        sha256=sha256_file(path),
    )


def interrupted(
    matrix: Matrix,
    number: int,
    planned: PlannedRun,
    argv: Sequence[str],
    reason: str,
    environment: Mapping[str, str | None],
) -> dict[str, Any]:
    """The record of an attempt that was stopped from outside."""
    arm = matrix.arms[planned.arm]
    return attempts.record(
        number,
        planned,
        matrix.backend,
        argv=arm.roots.symbolic(argv),
        env=arm.roots.symbolic(arm.env),
        scrubbed=arm.scrubbed,
        ended=None,
        status="interrupted",
        reason=reason,
        environment=environment,
        result=None,
    )


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
