"""Relations down a table: a total row and its parts, shares and the one whole behind them.

In: rows as (label, cells, claim ids). Out: relations in the draft. Times need not add up (a closure gap is a warning);
counts must.
"""

from __future__ import annotations

from collections.abc import Sequence

from twotrees.audit.claims import Claim, Reading, Relation
from twotrees.audit.interval import Interval
from twotrees.audit.measure import Values, measured
from twotrees.audit.post.cells import Cell, Item
from twotrees.audit.post.draft import Draft
from twotrees.audit.post.words import TOTAL_ROW

Rows = Sequence[tuple[str, Sequence[Cell | None], Sequence[tuple[tuple[str, ...], ...]]]]
# A total further from the sum of the rows above it than this share of it is taken for a total of something else.
RELATED = 0.25
MAX_PARTS = 60


def totals(rows: Rows, labels: int, draft: Draft) -> None:
    """Relates a row called "total" to the rows above it, column by column."""
    for place, (name, cells, _) in enumerate(rows):
        if labels == 0 or not TOTAL_ROW.fullmatch(name.strip()) or not 2 <= place <= MAX_PARTS:
            continue
        if any(TOTAL_ROW.fullmatch(above[0].strip()) for above in rows[:place]):
            continue
        for column in range(labels, len(cells)):
            _total(rows, place, column, draft)


def _total(rows: Rows, place: int, column: int, draft: Draft) -> None:
    whole = rows[place][1][column]
    parts = [row[1][column] for row in rows[:place]]
    if whole is None or any(part is None or len(part.items) != len(whole.items) for part in parts):
        return
    for index, item in enumerate(whole.items):
        if not _additive(item) or any(
            part is None or part.items[index].kind != item.kind or part.items[index].dimension != item.dimension
            for part in parts
        ):
            continue
        for side in range(len(item.tokens)):
            names = [row[2][column][index][side] for row in rows[:place]]
            _add(rows[place][2][column][index][side], names, item, draft)


def _additive(item: Item) -> bool:
    return item.kind in ("value", "pair") and item.dimension in ("time", "percent", "count", "none", "memory")


def _add(whole: str, parts: Sequence[str], item: Item, draft: Draft) -> None:
    if not whole or not all(parts):
        return
    values = [_middle(draft.get(one)) for one in (whole, *parts)]
    if values[0] == 0 or abs(values[0] - sum(values[1:])) > RELATED * abs(values[0]):
        return
    counted = item.dimension in ("count", "none") and all(token.text.isdigit() for token in item.tokens)
    if counted:
        draft.relate([Reading("sum", tuple(parts))], whole)
    elif item.dimension != "none":
        draft.relate([Reading("closure", (whole, *parts))])


def _middle(claim: Claim) -> float:
    return float(claim.printed.first.value) if claim.printed else 0.0


def shares(declares: Sequence[bool], rows: Rows, labels: int, draft: Draft) -> None:
    """Relates values to the shares printed in the same cell, or in a column that *declares* shares, to their right."""
    for column in range(labels, len(declares)):
        declared = declares[column]
        couples = []
        for _, cells, ids in rows:
            cell = cells[column]
            if cell is None:
                continue
            if _value_and_share(cell.items):
                couples.append((ids[column][0][0], ids[column][1][0]))
            elif declared and cell.only and cell.only.dimension == "percent" and column > labels:
                left = cells[column - 1]
                if left is not None and left.only and left.only.kind == "value" and left.only.dimension == "time":
                    couples.append((ids[column - 1][0][0], ids[column][0][0]))
        _one_whole([couple for couple in couples if all(couple)], declared, draft)


def _value_and_share(items: Sequence[Item]) -> bool:
    return (
        len(items) == 2
        and all(item.kind == "value" for item in items)
        and items[0].dimension in ("time", "memory", "count")
        and items[1].dimension == "percent"
        and not any(token.signed for item in items for token in item.tokens)
    )


def _one_whole(couples: Sequence[tuple[str, str]], declared: bool, draft: Draft) -> None:
    """One relation where a whole fits all rows; where it fits all but one, a second that names the odd row."""
    couples = couples[:MAX_PARTS]
    if len(couples) < (2 if declared else 3):
        return
    if _fits(couples, draft):
        draft.relate([Reading("common_whole", _flat(couples))])
        return
    odd = [place for place in range(len(couples)) if _fits([*couples[:place], *couples[place + 1 :]], draft)]
    if len(couples) >= 3 and len(odd) == 1:
        others = [*couples[: odd[0]], *couples[odd[0] + 1 :]]
        draft.relate([Reading("common_whole", _flat([couples[odd[0]], *others]))])
    elif declared and len(couples) == 2:
        draft.relate([Reading("common_whole", _flat(couples))])
    elif declared:
        claim = draft.get(couples[0][1])
        draft.list_unread(claim.line, claim.shown(), "shares in this column have no one whole; nothing was concluded")


def _flat(couples: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(name for couple in couples for name in couple)


def _fits(couples: Sequence[tuple[str, str]], draft: Draft) -> bool:
    reading = Reading("common_whole", _flat(couples))
    outcome = measured(Relation("", (reading,)), reading, interval_in(draft))
    return not outcome.undefined and outcome.gap == 0


def interval_in(draft: Draft) -> Values:
    """The intervals of the draft's claims by id."""

    def value(name: str) -> Interval:
        return draft.get(name).interval() or Interval(None, None)

    return value
