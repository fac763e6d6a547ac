"""The page by its text: self-contained, whole, and data in it only text. `test_browser.py` opens it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from twotrees.report import html

Make = Callable[..., Path]
HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(2)</script> {{ 7*7 }} </style> javascript:alert(3)"
VOID = {"meta", "img", "br", "hr", "input", "link"}
SVG_LEAVES = {"rect", "line", "circle", "path", "polyline"}


class Reader(HTMLParser):
    """Keeps every element, and checks that what is opened is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.wrong: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    @property
    def shown(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.text))


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    return reader


def test_the_page_is_well_formed_and_asks_nothing_of_any_network(published: Path) -> None:
    page = read(html.render(published))
    assert not page.wrong and not page.open
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "link", "img", "iframe", "object", "embed", "form", "base"}
    for tag, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes), tag
        assert all(str(attributes.get(name, "#")).startswith("#") for name in ("href", "src", "xlink:href"))
    policy = next(a["content"] for t, a in page.elements if t == "meta" and a.get("http-equiv"))
    assert policy is not None and policy.startswith("default-src 'none'")


def test_the_verdict_comes_first_and_every_part_is_there(published: Path) -> None:
    page = read(html.render(published)).shown
    assert page.index("after is faster than before") < page.index("Phases")
    for heading in ("Terms", "Aggregates", "Attribution", "A/A control", "Every run", "In time", "Validity", "Parity"):
        assert heading in page
    for heading in ("Pins", "Host", "Verify as a stranger", "Replicate"):
        assert heading in page


def test_every_table_has_a_caption_and_headings_do_not_skip_a_level(published: Path) -> None:
    page = read(html.render(published))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("table") == tags.count("caption") > 8
    levels = [int(tag[1]) for tag in tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in itertools.pairwise(levels))


def test_every_figure_has_a_caption_and_its_plots_have_a_text_or_are_hidden(published: Path) -> None:
    page = read(html.render(published))
    tags = [tag for tag, _ in page.elements]
    assert tags.count("figure") == tags.count("figcaption") >= 6
    for tag, attributes in page.elements:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes.get("aria-label")


def test_every_step_of_every_run_is_drawn(make: Make) -> None:
    page = read(html.render(make(steps=17)))
    strips = [attributes["d"] for tag, attributes in page.elements if tag == "path"]
    assert len(strips) == 4 * 6
    assert all(str(dots).count("M") == 17 for dots in strips)


def test_the_waterfall_goes_from_the_baseline_to_the_arm_without_a_gap(published: Path) -> None:
    page = read(html.render(published))
    kinds = ("stage", "saved", "added", "residual")
    bars = [a for tag, a in page.elements if tag == "rect" and a.get("class") in kinds]
    assert next(bar["class"] for bar in bars) == bars[-1]["class"] == "stage"
    level = float(str(bars[0]["width"]).rstrip("%"))
    for bar in bars[1:-1]:
        start = float(str(bar["x"]).rstrip("%"))
        end = start + float(str(bar["width"]).rstrip("%"))
        falls = abs(end - level) <= abs(start - level)
        assert min(abs(end - level), abs(start - level)) < 0.2
        level = start if falls else end
    assert abs(level - float(str(bars[-1]["width"]).rstrip("%"))) < 0.5


def test_hostile_text_from_data_is_only_text(make: Make) -> None:
    def hostile(plan: dict[str, Any]) -> None:
        plan.update(study=HOSTILE, title=HOSTILE, created=HOSTILE)
        plan["arms"][0]["source"] = {"kind": HOSTILE}
        plan["scripts"] = {HOSTILE: HOSTILE}

    parity = {
        "ok": False,
        "tolerance": {HOSTILE: HOSTILE},
        "terms": [{"name": HOSTILE, "ok": False, "reason": HOSTILE}],
    }
    terms = {f"reward/{HOSTILE}": (1.0, 0.5), "reward/plain": (1.0, 0.9)}
    lost = ({"status": HOSTILE, "reason": HOSTILE, "mode": "terms"},)
    page = read(
        html.render(make(edit_plan=hostile, terms=terms, labels=(HOSTILE,), parity=parity, extra_attempts=lost))
    )
    tags = {tag for tag, _ in page.elements}
    assert not tags & {"script", "img"}
    assert not any(name.startswith("on") for _, attributes in page.elements for name in attributes)
    assert "{{ 7*7 }}" in page.shown and "49" not in "".join(re.findall(r"\{\{.*?\}\}", page.shown))
    assert not page.wrong


def test_a_term_cannot_close_the_style_sheet_or_reach_an_attribute(make: Make) -> None:
    page = html.render(make(labels=("</style><script>1</script>",)))
    assert page.count("</style>") == 1
    assert "<script" not in page


@pytest.mark.parametrize(
    "otherwise",
    [
        {"arms": ("before", "after", "next")},
        {"modes": ("phase",), "parity": None, "host": False},
        {"repeats": 1},
        {"extra_attempts": ({"status": "failed", "reason": "exit status 1"}, {"status": "interrupted", "start": None})},
        {"run_noise": 0.3},
        {"arms": ("one", "two", "three", "four", "five", "six", "seven"), "repeats": 2},
    ],
    ids=["three arms", "one metric only", "one run", "lost attempts", "nothing resolved", "seven arms"],
)
def test_campaigns_of_every_kind_make_a_page(make: Make, otherwise: dict[str, Any]) -> None:
    if arms := otherwise.get("arms"):
        phases = {"update_state_ms": 3.0, "env_step_total_ms": 9.0, "reset_done_ms": 1.0}
        otherwise = {**otherwise, "phases": {name: (value,) * len(arms) for name, value in phases.items()}}
        otherwise["terms"] = {"reward/a": (1.0,) * len(arms)}
    page = read(html.render(make(**otherwise)))
    assert not page.wrong and not page.open


def test_two_hundred_terms_stay_under_a_megabyte(make: Make) -> None:
    terms = {f"reward/term_with_a_rather_long_name_{i:03d}": (1.0 + i, 0.5 + i, 0.4 + i) for i in range(200)}
    page = html.render(make(arms=("before", "after", "next"), terms=terms, repeats=2, steps=100))
    assert len(page.encode()) < 1_000_000
    assert "term_with_a_rather_long_name_199" in page


def test_samples_that_are_far_off_are_counted_not_dropped(make: Make) -> None:
    def spike(attempt: dict[str, Any]) -> None:
        if attempt["run"] == 1:
            result = attempt["result"]
            values = result["twotrees"]["samples"]["update_state_ms"]["values"]
            values[5] = 900_000_000
            ms = sorted(value / 1e6 for value in values)
            result["timing"]["update_state_ms"].update(
                mean_ms=sum(ms) / len(ms), median_ms=(ms[19] + ms[20]) / 2, p95_ms=ms[37] + 0.05 * (ms[38] - ms[37])
            )

    page = read(html.render(make(edit_attempt=spike))).shown
    assert "+1 → 900.000" in page


def test_a_profiler_without_samples_gets_a_page_that_says_so(make: Make) -> None:
    def published_profiler(attempt: dict[str, Any]) -> None:
        del attempt["result"]["twotrees"]

    page = read(html.render(make(edit_attempt=published_profiler))).shown
    assert "kept no samples of single steps" in page


def test_the_chinese_page_says_its_language(published: Path) -> None:
    page = html.render(published, language="zh")
    assert '<html lang="zh-CN">' in page and "每次运行的分布" in page
