"""What people paste into a pull request: it renders, says the verdict first, and data in it stays data."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from twotrees.errors import BundleBroken, UsageError
from twotrees.report import markdown

PARSER = MarkdownIt("commonmark", {"html": True}).enable("table")
Make = Callable[..., Path]
HOSTILE = "x|y`z` <script>alert(1)</script> @everyone fixes #1 **b** [l](http://e)\n# h\x1b[31m\u202e"


def html(text: str) -> str:
    return str(PARSER.render(text))


def rows(text: str) -> list[list[str]]:
    """All table rows as a git host shows them."""
    found = re.findall(r"<tr>(.*?)</tr>", html(text), re.S)
    return [
        [re.sub(r"<[^>]+>", "", cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.S)] for row in found
    ]


def test_the_first_line_is_the_verdict_with_interval_and_n(published: Path) -> None:
    first = markdown.render(published).splitlines()[0]
    assert re.fullmatch(
        r"\*\*after is faster than before: update_state [\d.]+ → [\d.]+ ms, 3\d\.\d % less time, 1\.5\d× "
        r"\(95 % interval [\d.]+ to [\d.]+ % saved; n = 3 \+ 3 runs\)\.\*\*",
        first,
    )


def test_the_tables_hold_the_numbers_of_the_aggregate(published: Path) -> None:
    aggregate = json.loads((published / "aggregate.json").read_text())["twotrees"]
    shown = {row[0]: row for row in rows(markdown.render(published))}
    effect = next(e for e in aggregate["effects"] if e["metric"] == "update_state_ms")
    assert shown["update_state"][1] == f"{effect['before_ms']:.3f} → {effect['after_ms']:.3f}"
    assert shown["update_state"][2].startswith(f"{effect['saved_ms']:.3f} [")
    assert shown["update_state"][3] == (
        f"{effect['reduction_pct']:.1f} [{(1 - effect['ratio_high']) * 100:.1f}, {(1 - effect['ratio_low']) * 100:.1f}]"
    )
    assert shown["update_state"][4] == (
        f"{effect['speedup_x']:.2f} [{1 / effect['ratio_high']:.2f}, {1 / effect['ratio_low']:.2f}]"
    )
    assert shown["update_state"][5:] == ["3+3", "faster"]
    assert {"four body rewards", "five target terms", "two refreshes", "residual"} <= set(shown)


def test_every_table_has_as_many_cells_in_each_row_as_in_its_header(published: Path) -> None:
    for language in ("en", "zh"):
        text = markdown.render(published, language=language)
        for table in re.findall(r"(?:^\|.*\|\n?)+", text, re.M):
            widths = {len(re.findall(r"(?<!\\)\|", line)) for line in table.strip().splitlines()}
            assert len(widths) == 1


def test_chinese_says_the_same_numbers_in_the_communitys_words(published: Path) -> None:
    english, chinese = markdown.render(published), markdown.render(published, language="zh")
    assert "四个 body rewards" in chinese and "收益归因" in chinese and "未覆盖 residual" in chinese
    numbers = r"\| (\d+\.\d+ → \d+\.\d+) \|"
    assert re.findall(numbers, english) == re.findall(numbers, chinese)


def test_an_unknown_language_is_refused_naming_the_known_ones(published: Path) -> None:
    with pytest.raises(UsageError, match="en, zh"):
        markdown.render(published, language="fr")


def test_a_failed_check_is_loud_and_first_and_no_arm_is_called_faster(make: Make) -> None:
    def other_chunk(attempt: dict[str, Any]) -> None:
        if attempt["arm"] == "after":
            attempt["result"]["twotrees"]["decisions"] = {"chunk_size": 4}

    text = markdown.render(make(edit_attempt=other_chunk))
    assert text.startswith("> **NOT COMPARABLE, no speed follows from this campaign: decisions:")
    assert "faster" not in text
    assert "NOT OK" in text


def test_hostile_text_from_data_is_only_text(make: Make) -> None:
    def hostile(plan: dict[str, Any]) -> None:
        plan["study"] = plan["labels"] = HOSTILE
        plan["labels"] = [HOSTILE]
        plan["arms"][0]["source"] = {"kind": HOSTILE}

    terms = {f"reward/{HOSTILE}": (1.0, 0.5), "reward/plain": (1.0, 0.9)}
    text = markdown.render(make(edit_plan=hostile, terms=terms, labels=(HOSTILE,)))
    page = html(text)
    assert "<script" not in page and "<h1" not in page and "<a " not in page
    assert "\x1b" not in text and "\u202e" not in text
    outside_code = re.sub(r"```.*?```", "", text, flags=re.S)
    assert not re.search(r"@(?!&#8203;)\w", outside_code)
    assert not re.search(r"(?<!&)#\d", outside_code)


def test_failed_and_interrupted_attempts_are_told_with_their_reason(make: Make) -> None:
    data = make(
        extra_attempts=(
            {
                "status": "failed",
                "reason": "ended by SIGABRT: Terminating: nested parallel kernel",
                "signal": "SIGABRT",
            },
            {"status": "interrupted", "reason": "stopped by the user"},
        )
    )
    text = markdown.render(data)
    assert "nested parallel kernel" in text and "stopped by the user" in text


def test_a_campaign_that_lacks_runs_says_how_many(make: Make) -> None:
    def lose(attempt: dict[str, Any]) -> None:
        if attempt["run"] == 2:
            attempt.update(status="timeout", reason="it was ended after 1800 s", result=None)

    text = markdown.render(make(edit_attempt=lose))
    assert "1 of 12 planned runs have no result that counts" in text
    assert text.startswith("> **NOT COMPARABLE")


def test_three_arms_are_each_compared_with_the_baseline(make: Make) -> None:
    text = markdown.render(make(arms=("before", "after", "next")))
    assert "### after against before" in text and "### next against before" in text
    first = text.splitlines()[0]
    assert "after is faster than before" in first and "next is faster than before" in first


def test_one_metric_without_terms_parity_or_host_still_renders(make: Make) -> None:
    phases = dict.fromkeys(("update_state_ms", "env_step_total_ms", "reset_done_ms"), (1.0, 1.0))
    text = markdown.render(make(modes=("phase",), phases=phases, parity=None, host=False))
    assert "No parity record" in text and "No host facts" in text
    assert "Attribution" not in text


def test_one_run_of_each_arm_has_no_interval_and_resolves_nothing(make: Make) -> None:
    text = markdown.render(make(repeats=1))
    assert text.startswith("**It is not resolved whether after is faster than before")
    assert "no interval; n = 1 + 1 runs" in text
    assert "A/A control: none" in text


def test_two_hundred_terms_and_three_arms_fit_into_a_comment(make: Make) -> None:
    terms = {f"reward/term_with_a_rather_long_name_{i:03d}": (1.0 + i, 0.5 + i, 0.4 + i) for i in range(200)}
    text = markdown.render(make(arms=("before", "after", "next"), terms=terms, repeats=2))
    assert len(text) < 60_000
    assert "and 160 more" in text


def test_the_strangers_four_lines_are_in_it(published: Path) -> None:
    text = markdown.render(published, signature="0123456789abcdef.sshsig", principal="ann@example.org")
    assert "-I ann@example.org -n twotrees-bundle-v1 -s signatures/0123456789abcdef.sshsig" in text
    assert "sha256sum -c --strict --quiet tagmanifest-sha256.txt manifest-sha256.txt" in text


def test_the_command_that_replicates_is_quoted_for_a_shell(published: Path) -> None:
    assert "nox -s ab-mujoco -- study=g1_update_state 'study.arms=[before,after]'" in markdown.render(published)


def test_a_folder_that_is_no_campaign_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(BundleBroken, match=r"plan\.json"):
        markdown.render(tmp_path)


def test_a_number_that_is_none_is_named_with_its_file_and_key(make: Make) -> None:
    data = make()
    aggregate = json.loads((data / "aggregate.json").read_text())
    aggregate["twotrees"]["effects"][0]["before_ms"] = "fast"
    (data / "aggregate.json").write_text(json.dumps(aggregate))
    with pytest.raises(BundleBroken, match=r"aggregate\.json: twotrees\.effects\[0\]\.before_ms: a number is needed"):
        markdown.render(data)
