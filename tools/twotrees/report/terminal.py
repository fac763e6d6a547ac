"""The result at a shell: verdict first, then the published tables; no lines are drawn, so a pipe reads as well.

In: a data folder. Out: text on a rich console, one line for each quantity where the width allows, else two or three.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from twotrees.report import numbers, sentences, tables
from twotrees.report.facts import Campaign, Effect, Part, read_campaign
from twotrees.report.words import ENGLISH

MOST_TERMS = 20
MOST_NOTES = 12
GAP = "  "
STYLES = {
    "faster": "bold green",
    "slower": "bold red",
    "equivalent": "cyan",
    "not resolved": "yellow",
    "not comparable": "bold white on red",
    "mixed": "bold",
    "none": "yellow",
}
# For a terminal or a pipe that cannot write them.
ASCII = str.maketrans({"→": ">", "×": "x", "–": "-", "±": "~", "Δ": "d", "…": "."})


def show(data: Path, console: Console) -> None:
    """Prints the whole result.

    Args:
        data: A campaign's data folder.
        console: Where to; its width decides between one line and several for a quantity.

    Raises:
        BundleBroken: the data cannot be read.
    """
    View(console).campaign(read_campaign(data))


@dataclass(frozen=True)
class View:
    """Lays one campaign out on one console."""

    console: Console

    def campaign(self, campaign: Campaign) -> None:
        """Everything, in the order in which a reader needs it."""
        self.verdict(campaign)
        self.circumstances(campaign)
        for arm in campaign.arms[1:] or campaign.arms[:1]:
            self.arm(campaign, arm.name)
        self.say("")
        self.say(sentences.legend(campaign, ENGLISH), "dim")
        self.say(sentences.control(campaign, ENGLISH))
        self.checks(campaign)
        self.lost(campaign)
        if campaign.host is not None:
            self.listed(ENGLISH.not_quiet, campaign.host.warnings)
        shown, rest = campaign.notes[:MOST_NOTES], len(campaign.notes) - MOST_NOTES
        more = [ENGLISH.more_notes.format(count=rest)] if rest > 0 else []
        self.listed(ENGLISH.notes, [*shown, *more])

    def verdict(self, campaign: Campaign) -> None:
        """The one sentence, and what qualifies it."""
        found = sentences.verdict(campaign, ENGLISH)
        self.say(f"{found.text}.", STYLES.get(found.kind, "bold"))
        if gap := sentences.missing(campaign, ENGLISH):
            self.say(f"{gap}.", "bold yellow")
        for label in campaign.labels:
            self.say(f"{ENGLISH.label}: {label}", "bold yellow")

    def circumstances(self, campaign: Campaign) -> None:
        """What was measured, in two or three lines."""
        device = f" on {campaign.device}" if campaign.device else ""
        scale = sentences.scale(campaign, ENGLISH)
        self.say("")
        self.say(f"{campaign.study}, {campaign.backend}{device}; {scale}; protocol {campaign.protocol or '?'}")
        for place, arm in enumerate(campaign.arms):
            role = f" ({ENGLISH.baseline})" if place == 0 else ""
            self.say(f"  {arm.name}{role}: commit {arm.commit[:12] or numbers.NOTHING}")
        if campaign.host is not None:
            facts = "; ".join(f"{label} {fact.value}" for label, fact in campaign.host.asked_first())
            self.put(Text(f"  {facts}"), hanging=4)

    def arm(self, campaign: Campaign, arm: str) -> None:
        """All tables of one arm against the baseline."""
        against = tables.against(campaign, arm, ENGLISH)
        for table in tables.effect_tables(campaign, arm, ENGLISH, most_terms=MOST_TERMS):
            self.heading(f"{table.title}: {against}", table.legend)
            self.effects(table.effects)
            if table.rest:
                self.say(GAP + table.rest, "dim")
        parts = [part for part in campaign.attribution if part.arm == arm]
        if parts:
            self.heading(f"{ENGLISH.attribution}: {against}", ENGLISH.attribution_legend)
            self.parts(parts)

    def effects(self, effects: Sequence[Effect]) -> None:
        """One table of effects: a line each where the width allows, else two, with the estimates below the name."""
        cells = [tables.effect_cells(effect, ENGLISH) for effect in effects]
        header = tables.effect_header(ENGLISH)
        styles = [STYLES.get(effect.verdict, "") for effect in effects]
        if fits(self.console.width, [header, *cells]):
            self.grid(header, cells, right=range(1, 6), last_styles=styles)
            return
        rows = [header, *cells]
        upper = aligned([[name, before_after, verdict] for name, before_after, *_, verdict in rows], right=range(1, 2))
        lower = aligned([row[2:6] for row in rows], right=range(4))
        for above, below, style in zip(upper, lower, ["dim", *styles], strict=True):
            head = style == "dim"
            line = (
                Text(GAP)
                .append(GAP.join(above[:2]), "dim" if head else "")
                .append(GAP)
                .append(above[2].rstrip(), style)
            )
            self.put(line, hanging=4)
            self.pieces(below, "dim" if head else "")

    def pieces(self, pieces: Sequence[str], style: str) -> None:
        """Cells side by side below a name; where they do not fit they lose their alignment, never their intervals."""
        line = GAP * 2 + GAP.join(pieces)
        if cell_len(line) > self.console.width:
            line = GAP * 2 + pieces[0].strip()
            for piece in map(str.strip, pieces[1:]):
                if cell_len(line) + len(GAP) + cell_len(piece) > self.console.width:
                    self.put(Text(line, style))
                    line = GAP * 3 + piece
                else:
                    line += GAP + piece
        self.put(Text(line, style), hanging=6)

    def parts(self, parts: Sequence[Part]) -> None:
        """The attribution, the stage as the last line."""
        header = tables.part_header(ENGLISH)
        cells = [tables.part_cells(part, ENGLISH) for part in parts]
        if not fits(self.console.width, [header, *cells]):
            header, cells = header[:4], [row[:4] for row in cells]
        self.grid(header, cells, right=range(1, len(header)), last_styles=[""] * len(cells))

    def checks(self, campaign: Campaign) -> None:
        """Validity, then parity with the outputs that differ."""
        if campaign.validity:
            self.heading(ENGLISH.validity)
        for check in campaign.validity:
            state, style = ENGLISH.not_ok, "bold red"
            if check.ok:
                state, style = (ENGLISH.ok, "green") if check.checked else (ENGLISH.not_checked, "yellow")
            line = Text(GAP).append(f"{state:<14}", style).append(f"{check.name}: {check.detail}")
            self.put(line, hanging=16)
        self.heading(ENGLISH.parity)
        style = "" if campaign.parity is None or campaign.parity.ok else "bold red"
        self.put(Text(GAP).append(sentences.parity(campaign, ENGLISH), style), hanging=2)
        for output in () if campaign.parity is None else campaign.parity.lines:
            if not output.ok:
                told = f"{output.arm} {output.name}: |Δ| {numbers.delta(output.max_abs_delta)} {output.reason}"
                self.put(Text(GAP * 2 + told), hanging=6)

    def lost(self, campaign: Campaign) -> None:
        """What failed or was interrupted, and how often the campaign was resumed."""
        lines = [
            f"attempt {one.attempt}, run {one.run} ({one.arm} {one.mode} {one.repeat}): {one.status}: {one.reason}"
            for one in campaign.lost_attempts
        ]
        if campaign.resumed:
            lines.append(ENGLISH.interrupted.format(count=campaign.resumed))
        self.listed(ENGLISH.lost, lines)

    def listed(self, title: str, lines: Iterable[str]) -> None:
        """A heading and its lines; nothing where there are none."""
        lines = list(lines)
        if lines:
            self.heading(title)
        for line in lines:
            self.put(Text(GAP + line), hanging=4)

    def heading(self, title: str, legend: str = "") -> None:
        """A title on its own line."""
        self.say("")
        self.say(title, "bold")
        if legend:
            self.put(Text(GAP + legend, "dim"), hanging=2)

    def grid(
        self, header: Sequence[str], rows: Sequence[Sequence[str]], *, right: range, last_styles: Sequence[str]
    ) -> None:
        """Aligned columns; the last one carries the row's style."""
        lines = aligned([header, *rows], right=right)
        for cells, style in zip(lines, ["dim", *last_styles], strict=True):
            head = GAP + GAP.join(cells[:-1]) + GAP
            self.put(Text(head, "dim" if style == "dim" else "").append(cells[-1].rstrip(), style), hanging=4)

    def say(self, text: str, style: str = "") -> None:
        """One paragraph, wrapped at the console's width."""
        self.put(Text(text, style))

    def put(self, text: Text, hanging: int = 0) -> None:
        """Prints *text*; lines after the first are indented by *hanging*."""
        if "utf" not in self.console.encoding.lower():
            text = translated(text)
        if text.cell_len <= self.console.width:
            self.console.print(text, highlight=False, soft_wrap=True)
            return
        indent = " " * hanging
        lines = text.wrap(self.console, self.console.width - hanging)
        for place, line in enumerate(lines):
            line.rstrip()
            self.console.print(line if place == 0 else Text(indent) + line, highlight=False, soft_wrap=True)


def translated(text: Text) -> Text:
    """*text* in ASCII, character for character, so that its styles stay where they are."""
    text = text.copy()
    text.plain = text.plain.translate(ASCII).encode("ascii", "replace").decode()
    return text


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """The width in cells of each column."""
    return [max(cell_len(cell) for cell in column) for column in zip(*rows, strict=True)]


def aligned(rows: Sequence[Sequence[str]], *, right: range) -> list[list[str]]:
    """Every cell padded to its column's width; the columns in *right* end together."""
    widths = column_widths(rows)
    made = []
    for row in rows:
        pads = [" " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True)]
        made.append(
            [pad + cell if i in right else cell + pad for i, (cell, pad) in enumerate(zip(row, pads, strict=True))]
        )
    return made


def fits(width: int, rows: Sequence[Sequence[str]]) -> bool:
    """Whether the rows fit side by side."""
    widths = column_widths(rows)
    return sum(widths) + len(GAP) * len(widths) <= width
