"""The pages opened in a real browser: nothing asked for, nothing complained about, readable on every screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from report.browser import CHROMIUM, Browser

from twotrees.report import html

Make = Callable[..., Path]
pytestmark = [] if CHROMIUM else [pytest.mark.slow]

# Every element that shows text of its own, with the contrast of its colour to the ground that it stands on.
CONTRAST = """
(() => {
  const channel = v => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = c => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const ground = node => {
    for (; node; node = node.parentElement) {
      const c = parse(getComputedStyle(node).backgroundColor);
      if (c.length === 3 || c[3] > 0) return c;
    }
    return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  };
  const low = [];
  for (const node of document.body.querySelectorAll('*')) {
    if (node.closest('svg') || ![...node.childNodes].some(c => c.nodeType === 3 && c.data.trim())) continue;
    const a = light(parse(getComputedStyle(node).color)), b = light(ground(node));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push([node.tagName, node.className, ratio.toFixed(2), node.innerText.slice(0, 30)].join(' '));
  }
  return low;
})()
"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@pytest.fixture
def page(make: Make, tmp_path: Path) -> Callable[..., Path]:
    """Writes the page of a campaign."""

    def write(language: str = "en", **otherwise: Any) -> Path:
        path = tmp_path / "report.html"
        path.write_text(html.render(make(**otherwise), language=language), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("width", [360, 768, 1280])
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_no_request_no_complaint_no_sideways_scroll_and_enough_contrast(
    browser: Browser, page: Callable[..., Path], width: int, dark: bool
) -> None:
    browser.open(page(labels=("drift allowed",)), width=width, dark=dark)
    assert browser.requests() == []
    assert browser.complaints() == []
    assert browser.ask(WIDER) <= 0
    assert browser.ask(CONTRAST) == []


@pytest.mark.parametrize(
    "otherwise",
    [
        {"arms": ("before", "after", "next")},
        {"modes": ("phase",), "parity": None, "host": False},
        {"extra_attempts": ({"status": "failed", "reason": "exit status 1: " + "x" * 300},)},
        {"terms": {f"reward/term_with_a_rather_long_name_{i:03d}": (1.0 + i, 0.5 + i) for i in range(200)}},
        {"run_noise": 0.3, "language": "zh"},
    ],
    ids=["three arms", "one metric", "failed runs", "200 terms", "nothing resolved, in Chinese"],
)
def test_every_kind_of_campaign_fits_a_phone_without_complaint(
    browser: Browser, page: Callable[..., Path], otherwise: dict[str, Any]
) -> None:
    browser.open(page(**otherwise), width=360)
    assert browser.requests() == []
    assert browser.complaints() == []
    assert browser.ask(WIDER) <= 0
    assert browser.ask(CONTRAST) == []


def test_hostile_text_runs_nothing_even_with_scripts_on(browser: Browser, page: Callable[..., Path]) -> None:
    attack = '"\'><img src=x onerror="window.owned=1"><svg onload="window.owned=1"><script>window.owned=1</script>'
    browser.open(page(labels=(attack,), terms={f"reward/{attack}": (1.0, 0.5)}), width=900, scripts=True)
    assert browser.ask("window.owned === undefined")
    assert browser.requests() == []


def test_the_page_prints(browser: Browser, page: Callable[..., Path]) -> None:
    browser.open(page(), width=900)
    paper = browser.pdf()
    assert paper.startswith(b"%PDF") and len(paper) > 20_000
