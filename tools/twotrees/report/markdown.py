"""The result as a person pastes it into a pull request: verdict, two tables, the rest folded away.

In: a data folder. Out: Markdown that git hosts render alike (GFM tables, `<details>`), every text from data escaped.
The bundle's root is not known while this is written into it, so files are named relative to the bundle.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from twotrees.bundle.sign import strangers_check
from twotrees.report import numbers, sentences, tables
from twotrees.report.facts import Campaign, Effect, read_campaign
from twotrees.report.text import clean, code, markdown
from twotrees.report.words import Words, words_of

# A comment on a git host holds 65,536 characters.
MOST_TERMS = 40
MOST_LOST = 20
MOST_NOTES = 24
MOST_REASON_CHARS = 300


def render(data: Path, *, language: str = "en", signature: str = "FP.sshsig", principal: str = "PRINCIPAL") -> str:
    """The whole text.

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
    blocks = [*verdict(campaign, words), circumstances(campaign, words)]
    compared = [arm.name for arm in campaign.arms[1:]]
    for arm in compared:
        blocks += open_tables(campaign, arm, words)
    blocks.append(sentences.legend(campaign, words))
    for arm in compared:
        blocks += folded_tables(campaign, arm, words)
    blocks += [
        folded(words.validity, validity(campaign, words)),
        folded(words.parity, parity(campaign, words)),
        folded(words.lost, lost(campaign, words)),
        folded(words.notes, notes(campaign, words)),
        folded(words.pins, pins(campaign, words)),
        folded(words.host, host(campaign, words)),
        folded(words.verify, verify(words, signature, principal)),
        folded(words.replicate, replicate(campaign, words)),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def verdict(campaign: Campaign, words: Words) -> list[str]:
    """The first sentence, loud when nothing may be compared, and what qualifies it."""
    found = sentences.verdict(campaign, words)
    stop = words.full_stop
    text = f"**{markdown(found.text)}{stop}**"
    blocks = [f"> {text}" if found.kind == "not comparable" else text]
    qualifying = [*([gap] if (gap := sentences.missing(campaign, words)) else [])]
    qualifying += [f"{words.label}: {label}" for label in campaign.labels]
    if campaign.host and campaign.host.warnings:
        first, *rest = campaign.host.warnings
        qualifying.append(f"{words.not_quiet}: {first}{f' (+{len(rest)})' if rest else ''}")
    if qualifying:
        blocks.append(bullets(f"**{markdown(text)}**" for text in qualifying))
    return blocks


def circumstances(campaign: Campaign, words: Words) -> str:
    """What was measured, and the A/A control beside it."""
    device = f" ({code(campaign.device)})" if campaign.device else ""
    scale = markdown(sentences.scale(campaign, words))
    first = f"{code(campaign.study)} · {code(campaign.backend)}{device} · {scale} · {code(campaign.protocol)}"
    return f"{first}\n\n{markdown(sentences.control(campaign, words))}"


def open_tables(campaign: Campaign, arm: str, words: Words) -> list[str]:
    """Phases and the published aggregates, in sight."""
    found = {table.key: table for table in tables.effect_tables(campaign, arm, words)}
    shown: list[Effect] = []
    if "phases" in found:
        shown += tables.published_phases(found["phases"].effects)
    if "aggregates" in found:
        shown += [e for e in found["aggregates"].effects if e.metric in tables.PUBLISHED_AGGREGATES]
    if not shown:
        return []
    return [f"### {markdown(tables.against(campaign, arm, words))}", effect_table(shown, words)]


def folded_tables(campaign: Campaign, arm: str, words: Words) -> list[str]:
    """All terms, aggregates, managers and the attribution of one arm."""
    against = tables.against(campaign, arm, words)
    blocks = []
    for table in tables.effect_tables(campaign, arm, words, most_terms=MOST_TERMS):
        title = table.title
        if table.key == "phases":
            title = words.all_phases
            if len(tables.published_phases(table.effects)) == len(table.effects):
                continue
        body = [table.legend, effect_table(table.effects, words), markdown(table.rest)]
        blocks.append(folded(words.titled.format(title=title, against=against), body))
    parts = [tables.part_cells(part, words) for part in campaign.attribution if part.arm == arm]
    if parts:
        rows = [[markdown(row[0]), *row[1:]] for row in parts]
        body = [words.attribution_legend, grid(tables.part_header(words), rows, right=range(1, 7))]
        blocks.append(folded(words.titled.format(title=words.attribution, against=against), body))
    return blocks


def effect_table(effects: Sequence[Effect], words: Words) -> str:
    """A table of effects."""
    rows = []
    for effect in effects:
        name, *numbers_of, word = tables.effect_cells(effect, words)
        strong = f"**{markdown(word)}**" if effect.verdict in ("faster", "slower") else markdown(word)
        rows.append([code(name) if effect.kind in ("phase", "term") else markdown(name), *numbers_of, strong])
    return grid(tables.effect_header(words), rows, right=range(1, 6))


def validity(campaign: Campaign, words: Words) -> list[str]:
    """Each check, what it found, and whether that voids the comparison."""
    rows = []
    for check in campaign.validity:
        state = f"**{words.not_ok}**"
        if check.ok:
            state = words.ok if check.checked else words.not_checked
        rows.append([markdown(words.check(check.name)), state, markdown(clean(check.detail, MOST_REASON_CHARS))])
    return [grid([words.column_check, words.column_status, words.column_found], rows)] if rows else []


def parity(campaign: Campaign, words: Words) -> list[str]:
    """Parity in a sentence, and the outputs that differ."""
    blocks = [markdown(sentences.parity(campaign, words))]
    wrong = [line for line in campaign.parity.lines if not line.ok] if campaign.parity else []
    rows = [
        [code(line.arm), code(line.name), numbers.delta(line.max_abs_delta), markdown(clean(line.reason, 200))]
        for line in wrong[:MOST_TERMS]
    ]
    if rows:
        header = [words.column_arm, words.column_output, words.column_max_delta, words.column_reason]
        blocks.append(grid(header, rows))
    return blocks


def lost(campaign: Campaign, words: Words) -> list[str]:
    """Attempts that do not count, and interruptions."""
    rows = []
    for one in campaign.lost_attempts[-MOST_LOST:]:
        which = f"{code(one.arm)} {code(one.mode)} {one.repeat}"
        reason = markdown(clean(one.reason, MOST_REASON_CHARS))
        rows.append([str(one.attempt), str(one.run), which, code(one.status), reason])
    header = [words.column_attempt, words.column_run, words.column_arm, words.column_status, words.column_reason]
    blocks = [grid(header, rows)] if rows else []
    if campaign.resumed:
        blocks.append(words.interrupted.format(count=campaign.resumed))
    return blocks


def notes(campaign: Campaign, words: Words) -> list[str]:
    """What the aggregator found worth knowing; labels and attribution come first, so they are never cut."""
    lines = [markdown(note) for note in campaign.notes[:MOST_NOTES]]
    rest = len(campaign.notes) - MOST_NOTES
    if rest > 0:
        lines.append(words.more_notes.format(count=rest))
    return [bullets(lines)] if lines else []


def pins(campaign: Campaign, words: Words) -> list[str]:
    """Commits, then the hashes that fix scripts and packages."""
    arms = [[code(arm.name), code(arm.commit), code(arm.tree), code(arm.source)] for arm in campaign.arms]
    header = [words.column_arm, words.column_commit, words.column_tree, words.column_source]
    fixed = [[code(name), code(value)] for name, value in (*campaign.scripts, *campaign.pins, *seeds(campaign))]
    return [grid(header, arms), grid([words.column_fact, words.column_value], fixed)]


def seeds(campaign: Campaign) -> list[tuple[str, str]]:
    """Seeds, with names that say what they are."""
    return [(f"seed: {name}", value) for name, value in campaign.seeds]


def host(campaign: Campaign, words: Words) -> list[str]:
    """The facts that a reader asks first, and what changed meanwhile."""
    if campaign.host is None:
        return [words.no_host]
    rows = [
        [markdown(words.asked_first.get(label, label)), code(fact.value)] for label, fact in campaign.host.asked_first()
    ]
    blocks = [grid([words.column_fact, words.column_value], rows)] if rows else [words.no_host]
    blocks.append(bullets(markdown(warning) for warning in campaign.host.warnings))
    blocks.append("`data/host/before.json`, `data/host/after.json`, `data/host/monitor.jsonl`")
    return blocks


def verify(words: Words, signature: str, principal: str) -> list[str]:
    """The stranger's four lines, then the toolkit's one."""
    return [
        words.verify_intro,
        fenced("bash", strangers_check(signature, principal)),
        words.verify_with_tool,
        fenced("bash", "nox -s verify -- BUNDLE --allowed-signers allowed_signers"),
    ]


def replicate(campaign: Campaign, words: Words) -> list[str]:
    """The commands that measure the same thing elsewhere."""
    return [
        words.replicate_new,
        fenced("bash", sentences.anew(campaign)),
    ]


def grid(header: Sequence[str], rows: Sequence[Sequence[str]], *, right: range = range(0)) -> str:
    """A GFM table; cells are escaped already."""
    rule = ["---:" if column in right else "---" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, rule, *rows))


def folded(title: str, blocks: Iterable[str]) -> str:
    """A collapsible section; nothing where there is nothing to fold."""
    body = "\n\n".join(block for block in blocks if block)
    if not body:
        return ""
    # The title stands in raw HTML: backslashes would be seen, entities are not.
    shown = html.escape(clean(title)).replace("@", "@&#8203;")
    return f"<details>\n<summary>{shown}</summary>\n\n{body}\n\n</details>"


def bullets(lines: Iterable[str]) -> str:
    """A list."""
    return "\n".join(f"- {line}" for line in lines)


def fenced(language: str, text: str) -> str:
    """A block of code that is ours, never data."""
    return f"```{language}\n{text.rstrip()}\n```"
