"""A folder of bundles on one page: every bundle listed, broken ones named, sorted by a click, without a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from report.browser import CHROMIUM, Browser
from synthetic.campaign import STARTED, write_campaign

from twotrees.bundle.seal import seal
from twotrees.errors import UsageError
from twotrees.report import index

needs_browser = [] if CHROMIUM else [pytest.mark.slow]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sealed bundles of one study on following days, one that says nothing, one that is broken."""
    folder = tmp_path_factory.mktemp("results")
    for day, speedup in enumerate((0.2, 0.6, 1.0)):
        made = tmp_path_factory.mktemp(f"campaign{day}")
        started = STARTED + timedelta(days=day)
        data = write_campaign(made, seed=day, repeats=2, speedups={"after": speedup}, started=started, parity=False)
        seal(data, folder, study="g1_update_state", backend="mujoco", created=datetime(2026, 9, 1 + day, tzinfo=UTC))
    broken = folder / "broken" / "data"
    broken.mkdir(parents=True)
    (broken / "plan.json").write_text('{"arms": "<script>alert(1)</script>"}')
    bare = folder / "bare" / "data"
    bare.mkdir(parents=True)
    (bare / "plan.json").write_text(json.dumps({"study": "bare", "backend": "mujoco", "created": "2026-01-01"}))
    (folder / ".work").mkdir()
    (folder / "notes.txt").write_text("no bundle")
    return folder


def test_every_bundle_has_a_row_with_its_numbers_root_and_link(results: Path) -> None:
    page = index.render(results)
    roots = [path.name.rsplit("-", 1)[1] for path in results.iterdir() if path.name.startswith("g1_")]
    assert len(roots) == 3
    for root in roots:
        assert f"<code>{root}</code>" in page
    assert page.count("data/report.md") == 3
    assert "4 bundles in this folder" in page


def test_a_bundle_that_cannot_be_read_is_named_with_the_reason_and_harmless(results: Path) -> None:
    page = index.render(results)
    assert "1 cannot be read" in page and "plan.json: arms: an array is needed here" in page
    assert "<script>alert" not in page


def test_a_bundle_that_is_not_sealed_says_so(results: Path) -> None:
    assert "not sealed" in index.render(results)


def test_the_trend_is_in_the_order_of_time(results: Path) -> None:
    page = index.render(results)
    days = [page.index(f"2026-08-{day} after", page.index("Trend over commits")) for day in (26, 27, 28)]
    assert days == sorted(days)


def test_another_metric_can_be_asked_for(results: Path) -> None:
    page = index.render(results, metric="four_body_rewards")
    assert "four body rewards" in page and ">update_state<" not in page


def test_an_empty_folder_makes_an_empty_page_and_a_missing_one_an_error(tmp_path: Path) -> None:
    assert "0 bundles" in index.render(tmp_path)
    with pytest.raises(UsageError, match="no such folder"):
        index.render(tmp_path / "nowhere")


def test_writing_replaces_the_old_page_in_one_step(results: Path) -> None:
    path = index.write(results)
    assert path.name == "index.html" and path.read_text().startswith("<!DOCTYPE html>")
    assert not list(results.glob(".index*"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


class TestInABrowser:
    pytestmark = needs_browser

    def test_a_click_sorts_and_a_second_one_turns_the_order(self, browser: Browser, results: Path) -> None:
        browser.open(index.write(results), width=1200, scripts=True)
        column = "[...document.querySelectorAll('tbody tr')].map(r => parseFloat(r.children[5].dataset.key))"
        click = "document.querySelectorAll('thead th')[5].querySelector('button').click()"
        browser.ask(click)
        down = browser.ask(column)
        browser.ask(click)
        assert down == sorted(down, reverse=True) and browser.ask(column) == sorted(down)
        assert browser.ask("document.querySelectorAll('thead th')[5].getAttribute('aria-sort')") == "ascending"
        assert browser.complaints() == []

    @pytest.mark.parametrize("width", [360, 1280])
    def test_it_reads_without_scripts_and_asks_for_nothing(self, browser: Browser, results: Path, width: int) -> None:
        browser.open(index.write(results), width=width)
        assert browser.requests() == [] and browser.complaints() == []
        assert browser.ask("document.querySelectorAll('tbody tr').length") == 4
        assert browser.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
