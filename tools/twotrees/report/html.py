"""The result as one page: self-contained, without scripts, in light and dark, on a phone, on paper.

In: a data folder. Out: HTML that asks nothing of any network (its own policy forbids it). Text from data passes through
Jinja's autoescape; nothing from data reaches an attribute that could act.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from twotrees.bundle.sign import strangers_check
from twotrees.report import numbers, plots, sentences, tables
from twotrees.report.facts import Attempt, Campaign, Effect, ParityLine, read_campaign
from twotrees.report.words import Words, words_of

TEMPLATES = Path(__file__).parent / "templates"
OPEN_ROWS = 24
MOST_ATTEMPTS = 500


@dataclass(frozen=True)
class Row:
    """One row of a plain table; `kind` becomes its class."""

    cells: tuple[str, ...]
    kind: str = ""


@dataclass(frozen=True)
class EffectRow:
    """One effect, cell by cell, and its mark."""

    name: str
    before_after: str
    saved: str
    saved_range: str
    pct: str
    pct_range: str
    times: str
    times_range: str
    n: str
    word: str
    verdict: str
    reason: str
    mark: plots.Interval


@dataclass(frozen=True)
class PageTable:
    """A table of effects; what does not fit the eye is folded into `more`."""

    title: str
    legend: str
    rows: tuple[EffectRow, ...]
    more: PageTable | None = None
    more_title: str = ""


def render(data: Path, *, language: str = "en", signature: str = "FP.sshsig", principal: str = "PRINCIPAL") -> str:
    """The whole page.

    Args:
        data: A campaign's data folder.
        language: `en` or `zh`.
        signature: File name under ``signatures/``, where it is known.
        principal: Name under which a stranger's own allowed_signers lists the signer.

    Raises:
        BundleBroken: the data cannot be read.
        UsageError: there is no such language.
    """
    words = words_of(language)
    campaign = read_campaign(data)
    page = {
        "w": words,
        "c": campaign,
        "style": style(),
        **head(campaign, words),
        **results(campaign, words),
        **runs(campaign, words),
        **checks(campaign, words),
        **pins_and_host(campaign, words),
        "strangers_check": strangers_check(signature, principal),
        "anew": sentences.anew(campaign),
    }
    return environment().get_template("report.html.j2").render(page)


def environment() -> Environment:
    """The templates of this room: everything is escaped, and a name that is missing is an error."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def style() -> Markup:
    """The style sheet, which is ours and so not escaped."""
    return Markup((TEMPLATES / "style.css").read_text(encoding="utf-8"))


def head(campaign: Campaign, words: Words) -> dict[str, Any]:
    """Verdict, circumstances, contents."""
    found = sentences.verdict(campaign, words)
    facts = [
        (words.fact_study, campaign.study),
        (words.fact_backend, " ".join(filter(None, (campaign.backend, campaign.device)))),
        (words.fact_scale, sentences.scale(campaign, words)),
        (words.fact_protocol, " ".join(filter(None, (campaign.protocol, campaign.order and f"({campaign.order})")))),
        (words.fact_created, campaign.created),
        (words.fact_replicates, campaign.replicates),
    ]
    contents = [
        (f"arm-{place}", tables.against(campaign, arm.name, words))
        for place, arm in enumerate(campaign.arms[1:], start=1)
    ]
    contents += [
        ("control", words.control_title),
        ("runs", words.distributions),
        ("time", words.timeline),
        ("validity", words.validity),
        ("pins", words.pins),
        ("host", words.host),
        ("verify", words.verify),
    ]
    return {
        "verdict": {"text": found.text, "kind": found.kind, "kind_word": words.verdict(found.kind)},
        "missing": sentences.missing(campaign, words),
        "facts": [(name, value) for name, value in facts if value],
        "contents": contents,
    }


def results(campaign: Campaign, words: Words) -> dict[str, Any]:
    """For each arm its tables and its waterfall; then the A/A control."""
    arms = []
    for arm in campaign.arms[1:]:
        parts = [part for part in campaign.attribution if part.arm == arm.name]
        arms.append(
            {
                "against": tables.against(campaign, arm.name, words),
                "tables": [page_table(table, words) for table in tables.effect_tables(campaign, arm.name, words)],
                "waterfall": plots.waterfall(campaign, arm.name, words),
                "parts": [
                    Row(tuple(tables.part_cells(part, words)), "stage" if part.kind == "stage" else "")
                    for part in parts
                ],
            }
        )
    return {
        "arms": arms,
        "header": tables.effect_header(words),
        "part_header": tables.part_header(words),
        "legend": sentences.legend(campaign, words),
        "control": plots.control(campaign),
        "control_text": sentences.control(campaign, words),
    }


def page_table(table: tables.EffectTable, words: Words) -> PageTable:
    """A table with its marks; long ones show their first rows and fold the rest."""
    marks = plots.intervals(table.effects)
    rows = tuple(effect_row(effect, mark, words) for effect, mark in zip(table.effects, marks, strict=True))
    if len(rows) <= OPEN_ROWS + 4:
        return PageTable(table.title, table.legend, rows)
    rest = table.effects[OPEN_ROWS:]
    most = max(abs(effect.saved_ms) for effect in rest)
    title = words.more_rows.format(count=len(rest), most=numbers.ms(most))
    return PageTable(table.title, table.legend, rows[:OPEN_ROWS], PageTable(table.title, "", rows[OPEN_ROWS:]), title)


def effect_row(effect: Effect, mark: plots.Interval, words: Words) -> EffectRow:
    """One effect."""
    decimals = numbers.ms_decimals(effect.before_ms, effect.after_ms)
    name, before_after, *_, n, word = tables.effect_cells(effect, words)
    return EffectRow(
        name=name,
        before_after=before_after,
        saved=numbers.ms(effect.saved_estimate_ms, decimals),
        saved_range=numbers.ms_range(effect.saved_ms_range, decimals),
        pct=numbers.pct(effect.saved_pct),
        pct_range=numbers.pct_range(effect.saved_pct_range),
        times=numbers.times(effect.speedup_x),
        times_range=numbers.times_range(effect.speedup_range),
        n=n,
        word=word,
        verdict=effect.verdict,
        reason=effect.reason,
        mark=mark,
    )


def runs(campaign: Campaign, words: Words) -> dict[str, Any]:
    """Every run's samples, the order of runs in time, the attempts."""
    medians = {
        run.attempt: run.median_ms
        for effect in campaign.headline[:1]
        for metric in campaign.metric(effect.metric)
        for run in metric.runs
    }
    shown = campaign.attempts[:MOST_ATTEMPTS]
    metric = words.metric(campaign.headline[0].metric) if campaign.headline else numbers.NOTHING
    return {
        "distributions": plots.distributions(campaign, words),
        "timeline": plots.timeline(campaign, words),
        "lost": [Row((str(one.attempt), which(one), one.status, one.reason)) for one in campaign.lost_attempts],
        "lost_header": (words.column_attempt, words.column_run, words.column_status, words.column_reason),
        "attempts": [attempt_row(one, medians.get(one.attempt)) for one in shown],
        "attempt_header": (
            words.column_attempt,
            words.column_run,
            words.column_arm,
            words.column_mode,
            words.column_status,
            words.column_start,
            words.column_wall,
            f"{metric} (ms)",
        ),
    }


def which(one: Attempt) -> str:
    """Which run an attempt was at."""
    return f"{one.run} ({one.arm} {one.mode} {one.repeat})"


def attempt_row(one: Attempt, median_ms: float | None) -> Row:
    """One attempt."""
    wall = numbers.NOTHING if one.wall_s is None else f"{one.wall_s:.1f}"
    cells = (str(one.attempt), str(one.run), one.arm, f"{one.mode} {one.repeat}", one.status, one.start, wall)
    return Row((*cells, numbers.ms(median_ms)))


def checks(campaign: Campaign, words: Words) -> dict[str, Any]:
    """Validity and parity."""
    states = {
        (True, True): (words.ok, "good"),
        (True, False): (words.not_checked, "unknown"),
        (False, True): (words.not_ok, "bad"),
        (False, False): (words.not_ok, "bad"),
    }
    lines = campaign.parity.lines if campaign.parity else ()
    wrong = [line for line in lines if not line.ok]
    return {
        "checks": [
            {
                "name": words.check(check.name),
                "state": states[check.ok, check.checked][0],
                "style": states[check.ok, check.checked][1],
                "detail": check.detail,
            }
            for check in campaign.validity
        ],
        "parity_text": sentences.parity(campaign, words),
        "parity_header": (words.column_output, words.column_arm, words.column_max_delta, words.column_found),
        "parity_wrong": parity_rows(wrong, words),
        "parity_rows": parity_rows(lines, words),
    }


def parity_rows(lines: Sequence[ParityLine], words: Words) -> list[Row]:
    """Outputs and their largest differences."""
    return [
        Row(
            (
                line.name,
                line.arm,
                numbers.delta(line.max_abs_delta),
                words.ok if line.ok else line.reason or words.not_ok,
            )
        )
        for line in lines
    ]


def pins_and_host(campaign: Campaign, words: Words) -> dict[str, Any]:
    """What was fixed, and where it ran."""
    host = campaign.host
    pinned = (*campaign.scripts, *campaign.pins, ("study_root", campaign.study_root))
    seeds = ((f"seed: {name}", value) for name, value in campaign.seeds)
    return {
        "arm_header": (words.column_arm, words.column_commit, words.column_tree, words.column_source),
        "arm_rows": [Row((arm.name, arm.commit, arm.tree, arm.source)) for arm in campaign.arms],
        "fact_header": (words.column_fact, words.column_value),
        "pin_rows": [Row(pair) for pair in (*pinned, *seeds) if pair[1]],
        "host_first": [
            Row((words.asked_first.get(label, label), fact.value))
            for label, fact in (host.asked_first() if host else ())
        ],
        "host_changed": [Row(change) for change in (host.changed() if host else ())],
    }
