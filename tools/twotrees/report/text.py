"""Text that came from data, made harmless: one line, no control characters, no invisible or direction-changing ones.

What is left is only text; each layout then escapes it for its own syntax.
"""

from __future__ import annotations

import re
import unicodedata

MOST_CHARS = 2000

# Where GitHub, GitLab and Forgejo would make a link, a mention, a reference or a closing keyword of plain text.
_MARKDOWN_SIGNS = re.compile(r"([\\`*_{}\[\]()#+!|~$^=>-])")
_WORD_BREAK = "&#8203;"
_ZERO_WIDTH_JOINERS = {"\u200c", "\u200d"}


def clean(text: str, most: int = MOST_CHARS) -> str:
    """*text* on one line; control, format and unassigned characters stand as visible escapes.

    Args:
        text: Anything.
        most: Longer text is cut, with an ellipsis.
    """
    shown = "".join(_visible(char) for char in text[: most + 1])
    return shown if len(text) <= most else shown[:most] + "…"


def _visible(char: str) -> str:
    if char in "\n\r\t\v\f\x85\u2028\u2029":
        return " "
    category = unicodedata.category(char)
    if category in {"Cc", "Cf", "Cs", "Co", "Cn"} and char not in _ZERO_WIDTH_JOINERS:
        return f"\\u{ord(char):04x}" if ord(char) > 0xFF else f"\\x{ord(char):02x}"
    return char


def markdown(text: str) -> str:
    """*text* as plain Markdown, also inside a table cell: no markup, no HTML, no mention, no reference, no link."""
    shown = _MARKDOWN_SIGNS.sub(r"\\\1", clean(text))
    shown = shown.replace("&", "&amp;").replace("<", "&lt;")
    shown = shown.replace("@", f"@{_WORD_BREAK}")
    # After the backslash a digit would still be read as an issue number by some hosts.
    shown = re.sub(r"\\#(?=\w)", rf"\\#{_WORD_BREAK}", shown)
    shown = re.sub(r"(?i)\b(https?|ftp|mailto|xmpp):", rf"\1{_WORD_BREAK}:", shown)
    return re.sub(r"(?i)\bwww\.", f"www{_WORD_BREAK}.", shown)


def code(text: str) -> str:
    """*text* as a Markdown code span, also inside a table cell; empty text stays empty."""
    shown = clean(text)
    if not shown.strip():
        return ""
    if "`" in shown or "|" in shown or "\\" in shown:
        # Hosts disagree about backslashes and pipes in a code span inside a table; an HTML element avoids them.
        return f"<code>{markdown(shown)}</code>"
    return f"`{shown}`"
