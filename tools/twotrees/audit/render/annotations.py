"""The audit as GitHub workflow commands: printed by a job, they mark the lines of the post in a pull request."""

from __future__ import annotations

from twotrees.audit.render.wording import LOUDNESS, sentence, worth_showing
from twotrees.audit.result import AuditResult, Finding, Grade

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
MAX_ANNOTATIONS = 200


def to_annotations(result: AuditResult) -> str:
    """One command per finding that is worth a reader's time; what agrees or was not tested stays silent."""
    quiet = (Grade.NOT_TESTED, Grade.REPRODUCED, Grade.SAME_DIRECTION)
    findings = [finding for finding in worth_showing(result) if finding.grade not in quiet][:MAX_ANNOTATIONS]
    return "".join(f"{_command(finding, result)}\n" for finding in findings)


def _command(finding: Finding, result: AuditResult) -> str:
    line = f",line={finding.line}" if finding.line and not result.lines_of else ""
    place = f"file={_property(result.source)}{line}"
    name = _COMMANDS[LOUDNESS[finding.grade]]
    return f"::{name} {place},title={_property(finding.grade.value)}::{_data(sentence(finding, result))}"


def _data(text: str) -> str:
    """The message as the runner wants it: a newline in it would end the command."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
