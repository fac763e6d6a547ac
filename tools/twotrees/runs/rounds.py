"""One lockstep round of the matrix: a live worker for each arm, each an attempt of its own, counting only together."""

from __future__ import annotations

import time
from collections.abc import Sequence

from twotrees.runs import attempt as attempts
from twotrees.runs import journal
from twotrees.runs.execute import Ended
from twotrees.runs.lockstep import Round, Schedule, Worker, WorkerDied, run_rounds
from twotrees.runs.lockstep_process import Limits, ProcessWorker
from twotrees.runs.plan import PlannedRun
from twotrees.runs.setting import Begun, Matrix, Outcome, Watcher, begin, conclude, interrupt


class Processes:
    """Starts the workers of one round and keeps them, so that each can be told from the others once all have ended."""

    def __init__(self, matrix: Matrix, begun: dict[str, Begun]) -> None:
        self.matrix = matrix
        self.begun = begun
        self.workers: dict[str, ProcessWorker] = {}
        self.deaths: dict[str, WorkerDied] = {}

    def start(self, schedule: Schedule, arm: str) -> Worker:
        """Starts the worker of *arm*; the controller's `run_rounds` calls it in leading order."""
        setting, number = self.matrix.arms[arm], self.begun[arm].number
        limit = self.matrix.timeout_s
        try:
            self.workers[arm] = ProcessWorker(
                arm,
                self.begun[arm].argv,
                env=setting.env,
                cwd=setting.folder,
                err=self.matrix.work.log(number, "err"),
                limits=Limits(ready_s=limit, block_s=limit),
                cores=self.matrix.cores,
            )
        except WorkerDied as death:
            self.deaths[arm] = death
            raise
        return self.workers[arm]


def one_round(
    matrix: Matrix, log: journal.Journal, first: int, planned: Sequence[PlannedRun], before: str, watcher: Watcher
) -> list[Outcome]:
    """Runs one round once; its workers' attempts are numbered from *first*, in the order in which they lead.

    Every record is on the disk and in the journal when this returns. A round in which a worker died counts for no arm:
    the attempt of the one that died is failed, that of the others interrupted.
    """
    begun = {one.arm: begin(matrix, log, first + place, one, before) for place, one in enumerate(planned)}
    for one in begun.values():
        matrix.work.log(one.number, "out").touch()  # a worker's standard output is its replies
        matrix.work.log(one.number, "err").touch()
    processes = Processes(matrix, begun)
    watcher.run_started(planned[0])
    start = time.monotonic()

    def clock() -> int:
        watcher.run_ticked(time.monotonic() - start)  # asked between blocks, when nobody is measured
        return time.monotonic_ns()

    try:
        ended = next(iter(run_rounds([matrix.rounds[planned[0].repeat]], processes.start, clock)))
    except BaseException as stop:
        for one in begun.values():
            interrupt(matrix, log, one, stop)
        raise
    wall_s = (time.monotonic() - start) / len(planned)
    outcomes = []
    for one in begun.values():
        outcomes.append(concluded(matrix, log, one, ended, processes))
        watcher.run_ended(one.planned, outcomes[-1].status, wall_s)
    return outcomes


def concluded(matrix: Matrix, log: journal.Journal, begun: Begun, round_: Round, processes: Processes) -> Outcome:
    """Judges one worker of a round that has ended, and keeps its record."""
    arm = begun.planned.arm
    worker = processes.workers.get(arm)
    how = worker.ended if worker is not None else None
    if how is None:
        reason = str(processes.deaths.get(arm, f"never started: {round_.reason}"))
        now = journal.utc_now()
        how = Ended(now, now, 0.0, None, None, False, {}, reason)
    err = matrix.work.log(begun.number, "err")
    status, reason, result = attempts.judged(how, begun.out, err, matrix.expected(begun.planned))
    if round_.status != "ok":
        mine = round_.reason.startswith(f"{arm}: ")
        status = round_.status if mine else "interrupted"
        reason = f"{round_.reason}: {attempts.tail(err)}" if mine else f"its round ended: {round_.reason}"
        result = None
    elif status == "ok":
        result = {**result, "twotrees": {**result["twotrees"], "lockstep": spinning(round_, arm)}}
    return conclude(matrix, log, begun, how, status, reason, result)


def spinning(round_: Round, arm: str) -> dict[str, object]:
    """Whether a worker computed while it should have waited, by whose account, and how much of a core."""
    seen = [{"seen_by": one.seen_by, "share": round(one.share, 4)} for one in round_.spinning if one.arm == arm]
    return {"order": list(round_.schedule.order), "spinning": seen}
