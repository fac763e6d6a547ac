"""What stays the same from run to run, and how an attempt is kept: its record first, then the line in the journal."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from twotrees.digest import sha256_file
from twotrees.errors import EXIT_PINS_DIFFER
from twotrees.runs import attempt as attempts
from twotrees.runs import journal
from twotrees.runs.execute import Ended
from twotrees.runs.lockstep import Schedule
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
        cwd: Where its runs stand; None for its private folder of temporary files.
        decisions: What to look for in the logs: a name, and the pattern whose group 1 is what a tuner decided.
    """

    name: str
    env: Mapping[str, str]
    scrubbed: Sequence[str]
    private: Private
    roots: Roots
    argv: Callable[[PlannedRun, Path, Path], list[str]]
    imported_wrong: Callable[[Sequence[Mapping[str, Any]]], Sequence[str]]
    cwd: Path | None = None
    decisions: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        """Where its runs stand."""
        return self.cwd or self.private.root / "tmp"


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
        rounds: Schedule of each lockstep round, by its number.
        cores: The cores that every lockstep worker is pinned to; None where the system pins nothing.
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
    rounds: Mapping[int, Schedule] = field(default_factory=dict)
    cores: frozenset[int] | None = None

    @property
    def snapshot(self) -> Path:
        """Where the frozen tuner state lies once there is one."""
        return self.work.root / "frozen-cache"


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


def freeze(cache: Path, snapshot: Path) -> None:
    """Copies the tuner's cache to *snapshot*, which is there as a whole or not at all."""
    draft = snapshot.with_name(snapshot.name + ".part")
    shutil.rmtree(draft, ignore_errors=True)
    shutil.copytree(cache, draft)
    draft.rename(snapshot)


@dataclass(frozen=True)
class Begun:
    """An attempt that is under way.

    Attributes:
        number: Of the attempt.
        planned: Which run it is.
        argv: Its exact command.
        out: The result file that it is to write.
        before: Digest of the packages that it finds.
    """

    number: int
    planned: PlannedRun
    argv: Sequence[str]
    out: Path
    before: str


def begin(matrix: Matrix, log: journal.Journal, number: int, planned: PlannedRun, before: str) -> Begun:
    """Readies what an attempt finds and says in the journal that it begins."""
    arm, work = matrix.arms[planned.arm], matrix.work
    if planned.mode == "parity":
        work.trace(planned.arm).unlink(missing_ok=True)  # of an earlier attempt
    if matrix.frozen_cache and matrix.snapshot.is_dir():
        arm.private.restore_cache(matrix.snapshot)
    out = work.root / "results" / f"{number:04d}.json"
    argv = arm.argv(planned, out, work.trace(planned.arm))
    log.append("start", attempt=number, run=planned.run, arm=planned.arm, mode=planned.mode)
    return Begun(number, planned, argv, out, before)


def conclude(
    matrix: Matrix, log: journal.Journal, begun: Begun, ended: Ended, status: str, reason: str, result: Any
) -> Outcome:
    """Looks whether an attempt ran the right code among unchanged packages, then keeps its record."""
    arm = matrix.arms[begun.planned.arm]
    after = matrix.environment_digest()
    pins_differ = ended.exit == EXIT_PINS_DIFFER
    if after != begun.before:
        pins_differ, status, reason = True, "invalid", "the installed packages changed while it ran"
    ours = result.get("twotrees") if isinstance(result, dict) else None
    if status == "ok" and isinstance(ours, dict) and (wrong := arm.imported_wrong(ours.get("provenance", []))):
        pins_differ, status, reason = True, "invalid", "; ".join(wrong)
    record = attempts.record(
        begun.number,
        begun.planned,
        matrix.backend,
        argv=arm.roots.symbolic(begun.argv),
        env=arm.roots.symbolic(arm.env),
        scrubbed=arm.scrubbed,
        ended=ended,
        status=status,
        reason=arm.roots.symbolic(reason),
        environment={"before": begun.before, "after": after},
        result=arm.roots.symbolic(result),
    )
    if arm.decisions:
        logs = [matrix.work.log(begun.number, stream) for stream in ("out", "err")]
        record["decisions"] = arm.roots.symbolic(attempts.decided(logs, arm.decisions))
    keep(matrix, log, record)
    if matrix.frozen_cache and status == "ok" and not matrix.snapshot.is_dir():
        freeze(arm.private.cache, matrix.snapshot)
    return Outcome(status, reason, pins_differ)


def interrupt(matrix: Matrix, log: journal.Journal, begun: Begun, stop: BaseException) -> None:
    """Keeps the record of an attempt that was stopped from outside."""
    reason = "stopped by the user" if isinstance(stop, KeyboardInterrupt) else f"stopped by {type(stop).__name__}"
    environment = {"before": begun.before, "after": None}
    keep(matrix, log, interrupted(matrix, begun.number, begun.planned, begun.argv, reason, environment))


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
