"""The host in reports: what kind of machine it was, why it was not quiet, what it did meanwhile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from twotrees.report import html, markdown
from twotrees.report.facts import read_campaign
from twotrees.report.host_facts import read_host

Make = Callable[..., Path]


def test_stolen_time_seen_by_the_monitor_is_a_warning_in_every_report(published: Path) -> None:
    found = read_host(published / "host")
    assert found is not None and any("2.5 %" in warning for warning in found.warnings)
    assert "**The host was not quiet" in markdown.render(published)
    assert "The host was not quiet" in html.render(published)


def test_readings_take_the_mean_of_cores_and_each_gpu_by_its_name(published: Path) -> None:
    found = read_host(published / "host")
    assert found is not None
    first = found.readings[0]
    assert first.values["frequency_mhz"] == (3001 + 3010) / 2
    assert first.values["gpu.GPU-1.temperature_c"] == 41
    assert "temperature_c" not in first.values


def test_the_page_draws_frequency_load_steal_and_the_gpu_below_the_runs(published: Path) -> None:
    page = html.render(published)
    for label in ("frequency", "load", "steal", "gpu clock", "gpu temperature"):
        assert f'<span class="name">{label}</span>' in page
    assert "MHz" in page and "°C" in page


def test_an_unknown_fact_shows_its_reason_not_a_zero(published: Path) -> None:
    assert "unknown: not readable" in html.render(published)


def test_facts_of_another_shape_are_shown_and_judged_by_nobody(make: Make) -> None:
    data = make()
    (data / "host" / "before.json").write_text(json.dumps({"facets": {"load": 3, "processor": ["x"]}}))
    campaign = read_campaign(data)
    assert campaign.host is not None
    assert html.render(data)
    (data / "host" / "before.json").write_text(json.dumps([1, 2]))
    assert html.render(data)


def test_a_half_written_last_line_of_the_monitor_is_left_out(make: Make) -> None:
    data = make()
    path = data / "host" / "monitor.jsonl"
    whole = read_host(data / "host")
    with path.open("a") as stream:
        stream.write('{"time": 17645')
    assert read_host(data / "host") == whole
