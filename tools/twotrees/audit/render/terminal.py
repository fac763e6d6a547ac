"""The audit on a terminal, through rich; plain text where the output is no terminal."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from twotrees.audit.render.wording import LOUDNESS, headline, worth_showing
from twotrees.audit.result import AuditResult, Finding, Passage

MAX_ROWS = 200
MAX_PASSAGES = 40
_STYLES = {"error": "bold red", "warning": "yellow", "note": "dim"}


def to_terminal(result: AuditResult, console: Console) -> None:
    """Prints the verdict, the findings that are not plainly consistent, and what was not understood."""
    console.print(Text(headline(result), style="bold red" if result.negative else "bold"))
    for reason in result.reasons:
        console.print(Text(f"  differs: {reason}"))
    findings = worth_showing(result)
    if findings:
        table = Table(show_edge=False, pad_edge=False)
        table.add_column("line", justify="right", no_wrap=True)
        table.add_column("grade", no_wrap=True)
        table.add_column("finding", overflow="fold", ratio=3)
        table.add_column("smallest change", overflow="fold", ratio=2)
        for finding in findings[:MAX_ROWS]:
            style = _STYLES[LOUDNESS[finding.grade]]
            table.add_row(
                str(finding.line or ""),
                Text(finding.grade.value, style=style),
                Text(_with_computed(finding)),
                Text(finding.change),
            )
        console.print(table)
    if len(findings) > MAX_ROWS:
        console.print(Text(f"… and {len(findings) - MAX_ROWS} more; --json has them all"))
    _passages(console, "not understood", result.not_understood)
    _passages(console, "skipped", result.skipped)


def _with_computed(finding: Finding) -> str:
    """The sentence, and the computed value where it is not in the sentence already."""
    said = not finding.computed or finding.computed in finding.message
    return finding.message if said else f"{finding.message} [{finding.computed}]"


def _passages(console: Console, title: str, passages: tuple[Passage, ...]) -> None:
    if not passages:
        return
    console.print(Text(f"{title}: {len(passages)}"))
    for one in passages[:MAX_PASSAGES]:
        lines = f"{one.first}" if one.first == one.last else f"{one.first}–{one.last}"
        console.print(Text(f"  line {lines}: {one.what}: {one.text}"), overflow="fold")
    if len(passages) > MAX_PASSAGES:
        console.print(Text(f"  … and {len(passages) - MAX_PASSAGES} more"))
