"""What an audit found: graded findings, what was skipped, what was not understood, and the exit code that follows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum

from twotrees.audit.claims import ClaimSet
from twotrees.errors import EXIT_GOOD, EXIT_NEGATIVE_VERDICT


class Grade(StrEnum):
    """How a relation, or a claim against a bundle, came out."""

    CONSISTENT = "consistent"
    CONTRADICTION = "contradiction"
    UNSUPPORTED = "unsupported"
    CLOSURE_GAP = "closure gap"
    REPRODUCED = "reproduced"
    SAME_DIRECTION = "same direction"
    OPPOSITE = "opposite"
    NOT_TESTED = "not tested"


NEGATIVE = (Grade.CONTRADICTION, Grade.OPPOSITE)
# Worst first, as findings are listed.
ORDER = (
    Grade.CONTRADICTION,
    Grade.OPPOSITE,
    Grade.CLOSURE_GAP,
    Grade.UNSUPPORTED,
    Grade.NOT_TESTED,
    Grade.SAME_DIRECTION,
    Grade.REPRODUCED,
    Grade.CONSISTENT,
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One graded relation, or one claim held against a bundle.

    Attributes:
        grade: Its grade.
        subject: Id of the relation or claim.
        line: Line of the post where it is printed, from 1; 0 where unknown.
        claims: Ids of the claims it speaks of.
        printed: What is printed.
        computed: What the other numbers, or the bundle, give: an interval with its unit; empty where nothing.
        message: One sentence for people.
        size: How far apart printed and computed are, with unit; empty where they are not.
        change: The smallest change that would make it consistent; empty where it is.
    """

    grade: Grade
    subject: str
    line: int
    claims: tuple[str, ...]
    printed: str
    computed: str
    message: str
    size: str = ""
    change: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines `first` to `last` of a post: something skipped (code, an image) or not understood, and why."""

    first: int
    last: int
    text: str
    what: str


@dataclass(frozen=True)
class AuditResult:
    """The whole audit of one source.

    Attributes:
        source: The file or bundle, as it was given.
        sha256: Of the source's bytes; empty for a bundle.
        claims: What was read; `claims_file.claims_yaml` writes it.
        findings: Worst grade first, then by line.
        skipped: Code blocks, images, struck-out text.
        not_understood: Numbers and tables that nothing was concluded from.
        reasons: Why a bundle's numbers may differ from the published ones: another host, scale, subject.
        lines_of: The file whose lines the findings name, where that is not the source itself.
    """

    source: str
    sha256: str
    claims: ClaimSet
    findings: tuple[Finding, ...]
    skipped: tuple[Passage, ...] = ()
    not_understood: tuple[Passage, ...] = ()
    reasons: tuple[str, ...] = ()
    lines_of: str = ""

    @property
    def counts(self) -> dict[Grade, int]:
        """How many findings have each grade that occurs, worst first."""
        seen = Counter(finding.grade for finding in self.findings)
        return {grade: seen[grade] for grade in ORDER if seen[grade]}

    @property
    def negative(self) -> tuple[Finding, ...]:
        """The findings that make the verdict negative."""
        return tuple(finding for finding in self.findings if finding.grade in NEGATIVE)

    @property
    def exit_code(self) -> int:
        """0, or 1 where something printed is contradicted."""
        return EXIT_NEGATIVE_VERDICT if self.negative else EXIT_GOOD


def in_order(findings: list[Finding]) -> tuple[Finding, ...]:
    """Worst grade first, then by line, then as they came."""
    place = {grade: rank for rank, grade in enumerate(ORDER)}
    return tuple(sorted(findings, key=lambda one: (place[one.grade], one.line)))
