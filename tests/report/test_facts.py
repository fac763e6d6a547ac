"""What is read from a data folder, and the intervals that are restated from the ratio."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic.campaign import Incident, write_campaign

from twotrees.errors import BundleBroken
from twotrees.report import html, markdown, numbers
from twotrees.report.facts import Effect, Range, read_campaign, read_outline

Make = Callable[..., Path]
ratios = st.floats(0.01, 50.0)


def effect(**otherwise: Any) -> Effect:
    facts: dict[str, Any] = {
        "metric": "update_state_ms",
        "kind": "phase",
        "arm": "after",
        "baseline": "before",
        "before_ms": 10.0,
        "after_ms": 8.0,
        "saved_ms": 2.0,
        "ratio": 0.8,
        "ratio_range": Range(0.75, 0.85),
        "confidence": 0.95,
        "n_before": 3,
        "n_after": 3,
        "method": "",
        "delta": 0.01,
        "verdict": "faster",
        "reason": "",
        "p_holm": None,
        "order_allowance": 0.0,
    }
    return Effect(**{**facts, **otherwise})


@given(ratios, ratios, ratios)
def test_every_restated_interval_holds_its_restated_value(one: float, two: float, three: float) -> None:
    low, ratio, high = sorted((one, two, three))
    found = effect(ratio=ratio, ratio_range=Range(low, high), after_ms=10.0 * ratio, saved_ms=10.0 - 10.0 * ratio)
    pairs = (
        (found.saved_pct, found.saved_pct_range),
        (found.speedup_x, found.speedup_range),
        (found.saved_estimate_ms, found.saved_ms_range),
    )
    for value, interval in pairs:
        assert value is not None and interval is not None
        assert interval.low - 1e-9 <= value <= interval.high + 1e-9


def test_an_estimate_from_pairs_is_inside_its_interval_whatever_the_medians_say() -> None:
    paired = effect(before_ms=10.0, after_ms=10.2, saved_ms=-0.2)
    assert paired.is_paired_estimate
    assert paired.saved_estimate_ms == pytest.approx(2.0)
    assert not effect().is_paired_estimate


def test_what_the_aggregator_leaves_undefined_stays_undefined() -> None:
    nothing = effect(ratio=None, ratio_range=None, before_ms=0.0, after_ms=1.0, saved_ms=-1.0)
    assert nothing.saved_pct is nothing.saved_pct_range is nothing.speedup_x is nothing.speedup_range is None
    assert numbers.pct(nothing.saved_pct) == numbers.NOTHING


@given(st.floats(-1e5, 1e5))
def test_no_number_is_written_as_minus_nothing(value: float) -> None:
    for text in (numbers.ms(value), numbers.pct(value), numbers.times(value)):
        assert text.strip("-0.") or not text.startswith("-")


def test_the_campaigns_that_other_rooms_are_tested_with_make_every_report(tmp_path: Path) -> None:
    incidents = (Incident(run=3, status="interrupted", reason="stopped by the user"), Incident(run=5))
    data = write_campaign(tmp_path, arms=("before", "after", "next"), incidents=incidents, protocol="interleaved")
    campaign = read_campaign(data)
    assert campaign.resumed == 1
    assert [one.status for one in campaign.lost_attempts] == ["interrupted", "failed"]
    assert campaign.missing_runs == 0
    for text in (markdown.render(data), html.render(data)):
        assert "stopped by the user" in text and "resumed 1 time" in text


def test_the_outline_says_the_same_without_reading_a_run(published: Path) -> None:
    outline, whole = read_outline(published), read_campaign(published)
    assert outline.effects == whole.effects and outline.arms == whole.arms
    assert outline.attempts == ()


def test_duplicate_keys_in_a_file_are_refused_with_its_name(make: Make) -> None:
    data = make()
    (data / "parity.json").write_text('{"ok": true, "ok": false}')
    with pytest.raises(BundleBroken, match=r"parity\.json: duplicate key 'ok'"):
        read_campaign(data)


@pytest.mark.parametrize("value", ["text", 3, [], None], ids=str)
def test_a_file_of_another_shape_is_one_clear_error_or_nothing(make: Make, value: Any) -> None:
    data = make()
    (data / "aggregate.json").write_text(json.dumps({"twotrees": value}))
    if value is None:
        assert markdown.render(data).startswith("**No verdict")
    else:
        with pytest.raises(BundleBroken, match="an object is needed here"):
            read_campaign(data)
