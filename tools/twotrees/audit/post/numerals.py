"""Finds every numeral of a line: quantities with their units, and references that are no quantities.

In: a bare line. Out: tokens in order of place. Nothing is dropped: what is neither a quantity nor a known kind of
reference comes out as a quantity without a unit, for the caller to understand by its surroundings or to list.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from twotrees.audit.printed import (
    ABOUT_WORDS,
    AT_LEAST_WORDS,
    AT_MOST_WORDS,
    DIGITS,
    EXPONENT,
    MULTIPLIER,
    Printed,
    numeral,
)
from twotrees.audit.units import NONE, UNIT_AFTER, Unit, unit_named


@dataclass(frozen=True, slots=True)
class Token:
    """One numeral in its line.

    Attributes:
        start, end: Its place, unit and words of precision included.
        text: Number or range with sign and words of precision, as printed.
        printed: What the text can stand for; None for a reference.
        unit: As printed; NONE where none is.
        signed: Whether a sign stands before it.
        reference: For what is no quantity: `issue`, `version`, `name`, …; else empty.
        line: Line of the post.
    """

    start: int
    end: int
    text: str
    printed: Printed | None
    unit: Unit
    signed: bool
    reference: str
    line: int

    @property
    def dimension(self) -> str:
        """What its unit measures."""
        return self.unit.dimension

    @property
    def quantity(self) -> bool:
        """Whether it is a number that can be reckoned with."""
        return self.printed is not None

    def with_unit(self, unit: Unit) -> Token:
        """The same number read in another unit."""
        return replace(self, unit=unit)

    def named(self, what: str) -> Token:
        """The same numeral known to be no quantity."""
        return replace(self, printed=None, reference=what)


_NUM = rf"(?:{DIGITS}){EXPONENT}{MULTIPLIER}"
_REFERENCES = (
    ("url", r"https?://[^\s<>()\[\]，。；]{1,400}"),
    (
        "issue",
        r"(?<![A-Za-z0-9_./-])(?:[A-Za-z0-9_.-]{1,60}(?:/[A-Za-z0-9_.-]{1,60})?)?#[0-9]{1,9}(?![0-9A-Za-z])|\b(?:gh|GH)-[0-9]{1,7}\b",
    ),
    ("hash", r"(?<![0-9A-Za-z])(?=[0-9a-f]*[a-f])(?=[0-9a-f]*[0-9])[0-9a-f]{7,128}(?![0-9A-Za-z])"),
    (
        "path",
        r"(?<![A-Za-z0-9_.])(?:[~.]{0,2}/)?(?:[A-Za-z_$.{][\w.${}-]{0,80}/){1,12}(?=[\w.${}-]{0,80}[0-9])[A-Za-z_$.{][\w.${}-]{0,80}",
    ),
    (
        "date",
        r"(?<![0-9.])(?:19|20)[0-9]{2}(?:-[01]?[0-9]-[0-3]?[0-9]|/[01]?[0-9]/[0-3]?[0-9]|年(?:[01]?[0-9]月(?:[0-3]?[0-9]日)?)?)"
        r"(?:[T ][0-9:]{4,8}(?:\.[0-9]+)?Z?)?(?![0-9])",
    ),
    ("time", r"(?<![0-9.:])[0-2]?[0-9]:[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?![0-9:])"),
    (
        "version",
        r"(?<![A-Za-z0-9_.])v?[0-9]{1,9}(?:\.[0-9]{1,9}){2,6}[A-Za-z]{0,12}[0-9]{0,9}(?:[-+.][A-Za-z0-9]{1,40}){0,4}"
        r"(?![A-Za-z0-9_])|(?<![A-Za-z0-9_])v[0-9]{1,9}(?:\.[0-9]{1,9}){0,4}\w{0,8}",
    ),
    (
        "name",
        r"(?<![A-Za-z0-9_])(?:[A-Za-z_][A-Za-z_]{0,60}(?:[-.][A-Za-z_]{1,40}){0,6}[-.]?)[0-9][\w.-]{0,80}(?<![.-])",
    ),
    ("ordinal", r"(?<![A-Za-z0-9_.])[0-9]{1,4}(?:st|nd|rd|th)(?![A-Za-z])|第\s?[0-9]{1,4}"),
    ("citation", r"\[\^?[0-9]{1,3}\](?!\()"),
)
_BY_WORD = "|".join(rf"(?P<{kind}>{pattern})" for kind, pattern in _REFERENCES)
_BEFORE_NUMBER = r"(?<![A-Za-z0-9_.,])(?<![0-9][-–])"
_QUANTITY = (
    rf"(?:(?P<about>(?:(?<![A-Za-z])(?:{ABOUT_WORDS})))\s?|(?P<least>(?<![A-Za-z<=>-])(?:{AT_LEAST_WORDS}))\s?|"
    rf"(?P<most>(?<![A-Za-z<=>-])(?:{AT_MOST_WORDS}))\s?)?"
    rf"(?P<sign>(?<![0-9A-Za-z_)\]])[+-])?{_BEFORE_NUMBER}(?P<first>{_NUM})"
)
_SCAN = re.compile(rf"{_BY_WORD}|{_QUANTITY}", re.IGNORECASE)
_RANGE_END = re.compile(rf"(?:[ ]?–[ ]?|-|~)(?:{ABOUT_WORDS})?(?P<last>{_NUM})", re.IGNORECASE)
_GLUED = re.compile(r"[A-Za-z0-9_]+(?:[-.][A-Za-z0-9_]+){0,6}")
_HYPHEN_UNIT = re.compile(r"-(?P<unit>[A-Za-z]{1,12})(?![A-Za-z0-9])")
_SUPERSCRIPT = re.compile(r"[⁰¹²³⁴-⁹⁻]")
_AFTERTHOUGHT = re.compile(r"\s?(?P<about>左右|上下|or so)|(?P<more>\+(?![0-9])|多(?=[个次倍轮步毫秒微%]|\s|ms))")


def scan(line: str, number: int, most: int = 1_000_000) -> list[Token]:
    """Every numeral of a bare line.

    Args:
        line: Normalised, without Markdown marks.
        number: Its line in the post.
        most: Where to stop.
    """
    tokens: list[Token] = []
    at = 0
    while len(tokens) < most and (match := _SCAN.search(line, at)) is not None:
        token = _token(match, line, number)
        tokens.append(token)
        at = max(token.end, match.end())
    return tokens


def _token(match: re.Match[str], line: str, number: int) -> Token:
    if match["first"] is None:
        kind = match.lastgroup or "name"
        return Token(match.start(), match.end(), match[0], None, NONE, False, kind, number)
    sign = match["sign"] or ""
    end = match.end()
    glued = _GLUED.match(line, end)
    unit_match = UNIT_AFTER.match(line, end)
    # A comma or point with digits behind it is another country's decimal or a list; it cannot be told which.
    odd = re.compile(r"[.,][0-9]").match(line, end) or _SUPERSCRIPT.match(line, end)
    if odd or (glued and not (unit_match and unit_match.end() >= glued.end())):
        if glued and not odd:
            return Token(
                match.start(), glued.end(), line[match.start() : glued.end()], None, NONE, False, "name", number
            )
        tail = re.compile(r"[0-9.,⁰¹²³⁴-⁹⁻]*").match(line, end)
        stop = tail.end() if tail else end
        return Token(match.start(), stop, line[match.start() : stop], None, NONE, False, "unread", number)
    return _quantity(match, line, number, sign, end)


def _quantity(match: re.Match[str], line: str, number: int, sign: str, end: int) -> Token:
    about = bool(match["about"])
    bound = "at least" if match["least"] else "at most" if match["most"] else ""
    first = numeral(sign + match["first"])
    last = None
    first_unit, after_unit = _unit_at(line, end)
    range_match = _RANGE_END.match(line, end) or (
        _RANGE_END.match(line, after_unit) if first_unit is not NONE else None
    )
    if range_match and first is not None and not sign:
        last = numeral(range_match["last"])
        if last is not None and last.value > first.value and not _continues(line, range_match.end()):
            end = range_match.end()
        else:
            last = None
    if first is None:
        return Token(match.start(), end, line[match.start() : end], None, NONE, False, "unread", number)
    text_end = end
    unit, end = _unit_at(line, end)
    if (later := _AFTERTHOUGHT.match(line, end)) is not None:
        about = about or bool(later["about"])
        bound = bound or ("at least" if later["more"] else "")
        end = later.end()
        if unit is NONE:
            unit, end = _unit_at(line, end)
    text = line[match.start() : text_end].strip()
    if last is not None and first_unit is not NONE and unit is first_unit:
        text = f"{line[match.start() : match.end()].strip()}–{range_match['last']}" if range_match else text
    return Token(
        start=match.start(),
        end=end,
        text=text,
        printed=Printed(first, last, about, bound),
        unit=unit,
        signed=bool(sign),
        reference="",
        line=number,
    )


def _continues(line: str, at: int) -> bool:
    """Whether more digits or letters hang on a range: then it was a date, a name or a subtraction."""
    return bool(re.compile(r"[-–.,][0-9]").match(line, at)) or bool(
        _GLUED.match(line, at) and not UNIT_AFTER.match(line, at)
    )


def _unit_at(line: str, at: int) -> tuple[Unit, int]:
    """The unit that starts at *at* (after at most a space, or a hyphen as in "100-step"), and where it ends."""
    if (match := UNIT_AFTER.match(line, at)) is not None:
        unit = unit_named(match["unit"])
        if unit is not None:
            return unit, match.end()
    if (hyphen := _HYPHEN_UNIT.match(line, at)) is not None:
        unit = unit_named(hyphen["unit"])
        if unit is not None and unit.dimension in ("count", "time", "factor"):
            return unit, hyphen.end()
    return NONE, at
