"""Ways to change one thing in a sealed bundle and to make every hash behind it fit again, signature included.

In: what to change. Out: a change for the corpus. In the sound bundle runs 1 and 2 are parity runs; then come, for each
arm, two phase runs and two terms runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from synthetic.corpus import KEY, Bench, Change
from synthetic.forge import edit_json, reaggregate, rechain, reseal

Json = dict[str, Any]
PLAN = "data/plan.json"
JOURNAL = "data/journal.jsonl"
AGGREGATE = "data/aggregate.json"

PHASE, TERMS, OTHER_ARM = 3, 5, 7


def planned(change: Callable[[Json], object]) -> Change:
    """Edits the plan; journal and seals are made to fit."""

    def edit(bench: Bench) -> None:
        edit_json(bench.bundle / PLAN, lambda plan: change(plan) and None)
        rechain(bench.bundle)
        reseal(bench.bundle, KEY)

    return edit


def measured(attempt: int, change: Callable[[Json], object], *, aggregate: bool = False) -> Change:
    """Edits a run file; journal and seals are made to fit, and on request the aggregate."""

    def edit(bench: Bench) -> None:
        edit_json(bench.run(attempt), lambda record: change(record) and None)
        rechain(bench.bundle)
        if aggregate:
            reaggregate(bench.bundle)
        reseal(bench.bundle, KEY)

    return edit


def journalled(change: Callable[[list[Json]], object]) -> Change:
    """Edits the journal's lines; the chain and the seals are made to fit."""

    def edit(bench: Bench) -> None:
        rechain(bench.bundle, lambda lines: change(lines) and None)
        reseal(bench.bundle, KEY)

    return edit


def payload(name: str, change: Callable[[Json], object]) -> Change:
    """Edits any other JSON file; the seals are made to fit."""

    def edit(bench: Bench) -> None:
        edit_json(bench.bundle / name, lambda value: change(value) and None)
        reseal(bench.bundle, KEY)

    return edit


def put(*path: str | int, to: Any) -> Callable[[Any], None]:
    """A change that sets one value deep inside."""

    def change(value: Any) -> None:
        for key in path[:-1]:
            value = value[key]
        value[path[-1]] = to

    return change


def drop(*path: str | int) -> Callable[[Any], None]:
    """A change that deletes one value deep inside."""

    def change(value: Any) -> None:
        for key in path[:-1]:
            value = value[key]
        del value[path[-1]]

    return change


def scaled(series: list[int], factor: float) -> None:
    """Makes samples smaller in place."""
    series[:] = [int(value * factor) for value in series]
