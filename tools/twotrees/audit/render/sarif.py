"""The audit as SARIF 2.1.0 (OASIS), which code hosts show at the lines it names."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from twotrees import __version__, strict_json
from twotrees.audit.render.wording import LOUDNESS, MEANINGS, sentence, worth_showing
from twotrees.audit.result import AuditResult, Finding, Grade

# The largest number of results that code hosts take from one run.
MAX_RESULTS = 5000


def to_sarif(result: AuditResult) -> str:
    """All findings but the consistent ones, each at its line."""
    findings = worth_showing(result)[:MAX_RESULTS]
    uri = quote(result.source.replace("\\", "/"))
    return strict_json.dumps(
        {
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [
                {
                    "tool": {
                        "driver": {
                            "name": "twotrees audit",
                            "version": __version__,
                            "rules": [_rule(grade) for grade in Grade if grade is not Grade.CONSISTENT],
                        }
                    },
                    "results": [_result(finding, result, uri) for finding in findings],
                }
            ],
        }
    )


def rule_id(grade: Grade) -> str:
    """A grade's name as a rule id."""
    return grade.value.replace(" ", "-")


def _rule(grade: Grade) -> dict[str, Any]:
    return {
        "id": rule_id(grade),
        "shortDescription": {"text": MEANINGS[grade]},
        "defaultConfiguration": {"level": LOUDNESS[grade]},
    }


def _result(finding: Finding, result: AuditResult, uri: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": uri}}
    if finding.line and not result.lines_of:
        place["region"] = {"startLine": finding.line}
    return {
        "ruleId": rule_id(finding.grade),
        "level": LOUDNESS[finding.grade],
        "message": {"text": sentence(finding, result)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"relation/v1": f"{finding.subject}:{finding.printed}"},
    }
