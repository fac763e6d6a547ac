"""Cuts a post into tables and paragraphs, and sets code, images and comments aside.

In: text. Out: a `Document` whose blocks keep the line number of everything. One pass over the lines; a post pasted
from a page has lost its fences and its table pipes, so code is also known by its look, and tables by tabs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from twotrees.audit.post import code
from twotrees.audit.post.text import MARK, MAX_LINE, bare, excerpt, normalised
from twotrees.audit.result import Passage

MAX_COLUMNS = 40
MAX_LINES = 200_000
MAX_SKIPPED = 2_000
# A paragraph longer than this is read in pieces, so that no sentence is searched for in megabytes.
MAX_PARAGRAPH_LINES = 60


@dataclass(frozen=True, slots=True)
class Row:
    """One table line, cut into stripped cells."""

    line: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A header and its rows, each with as many cells as the header."""

    header: Row
    rows: tuple[Row, ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A paragraph or list item as one text; `starts` holds the offset at which each of its lines begins."""

    text: str
    starts: tuple[tuple[int, int], ...]
    marker: str = ""

    def line_at(self, offset: int) -> int:
        """The post's line that holds *offset*."""
        line = self.starts[0][1]
        for start, number in self.starts:
            if start > offset:
                break
            line = number
        return line


@dataclass
class Document:
    """What a post consists of, in order."""

    blocks: list[Table | Paragraph] = field(default_factory=list)
    skipped: list[Passage] = field(default_factory=list)
    not_understood: list[Passage] = field(default_factory=list)


Numbered = tuple[int, str]

_FENCE = re.compile(r"^[ ]{0,12}(?:>[ ]?){0,4}[ ]{0,12}(?P<fence>`{3,}|~{3,})")
_QUOTE = re.compile(r"^[ ]{0,3}(?:>[ ]?){1,6}")
_RULE = re.compile(r"^\s*\|?\s*:?-+:?\s*(?:[|+]\s*:?-+:?\s*){0,60}\|?\s*$")
_BOX_RULE = re.compile(r"^[\s─━┄┼╋┬┴┏┓┗┛┌┐└┘├┤┳┻┣┫╇╈┡┩|+=-]{3,}$")
_MARKER = re.compile(
    r"^(?P<marker>\s*(?:[-*+•·▪]|[0-9]{1,3}[.)、]|#{1,6}(?:[ ]+[0-9]{1,2}(?:\.[0-9]{1,2}){0,3}\.?)?))\s+"
)
_SPACED = re.compile(r"[ ]{2,}")


def split(text: str) -> Document:
    """Cuts *text* into blocks. Work and memory are linear in its length."""
    document = Document()
    lines = _outside_fences(text, document)
    script: list[Numbered] = []
    for kind, block in code.sorted_out(_by_blank_lines(lines)):
        if kind == "code":
            script += block
            continue
        if script:
            _skip(document, script, "code")
            script = []
        _read_block([_plain(number, line, document) for number, line in block], document)
    if script:
        _skip(document, script, "code")
    return document


def _plain(number: int, line: str, document: Document) -> Numbered:
    text, skipped = bare(line, number)
    document.skipped += skipped[: MAX_SKIPPED - len(document.skipped)]
    return number, text


def _skip(document: Document, block: Sequence[Numbered], what: str) -> None:
    if len(document.skipped) < MAX_SKIPPED:
        document.skipped.append(Passage(block[0][0], block[-1][0], excerpt(block[0][1]), what))


def _outside_fences(text: str, document: Document) -> list[Numbered]:
    """All lines that are not inside fences, front matter or comments; what is, is listed as skipped."""
    kept: list[Numbered] = []
    held: list[Numbered] = []
    fence, comment = "", False
    raw = text.split("\n", MAX_LINES)
    if len(raw) > MAX_LINES:
        rest = Passage(MAX_LINES + 1, MAX_LINES + 1, excerpt(raw.pop()[:200]), f"lines beyond {MAX_LINES} are not read")
        document.not_understood.append(rest)
    start = 0
    if raw[0].strip() == "---" and "---" in (line.strip() for line in raw[1:60]):
        start = next(i for i, line in enumerate(raw[1:60], start=1) if line.strip() == "---") + 1
        _skip(document, list(enumerate(raw[:start], start=1)), "front matter")
    for number, line in enumerate(raw[start:], start=start + 1):
        line = line.rstrip("\r")
        if len(line) > MAX_LINE:
            document.not_understood.append(Passage(number, number, excerpt(line), f"line longer than {MAX_LINE}"))
            line = ""
        match = _FENCE.match(line)
        if fence:
            held.append((number, line))
            if match and match["fence"].startswith(fence) and not line.strip().strip("`~> "):
                _skip(document, held, "code")
                fence, held = "", []
            continue
        if comment:
            held.append((number, line))
            if "-->" in line:
                _skip(document, held, "comment")
                comment, held = False, []
            continue
        if match and not (match["fence"][0] == "`" and "`" in line[match.end() :]):
            fence, held = match["fence"], [(number, line)]
            kept.append((number, ""))
            continue
        if "<!--" in line and "-->" in line:
            _skip(document, [(number, line)], "comment")
            line = _without_comments(line)
        elif "<!--" in line:
            comment, held = True, [(number, line)]
            line = line[: line.index("<!--")]
        kept.append((number, _QUOTE.sub(lambda found: " " * len(found[0]), normalised(line))))
    if held:
        _skip(document, held, "code" if fence else "comment")
    return kept


def _without_comments(line: str) -> str:
    """Blanks each comment that ends on the line that it began on."""
    at = 0
    while (start := line.find("<!--", at)) >= 0 and (end := line.find("-->", start)) >= 0:
        at = end + 3
        line = line[:start] + " " * (at - start) + line[at:]
    return line


def _by_blank_lines(lines: Sequence[Numbered]) -> list[list[Numbered]]:
    blocks: list[list[Numbered]] = []
    current: list[Numbered] = []
    for number, line in lines:
        if line.strip():
            current.append((number, line))
        elif current:
            blocks.append(current)
            current = []
    return [*blocks, current] if current else blocks


def _read_block(block: Sequence[Numbered], document: Document) -> None:
    """Tables first, wherever they begin in the block; what is left are paragraphs."""
    prose: list[Numbered] = []
    at = 0
    while at < len(block):
        taken, table = _table_at(block, at, prose, document)
        if table is None:
            prose += block[at : at + taken]
            at += taken
            continue
        document.blocks += _paragraphs(prose)
        prose = []
        document.blocks.append(table)
        at += taken
    document.blocks += _paragraphs(prose)


def _table_at(
    block: Sequence[Numbered], at: int, prose: Sequence[Numbered], document: Document
) -> tuple[int, Table | None]:
    """The table that begins at *at*, and how many lines it takes; without a table, how many lines are surely prose."""
    rows = _piped(block, at) or _tabbed(block, at)
    if not rows:
        rows, aligned = _spaced(block, at)
        if not rows:
            return max(1, aligned), None
    header, *body = rows
    if len(header.cells) > MAX_COLUMNS:
        wide = Passage(header.line, rows[-1].line, excerpt(" ".join(header.cells)), "table too wide")
        document.not_understood.append(wide)
        header, body = Row(header.line, ()), []
    width = len(header.cells)
    fitted = [Row(row.line, (row.cells + ("",) * width)[:width]) for row in (header, *body)]
    plain = [Row(row.line, tuple(cell.replace(MARK, " ").strip() for cell in row.cells)) for row in fitted]
    caption = prose[-1][1].strip() if prose else _last_caption(document)
    return rows[-1].line - block[at][0] + 1, Table(plain[0], tuple(plain[1:]), caption)


def _lines_from(block: Sequence[Numbered], start: int) -> Iterator[Numbered]:
    """The block's lines from *start* on, without copying them: each may be asked where a table begins."""
    return (block[place] for place in range(start, len(block)))


def _last_caption(document: Document) -> str:
    last = document.blocks[-1] if document.blocks else None
    return last.text if isinstance(last, Paragraph) else ""


def _piped(block: Sequence[Numbered], at: int) -> list[Row]:
    """A Markdown table: a header with pipes, a rule, and rows while there are pipes."""
    if "|" not in block[at][1] or at + 1 >= len(block) or not _is_rule(block[at + 1][1]) or _is_rule(block[at][1]):
        return []
    rows = [Row(block[at][0], _pipe_cells(block[at][1]))]
    for number, line in _lines_from(block, at + 2):
        if "|" not in line:
            if _is_rule(line):
                continue
            break
        if _is_rule(line):
            continue
        rows.append(Row(number, _pipe_cells(line)))
    return rows if len(rows) > 1 and len(rows[0].cells) > 1 else []


def _is_rule(line: str) -> bool:
    return bool(_RULE.match(line) and "-" in line) or bool(_BOX_RULE.match(line))


def _pipe_cells(line: str) -> tuple[str, ...]:
    inner = line.strip().replace("\\|", "¦")
    inner = inner.removeprefix("|").removesuffix("|")
    return tuple(cell.strip() for cell in inner.split("|"))


def _tabbed(block: Sequence[Numbered], at: int) -> list[Row]:
    """A pasted table: lines with the same number of tabs, at least two of them."""
    tabs = block[at][1].rstrip().count("\t")
    if not tabs or not block[at][1].split("\t", 1)[0].strip():
        return []
    rows = []
    for number, line in _lines_from(block, at):
        if line.rstrip("\r\n ").count("\t") != tabs:
            break
        rows.append(Row(number, tuple(cell.strip() for cell in line.split("\t"))))
    return rows if len(rows) > 1 else []


def _spaced(block: Sequence[Numbered], at: int) -> tuple[list[Row], int]:
    """A terminal's table: at least three lines with the same number of fields set apart by two spaces or more.

    Returns:
        Its rows, or none and the number of lines that are aligned like this without being a table.
    """
    header = tuple(_SPACED.split(block[at][1].strip()))
    if len(header) < 2 or _MARKER.match(block[at][1]):
        return [], 0
    rows = [Row(block[at][0], header)]
    for number, line in _lines_from(block, at + 1):
        if _is_rule(line):
            continue
        cells = tuple(_SPACED.split(line.strip()))
        if len(cells) != len(header):
            break
        rows.append(Row(number, cells))
    numbers = sum(any(char.isdigit() for char in cell) for row in rows[1:] for cell in row.cells)
    return (rows, 0) if len(rows) > 2 and numbers >= len(rows) - 1 else ([], rows[-1].line - block[at][0] + 1)


def _paragraphs(lines: Sequence[Numbered]) -> list[Paragraph]:
    """Joins soft-wrapped lines; each list item, heading and box of its own."""
    groups: list[list[Numbered]] = []
    for number, line in lines:
        if _is_rule(line):
            continue
        last = groups[-1] if groups else []
        goes_on = last and not _MARKER.match(line) and not last[0][1].lstrip().startswith("#")
        if goes_on and len(last) < MAX_PARAGRAPH_LINES:
            last.append((number, line))
        else:
            groups.append([(number, line)])
    return [_joined(group) for group in groups]


def _joined(group: Sequence[Numbered]) -> Paragraph:
    match = _MARKER.match(group[0][1])
    marker = match["marker"] if match else ""
    text, starts = "", []
    for place, (number, line) in enumerate(group):
        if place == 0 and match:
            line = " " * match.end() + line[match.end() :]
        starts.append((len(text), number))
        text += line + " "
    return Paragraph(text.replace(MARK, " "), tuple(starts), marker)
