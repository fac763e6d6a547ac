"""Renderers of an audit: one format per file, each a function of an `AuditResult`."""

from twotrees.audit.render.annotations import to_annotations
from twotrees.audit.render.json_report import to_json
from twotrees.audit.render.markdown import to_markdown
from twotrees.audit.render.sarif import to_sarif
from twotrees.audit.render.terminal import to_terminal

__all__ = ["to_annotations", "to_json", "to_markdown", "to_sarif", "to_terminal"]
