"""Understands a numeral without a unit by what stands around it: a setting, a name, a version, an interval of settings.

In: a text and its tokens. Out: the same tokens, some called references, some given the unit of their neighbour. A
number that nothing explains stays as it is, and is listed by the caller.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from twotrees.audit.post.numerals import Token
from twotrees.audit.post.words import ARROW, BECOMES, UNTIL
from twotrees.audit.units import NONE, Unit, unit_named


@dataclass(frozen=True, slots=True)
class Placed:
    """A token and what it is used as: `quantity`, `setting` or `reference`."""

    token: Token
    use: str


_KEY = re.compile(r"(?P<key>[A-Za-z_][\w.\-]{0,60})\s{0,2}[=:]\s{0,2}$")
_KEY_UNIT = re.compile(r"_(?P<unit>ms|us|ns|s|pct)$")
_VERSION_WORD = re.compile(
    r"(?:\bversion|\bdriver|\bdrivers|\bCUDA|\bPython|\bLTS|\bkernel|\bUbuntu|\bDebian|\bgcc|\bv|版本|驱动)\s{0,2}$",
    re.IGNORECASE,
)
_SETTING_WORD = re.compile(
    r"(?:\bseed|\bseeds|size|\bnum[_\w]*|\bworkers?|\bthreads?|\bbatch|\bepochs?|\bwarm-?up|\bn\b|\bN\b|\bport|\blevel|\brank|"
    r"\bpriority|\bparallelism|种子|大小|线程数|数量|环境数)\s{0,2}$",
    re.IGNORECASE,
)
_PLACE_WORD = re.compile(
    r"(?:\b(?:runs?|rounds?|stages?|phases?|steps?|tables?|figures?|fig\.|sections?|parts?|cases?|items?|issues?|prs?|"
    r"pull requests?|tests?|lines?|pages?|chapter|appendix|top|no\.|nr\.|day|week|variant|options?|config|group|exp|"
    r"experiment)|第|图|表|问题|方案)\s{0,2}$",
    re.IGNORECASE,
)
_NAME_WORD = re.compile(r"(?:^|[\s(/,;|，、])(?:[A-Z][A-Za-z]*[a-z]?|[A-Z]{2,})(?:[ ][A-Z][A-Za-z]*){0,3}[ ]$")
_ALPHA_END = re.compile(r"[A-Za-z\u4e00-\u9fff]$")
_OPEN = re.compile(r"[\[(]\s?$")
_SAME_LIST = re.compile(r"\s{0,2}(?:[/、,]|and|与|和|或)\s{0,2}", re.IGNORECASE)
_CLOSE = re.compile(r"\s?[\])]")


def placed(text: str, tokens: Sequence[Token], *, header_unit: Unit = NONE) -> list[Placed]:
    """Says what each token of *text* is.

    Args:
        text: What the tokens were scanned from; their places are offsets into it.
        tokens: In order.
        header_unit: The unit that a table's header gives to bare numbers, if any.
    """
    shared = with_shared_units(text, tokens)
    return [_placed(text, shared, place, header_unit) for place in range(len(shared))]


def with_shared_units(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Gives "29.1" of "29.1 → 19.2 ms", "4.23 / 3.92 ms" and "1, 2 and 3 ms" the unit of its right neighbour."""
    shared = list(tokens)
    for place in range(len(shared) - 2, -1, -1):
        left, right = shared[place], shared[place + 1]
        if not left.quantity or not right.quantity:
            continue
        between = text[left.end : right.start]
        pair = ARROW.fullmatch(between) or BECOMES.fullmatch(between) or UNTIL.fullmatch(between)
        if left.unit is NONE and (pair or (_SAME_LIST.fullmatch(between) and right.dimension not in ("count",))):
            shared[place] = left.with_unit(right.unit)
    for place in range(1, len(shared)):
        left, right = shared[place - 1], shared[place]
        between = text[left.end : right.start]
        if right.quantity and left.quantity and right.unit is NONE and ARROW.fullmatch(between):
            shared[place] = right.with_unit(left.unit)
    return shared


def _placed(text: str, tokens: Sequence[Token], place: int, header_unit: Unit) -> Placed:
    token = tokens[place]
    if not token.quantity:
        return Placed(token, "reference")
    before = text[max(0, token.start - 48) : token.start]
    if token.unit is not NONE:
        return Placed(token, "quantity")
    if (key := _KEY.search(before)) is not None:
        if (suffix := _KEY_UNIT.search(key["key"])) is not None:
            unit = unit_named(suffix["unit"])
            return Placed(token.with_unit(unit or NONE), "quantity")
        if "=" in before[key.start() :] or _SETTING_WORD.search(key["key"]):
            return Placed(token, "setting")
    if _SETTING_WORD.search(before):
        return Placed(token, "setting")
    if _VERSION_WORD.search(before):
        return Placed(token.named("version"), "reference")
    if _PLACE_WORD.search(before):
        return Placed(token.named("place"), "reference")
    if _in_brackets(text, tokens, place):
        return Placed(token, "setting")
    if header_unit is not NONE:
        return Placed(token.with_unit(header_unit), "quantity")
    if _NAME_WORD.search(before) and not _in_arithmetic(text, tokens, place):
        return Placed(token.named("name"), "reference")
    return Placed(token, "quantity")


def _in_brackets(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether the token is an end of "[-1, 1]"."""
    for first in (place - 1, place):
        if first < 0 or first + 1 >= len(tokens):
            continue
        left, right = tokens[first], tokens[first + 1]
        if (
            _OPEN.search(text[: left.start][-2:])
            and text[left.end : right.start].strip() == ","
            and _CLOSE.match(text, right.end)
        ):
            return True
    return False


def _in_arithmetic(text: str, tokens: Sequence[Token], place: int) -> bool:
    """Whether an arrow or equals sign ties the token to a neighbour: then it is no name."""
    for first in (place - 1, place):
        if 0 <= first < len(tokens) - 1:
            between = text[tokens[first].end : tokens[first + 1].start]
            if ARROW.fullmatch(between) or between.strip() in ("=", "+", "-", "×", "/", "±"):
                return True
    return False
