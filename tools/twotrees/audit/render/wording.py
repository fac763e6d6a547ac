"""Sentences that every format shares: the verdict of an audit, and how loud each grade is."""

from __future__ import annotations

from typing import Literal

from twotrees.audit.result import AuditResult, Finding, Grade

Loudness = Literal["error", "warning", "note"]
LOUDNESS: dict[Grade, Loudness] = {
    Grade.CONTRADICTION: "error",
    Grade.OPPOSITE: "error",
    Grade.CLOSURE_GAP: "warning",
    Grade.UNSUPPORTED: "warning",
    Grade.NOT_TESTED: "note",
    Grade.SAME_DIRECTION: "note",
    Grade.REPRODUCED: "note",
    Grade.CONSISTENT: "note",
}
MEANINGS: dict[Grade, str] = {
    Grade.CONTRADICTION: "no values inside the printed intervals satisfy the relation",
    Grade.OPPOSITE: "the bundle shows the other direction, or no change where one is claimed",
    Grade.CLOSURE_GAP: "parts do not add up to the whole, as medians need not",
    Grade.UNSUPPORTED: "does not follow from what is printed",
    Grade.NOT_TESTED: "the bundle does not decide it",
    Grade.SAME_DIRECTION: "the bundle shows the same direction",
    Grade.REPRODUCED: "the bundle's interval and the printed one overlap, on the same kind of host",
    Grade.CONSISTENT: "some values inside the printed intervals satisfy the relation",
}


def headline(result: AuditResult) -> str:
    """The verdict in one line."""
    counted = ", ".join(f"{count} {grade.value}" for grade, count in result.counts.items()) or "nothing to check"
    numbers = len(result.claims.claims)
    return f"{result.source}: {numbers} {'number' if numbers == 1 else 'numbers'} read; {counted}"


def worth_showing(result: AuditResult) -> list[Finding]:
    """All findings but the consistent ones."""
    return [finding for finding in result.findings if finding.grade is not Grade.CONSISTENT]


def sentence(finding: Finding, result: AuditResult) -> str:
    """A finding with its mend, and with its place where that is in another file than the audited one."""
    place = f"{result.lines_of} line {finding.line}: " if result.lines_of and finding.line else ""
    mend = f" Smallest change: {finding.change}." if finding.change else ""
    return f"{place}{finding.message}.{mend}"
