"""The audit as JSON for programs; its schema is audit.schema.json beside this file."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from twotrees import strict_json
from twotrees.audit.result import AuditResult, Finding, Passage

SCHEMA = "twotrees-audit-v1"
SCHEMA_FILE = Path(__file__).with_name("audit.schema.json")


def to_json(result: AuditResult) -> str:
    """The whole audit; findings in order, worst first."""
    return strict_json.dumps(
        {
            "schema": SCHEMA,
            "source": result.source,
            "sha256": result.sha256,
            "lines_of": result.lines_of or result.source,
            "exit_code": result.exit_code,
            "numbers": len(result.claims.claims),
            "relations": len(result.claims.relations),
            "counts": {grade.value: count for grade, count in result.counts.items()},
            "reasons": list(result.reasons),
            "findings": [_finding(one) for one in result.findings],
            "not_understood": [_passage(one) for one in result.not_understood],
            "skipped": [_passage(one) for one in result.skipped],
        }
    )


def _finding(finding: Finding) -> dict[str, Any]:
    return {**dataclasses.asdict(finding), "grade": finding.grade.value, "claims": list(finding.claims)}


def _passage(passage: Passage) -> dict[str, Any]:
    return {"first": passage.first, "last": passage.last, "text": passage.text, "what": passage.what}
