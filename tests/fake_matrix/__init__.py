"""Builds a small matrix whose child is `child.py`, and drives it: in a test, or as a process that can be killed.

``python -m fake_matrix FOLDER`` drives the matrix in FOLDER as a campaign would.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twotrees.digest import sha256_file
from twotrees.runs.journal import Journal
from twotrees.runs.lockstep import Schedule, schedules
from twotrees.runs.matrix import Arm, Matrix, drive
from twotrees.runs.plan import PlannedRun
from twotrees.runs.surroundings import Private, Roots
from twotrees.runs.work import Work

CHILD = Path(__file__).with_name("child.py")
MEASURE = 3
CYCLES, BLOCK = 2, 2
STEPS = 2 * CYCLES * BLOCK  # of one lockstep worker

# Two arms: one parity run each, then two phase runs and one terms run each.
RUNS = tuple(
    PlannedRun(number, arm, mode, repeat)  # type: ignore[arg-type]
    for number, (arm, mode, repeat) in enumerate(
        [
            *[("before", "parity", 1), ("after", "parity", 1)],
            *[("before", "phase", 1), ("before", "phase", 2), ("before", "terms", 1)],
            *[("after", "phase", 1), ("after", "phase", 2), ("after", "terms", 1)],
        ],
        start=1,
    )
)


def rounds(count: int) -> tuple[Schedule, ...]:
    """So many lockstep rounds of the two arms."""
    if not count:
        return ()
    return schedules(("before", "after"), rounds=count, cycles=CYCLES, steps=BLOCK, seed=1)


@dataclass
class Seen:
    """A watcher that keeps what it sees.

    Attributes:
        events: ("start" or the status it ended with, run).
    """

    events: list[tuple[str, int]] = field(default_factory=list)

    def run_started(self, planned: PlannedRun) -> None:
        self.events.append(("start", planned.run))

    def run_ticked(self, elapsed_s: float) -> None:
        pass

    def run_ended(self, planned: PlannedRun, status: str, wall_s: float) -> None:
        self.events.append((status, planned.run))


@dataclass(frozen=True)
class Campaign:
    """A campaign's folder with a fake child that does what `behaviour.json` tells it.

    Attributes:
        folder: Holds the work folder, the child's log, the "installed packages".
        schedules: The lockstep rounds, for a campaign of rounds.
    """

    folder: Path
    schedules: Sequence[Schedule] = ()

    @property
    def runs(self) -> Sequence[PlannedRun]:
        """The planned runs: those of the rounds where there are any."""
        if not self.schedules:
            return RUNS
        slots = [(arm, one.number) for one in self.schedules for arm in one.arms]
        return [PlannedRun(run, arm, "lockstep", number) for run, (arm, number) in enumerate(slots, start=1)]

    @property
    def work(self) -> Work:
        return Work(self.folder / "work")

    @property
    def packages(self) -> Path:
        """Stands in for the installed distributions: its hash is the environment's digest."""
        return self.folder / "packages"

    def begin(self) -> None:
        """What a campaign does before its first run."""
        self.work.make()
        self.work.plan.write_text("{}")
        self.packages.write_text("numpy 2.4.4\n")
        Journal(self.work.journal).append("plan", sha256=sha256_file(self.work.plan))
        self.behave({})

    def behave(self, by_run: Mapping[int, str]) -> None:
        """Tells the child what to do in which run; in the others it is honest."""
        (self.folder / "behaviour.json").write_text(json.dumps({str(run): what for run, what in by_run.items()}))

    def argv(self, planned: PlannedRun, out: Path, trace: Path) -> list[str]:
        words = [planned.run, planned.arm, planned.mode, out, trace, self.folder]
        return [sys.executable, "-I", str(CHILD), *map(str, words)]

    def arm(self, name: str, *, shared: bool) -> Arm:
        root = self.work.private(name).root
        private = Private(root, cache_root=self.work.root / "private" / "shared") if shared else Private(root)
        private.make()
        return Arm(
            name=name,
            env={"PATH": "/usr/bin:/bin", "XDG_CACHE_HOME": str(private.cache), "ARM": name},
            scrubbed=["EDITOR"],
            private=private,
            roots=Roots({"WORK": self.work.root, "HERE": self.folder, "TESTS": CHILD.parent}),
            argv=self.argv,
            imported_wrong=imported_wrong,
        )

    def matrix(self, *, stop: bool = True, frozen: bool = False, shared: bool = False, timeout_s: float = 60) -> Matrix:
        return Matrix(
            work=self.work,
            runs=self.runs,
            arms={name: self.arm(name, shared=shared) for name in ("before", "after")},
            backend="mujoco",
            expected=lambda planned: {"backend": "mujoco", "measure": STEPS if planned.mode == "lockstep" else MEASURE},
            timeout_s=timeout_s,
            stop_on_failure=stop,
            environment_digest=lambda: sha256_file(self.packages),
            frozen_cache=frozen,
            rounds={one.number: one for one in self.schedules},
        )

    def drive(self, **settings: Any) -> list[tuple[str, int]]:
        """Drives the matrix and tells what a watcher saw."""
        seen = Seen()
        drive(self.matrix(**settings), seen)
        return seen.events

    def as_a_process(self) -> subprocess.Popen[str]:
        """Drives the matrix in a process of its own, which can be killed."""
        argv = [sys.executable, "-m", "fake_matrix", str(self.folder), str(len(self.schedules))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
        return subprocess.Popen(argv, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True)

    # --- what came of it ---

    def measured(self) -> list[int]:
        """The runs that the child began, in order, as the child itself noted them."""
        path = self.folder / "measured"
        return [int(line) for line in path.read_text().split()] if path.exists() else []

    def records(self) -> list[dict[str, Any]]:
        paths = sorted((self.work.data / "runs").iterdir())
        return [json.loads(path.read_text()) for path in paths]

    def journal(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.work.journal.read_text().splitlines()]


def imported_wrong(provenance: Sequence[Mapping[str, Any]]) -> list[str]:
    """Stands in for the comparison with the commit."""
    return [f"{item['path']} is not the commit's" for item in provenance if item["path"].startswith("/elsewhere")]
