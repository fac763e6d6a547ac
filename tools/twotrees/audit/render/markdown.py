"""The audit as Markdown, to be pasted into a pull request."""

from __future__ import annotations

from twotrees.audit.render.wording import headline, worth_showing
from twotrees.audit.result import AuditResult, Passage

MAX_ROWS = 100
_ESCAPES = {ord(char): f"\\{char}" for char in "\\`*_[]<>|~#"} | {ord("\n"): " ", ord("\r"): " "}


def to_markdown(result: AuditResult) -> str:
    """A headline, a table of what is not plainly consistent, and folded lists of the rest."""
    lines = [f"### Audit: {'contradicted' if result.negative else 'no contradiction'}", "", _safe(headline(result)), ""]
    if result.reasons:
        lines += ["Not the published circumstances:", "", *(f"- {_safe(reason)}" for reason in result.reasons), ""]
    findings = worth_showing(result)
    if findings:
        lines += ["| line | grade | finding | smallest change |", "|---:|---|---|---|"]
        lines += [
            f"| {one.line or ''} | {one.grade.value} | {_safe(one.message)} | {_safe(one.change)} |"
            for one in findings[:MAX_ROWS]
        ]
        if len(findings) > MAX_ROWS:
            lines.append(f"| | | … and {len(findings) - MAX_ROWS} more | |")
        lines.append("")
    lines += _folded("Not understood", result.not_understood)
    lines += _folded("Skipped", result.skipped)
    return "\n".join(lines).rstrip("\n") + "\n"


def _folded(title: str, passages: tuple[Passage, ...]) -> list[str]:
    if not passages:
        return []
    rows = [f"- line {one.first}: {_safe(one.what)}: {_safe(one.text)}" for one in passages[:MAX_ROWS]]
    if len(passages) > MAX_ROWS:
        rows.append(f"- … and {len(passages) - MAX_ROWS} more")
    return [f"<details><summary>{title}: {len(passages)}</summary>", "", *rows, "", "</details>", ""]


def _safe(text: str) -> str:
    """Text that no Markdown or HTML of the audited post can break out of, nor notify anybody."""
    return text.translate(_ESCAPES).replace("@", "@\u200b")
