"""Audit: do published numbers follow from each other, and does a bundle reproduce them.

In: a post, a claims file, or claims and a bundle's aggregate. Out: an `AuditResult`, rendered for people or programs.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from twotrees.audit.against import audit_bundle
from twotrees.audit.check import check
from twotrees.audit.claims import Claim, ClaimSet, Reading, Reference, Relation
from twotrees.audit.claims_file import claims_named, claims_yaml, parse_claims, read_claims
from twotrees.audit.post import read_post
from twotrees.audit.render import to_annotations, to_json, to_markdown, to_sarif, to_terminal
from twotrees.audit.result import AuditResult, Finding, Grade, Passage
from twotrees.audit.scripts import Script, extract_script, scripts_in
from twotrees.errors import UsageError

__all__ = [
    "AuditResult",
    "Claim",
    "ClaimSet",
    "Finding",
    "Grade",
    "Passage",
    "Reading",
    "Reference",
    "Relation",
    "Script",
    "audit_bundle",
    "audit_claims",
    "audit_post",
    "check",
    "claims_named",
    "claims_yaml",
    "extract_script",
    "parse_claims",
    "read_claims",
    "read_post",
    "scripts_in",
    "to_annotations",
    "to_json",
    "to_markdown",
    "to_sarif",
    "to_terminal",
]


def audit_post(path: Path) -> AuditResult:
    """Reads a post and checks that its numbers add up.

    Args:
        path: Markdown or a page saved as text.

    Raises:
        UsageError: it cannot be read, is too large, or is no text.
    """
    data = _bytes(path)
    reading = read_post(data, str(path))
    return AuditResult(
        source=str(path),
        sha256=hashlib.sha256(data).hexdigest(),
        claims=reading.claims,
        findings=check(reading.claims),
        skipped=reading.skipped,
        not_understood=reading.not_understood,
    )


def audit_claims(path: Path) -> AuditResult:
    """Checks that the claims of one YAML file add up.

    Args:
        path: A file of conf/claims, or like it; `claims_named` finds one by its name.

    Raises:
        UsageError: names the file and the key that is wrong.
    """
    data = _bytes(path)
    claims = parse_claims(data, path)
    return AuditResult(
        source=str(path),
        sha256=hashlib.sha256(data).hexdigest(),
        claims=claims,
        findings=check(claims),
        lines_of=claims.source.get("file", "the published text"),
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as fault:
        raise UsageError(f"cannot be read: {fault.strerror or fault}", file=path) from None
