"""Relations: numbers made from exact values and rounded any admissible way are never flagged; beyond it, always."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from fractions import Fraction
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.audit import Claim, ClaimSet, Finding, Grade, Reading, Relation, check
from twotrees.audit.printed import printed
from twotrees.audit.relations import KINDS, median_of_sums_floor
from twotrees.audit.units import FACTOR, MS, PERCENT, Unit, unit_named

ROUNDINGS = st.sampled_from((ROUND_HALF_UP, ROUND_HALF_EVEN, ROUND_DOWN))
TIMES = st.decimals(min_value="0.2", max_value="200", places=7)
PLACES = st.integers(2, 5)


def text_of(value: Fraction, places: int, rounding: str) -> str:
    exact = Context(prec=60).divide(Decimal(value.numerator), Decimal(value.denominator))
    return str(exact.quantize(Decimal(1).scaleb(-places), rounding=rounding, context=Context(prec=60)))


def claim(name: str, text: str, unit: Unit = MS) -> Claim:
    return Claim(name, text, unit, printed(text), line=1)


def graded(
    kind: str, of: Sequence[tuple[str, Unit]], result: tuple[str, Unit] | None, base: str = "before", **more: object
) -> Finding:
    claims = [claim(f"a{place}", text, unit) for place, (text, unit) in enumerate(of)]
    relation = Relation(
        "r",
        (Reading(kind, tuple(one.id for one in claims), base),),
        "r" if result else "",
        **more,  # type: ignore[arg-type]
    )
    if result:
        claims.append(claim("r", *result))
    return check(ClaimSet(tuple(claims), (relation,)))[0]


EXACT = {
    ("difference", "before"): (lambda v: v[0] - v[1], MS),
    ("ratio", "before"): (lambda v: v[0] / v[1], FACTOR),
    ("change_pct", "before"): (lambda v: (v[1] - v[0]) / v[0] * 100, PERCENT),
    ("change_pct", "after"): (lambda v: (v[1] - v[0]) / v[1] * 100, PERCENT),
    ("reduction_pct", "before"): (lambda v: (v[0] - v[1]) / v[0] * 100, PERCENT),
    ("reduction_pct", "after"): (lambda v: (v[0] - v[1]) / v[1] * 100, PERCENT),
    ("share_pct", "before"): (lambda v: v[0] / v[1] * 100, PERCENT),
    ("sum", "before"): (sum, MS),
    ("median", "before"): (median, MS),
    ("mean", "before"): (lambda v: sum(v) / len(v), MS),
    ("min", "before"): (min, MS),
    ("max", "before"): (max, MS),
    ("spread", "before"): (lambda v: max(v) - min(v), MS),
    ("product", "before"): (lambda v: v[0] * v[1], MS),
    ("rate", "before"): (lambda v: 1000 / v[0], unit_named("steps/s")),
    ("equal", "before"): (lambda v: v[0], MS),
}


def arguments(kind: str, values: list[Fraction]) -> list[Fraction]:
    most = KINDS[kind].most
    return values[: most or (2 if kind == "product" else len(values))]


@pytest.mark.parametrize("kind, base", EXACT, ids=lambda part: part)
@given(values=st.lists(TIMES, min_size=3, max_size=5), places=PLACES, data=st.data())
def test_honest_rounding_is_never_flagged(
    kind: str, base: str, values: list[Decimal], places: int, data: st.DataObject
) -> None:
    exact = arguments(kind, [Fraction(value) for value in values])
    formula, unit = EXACT[kind, base]
    texts = [(text_of(value, places, data.draw(ROUNDINGS)), MS) for value in exact]
    result = text_of(Fraction(formula(exact)), data.draw(st.integers(0, 4)), data.draw(ROUNDINGS))
    assert graded(kind, texts, (result, unit), base).grade is not Grade.CONTRADICTION


@pytest.mark.parametrize("kind, base", EXACT, ids=lambda part: part)
@given(values=st.lists(TIMES, min_size=3, max_size=5), places=PLACES, units=st.integers(1, 60), up=st.booleans())
def test_a_result_beyond_the_interval_is_always_flagged_and_its_mend_is_consistent(
    kind: str, base: str, values: list[Decimal], places: int, units: int, up: bool
) -> None:
    exact = arguments(kind, [Fraction(value) for value in values])
    unit = EXACT[kind, base][1]
    texts = [(text_of(value, places, ROUND_HALF_UP), MS) for value in exact]
    first = graded(kind, texts, ("1.00", unit), base)
    low, high = (Fraction(part) for part in _ends(first.computed))
    beyond = high + Fraction(units + 2, 100) if up else low - Fraction(units + 2, 100)
    wrong = graded(kind, texts, (text_of(beyond, 2, ROUND_HALF_UP), unit), base)
    assert wrong.grade is Grade.CONTRADICTION
    assert wrong.change


def _ends(computed: str) -> tuple[str, str]:
    text = computed.split("]")[0].lstrip("[").split(" ")
    return (text[0].rstrip(","), text[1]) if "," in computed else (text[0], text[0])


@pytest.mark.parametrize(
    "before, after, result, unit, kind",
    [
        ("20.20", "10.20", "-49.49", PERCENT, "change_pct"),
        ("0.79", "0.10", "8.0", FACTOR, "ratio"),
        ("1.21", "0.07", "17.27", FACTOR, "ratio"),
    ],
)
def test_rounded_inputs_raise_no_false_alarm(before: str, after: str, result: str, unit: Unit, kind: str) -> None:
    assert graded(kind, [(before, MS), (after, MS)], (result, unit)).grade is Grade.CONSISTENT


def test_28_2_per_cent_for_28_14_is_flagged_with_its_mend() -> None:
    finding = graded("change_pct", [("38.648", MS), ("27.773", MS)], ("-28.2", PERCENT))
    assert finding.grade is Grade.CONTRADICTION
    assert finding.change == "print -28.1 % instead of -28.2 % (line 1)"


def test_signs_and_bases_are_told_apart() -> None:
    pair = [("29.147", MS), ("19.230", MS)]
    assert graded("change_pct", pair, ("-34.0", PERCENT)).grade is Grade.CONSISTENT
    assert graded("change_pct", pair, ("34.0", PERCENT)).grade is Grade.CONTRADICTION
    assert graded("change_pct", pair, ("-51.6", PERCENT)).grade is Grade.CONTRADICTION
    assert graded("change_pct", pair, ("-51.6", PERCENT), base="after").grade is Grade.CONSISTENT
    assert graded("reduction_pct", pair, ("34.0", PERCENT)).grade is Grade.CONSISTENT
    assert graded("reduction_pct", pair, ("-34.0", PERCENT)).grade is Grade.CONTRADICTION


def test_a_per_cent_of_zero_is_undefined_and_not_flagged() -> None:
    finding = graded("change_pct", [("0.0", MS), ("1.0", MS)], ("100", PERCENT))
    assert finding.grade is Grade.UNSUPPORTED
    assert "zero" in finding.message


@pytest.mark.parametrize("unit, text", [("µs", "29147"), ("s", "0.029"), ("ns", "29147000")])
def test_one_value_in_two_units(unit: str, text: str) -> None:
    other = unit_named(unit)
    assert other is not None
    assert graded("equal", [("29.147", MS)], (text, other)).grade is Grade.CONSISTENT
    assert graded("equal", [("29.147", MS)], (text.replace("9", "8"), other)).grade is Grade.CONTRADICTION


def test_step_time_becomes_a_rate_for_n_environments() -> None:
    rate = unit_named("env steps/s")
    assert rate is not None
    assert graded("rate", [("93.857", MS)], ("87282", rate), envs=8192).grade is Grade.CONSISTENT
    assert graded("rate", [("93.857", MS)], ("87282", rate), envs=4096).grade is Grade.CONTRADICTION


@pytest.mark.parametrize(
    "order, values, grade",
    [
        ("largest", ("7.25", "4.23", "4.37"), Grade.CONSISTENT),
        ("largest", ("4.37", "4.23", "7.25"), Grade.CONTRADICTION),
        ("largest", ("4.4", "4.4", "4.3"), Grade.CONSISTENT),
        ("smallest", ("4.23", "7.25", "4.37"), Grade.CONSISTENT),
        ("smallest", ("7.25", "4.23", "4.37"), Grade.CONTRADICTION),
        ("descending", ("17.80", "14.69", "13.57"), Grade.CONSISTENT),
        ("descending", ("17.80", "13.57", "14.69"), Grade.CONTRADICTION),
        ("ascending", ("1.0", "1.1", "1.2"), Grade.CONSISTENT),
    ],
)
def test_rank_statements(order: str, values: tuple[str, ...], grade: Grade) -> None:
    assert graded("rank", [(text, MS) for text in values], None, order=order).grade is grade


def test_a_range_must_reach_every_member() -> None:
    members = [("8.30", FACTOR), ("9.84", FACTOR)]
    assert graded("within", members, ("8–10", FACTOR)).grade is Grade.CONSISTENT
    assert graded("within", [*members, ("11.91", FACTOR)], ("8–10", FACTOR)).grade is Grade.CONTRADICTION


def test_shares_of_one_whole() -> None:
    right = [("7.25", MS), ("37.7", PERCENT), ("4.23", MS), ("22.0", PERCENT)]
    wrong = [*right, ("4.37", MS), ("27.2", PERCENT)]
    assert graded("common_whole", right, None).grade is Grade.CONSISTENT
    assert graded("common_whole", wrong, None).grade is Grade.CONTRADICTION


def test_another_measurement_is_unsupported_and_not_a_contradiction() -> None:
    finding = graded("difference", [("4.746", MS), ("4.594", MS)], ("0.052", MS), apart="a run of its own")
    assert finding.grade is Grade.UNSUPPORTED
    assert "a run of its own" in finding.message
    assert finding.change


@given(runs=st.lists(st.lists(TIMES, min_size=4, max_size=4), min_size=1, max_size=5))
def test_real_medians_of_per_run_sums_are_never_below_the_printed_bound(runs: list[list[Decimal]]) -> None:
    parts = [median(Fraction(run[part]) for run in runs) for part in range(4)]
    sums = median(sum((Fraction(value) for value in run), Fraction(0)) for run in runs)
    claims = [claim(f"a{place}", text_of(part, 4, ROUND_HALF_EVEN)) for place, part in enumerate(parts)]
    intervals = [interval for one in claims if (interval := one.interval()) is not None]
    floor = median_of_sums_floor(intervals, len(runs))
    assert floor.low is not None
    assert floor.low <= sums
    texts = [(one.text, MS) for one in claims]
    finding = graded("median_of_sums", texts, (text_of(sums, 3, ROUND_HALF_UP), MS), n=len(runs))
    assert finding.grade is not Grade.CONTRADICTION


def test_a_sum_below_its_largest_part_is_a_contradiction_even_for_medians() -> None:
    finding = graded("median_of_sums", [("1.2", MS), ("4.0", MS)], ("3.0", MS), n=3)
    assert finding.grade is Grade.CONTRADICTION


def test_the_mend_that_settles_most_wins() -> None:
    """One typo breaks three relations; the finding names the one number to change, not three."""
    claims = (
        claim("b", "29.147"),
        claim("a", "19.320"),
        claim("s", "9.917"),
        claim("p", "34.0", PERCENT),
        claim("x", "1.52", FACTOR),
    )
    pair = ("b", "a")
    relations = (
        Relation("saved", (Reading("difference", pair),), "s"),
        Relation("percent", (Reading("reduction_pct", pair),), "p"),
        Relation("factor", (Reading("ratio", pair),), "x"),
    )
    findings = check(ClaimSet(claims, relations))
    assert [finding.grade for finding in findings] == [Grade.CONTRADICTION] * 3
    assert all("instead of 19.320 ms" in finding.change and "settles 3" in finding.change for finding in findings)


def test_several_admissible_readings_need_only_one_to_hold() -> None:
    claims = (claim("b", "9.40"), claim("a", "6.10"), claim("p", "54.1", PERCENT))
    pair = ("b", "a")
    either = (Reading("reduction_pct", pair), Reading("reduction_pct", pair, "after"))
    assert check(ClaimSet(claims, (Relation("r", either, "p"),)))[0].grade is Grade.CONSISTENT
    assert check(ClaimSet(claims, (Relation("r", either[:1], "p"),)))[0].grade is Grade.CONTRADICTION
