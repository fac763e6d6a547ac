"""Reads one table cell: single values, pairs ("29.1 → 19.2 ms"), lists of runs ("a / b / c"), values with a spread.

In: a cell's text and the units its header gives. Out: a `Cell`. A cell with words in it is no numeric cell; it is read
as prose.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from twotrees.audit.post.numerals import Token, scan
from twotrees.audit.post.surroundings import with_shared_units
from twotrees.audit.post.words import ARROW
from twotrees.audit.units import FACTOR, NONE, PERCENT, Unit, unit_named

_MARKS = re.compile(r"[\s/|,;:()\[\]→≈~±+–*·…=<>，、。-]+|\bn/?a\b|--?>|✓|✅|❌|🚀|🎉|↓|↑|⬇|⬆|\ufe0f", re.IGNORECASE)
_PLUS_MINUS = re.compile(r"\s*(?:±|\+/-)\s*")
_LIST_MARK = re.compile(r"\s*(?P<mark>[/,;、|])\s*")
_PARENTHESIS = re.compile(r"[(\[](?P<inside>[^()\[\]]{1,24})[)\]]")
_TAIL = re.compile(r"(?:[,，:]\s*|\s|_|^)(?P<unit>[^\s,，:_()\[\]]{1,12})\s*$")
# As whole headers these are the least value, a letter, a name.
_NO_UNITS = ("min", "mins", "s", "h", "w")
_PARTS = re.compile(r"\s+/\s+|\s*[,|、]\s*")


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that a cell prints: `value` (one token), `pair` (two), `list` (three or more); `spread` after ±."""

    kind: str
    tokens: tuple[Token, ...]
    spread: Token | None = None

    @property
    def dimension(self) -> str:
        """What it measures."""
        return self.tokens[-1].dimension


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: its items in order where it is numeric, else its text with `wordy` set."""

    text: str
    line: int
    items: tuple[Item, ...]
    wordy: bool

    @property
    def only(self) -> Item | None:
        """Its one item, if it has one."""
        return self.items[0] if len(self.items) == 1 else None


def header_units(header: str) -> tuple[Unit, ...]:
    """The units that a header gives: `(ms)`, `ms / %`, `Time, ms`, `update_state_ms`; empty where none."""
    for match in _PARENTHESIS.finditer(header):
        if units := _units(match["inside"]):
            return units
    outside = _PARENTHESIS.sub(" ", header).strip()
    tail = _TAIL.search(outside)
    for text in (outside, tail["unit"] if tail else ""):
        if text.lower() not in _NO_UNITS and (units := _units(text)):
            return units if text == outside or units[0].dimension != "count" else ()
    return (PERCENT,) if "%" in header else ()


def _units(text: str) -> tuple[Unit, ...]:
    whole = _unit(text)
    if whole is not None:
        return (whole,)
    parts = [_unit(part) for part in _PARTS.split(text.strip())]
    return tuple(part for part in parts if part is not None) if len(parts) > 1 and all(parts) else ()


def _unit(text: str) -> Unit | None:
    return unit_named(text) if text.strip() else None


def read_cell(text: str, line: int, units: Sequence[Unit] = ()) -> Cell:
    """Reads one cell; bare numbers take the header's *units*: the one there is, or each its own by place."""
    tokens = scan(text, line)
    if not tokens or not all(token.quantity for token in tokens) or _words_left(text, tokens):
        return Cell(text, line, (), bool(text.strip()))
    shared = with_shared_units(text, tokens)
    bare = [place for place, token in enumerate(shared) if token.unit is NONE]
    if len(units) == 1:
        for place in bare:
            shared[place] = shared[place].with_unit(units[0])
    items = _items(text, shared)
    if len(units) > 1 and len(units) == len(items):
        items = [_in_unit(item, unit) for item, unit in zip(items, units, strict=True)]
    return Cell(text, line, tuple(items), False)


def _in_unit(item: Item, unit: Unit) -> Item:
    tokens = tuple(token.with_unit(unit) if token.unit is NONE else token for token in item.tokens)
    return Item(item.kind, tokens, item.spread)


def _words_left(text: str, tokens: Sequence[Token]) -> bool:
    rest, at = "", 0
    for token in tokens:
        rest += text[at : token.start] + " "
        at = token.end
    return bool(_MARKS.sub("", rest + text[at:]))


def _items(text: str, tokens: Sequence[Token]) -> list[Item]:
    items: list[Item] = []
    marks: list[str] = []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        following = tokens[place + 1] if place + 1 < len(tokens) else None
        between = text[token.end : following.start] if following else ""
        if items:
            gap = text[items[-1].tokens[-1].end : token.start]
            match = _LIST_MARK.fullmatch(gap)
            marks.append(match["mark"] if match else "")
        if following is not None and ARROW.fullmatch(between):
            items.append(Item("pair", (token, following)))
            place += 2
        elif following is not None and _PLUS_MINUS.fullmatch(between):
            unit = token.unit if token.unit is not NONE else following.unit
            items.append(Item("value", (token.with_unit(unit),), following.with_unit(unit)))
            place += 2
        else:
            items.append(Item("value", (token,)))
            place += 1
    return _with_lists(items, marks)


def _with_lists(items: list[Item], marks: list[str]) -> list[Item]:
    """Three or more values of one unit with the same mark between them are the runs of one thing."""
    plain = all(item.kind == "value" and item.spread is None for item in items)
    one_unit = len({item.dimension for item in items}) == 1
    if len(items) >= 3 and plain and one_unit and len(set(marks)) == 1 and marks[0]:
        return [Item("list", tuple(item.tokens[0] for item in items))]
    return items


def as_factor(cell: Cell) -> Cell:
    """The same cell with bare numbers read as factors: what a column "speedup" prints."""
    return Cell(cell.text, cell.line, tuple(_in_unit(item, FACTOR) for item in cell.items), cell.wordy)


def as_percent(cell: Cell) -> Cell:
    """The same cell with bare numbers read as per cent."""
    return Cell(cell.text, cell.line, tuple(_in_unit(item, PERCENT) for item in cell.items), cell.wordy)
