"""Text from data is only text, in every layout."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from twotrees.report.text import clean, code, markdown

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def inline(source: str) -> list[str]:
    """The types of all inline tokens."""
    return [child.type for token in PARSER.parse(source) for child in token.children or []]


@pytest.mark.parametrize("hostile", ["a\nb", "a\rb", "a\u2028b", "a\x0bb"])
def test_a_name_stays_on_one_line(hostile: str) -> None:
    assert clean(hostile) == "a b"


@pytest.mark.parametrize(
    ("hostile", "seen"),
    [("\x1b[31mred", "\\x1b[31mred"), ("a\u202eb", "a\\u202eb"), ("a\u200bb", "a\\u200bb"), ("\x00", "\\x00")],
)
def test_control_and_direction_characters_stand_as_visible_escapes(hostile: str, seen: str) -> None:
    assert clean(hostile) == seen


def test_long_text_is_cut_and_says_so() -> None:
    assert clean("x" * 50, 10) == "x" * 10 + "…"


@given(st.text(max_size=60))
def test_escaped_text_never_makes_markup(text: str) -> None:
    assert set(inline(markdown(text))) <= {"text", "text_special"}


@given(st.text(max_size=60))
def test_a_cell_never_opens_another_column(text: str) -> None:
    for cell in (markdown(text), code(text)):
        tokens = PARSER.parse(f"| a | b |\n| --- | --- |\n| {cell} | z |")
        assert sum(token.type == "td_open" for token in tokens) == 2
        assert sum(token.type == "tr_open" for token in tokens) == 2


@pytest.mark.parametrize(
    "hostile",
    [
        "@octocat",
        "fixes #12",
        "<script>alert(1)</script>",
        "[x](http://evil)",
        "https://evil.example",
        "www.evil.example",
        "_www.evil.example",
    ],
)
def test_nothing_pings_links_closes_or_runs(hostile: str) -> None:
    rendered = markdown(hostile)
    assert "@o" not in rendered and "#1" not in rendered
    assert not re.search(r"https?:|www\.", rendered)
    assert "<" not in rendered


def test_words_that_readers_know_stay_readable() -> None:
    assert markdown("update_state 29.1 → 19.2 ms (n = 3 + 3)") == "update_state 29.1 → 19.2 ms (n = 3 + 3)"


def test_a_name_with_backticks_is_still_one_code_element() -> None:
    assert code("a`b|c") == "<code>a\\`b\\|c</code>"
    assert code("reward/x") == "`reward/x`"
