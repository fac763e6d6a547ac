"""Makes the text of a post uniform without moving anything: every replacement keeps its length.

Full-width digits and punctuation, the many dashes, arrows and spaces become one of each, so that the patterns that
follow are few; columns and offsets stay those of the post.
"""

from __future__ import annotations

import re

from twotrees.audit.result import Passage

MAX_LINE = 20_000
# Stands where a Markdown mark was taken away. No space, so that "**29.1** ms" is not mistaken for aligned columns.
MARK = "\u2063"

_ONE_TO_ONE: dict[int, int | str] = {
    **{code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if code != 0xFF0C},
    0x3000: " ",
    0x00A0: " ",
    0x200B: " ",
    0xFEFF: " ",
    0x2212: "-",
    0x2010: "-",
    0x2011: "-",
    0x2012: "–",
    0x2014: "–",
    0x301C: "~",
    0x2715: "×",
    0x2716: "×",
    0x2A2F: "×",
    0x27F6: "→",
    0x279C: "→",
    0x27A1: "→",
    0x21D2: "→",
    0x2192: "→",
    0x03BC: "µ",
    0x2502: "|",
    0x2503: "|",
}
_ENTITIES = {
    "&nbsp;": " ",
    "&times;": "×",
    "&rarr;": "→",
    "&plusmn;": "±",
    "&minus;": "-",
    "&micro;": "µ",
    "&lt;": "<",
    "&gt;": ">",
    "&amp;": "&",
    "&ndash;": "–",
    "&mdash;": "–",
    "&asymp;": "≈",
}
_ENTITY = re.compile("|".join(_ENTITIES), re.IGNORECASE)
_IMAGE = re.compile(r"!\[[^\[\]]{0,300}\]\([^()\s]{0,500}[^()]{0,200}\)|<img\b[^<>]{0,500}>", re.IGNORECASE)
_LINK = re.compile(r"\[(?P<text>[^\[\]]{0,300})\]\([^()\s]{1,500}(?:\s\"[^\"]{0,200}\")?\)")
_TAG = re.compile(r"</?[a-z][a-z0-9]*(?:\s[^<>]{0,300})?/?>|<!--[^<>]{0,500}-->", re.IGNORECASE)
_BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
_STRUCK = re.compile(r"~~[^~]{1,300}~~|<(?:s|del)>[^<>]{0,300}</(?:s|del)>", re.IGNORECASE)
_EMPHASIS = re.compile(r"\*{1,3}(?=\S)|(?<=\S)\*{1,3}|(?<![A-Za-z0-9_])__?(?=\S)|(?<=\S)__?(?![A-Za-z0-9_])")
_CODE_SPAN = re.compile(r"`(?P<code>[^`]{1,300})`")
_QUANTITY = re.compile(
    r"[-+~≈<>≤≥ ]*[0-9][0-9.,]*\s*[%×xµa-zA-Z/]{0,9}(?:\s*(?:→|->|/)\s*[-+]?[0-9][0-9.,]*\s*[%×xµa-zA-Z/]{0,9})*\s*"
)

_NOT_A_NAME = re.compile(r"[^A-Za-z0-9_.\-/#:]")


def normalised(line: str) -> str:
    """The line with one kind of dash, arrow, space and digit, at unchanged length."""
    plain = line.translate(_ONE_TO_ONE)
    return _ENTITY.sub(lambda match: _ENTITIES[match[0].lower()].ljust(len(match[0])), plain) if "&" in plain else plain


def bare(line: str, number: int) -> tuple[str, list[Passage]]:
    """Takes Markdown's marks out of a normalised line, a MARK for each character.

    Returns:
        The line at unchanged length, and what was skipped in it: images, struck-out text.
    """
    skipped: list[Passage] = []

    def skip(what: str, match: re.Match[str]) -> str:
        skipped.append(Passage(number, number, excerpt(match[0]), what))
        return MARK * len(match[0])

    if "![" in line or "<" in line:
        line = _IMAGE.sub(lambda match: skip("image", match), line)
    if "~~" in line or "<" in line:
        line = _STRUCK.sub(lambda match: skip("struck-out text", match), line)
    if "](" in line:
        line = _LINK.sub(lambda match: f"{MARK}{match['text']}".ljust(len(match[0]), MARK), line)
    if "<" in line:
        line = _BREAK.sub(lambda match: ";" + MARK * (len(match[0]) - 1), line)
        line = _TAG.sub(lambda match: MARK * len(match[0]), line)
    if "`" in line:
        line = _CODE_SPAN.sub(_code_span, line)
    if "*" in line or "_" in line:
        line = _EMPHASIS.sub(lambda match: MARK * len(match[0]), line)
    return line, skipped


def _code_span(match: re.Match[str]) -> str:
    """A code span keeps its text: a quantity as a quantity, all else as one name that holds no quantity."""
    code = match["code"]
    if not _QUANTITY.fullmatch(code) and any(char.isdigit() for char in code) and "=" not in code:
        code = _NOT_A_NAME.sub("_", code)
    return f"{MARK}{code}{MARK}"


def excerpt(text: str, most: int = 80) -> str:
    """A short form of *text* for a list."""
    short = " ".join(text.split())
    return short if len(short) <= most else short[: most - 1] + "…"
