"""Reads a table: each number becomes a claim, and columns that explain each other become relations.

In: a `Table`. Out: claims and relations in the draft. A relation is only made where header words, units and places
leave no doubt about what a column says of which other column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twotrees.audit.claims import Reading
from twotrees.audit.post import gains
from twotrees.audit.post.blocks import Table
from twotrees.audit.post.cells import Cell, Item, as_factor, header_units, read_cell
from twotrees.audit.post.draft import Draft, Entity
from twotrees.audit.post.numerals import scan
from twotrees.audit.post.prose import read_words
from twotrees.audit.post.ranks import remember
from twotrees.audit.post.rates import rates
from twotrees.audit.post.table_sums import shares, totals
from twotrees.audit.post.words import AFTER, BEFORE, RUN_COLUMN, Role, label, role_of, statistic_of, without_unit_note
from twotrees.audit.units import NONE, Unit

GAIN_ROLES = (Role.CHANGE, Role.SAVED, Role.FASTER, Role.INCREASE, Role.SLOWER, Role.RATIO)
MAX_ROWS = 5_000


@dataclass(frozen=True, slots=True)
class Column:
    """What one column's header says.

    `arm` is `before`, `after`, `both` or empty; `words` what it is about; `plain` whether it says nothing but a unit.
    """

    header: str
    words: frozenset[str]
    role: Role
    units: tuple[Unit, ...]
    statistic: str
    arm: str
    run: bool
    plain: bool


@dataclass(frozen=True, slots=True)
class Line:
    """One row: its label and its numeric cells by column; None where a cell is not numeric."""

    label: str
    words: frozenset[str]
    cells: tuple[Cell | None, ...]
    ids: tuple[tuple[tuple[str, ...], ...], ...]  # per cell, per item, per token


@dataclass(frozen=True, slots=True)
class Pair:
    """A before and an after in one row."""

    column: int
    words: frozenset[str]
    before: str
    after: str
    dimension: str


def column_of(header: str) -> Column:
    """Reads one header."""
    before, after = bool(BEFORE.search(header)), bool(AFTER.search(header))
    units = header_units(header)
    arm = "both" if before and after else "before" if before else "after" if after else ""
    role = role_of(header)
    return Column(
        header=header,
        words=label(header),
        role=role,
        units=units,
        statistic=statistic_of(header),
        arm=arm,
        run=bool(RUN_COLUMN.fullmatch(without_unit_note(header))),
        plain=not label(header) and role is Role.NONE and not arm,
    )


def read_table(table: Table, draft: Draft) -> None:
    """Reads one table into the draft."""
    for text in table.header.cells:
        read_words(text, ((0, table.header.line),), draft, relate=False)
    columns = [column_of(header) for header in table.header.cells]
    rows = table.rows[:MAX_ROWS]
    if len(table.rows) > MAX_ROWS:
        draft.list_unread(table.rows[MAX_ROWS].line, "", f"rows of a table beyond {MAX_ROWS}")
    labels = _label_columns(columns, table)
    lines: list[Line] = []
    last = ""
    for row in rows:
        words = " ".join(row.cells[place] for place in range(labels)).strip() or last
        last = words
        role = role_of(words) if labels else Role.NONE
        cells: list[Cell | None] = []
        for place, text in enumerate(row.cells):
            cells.append(_cell(text, row.line, place, columns, labels, role, words, draft))
        ids = tuple(_claim_cell(cell, columns[place], draft) for place, cell in enumerate(cells))
        lines.append(Line(words, label(words) if labels else frozenset(), tuple(cells), ids))
    if draft.full:
        return
    if _arms_are_rows(columns, lines):
        _relate_rows_as_arms(columns, lines, labels, draft)
    else:
        for line in lines:
            _relate_row(columns, line, labels, draft)
        _gain_columns(columns, lines, labels, draft)
    plain = [(line.label, line.cells, line.ids) for line in lines]
    totals(plain, labels, draft)
    shares([column.role is Role.SHARE for column in columns], plain, labels, draft)
    rates(plain, labels, draft)
    remember(plain, labels, draft)


def _label_columns(columns: Sequence[Column], table: Table) -> int:
    """How many leading columns name the rows: those in which most cells are no numbers."""
    rows = table.rows[:50]
    for place, column in enumerate(columns[:3]):
        numeric = sum(bool(read_cell(row.cells[place], row.line).items) for row in rows)
        digits = sum(any(char.isdigit() for char in row.cells[place]) for row in rows)
        if column.arm or column.units or (place > 0 and 2 * digits >= len(rows)) or place == len(columns) - 1:
            return place
        if 2 * numeric >= len(rows) and (column.run or column.role is not Role.NONE or column.statistic):
            return place
    return min(3, len(columns) - 1)


def _cell(
    text: str, line: int, place: int, columns: Sequence[Column], labels: int, role: Role, words: str, draft: Draft
) -> Cell | None:
    """One cell as numbers, or None after reading it as words."""
    if not text:
        return None
    column = columns[place]
    if place < labels:
        _label_cell(text, line, column, draft)
        return None
    units = column.units
    row_units = header_units(words) if role is not Role.NONE else ()
    if row_units:
        units = row_units
    cell = read_cell(text, line, () if role is Role.FASTER and not row_units else units)
    if not cell.items:
        read_words(text, ((0, line),), draft, header_unit=units[0] if len(units) == 1 else NONE)
        return None
    speaks_of_factor = _is_speedup(column.header) or (role is Role.FASTER and _is_speedup(words))
    return as_factor(cell) if speaks_of_factor else cell


def _is_speedup(header: str) -> bool:
    lowered = header.lower()
    return any(word in lowered for word in ("speedup", "speed-up", "加速", "提速")) and "%" not in header


def _label_cell(text: str, line: int, column: Column, draft: Draft) -> None:
    """A row's name; bare numbers in it are settings ("8192" under "envs")."""
    tokens = scan(text, line)
    for token in tokens:
        if token.quantity and token.unit is NONE:
            draft.claim(token, quantity="setting", exact=True, metric=" ".join(sorted(column.words)))
        elif token.quantity:
            draft.claim(token, quantity="setting")
        else:
            draft.reference(token)


def _claim_cell(cell: Cell | None, column: Column, draft: Draft) -> tuple[tuple[str, ...], ...]:
    if cell is None:
        return ()
    made = []
    for item in cell.items:
        made.append(tuple(draft.claim(token, statistic=column.statistic) for token in item.tokens))
        if item.spread is not None:
            draft.claim(item.spread, statistic="spread")
    return tuple(made)


# ------------------------------------------------------------------------------------------------ relations of one row


def _relate_row(columns: Sequence[Column], line: Line, labels: int, draft: Draft) -> None:
    pairs = _pairs(columns, line, draft)
    for pair in pairs:
        draft.entities.append(Entity(pair.words, pair.before, pair.after))
    _raw_runs(columns, line, draft)
    _statistics(columns, line, labels, draft)
    for place, cell in enumerate(line.cells):
        if cell is not None:
            _inside(cell, line.ids[place], columns[place], draft)


def _pairs(columns: Sequence[Column], line: Line, draft: Draft) -> list[Pair]:
    """The pairs of one row: pair cells, and a before and an after column that are about the same thing."""
    found = []
    halves: dict[tuple[frozenset[str], str], dict[str, list[int]]] = {}
    for place, cell in enumerate(line.cells):
        if cell is None:
            continue
        column = columns[place]
        for item, ids in zip(cell.items, line.ids[place], strict=True):
            if item.kind == "pair" and all(ids):
                found.append(Pair(place, column.words | line.words, ids[0], ids[1], item.dimension))
        if column.arm in ("before", "after") and column.role is Role.NONE and cell.only and cell.only.kind == "value":
            halves.setdefault((column.words, column.statistic), {}).setdefault(column.arm, []).append(place)
    for (words, _), arms in halves.items():
        if len(arms.get("before", [])) == 1 and len(arms.get("after", [])) == 1:
            pair = _pair_of(line, arms["before"][0], arms["after"][0], words | line.words)
            found += [pair] if pair else []
    for pair in found:
        name = " ".join(sorted(pair.words))
        draft.describe(pair.before, arm="before", metric=name)
        draft.describe(pair.after, arm="after", metric=name)
    return sorted(found, key=lambda pair: pair.column)


def _pair_of(line: Line, before: int, after: int, words: frozenset[str]) -> Pair | None:
    first, second = line.cells[before], line.cells[after]
    if first is None or second is None or first.items[0].dimension != second.items[0].dimension:
        return None
    ids = line.ids[before][0][0], line.ids[after][0][0]
    return Pair(max(before, after), words, *ids, second.items[0].dimension) if all(ids) else None


def _raw_runs(columns: Sequence[Column], line: Line, draft: Draft) -> None:
    """Cells that list runs, before and after, for the table that prints their medians."""
    lists: dict[str, tuple[str, ...]] = {}
    for place, cell in enumerate(line.cells):
        if cell is not None and cell.only and cell.only.kind == "list" and columns[place].arm in ("before", "after"):
            lists[columns[place].arm] = line.ids[place][0]
    if lists:
        words = line.words | frozenset().union(*(c.words for c in columns if c.arm in lists))
        draft.entities.append(Entity(words, raw_before=lists.get("before", ()), raw_after=lists.get("after", ())))


def _statistics(columns: Sequence[Column], line: Line, labels: int, draft: Draft) -> None:
    """Columns "run 1 | run 2 | run 3 | median": the statistic is that of the runs; likewise after a list cell."""
    runs: list[str] = []
    dimension = ""
    for place, cell in enumerate(line.cells):
        if cell is None or cell.only is None or place < labels:
            continue
        item, ids = cell.only, line.ids[place][0]
        column = columns[place]
        if item.kind == "list" and not column.statistic:
            runs, dimension = list(ids), item.dimension
        elif column.run and item.kind == "value":
            runs = [*runs, ids[0]] if item.dimension == dimension or not runs else []
            dimension = item.dimension
        elif column.statistic and _comparable(column, item, runs, dimension):
            draft.relate([Reading(column.statistic, tuple(runs))], ids[0])


def _comparable(column: Column, item: Item, runs: Sequence[str], dimension: str) -> bool:
    """Whether a statistic's column is about the runs to its left: one value in their unit, of no arm and no gain."""
    plain = not column.arm and column.role in (Role.NONE, Role.FASTER)
    return plain and item.kind == "value" and len(runs) >= 2 and item.dimension == dimension


def _inside(cell: Cell, ids: Sequence[tuple[str, ...]], column: Column, draft: Draft) -> None:
    """Gains printed in the same cell as their pair, and one value printed in two units."""
    for place, item in enumerate(cell.items):
        if item.kind != "pair":
            continue
        seen: set[str] = set()
        for later, names in zip(cell.items[place + 1 :], ids[place + 1 :], strict=True):
            if later.kind != "value" or later.dimension in seen:
                break
            seen.add(later.dimension)
            role = Role.NONE if column.role in (Role.SHARE, Role.RATIO) else column.role
            before, after = ids[place]
            draft.relate(gains.readings(before, after, item.dimension, later.tokens[0], role), names[0])
    if len(cell.items) == 2 and all(item.kind == "value" for item in cell.items):
        one, two = (item.tokens[0] for item in cell.items)
        if one.dimension == two.dimension and one.unit != two.unit and "(" in cell.text[one.end : two.start]:
            draft.relate([Reading("equal", (ids[0][0],))], ids[1][0])


# ---------------------------------------------------------------------------------------------------- columns of gains


def _gain_columns(columns: Sequence[Column], lines: Sequence[Line], labels: int, draft: Draft) -> None:
    """Relates each gain column, row by row, to the pair that it stands beside."""
    for place, column in enumerate(columns):
        if place < labels or not _is_gain(column, place, lines):
            continue
        made: list[int] = []
        for line in lines:
            cell = line.cells[place]
            pair = _pair_beside(columns, line, place, draft)
            if cell is None or pair is None:
                continue
            seen: set[str] = set()
            for item, names in zip(cell.items, line.ids[place], strict=True):
                if item.kind != "value" or item.dimension in seen:
                    break
                seen.add(item.dimension)
                readings = gains.readings(pair.before, pair.after, pair.dimension, item.tokens[0], column.role)
                made.append(draft.relate(readings, names[0]))
        draft.columns.append((column.header, [one for one in made if one >= 0]))


def _is_gain(column: Column, place: int, lines: Sequence[Line]) -> bool:
    if column.role in GAIN_ROLES and column.arm in ("", "both"):
        return True
    if not column.plain:
        return False
    items = [cell.only for line in lines if (cell := line.cells[place]) is not None]
    return bool(items) and all(item is not None and item.dimension in ("factor", "percent") for item in items)


def _pair_beside(columns: Sequence[Column], line: Line, place: int, draft: Draft) -> Pair | None:
    """The pair about the same thing; else the only one; else the nearest to the left with nothing but gains between."""
    pairs = _pairs(columns, line, draft)
    same = [pair for pair in pairs if columns[place].words and pair.words == columns[place].words | line.words]
    if len(same) == 1:
        return same[0]
    if len(pairs) == 1 and len(line.cells) - len(pairs) <= 12:
        return pairs[0] if _nothing_between(columns, line, pairs[0].column, place) or pairs[0].column > place else None
    left = [pair for pair in pairs if pair.column < place]
    if left and _nothing_between(columns, line, left[-1].column, place):
        return left[-1]
    return None


def _nothing_between(columns: Sequence[Column], line: Line, start: int, end: int) -> bool:
    """Whether only gain columns lie between a pair and a gain."""
    return all(
        line.cells[place] is None or columns[place].role in GAIN_ROLES or columns[place].plain or columns[place].arm
        for place in range(start + 1, end)
    )


# ------------------------------------------------------------------------------------------------------- arms as rows


def _arms_are_rows(columns: Sequence[Column], lines: Sequence[Line]) -> bool:
    if any(column.arm for column in columns[1:]) or len(lines) < 2:
        return False
    befores = [line for line in lines if _row_arm(line) == "before"]
    afters = [line for line in lines if _row_arm(line) == "after"]
    return bool(befores) and bool(afters)


def _row_arm(line: Line) -> str:
    before, after = bool(BEFORE.search(line.label)), bool(AFTER.search(line.label))
    gain = role_of(line.label) is not Role.NONE
    return "" if gain or before == after else "before" if before else "after"


def _relate_rows_as_arms(columns: Sequence[Column], lines: Sequence[Line], labels: int, draft: Draft) -> None:
    """Rows "before", "after", "change" for the same thing: each column is then what a row is elsewhere."""
    groups: dict[frozenset[str], list[Line]] = {}
    for line in lines:
        groups.setdefault(line.words, []).append(line)
    for words, group in groups.items():
        before = [line for line in group if _row_arm(line) == "before"]
        after = [line for line in group if _row_arm(line) == "after"]
        gain_rows = [line for line in group if role_of(line.label) in GAIN_ROLES]
        if len(before) != 1 or len(after) != 1:
            continue
        made: list[int] = []
        for place in range(labels, len(columns)):
            pair = _vertical_pair(before[0], after[0], place, words | columns[place].words)
            if pair is None:
                continue
            name = " ".join(sorted(pair.words))
            draft.describe(pair.before, arm="before", metric=name)
            draft.describe(pair.after, arm="after", metric=name)
            draft.entities.append(Entity(pair.words, pair.before, pair.after))
            for line in gain_rows:
                cell = line.cells[place]
                for item, names in zip(cell.items if cell else (), line.ids[place], strict=True):
                    if item.kind == "value":
                        readings = gains.readings(
                            pair.before, pair.after, pair.dimension, item.tokens[0], role_of(line.label)
                        )
                        made.append(draft.relate(readings, names[0]))
        draft.columns.append((" ".join(sorted(words)), [one for one in made if one >= 0]))


def _vertical_pair(before: Line, after: Line, place: int, words: frozenset[str]) -> Pair | None:
    first, second = before.cells[place], after.cells[place]
    if first is None or second is None or not _one_value(first) or not _one_value(second):
        return None
    if first.items[0].dimension != second.items[0].dimension:
        return None
    ids = before.ids[place][0][0], after.ids[place][0][0]
    return Pair(place, words, *ids, second.items[0].dimension) if all(ids) else None


def _one_value(cell: Cell) -> bool:
    return cell.only is not None and cell.only.kind == "value"
