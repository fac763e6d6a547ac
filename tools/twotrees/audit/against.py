"""Holds published claims against a bundle's aggregate: reproduced, same direction, opposite, not tested.

In: a claim set, an aggregate (`twotrees-aggregate-v1`), the plan, the host's fingerprint. Out: one finding per claim
about a metric. Only relative changes cross hosts; absolute times are compared on the same kind of host alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from twotrees.audit.claims import Claim, ClaimSet, Relation
from twotrees.audit.interval import Interval, interval_text
from twotrees.audit.result import AuditResult, Finding, Grade, in_order
from twotrees.audit.where import reasons_to_differ
from twotrees.errors import UsageError

SCHEMA = "twotrees-aggregate-v1"
COMPARED = ("value", "saved", "change", "reduction", "speedup", "share", "unchanged")
HUNDRED = Fraction(100)


@dataclass(frozen=True)
class Measured:
    """What the bundle says: its metrics and effects, and why its numbers may differ from the published ones."""

    backend: str
    baseline: str
    arms: tuple[str, ...]
    metrics: Mapping[str, Any]
    effects: Mapping[tuple[str, str], Mapping[str, Any]]
    reasons: tuple[str, ...]

    @property
    def alike(self) -> bool:
        """Whether host, scale and subject are those of the publication."""
        return not self.reasons


def audit_bundle(
    aggregate: Mapping[str, Any],
    plan: Mapping[str, Any],
    claims: ClaimSet,
    *,
    source: str = "bundle",
    fingerprint: Mapping[str, Any] | None = None,
) -> AuditResult:
    """Compares every claim about a metric with what a bundle measured.

    Args:
        aggregate: The parsed aggregate.json of a bundle that `verify` accepted.
        plan: Its parsed plan.json.
        claims: The published claims.
        source: How the bundle is called in the result.
        fingerprint: Its parsed host/before.json; without it the hosts count as different.

    Raises:
        UsageError: the aggregate has another schema.
    """
    ours = aggregate.get("twotrees")
    if not isinstance(ours, Mapping) or ours.get("schema") != SCHEMA:
        raise UsageError(f"not an aggregate of schema {SCHEMA}", file=source, key="twotrees.schema")
    arms = tuple(ours.get("arms", ()))
    measured = Measured(
        backend=str(ours.get("backend", plan.get("backend", ""))),
        baseline=arms[0] if arms else "before",
        arms=arms,
        metrics=ours.get("metrics", {}),
        effects={(one["metric"], one["arm"]): one for one in ours.get("effects", ())},
        reasons=reasons_to_differ(claims, plan, fingerprint),
    )
    found = [_against(claim, measured) for claim in claims.claims if claim.quantity in COMPARED]
    by_id = claims.by_id()
    found += [_rank(relation, by_id, measured) for relation in claims.relations if _is_rank(relation)]
    return AuditResult(
        source=source,
        sha256="",
        claims=claims,
        findings=in_order(found),
        reasons=measured.reasons,
        lines_of=claims.source.get("file", "the published text"),
    )


def _against(claim: Claim, measured: Measured) -> Finding:
    if not claim.metric:
        return _finding(claim, Grade.NOT_TESTED, "it names no metric")
    if claim.backend and claim.backend != measured.backend:
        return _finding(claim, Grade.NOT_TESTED, f"backend {claim.backend} was not measured")
    if claim.metric not in measured.metrics:
        return _finding(claim, Grade.NOT_TESTED, f"{claim.metric} was not measured")
    if claim.quantity == "value":
        return _value(claim, measured)
    if claim.quantity == "share":
        return _share(claim, measured)
    arm = claim.arm or next((one for one in measured.arms[1:2]), "after")
    effect = measured.effects.get((claim.metric, arm))
    if effect is None:
        return _finding(claim, Grade.NOT_TESTED, f"{claim.metric} of arm {arm} was not compared with the baseline")
    if effect.get("verdict") in ("not resolved", "not comparable"):
        reason = effect.get("reason") or f"n {effect.get('n_before')} and {effect.get('n_after')}"
        return _finding(claim, Grade.NOT_TESTED, f"{effect['verdict']}: {reason}", _effect_text(effect))
    return _unchanged(claim, effect, measured) if claim.quantity == "unchanged" else _change(claim, effect, measured)


# ------------------------------------------------------------------------------------------------------------- changes


def _ratio(effect: Mapping[str, Any]) -> Interval:
    """After over before, as its interval where there is one."""
    low, high = effect.get("ratio_low"), effect.get("ratio_high")
    if low is not None and high is not None:
        return Interval(Fraction(low), Fraction(high))
    point = effect.get("ratio")
    return Interval.point(Fraction(point)) if point is not None else Interval(None, None)


def _in_terms_of(claim: Claim, effect: Mapping[str, Any]) -> Interval | None:
    """The measured effect in the claim's own quantity and base unit; None where it cannot be put so."""
    ratio, one = _ratio(effect), Interval.point(1)
    if not ratio.bounded or ratio.ends()[0] <= 0:
        return None
    if claim.unit.dimension == "time":
        saved = (one - ratio).scaled(Fraction(effect["before_ms"]))
        return -saved if claim.quantity == "change" else saved
    if claim.quantity == "speedup" and claim.unit.dimension in ("factor", "none"):
        return one / ratio
    reduction = (one - ratio).scaled(HUNDRED)
    if claim.unit.dimension != "percent":
        return None
    if claim.quantity == "speedup":
        return (one / ratio - one).scaled(HUNDRED)
    return -reduction if claim.quantity == "change" else reduction


def _says_faster(claim: Claim) -> bool | None:
    """The direction that a claim states; None where its interval holds no change."""
    interval = claim.interval()
    if interval is None:
        return None
    nothing = Fraction(1) if claim.quantity == "speedup" and claim.unit.dimension != "percent" else Fraction(0)
    upward = interval.low is not None and interval.low > nothing
    downward = interval.high is not None and interval.high < nothing
    if not upward and not downward:
        return None
    return downward if claim.quantity == "change" else upward


def _change(claim: Claim, effect: Mapping[str, Any], measured: Measured) -> Finding:
    says, verdict = _says_faster(claim), effect["verdict"]
    interval, printed = _in_terms_of(claim, effect), claim.interval()
    text = _effect_text(effect)
    if says is None or interval is None or printed is None:
        return _finding(claim, Grade.NOT_TESTED, "the claim states no direction that a ratio could have", text)
    word = "faster" if says else "slower"
    if verdict == "equivalent":
        return _finding(claim, Grade.OPPOSITE, f"says {word}; measured: no change within ±δ", text)
    if (verdict == "faster") != says:
        return _finding(claim, Grade.OPPOSITE, f"says {word}; measured: {verdict}", text)
    here = _shown(interval, claim)
    same_size = interval.overlaps(printed)
    absolute = claim.unit.dimension == "time"
    if measured.alike:
        grade = Grade.REPRODUCED if same_size else Grade.SAME_DIRECTION
        return _finding(claim, grade, f"measured: {here}", text)
    if absolute:
        return _finding(claim, Grade.SAME_DIRECTION, f"{word} here too; times are not compared across hosts", text)
    size = "of the same size" if same_size else "of another size"
    return _finding(claim, Grade.SAME_DIRECTION, f"{word} here too, {size}: {here}", text)


def _unchanged(claim: Claim, effect: Mapping[str, Any], measured: Measured) -> Finding:
    ratio, text = _ratio(effect), _effect_text(effect)
    slack = claim.tolerance / HUNDRED
    inside = ratio.bounded and ratio.ends()[0] >= 1 - slack and ratio.ends()[1] <= 1 + slack
    if effect["verdict"] == "equivalent" or inside:
        grade = Grade.REPRODUCED if measured.alike else Grade.SAME_DIRECTION
        return _finding(claim, grade, f"unchanged within {float(claim.tolerance):g} % here too", text)
    if ratio.overlaps(Interval(1 - slack, 1 + slack)):
        return _finding(claim, Grade.NOT_TESTED, f"not resolved at {float(claim.tolerance):g} %", text)
    return _finding(claim, Grade.OPPOSITE, f"says unchanged; measured: {effect['verdict']}", text)


def _effect_text(effect: Mapping[str, Any]) -> str:
    """The measured effect in one phrase, with its n."""
    ratio = _ratio(effect)
    text = interval_text(ratio, 4) if ratio.bounded else "no ratio"
    return f"after ÷ before {text} (n = {effect.get('n_before')}, {effect.get('n_after')}; {effect.get('verdict')})"


# ------------------------------------------------------------------------------------------------------ values, shares


def _range_of(metric: str, arm: str, measured: Measured) -> Interval | None:
    """From the least to the greatest run of one arm, in ms; None where it was not measured."""
    table = measured.metrics.get(metric, {}).get(arm)
    if not table:
        return None
    key = "mean_ms" if "mean" in str(table.get("statistic", "")) else "median_ms"
    runs = [Fraction(run[key]) for run in table.get("runs", ()) if run.get(key) is not None]
    value = Fraction(table["value_ms"])
    return Interval(min([*runs, value]), max([*runs, value]))


def _value(claim: Claim, measured: Measured) -> Finding:
    arm = claim.arm or measured.baseline
    interval, printed = _range_of(claim.metric, arm, measured), claim.interval()
    if interval is None or printed is None:
        return _finding(claim, Grade.NOT_TESTED, f"arm {arm} of {claim.metric} was not measured")
    here = f"{interval_text(interval, 3)} ms"
    if not measured.alike:
        return _finding(claim, Grade.NOT_TESTED, "absolute times are not compared across hosts", here)
    if interval.overlaps(printed):
        return _finding(claim, Grade.REPRODUCED, "within the runs measured here", here)
    return _finding(claim, Grade.NOT_TESTED, "another time than the runs here, which has no direction", here)


def _share(claim: Claim, measured: Measured) -> Finding:
    arm = claim.arm or (measured.arms[1] if len(measured.arms) > 1 else measured.baseline)
    part, whole = _range_of(claim.metric, arm, measured), _range_of(claim.whole, arm, measured)
    printed = claim.interval()
    if part is None or whole is None or printed is None or whole.ends()[0] <= 0:
        return _finding(claim, Grade.NOT_TESTED, f"the share of {claim.metric} in {claim.whole} was not measured")
    share = (part / whole).scaled(HUNDRED)
    here = f"{interval_text(share, 1)} %"
    if not share.overlaps(printed):
        return _finding(claim, Grade.NOT_TESTED, "another share here, which has no direction", here)
    grade = Grade.REPRODUCED if measured.alike else Grade.SAME_DIRECTION
    return _finding(claim, grade, "the same share here", here)


# ---------------------------------------------------------------------------------------------------------------- rank


def _is_rank(relation: Relation) -> bool:
    return any(reading.kind == "rank" for reading in relation.readings) and bool(relation.order)


def _rank(relation: Relation, by_id: Mapping[str, Claim], measured: Measured) -> Finding:
    """Does the published order of metrics hold among the bundle's own?"""
    claims = [by_id[one] for one in relation.readings[0].of]
    shown = by_id[relation.result] if relation.result else claims[0]
    values = []
    for claim in claims:
        same_backend = not claim.backend or claim.backend == measured.backend
        values.append(_range_of(claim.metric, claim.arm or measured.baseline, measured) if same_backend else None)
    known = [(claim, value) for claim, value in zip(claims, values, strict=True) if value is not None]
    if values[0] is None or len(known) < 2:
        return _finding(shown, Grade.NOT_TESTED, "the ranked metrics were not measured", subject=relation.id)
    rising = relation.order in ("smallest", "ascending")
    pairs = (
        [(known[0], other) for other in known[1:]]
        if relation.order in ("largest", "smallest")
        else [(known[i], known[i + 1]) for i in range(len(known) - 1)]
    )
    wrong = [two[0] for one, two in pairs if _beats(two[1], one[1], rising)]
    unsure = [two[0] for one, two in pairs if not _beats(one[1], two[1], rising)]
    order = ", ".join(f"{claim.metric} {interval_text(value, 3)} ms" for claim, value in known)
    if wrong:
        return _finding(shown, Grade.OPPOSITE, f"here {wrong[0].metric} stands before it", order, subject=relation.id)
    if unsure:
        return _finding(shown, Grade.NOT_TESTED, "the runs here do not tell them apart", order, subject=relation.id)
    grade = Grade.REPRODUCED if measured.alike and len(known) == len(claims) else Grade.SAME_DIRECTION
    return _finding(shown, grade, "the same order here", order, subject=relation.id)


def _beats(one: Interval, other: Interval, rising: bool) -> bool:
    """Whether *one* certainly stands before *other*."""
    (a, b), (c, d) = one.ends(), other.ends()
    return b < c if rising else a > d


def _shown(interval: Interval, claim: Claim) -> str:
    places = (claim.printed.decimals if claim.printed else 1) + 1
    return f"{interval_text(interval.scaled(1 / claim.unit.scale), places)} {claim.unit.name}".strip()


def _finding(claim: Claim, grade: Grade, why: str, computed: str = "", *, subject: str = "") -> Finding:
    what = " ".join(part for part in (claim.backend, claim.metric, claim.arm, claim.quantity) if part)
    return Finding(
        grade=grade,
        subject=subject or claim.id,
        line=claim.line,
        claims=(claim.id,),
        printed=claim.shown(),
        computed=computed,
        message=f"{what}, printed {claim.shown()}: {why}",
    )
