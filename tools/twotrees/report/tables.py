"""The tables of a report as rows of text, the same for terminal, Markdown and HTML; each layout only places them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twotrees.report import numbers
from twotrees.report.facts import Campaign, Effect, Part
from twotrees.report.words import Words

# Terms that stand inside no other term; the rest are managers and refreshes, which contain or are contained in them.
TERM_GROUPS = ("term:reward/", "term:termination/", "term:obs/")
PUBLISHED_PHASES = ("update_state_ms", "env_step_total_ms", "reset_done_ms")
# The aggregates that the published post prints, first.
PUBLISHED_AGGREGATES = ("four_body_rewards", "target_five", "two_robot_state_refreshes")


@dataclass(frozen=True)
class EffectTable:
    """One table of effects.

    Attributes:
        key: phases, terms, coarse or aggregates.
        title: In the report's language.
        legend: What a reader must know about it, may be empty.
        effects: The rows.
        rest: What was left out, empty when nothing was.
    """

    key: str
    title: str
    legend: str
    effects: tuple[Effect, ...]
    rest: str = ""


def against(campaign: Campaign, arm: str, words: Words) -> str:
    """ "after against before", in the report's language."""
    return words.against.format(arm=arm, baseline=campaign.arms[0].name)


def effect_tables(campaign: Campaign, arm: str, words: Words, *, most_terms: int | None = None) -> list[EffectTable]:
    """The tables of one arm that have rows: phases, terms, managers and refreshes, aggregates.

    Args:
        campaign: The facts.
        arm: Which arm against the baseline.
        words: The language.
        most_terms: Show at most so many terms, those that changed most; None for all.
    """
    terms = campaign.effects_of("term", arm)
    single = tuple(sorted((e for e in terms if e.metric.startswith(TERM_GROUPS)), key=saving_first))
    coarse = tuple(e for e in terms if not e.metric.startswith(TERM_GROUPS))
    shown = single if most_terms is None else single[:most_terms]
    rest = ""
    if len(shown) < len(single):
        most = max(abs(effect.saved_ms) for effect in single[len(shown) :])
        rest = words.more_rows.format(count=len(single) - len(shown), most=numbers.ms(most))
    aggregates = sorted(campaign.effects_of("aggregate", arm), key=lambda e: published_first(e.metric))
    phases = (*campaign.effects_of("phase", arm), *campaign.effects_of("quantile", arm))
    made = [
        EffectTable("phases", words.phases, "", phases),
        EffectTable("terms", words.terms, words.terms_legend, shown, rest),
        EffectTable("aggregates", words.aggregates, words.aggregates_legend, tuple(aggregates)),
        EffectTable("coarse", words.coarse, words.coarse_legend, coarse),
    ]
    return [table for table in made if table.effects]


def published_phases(effects: Sequence[Effect]) -> list[Effect]:
    """The phases that the published post prints, with their quantiles; all of them where a study has others."""
    found = [effect for effect in effects if effect.metric.partition("@")[0] in PUBLISHED_PHASES]
    return found or list(effects)


def saving_first(effect: Effect) -> float:
    """Sorts what changed most to the top."""
    return -abs(effect.saved_ms)


def published_first(metric: str) -> int:
    """Sorts the published aggregates to the top, the others keeping their order."""
    return PUBLISHED_AGGREGATES.index(metric) if metric in PUBLISHED_AGGREGATES else len(PUBLISHED_AGGREGATES)


def effect_header(words: Words) -> list[str]:
    """Column titles of `effect_cells`."""
    return [
        words.column_metric,
        words.column_before_after,
        words.column_saved,
        words.column_saved_pct,
        words.column_speedup,
        words.column_n,
        words.column_verdict,
    ]


def effect_cells(effect: Effect, words: Words) -> list[str]:
    """One effect: name, before → after, saved, per cent, factor (each with its interval), n, verdict."""
    decimals = numbers.ms_decimals(effect.before_ms, effect.after_ms)
    return [
        words.metric(effect.metric),
        f"{numbers.ms(effect.before_ms)} → {numbers.ms(effect.after_ms)}",
        joined(numbers.ms(effect.saved_estimate_ms, decimals), numbers.ms_range(effect.saved_ms_range, decimals)),
        joined(numbers.pct(effect.saved_pct), numbers.pct_range(effect.saved_pct_range)),
        joined(numbers.times(effect.speedup_x), numbers.times_range(effect.speedup_range)),
        f"{effect.n_before}+{effect.n_after}",
        words.verdict(effect.verdict),
    ]


def joined(value: str, interval: str) -> str:
    """A value with its interval, where there is one."""
    return f"{value} {interval}" if interval else value


def part_header(words: Words) -> list[str]:
    """Column titles of `part_cells`."""
    return [
        words.column_part,
        words.column_before,
        words.column_after,
        words.column_saved,
        words.column_share_saving,
        words.column_share_before,
        words.column_share_after,
    ]


def part_cells(part: Part, words: Words) -> list[str]:
    """One line of the attribution."""
    return [
        words.part(part.line),
        numbers.ms(part.before_ms),
        numbers.ms(part.after_ms),
        numbers.ms(part.saved_ms, numbers.ms_decimals(part.before_ms, part.after_ms)),
        numbers.pct(part.share_of_saving_pct),
        numbers.pct(part.before_share_pct),
        numbers.pct(part.after_share_pct),
    ]
