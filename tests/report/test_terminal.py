"""The result at a shell: verdict first, nothing cut at any width, plain in a pipe."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from twotrees.report import terminal

Make = Callable[..., Path]


def shown(data: Path, *, width: int = 80, encoding: str = "utf-8", **console: Any) -> str:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    terminal.show(data, Console(file=file, width=width, _environ=console.pop("environ", {}), **console))
    return raw.getvalue().decode(encoding)


def words(text: str) -> list[str]:
    return text.split()


def test_the_verdict_is_the_first_sentence(published: Path) -> None:
    assert " ".join(words(shown(published))).startswith("after is faster than before: update_state 2")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_is_wider_than_the_console_and_no_number_is_lost(published: Path, width: int) -> None:
    text = shown(published, width=width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    widest = words(shown(published, width=400))
    assert sorted(re.findall(r"\[[^\]]*\d[^\]]*\]", " ".join(words(text)))) == sorted(
        re.findall(r"\[[^\]]*\d[^\]]*\]", " ".join(widest))
    )


def test_a_wide_console_has_one_line_for_each_quantity(published: Path) -> None:
    line = next(line for line in shown(published, width=160).splitlines() if line.startswith("  env.step"))
    assert re.fullmatch(
        r"  env\.step +[\d.]+ → [\d.]+ +[\d.]+ \[[\d., -]+\] +[\d.]+ \[[\d., -]+\] +1\.1\d \[[\d., ]+\]  3\+3  faster",
        line,
    )


def test_a_pipe_gets_no_escape_sequences_and_no_drawn_lines(published: Path) -> None:
    text = shown(published)
    assert "\x1b" not in text
    assert not re.search("[\u2500-\u257f]", text)


def test_no_color_is_honoured_on_a_terminal(published: Path) -> None:
    plain = shown(published, force_terminal=True, environ={"NO_COLOR": "1", "TERM": "xterm-256color"})
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]", plain)
    colored = shown(published, force_terminal=True, color_system="standard", environ={"TERM": "xterm-256color"})
    assert re.search(r"\x1b\[1;32m", colored)


def test_a_console_that_knows_only_ascii_gets_ascii(published: Path) -> None:
    text = shown(published, encoding="ascii")
    assert re.search(r"2\d\.\d{3} > 1\d\.\d{3} ms", " ".join(words(text)))


def test_not_comparable_is_loud_and_first(make: Make) -> None:
    parity = {"ok": False, "steps": 20, "num_envs": 64, "tolerance": {"absolute": 1e-5}, "terms": []}
    parity["terms"] = [
        {"arm": "after", "name": "reward/x", "ok": False, "max_abs_delta": 0.5, "reason": "wrong at once"}
    ]
    text = shown(make(parity=parity))
    assert text.startswith("NOT COMPARABLE, no speed follows from this campaign: parity: differs beyond")
    assert "reward/x" in text and "5.00e-01" in text and "wrong at once" in text
    assert "faster" not in text


def test_a_terminals_control_sequences_in_data_are_shown_not_obeyed(make: Make) -> None:
    text = shown(make(labels=("\x1b]0;owned\x07\x1b[2J",)), width=200)
    assert "\x1b" not in text and "\\x1b]0;owned" in text


def test_labels_lost_attempts_and_notes_are_told(make: Make) -> None:
    data = make(
        labels=("dirty tree",),
        extra_attempts=({"status": "failed", "reason": "exit status 1: boom"},),
    )
    text = shown(data)
    assert "Label: dirty tree" in text
    assert "failed: exit status 1: boom" in text
    assert "Notes" in text


def test_three_arms_one_metric_and_many_terms_each_render(make: Make, tmp_path: Path) -> None:
    terms = {f"reward/t{i:03d}": (1.0 + i, 0.5 + i, 0.4 + i) for i in range(200)}
    text = shown(make(arms=("before", "after", "next"), terms=terms, repeats=2, parity=None))
    assert "Phases: next against before" in text
    assert "and 180 more" in text
    assert "No parity record" in text


def test_zero_resolved_effects_are_said_to_be_unresolved(make: Make) -> None:
    phases = dict.fromkeys(("update_state_ms", "env_step_total_ms", "reset_done_ms"), (1.0, 1.0))
    text = shown(make(phases=phases, modes=("phase",), run_noise=0.05))
    assert text.startswith("It is not resolved whether after is faster than before")
