"""Text that came from data, made harmless: one line, no control characters, no invisible or direction-changing ones.

What is left is only text; each layout then escapes it for its own syntax.
"""

from __future__ import annotations

import re
import unicodedata

MOST_CHARS = 2000

# What makes markup, a mention, a reference or a link inside a line, and what makes a block at its start. An underscore
# within a word is only an underscore in GFM.
_SPECIAL = re.compile(
    r"[\\`*\[\]|~$&<@]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])|#(?=\w)|^(?:[-+=>#]|\d+(?=[.)]))"
    r"|(?<![A-Za-z0-9])(?:https?|ftp|mailto|xmpp)(?=:)|(?<![A-Za-z0-9])www(?=\.)",
    re.IGNORECASE,
)
_WORD_BREAK = "&#8203;"
_ENTITIES = {"&": "&amp;", "<": "&lt;"}
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
    return _SPECIAL.sub(_escaped, clean(text).strip())


def _escaped(found: re.Match[str]) -> str:
    sign = found[0]
    if sign in _ENTITIES:
        return _ENTITIES[sign]
    # A backslash alone would leave a mention, an issue's number, a link, or a list; an invisible break does not.
    return f"{sign}{_WORD_BREAK}" if sign == "@" or sign[0].isalnum() else f"\\{sign}" + _WORD_BREAK * (sign == "#")


def code(text: str) -> str:
    """*text* as a Markdown code span, also inside a table cell; empty text stays empty."""
    shown = clean(text)
    if not shown.strip():
        return ""
    if "`" in shown or "|" in shown or "\\" in shown:
        # Hosts disagree about backslashes and pipes in a code span inside a table; an HTML element avoids them.
        return f"<code>{markdown(shown)}</code>"
    return f"`{shown}`"
