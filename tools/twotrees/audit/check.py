"""Grades each relation of a claim set: consistent, contradiction, unsupported, closure gap.

In: a `ClaimSet`. Out: one `Finding` per relation. A contradiction means that no values inside the printed intervals
satisfy any admissible reading; anything weaker is not called one.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from twotrees.audit.claims import Claim, ClaimSet, Relation
from twotrees.audit.interval import Interval, decimal_text, interval_text
from twotrees.audit.measure import Outcome, best
from twotrees.audit.mend import Mender
from twotrees.audit.relations import KINDS, median_of_sums_floor
from twotrees.audit.result import Finding, Grade, in_order
from twotrees.audit.units import FACTOR, NONE, PERCENT, Unit

MAX_NAMED = 6


def check(claims: ClaimSet) -> tuple[Finding, ...]:
    """Grades every relation.

    Returns:
        One finding per relation, worst first.
    """
    by_id = claims.by_id()
    intervals = {claim.id: interval for claim in claims.claims if (interval := claim.interval()) is not None}
    outcomes = [best(relation, intervals.__getitem__) for relation in claims.relations]
    mender = Mender(claims.relations, by_id, intervals)
    return in_order(
        [
            _grade(relation, outcome, by_id, intervals, mender)
            for relation, outcome in zip(claims.relations, outcomes, strict=True)
        ]
    )


def _grade(
    relation: Relation,
    outcome: Outcome,
    by_id: Mapping[str, Claim],
    intervals: Mapping[str, Interval],
    mender: Mender,
) -> Finding:
    kind = outcome.reading.kind
    bounds = ""
    if outcome.undefined:
        grade, why = Grade.UNSUPPORTED, outcome.undefined
    elif outcome.gap == 0:
        grade, why = Grade.CONSISTENT, ""
    elif kind == "closure":
        grade, why = Grade.CLOSURE_GAP, "medians, and parts measured apart, need not add up to the whole"
    elif relation.apart:
        grade, why = Grade.UNSUPPORTED, relation.apart
    elif kind == "median_of_sums":
        floor = median_of_sums_floor([intervals[one] for one in outcome.reading.of], relation.n)
        below = not floor.overlaps(intervals[relation.result])
        grade = Grade.CONTRADICTION if below else Grade.UNSUPPORTED
        why = (
            f"a median over {relation.n} runs of per-run sums does not follow from the parts' medians; "
            "they bound it only from below"
        )
        bounds = _interval(floor, by_id[relation.result])
    else:
        grade, why = Grade.CONTRADICTION, ""
    return _finding(relation, outcome, by_id, mender, (grade, why, bounds))


def _finding(
    relation: Relation,
    outcome: Outcome,
    by_id: Mapping[str, Claim],
    mender: Mender,
    verdict: tuple[Grade, str, str],
) -> Finding:
    grade, why, bounds = verdict
    reading = outcome.reading
    result = by_id.get(relation.result)
    shown_in = (
        result if result is not None and result.printed is not None else _unit_of(reading.kind, by_id[reading.of[0]])
    )
    printed = result.shown() if result is not None else ", ".join(by_id[one].shown() for one in reading.of[:MAX_NAMED])
    given = "" if outcome.computed is None else _interval(outcome.computed, shown_in)
    size = "" if outcome.gap == 0 or outcome.undefined else _size(abs(outcome.gap), shown_in)
    says = _says(reading.kind, [by_id[one] for one in reading.of], reading.base)
    message = f"{says}{f' is {given}' if given else ''}"
    message += f"; printed: {printed}" if result is not None else ""
    message += f", {size} apart" if size else ""
    message += f" ({why})" if why else ""
    message += f"; bounds: {bounds}" if bounds else ""
    message += f"; {relation.note}" if relation.note else ""
    change = ""
    if grade is Grade.CONTRADICTION:
        change = mender.smallest_change(relation)
    elif grade is not Grade.CONSISTENT:
        change = _what_is_missing(relation, outcome, mender)
    lines = [by_id[one].line for one in relation.claims() if by_id[one].line]
    return Finding(
        grade=grade,
        subject=relation.id,
        line=lines[0] if lines else 0,
        claims=relation.claims(),
        printed=printed,
        computed=bounds or given,
        message=message[0].upper() + message[1:],
        size=size,
        change=change,
    )


def _what_is_missing(relation: Relation, outcome: Outcome, mender: Mender) -> str:
    """What would have to be printed for a finding that is no contradiction to become consistent."""
    if outcome.undefined:
        return "print the value itself instead of a per cent or a bound"
    naive = mender.result_change(relation, outcome)
    if outcome.reading.kind == "median_of_sums":
        return "print the per-run sums" + (f", or the sum of the medians: {naive}" if naive else "")
    if outcome.reading.kind == "closure":
        return f"say how it was computed, or {naive}" if naive else "print the residual"
    return "print both from one measurement" + (f", or {naive}" if naive else "")


def _says(kind: str, claims: list[Claim], base: str) -> str:
    texts = [claim.shown() for claim in claims]
    more = f" … ({len(texts)} values)" if len(texts) > MAX_NAMED else ""
    sentence = KINDS[kind].says
    if "{all}" in sentence:
        return sentence.replace("{all}", ", ".join(texts[:MAX_NAMED]) + more)
    sentence = sentence.format(*texts)
    return f"{sentence}, in per cent of the latter," if base == "after" else sentence


def _unit_of(kind: str, first: Claim) -> Claim:
    """A stand-in for the printed outcome where a relation has none: same digits as its first argument."""
    unit = {"percent": PERCENT, "factor": FACTOR, "same": first.unit}.get(KINDS[kind].gives, first.unit)
    return Claim(id="", text=first.text, unit=unit, printed=first.printed)


def _in_unit(value: Fraction, unit: Unit) -> Fraction:
    return value / unit.scale


def _places(claim: Claim) -> int:
    return (claim.printed.decimals if claim.printed else 1) + 2


def _interval(interval: Interval, claim: Claim) -> str:
    unit = claim.unit
    text = interval_text(interval.scaled(1 / unit.scale), _places(claim))
    return f"{text} {unit.name}".strip() if unit is not NONE else text


def _size(gap: Fraction, claim: Claim) -> str:
    text = decimal_text(_in_unit(gap, claim.unit), _places(claim), up=True)
    return f"{text} {claim.unit.name}".strip()
