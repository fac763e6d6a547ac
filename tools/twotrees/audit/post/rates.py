"""Relates a step time to the steps per second printed in the same row of a table.

In: rows as (label, cells, claim ids) and the post's number of environments. Out: relations in the draft. Whether a rate
counts steps or environment steps is taken from the rows: the reading that most of them fit, and at least two.
"""

from __future__ import annotations

from twotrees.audit.claims import Reading, Relation
from twotrees.audit.measure import measured
from twotrees.audit.post.cells import Cell
from twotrees.audit.post.draft import Draft
from twotrees.audit.post.table_sums import Rows, interval_in


def rates(rows: Rows, labels: int, draft: Draft) -> None:
    """Adds a relation to every row, where one column holds step times and one rates."""
    if not rows:
        return
    times, speeds = _columns(rows, labels, "time"), _columns(rows, labels, "rate")
    if len(times) != 1 or len(speeds) != 1:
        return
    couples = []
    for _, cells, ids in rows:
        time, speed = cells[times[0]], cells[speeds[0]]
        if time is not None and speed is not None and time.only and speed.only:
            couples.append((ids[times[0]][0][0], ids[speeds[0]][0][0]))
    couples = [couple for couple in couples if all(couple)]
    for envs in dict.fromkeys((draft.facts.envs or 1, 1)):
        fits = [_fits(step, per_second, envs, draft) for step, per_second in couples]
        if sum(fits) >= 2 and 3 * sum(fits) >= 2 * len(fits):
            for step, per_second in couples:
                draft.relate([Reading("rate", (step,))], per_second, envs=envs)
            return


def _columns(rows: Rows, labels: int, dimension: str) -> list[int]:
    """The columns in which every number is one value of *dimension*."""
    width = len(rows[0][1])
    return [place for place in range(labels, width) if _holds_only([row[1][place] for row in rows], dimension)]


def _holds_only(cells: list[Cell | None], dimension: str) -> bool:
    items = [cell.only for cell in cells if cell is not None]
    return bool(items) and all(
        item is not None and item.kind == "value" and item.dimension == dimension for item in items
    )


def _fits(time: str, speed: str, envs: int, draft: Draft) -> bool:
    reading = Reading("rate", (time,))
    outcome = measured(Relation("", (reading,), speed, envs=envs), reading, interval_in(draft))
    return not outcome.undefined and outcome.gap == 0
