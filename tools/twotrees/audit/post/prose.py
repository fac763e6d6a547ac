"""Reads sentences: pairs with the gains that follow them, equations, parts of a whole, one value in two units.

In: a text with the lines of its offsets. Out: claims and relations in the draft. A gain belongs to a pair only where
nothing but connecting words stands between them; a number that is tied to nothing is a claim of its own.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from twotrees.audit.claims import Reading
from twotrees.audit.post import gains
from twotrees.audit.post.draft import Draft
from twotrees.audit.post.numerals import Token, scan
from twotrees.audit.post.surroundings import Placed, placed
from twotrees.audit.post.words import (
    AFTER,
    AGAINST,
    ARROW,
    BECOMES,
    BEFORE,
    CN_OF_WHOLE,
    INSTEAD,
    NOW,
    OF_WHOLE,
    RESPECTIVELY,
    SINCE,
    UNTIL,
    WAS,
    Role,
    label,
    nearest_role,
    only_filler,
)
from twotrees.audit.units import NONE, Unit

# How far before a number its name may stand.
MAX_NAMING = 200
MAX_PAIRS = 100
MAX_TOKENS = 5_000

Starts = Sequence[tuple[int, int]]
_CLAUSE_END = re.compile(r"[。;!?！？]|\.(?=\s)|\n")
_OPERATOR = re.compile(r"\s*(?P<sign>[-+×*/÷])\s*")
_EQUALS = re.compile(r"\s*(?:=|≈)?\s*")


@dataclass(frozen=True, slots=True)
class Spoken:
    """A pair in a sentence: which tokens, and whether its order is known."""

    first: int
    last: int
    before: str
    after: str
    dimension: str
    ordered: bool


@dataclass(frozen=True, slots=True)
class Sentence:
    """One text with its tokens, their claim ids (empty for references), and where its clauses end."""

    text: str
    tokens: Sequence[Token]
    ids: Sequence[str]
    ends: Sequence[int]

    def between(self, place: int) -> str:
        """The text between token *place* and the next."""
        return self.text[self.tokens[place].end : self.tokens[place + 1].start]

    def clause(self, offset: int) -> int:
        """The number of the clause that holds *offset*."""
        return bisect_right(self.ends, offset)

    def clause_start(self, offset: int) -> int:
        """Where the clause that holds *offset* begins."""
        place = self.clause(offset)
        return self.ends[place - 1] if place else 0


def read_words(
    text: str, starts: Starts, draft: Draft, *, header_unit: Unit = NONE, relate: bool = True
) -> Sentence | None:
    """Takes in every numeral of a text, and the relations that its words state.

    Args:
        text: A paragraph, list item or wordy table cell.
        starts: (offset, line) of each of its lines.
        draft: What has been read so far.
        header_unit: The unit that bare numbers have here, if any.
        relate: Whether to look for relations.

    Returns:
        The text with its tokens, or None where it has no numerals.
    """
    if not any(char.isdigit() for char in text):
        return None
    offsets = [offset for offset, _ in starts]

    def line(token: Token) -> int:
        return starts[max(0, bisect_right(offsets, token.start) - 1)][1]

    found = scan(text, starts[0][1], MAX_TOKENS + 1)
    if len(found) > MAX_TOKENS:
        draft.list_unread(
            line(found[MAX_TOKENS]), found[MAX_TOKENS].text, f"numbers beyond {MAX_TOKENS} in a paragraph"
        )
    raw = [_at_line(token, line(token)) for token in found[:MAX_TOKENS]]
    if not raw or draft.full:
        return None
    tokens, ids = [], []
    for one in placed(text, raw, header_unit=header_unit):
        tokens.append(one.token)
        ids.append(_taken_in(one, text, draft))
    sentence = Sentence(text, tokens, ids, _clause_ends(text, tokens))
    if relate and not draft.full:
        _relate(sentence, draft)
    return sentence


def _at_line(token: Token, line: int) -> Token:
    if token.line == line:
        return token
    return Token(token.start, token.end, token.text, token.printed, token.unit, token.signed, token.reference, line)


def _clause_ends(text: str, tokens: Sequence[Token]) -> list[int]:
    """Where clauses end; a mark inside a token ("3.5") is none."""
    inside = [(token.start, token.end) for token in tokens]
    starts = [start for start, _ in inside]
    ends = []
    for match in _CLAUSE_END.finditer(text):
        place = bisect_right(starts, match.start()) - 1
        if place < 0 or match.start() >= inside[place][1]:
            ends.append(match.end())
    return ends


def _taken_in(one: Placed, text: str, draft: Draft) -> str:
    token = one.token
    if one.use == "setting":
        return draft.claim(token, quantity="setting", exact=True)
    if token.reference == "unread":
        draft.list_unread(token.line, token.text, "not a number that can be read with certainty")
        return ""
    if one.use == "reference":
        draft.reference(token)
        return ""
    if token.unit is NONE and not _tied(text, token):
        around = text[max(0, token.start - 30) : token.end + 20]
        draft.list_unread(token.line, around, f"{token.text}: a number without a unit")
    exact = (
        token.dimension == "count" and not token.printed.about and not token.printed.bound if token.printed else False
    )
    return draft.claim(token, quantity="count" if token.dimension == "count" else "value", exact=exact)


def _tied(text: str, token: Token) -> bool:
    """Whether an operator ties a bare number to a neighbour, so that its use is understood."""
    before, after = text[max(0, token.start - 4) : token.start], text[token.end : token.end + 4]
    return bool(re.search(r"[→=+×*÷>]\s*$", before) or re.match(r"\s*[→=+×*÷]", after))


# ----------------------------------------------------------------------------------------------------------- relations


def _relate(sentence: Sentence, draft: Draft) -> None:
    used = _equations(sentence, draft)
    pairs = [pair for pair in _pairs(sentence, draft) if not used & {pair.first, pair.last}]
    taken = used | {place for pair in pairs for place in range(pair.first, pair.last + 1)}
    for number, pair in enumerate(pairs):
        stop = pairs[number + 1].first if number + 1 < len(pairs) else len(sentence.tokens)
        taken |= _gains_after(sentence, pair, stop, draft)
        taken |= _gain_before(sentence, pair, taken, draft)
    for place in range(len(sentence.tokens) - 1):
        if place not in taken and place + 1 not in taken:
            _neighbours(sentence, place, draft)


def _pairs(sentence: Sentence, draft: Draft) -> list[Spoken]:
    pairs: list[Spoken] = []
    place = 0
    while place < len(sentence.tokens) - 1 and len(pairs) < MAX_PAIRS:
        pair = _pair_at(sentence, place)
        if pair is None:
            place += 1
            continue
        end = sentence.tokens[pair.first].start
        start = max(sentence.clause_start(end), end - MAX_NAMING)
        words = " ".join(sorted(label(sentence.text[start:end])))
        if pair.ordered:
            draft.describe(pair.before, arm="before", metric=words[:80])
            draft.describe(pair.after, arm="after", metric=words[:80])
        pairs.append(pair)
        place = pair.last + 1
    return pairs


def _pair_at(sentence: Sentence, place: int) -> Spoken | None:
    left, right = sentence.tokens[place], sentence.tokens[place + 1]
    if not sentence.ids[place] or not sentence.ids[place + 1] or left.dimension != right.dimension:
        return None
    if left.dimension in ("factor", "count") or left.signed or right.signed:
        return None
    between = sentence.between(place)
    head = sentence.text[max(0, left.start - 24) : left.start]
    named = BEFORE.search(head[-12:]) and AFTER.search(between) and only_filler(AFTER.sub("", between))
    forward = (
        ARROW.fullmatch(between)
        or BECOMES.fullmatch(between)
        or (UNTIL.fullmatch(between) and (SINCE.search(head) or "down" in between or "up " in between))
        or (NOW.fullmatch(between) and WAS.search(head))
        or named
    )
    ids = sentence.ids[place], sentence.ids[place + 1]
    if forward:
        return Spoken(place, place + 1, *ids, left.dimension, True)
    if INSTEAD.fullmatch(between):
        return Spoken(place, place + 1, ids[1], ids[0], left.dimension, True)
    if AGAINST.fullmatch(between):
        return Spoken(place, place + 1, *ids, left.dimension, False)
    return None


def _gains_after(sentence: Sentence, pair: Spoken, stop: int, draft: Draft) -> set[int]:
    """The gains that follow a pair in its clause, at most one of each unit, up to the first other word."""
    taken: set[int] = set()
    seen: set[str] = set()
    clause = sentence.clause(sentence.tokens[pair.last].start)
    begin = sentence.clause_start(sentence.tokens[pair.first].start)
    if RESPECTIVELY.search(sentence.text, begin, begin + MAX_NAMING):
        return taken
    for place in range(pair.last + 1, stop):
        token = sentence.tokens[place]
        between = sentence.between(place - 1)
        tail = sentence.text[token.end : token.end + 16]
        if sentence.clause(token.start) != clause or not only_filler(between) or token.dimension in seen:
            break
        if not sentence.ids[place]:
            break
        role = nearest_role(between)
        if role is Role.NONE:
            role = nearest_role(_first_words(tail))
        readings = _readings(pair, token, role)
        if not readings or (token.dimension == pair.dimension and role is Role.NONE and not token.signed):
            break
        seen.add(token.dimension)
        taken.add(place)
        draft.relate(readings, sentence.ids[place])
    return taken


def _first_words(tail: str) -> str:
    """The word right behind a number ("34 % faster", "34 % 的提速"), before any punctuation."""
    match = re.match(r"\s*(?:的)?([A-Za-z-]+(?: [A-Za-z-]+)?|[\u4e00-\u9fff]{1,4})", tail)
    return match[1] if match else ""


def _gain_before(sentence: Sentence, pair: Spoken, taken: set[int], draft: Draft) -> set[int]:
    """A gain right before its pair in brackets: "1.52× faster (29.147 → 19.230 ms)"."""
    place = pair.first - 1
    if place < 0 or place in taken or not sentence.ids[place]:
        return set()
    token, between = sentence.tokens[place], sentence.between(place)
    if not between.rstrip().endswith(("(", "[")) or not only_filler(between) or token.dimension == pair.dimension:
        return set()
    if token.dimension not in ("factor", "percent"):
        return set()
    head = sentence.text[max(0, token.start - 16) : token.start]
    role = nearest_role(_first_words(between))
    readings = _readings(pair, token, role if role is not Role.NONE else nearest_role(head))
    if not readings:
        return set()
    draft.relate(readings, sentence.ids[place])
    return {place}


def _readings(pair: Spoken, token: Token, role: Role) -> tuple[Reading, ...]:
    found = gains.readings(pair.before, pair.after, pair.dimension, token, role)
    if pair.ordered:
        return found
    return found + gains.readings(pair.after, pair.before, pair.dimension, token, role)


def _neighbours(sentence: Sentence, place: int, draft: Draft) -> None:
    """ "1.205 of 19.230 ms (6.3 %)" is a share; "29.147 ms (29147 µs)" one value twice."""
    left, right = sentence.tokens[place], sentence.tokens[place + 1]
    ids = sentence.ids
    between = sentence.between(place)
    if not ids[place] or not ids[place + 1] or left.dimension != right.dimension:
        return
    if left.dimension == "time" and left.unit != right.unit and between.strip() == "(":
        if sentence.text[right.end : right.end + 2].strip().startswith(")"):
            draft.relate([Reading("equal", (ids[place],))], ids[place + 1])
        return
    if place + 2 >= len(sentence.tokens) or not ids[place + 2] or left.dimension in ("percent", "factor", "none"):
        return
    share = sentence.tokens[place + 2]
    english = OF_WHOLE.fullmatch(between) and sentence.between(place + 1).strip(" ,=→") in ("(", "i.e.", "or", "")
    chinese = CN_OF_WHOLE.fullmatch(between) and sentence.between(place + 1).strip() in ("的", "的约")
    if share.dimension == "percent" and not share.signed and (english or chinese):
        draft.relate([Reading("share_pct", (ids[place], ids[place + 1]))], ids[place + 2])


# ----------------------------------------------------------------------------------------------------------- equations


def _equations(sentence: Sentence, draft: Draft) -> set[int]:
    """ "4.23 + 6.07 = 10.30 ms", "29.1 / 19.2 = 1.52×": the only prose whose arithmetic is spelled out."""
    used: set[int] = set()
    place = 0
    while place < len(sentence.tokens) - 2:
        run = _equation_at(sentence, place)
        if run is None:
            place += 1
            continue
        signs, last = run
        readings = _equation_readings(sentence, place, last, signs, draft)
        if readings:
            draft.relate(readings, sentence.ids[last])
            used |= set(range(place, last + 1))
        place = last
    return used


def _equation_at(sentence: Sentence, place: int) -> tuple[list[str], int] | None:
    """Operators and the place of the result of the equation that starts at token *place*."""
    signs: list[str] = []
    at = place
    while at < len(sentence.tokens) - 1 and len(signs) < 20:
        if not sentence.ids[at]:
            return None
        between, following = sentence.between(at), sentence.tokens[at + 1]
        glued = "-" if following.signed and following.text.startswith("-") and not between.strip() else ""
        operator = _OPERATOR.fullmatch(between)
        if operator or glued:
            signs.append(operator["sign"] if operator else glued)
            at += 1
            continue
        approximate = following.text.lstrip().startswith("≈") and not between.strip()
        if signs and sentence.ids[at + 1] and (between.strip() in ("=", "≈") or approximate):
            return signs, at + 1
        return None
    return None


def _equation_readings(sentence: Sentence, first: int, last: int, signs: Sequence[str], draft: Draft) -> list[Reading]:
    """The formula that the operators spell; none where units or operators are mixed."""
    ids = tuple(sentence.ids[first:last])
    dimensions = {sentence.tokens[place].dimension for place in range(first, last)} - {"none"}
    result = sentence.tokens[last].dimension
    before = sentence.text[max(0, sentence.tokens[first].start - 3) : sentence.tokens[first].start]
    if (len(dimensions) > 1 and not set(signs) <= {"×", "*"}) or re.search(r"[-+×*/÷]\s*$", before):
        return []
    same = not dimensions or result in dimensions or result == "none"
    if set(signs) == {"+"} and same:
        return [Reading("sum", ids)]
    if set(signs) <= {"-"} and same:
        return [Reading("difference", ids)] if len(ids) == 2 else [Reading("closure", ids)]
    if set(signs) <= {"×", "*"}:
        known = dimensions - {"count", "factor"}
        for place in range(first, last):
            token = sentence.tokens[place]
            if token.dimension == "none" and token.text.isdigit():
                draft.describe(sentence.ids[place], exact=True)  # "3 × 0.42 ms": a count of things
        return [Reading("product", ids)] if len(known) <= 1 and (not known or result in known | {"none"}) else []
    if len(signs) == 1 and signs[0] in ("/", "÷"):
        return (
            [Reading("share_pct", ids)]
            if result == "percent"
            else [Reading("ratio", ids)]
            if result in ("factor", "none")
            else []
        )
    return []
