"""What the audit's tests share: the corpus of posts, the reference post where it is at hand, a shipped claims file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from twotrees.audit import AuditResult, audit_post

REPOSITORY = Path(__file__).resolve().parents[2]
REFERENCE_POST = REPOSITORY.parent / "shared" / "reference" / "post.txt"
REFERENCE_CLAIMS = REPOSITORY / "conf" / "claims" / "unilab_1314.yaml"


@dataclass(frozen=True)
class Planted:
    """One post of the corpus: its text, the kind of its one fault ("none"), and the lines where it must be found."""

    name: str
    fault: str
    lines: frozenset[int]
    text: str


def corpus() -> list[Planted]:
    """Every post of the corpus folder."""
    posts = []
    for file in sorted((Path(__file__).parent / "corpus").glob("*.txt")):
        for piece in ("\n" + file.read_text(encoding="utf-8")).split("\n=== ")[1:]:
            head, _, body = piece.partition("\n")
            name, fault, lines = (part.strip() for part in head.split("|"))
            posts.append(Planted(name, fault, frozenset(map(int, lines.split())), body))
    return posts


def counted_by_hand() -> dict[int, tuple[list[str], list[str]]]:
    """Line of the reference post -> (its quantities, its other numerals)."""
    counted = {}
    for line in (Path(__file__).parent / "reference_numbers.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        number, _, rest = line.partition(" ")
        quantities, _, others = rest.partition("|")
        counted[int(number)] = (sorted(quantities.split()), sorted(others.split()))
    return counted


@pytest.fixture
def audited(tmp_path: Path) -> Callable[[str], AuditResult]:
    """Audits a text as the file post.md."""

    def audit(text: str) -> AuditResult:
        path = tmp_path / "post.md"
        path.write_text(text, encoding="utf-8")
        return audit_post(path)

    return audit
