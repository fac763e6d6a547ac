"""What the report says in whole sentences: the verdict, the A/A control, parity; in either language."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from twotrees.report import numbers
from twotrees.report.facts import Campaign, Effect
from twotrees.report.text import clean
from twotrees.report.words import Words

MOST_DETAIL_CHARS = 200

_BY_VERDICT = {"faster": "faster", "slower": "slower", "equivalent": "equivalent", "not resolved": "not_resolved"}


@dataclass(frozen=True)
class Verdict:
    """The first sentence of every report.

    Attributes:
        text: One sentence, without a full stop.
        kind: faster, slower, equivalent, not resolved, not comparable, none, or mixed where arms differ.
    """

    text: str
    kind: str


def verdict(campaign: Campaign, words: Words) -> Verdict:
    """What the campaign says about speed; validity comes before speed."""
    if campaign.failed_checks or any(effect.verdict == "not comparable" for effect in campaign.headline):
        failures = "; ".join(
            f"{words.check(check.name)}: {clean(check.detail, MOST_DETAIL_CHARS)}" for check in campaign.failed_checks
        )
        text = words.not_comparable.format(failures=failures or words.validity)
        return Verdict(text, "not comparable")
    headline = campaign.headline
    if not headline:
        return Verdict(words.no_verdict, "none")
    kinds = {effect.verdict for effect in headline}
    text = "; ".join(effect_sentence(effect, words) for effect in headline)
    return Verdict(text, kinds.pop() if len(kinds) == 1 else "mixed")


def effect_sentence(effect: Effect, words: Words) -> str:
    """One effect as a clause."""
    template = getattr(words, _BY_VERDICT.get(effect.verdict, "not_resolved"))
    saved = effect.saved_pct
    text: str = template.format(
        arm=effect.arm,
        baseline=effect.baseline,
        metric=words.metric(effect.metric),
        before=numbers.ms(effect.before_ms),
        after=numbers.ms(effect.after_ms),
        pct=numbers.pct(saved),
        more=numbers.pct(None if saved is None else -saved),
        times=numbers.times(effect.speedup_x),
        interval=interval_clause(effect, words),
        delta=f"{effect.delta * 100:g}",
        reason=effect.reason,
    )
    return text


def interval_clause(effect: Effect, words: Words) -> str:
    """The interval and n of an effect in words."""
    saved = effect.saved_pct_range
    if saved is None:
        return words.no_interval.format(n_before=effect.n_before, n_after=effect.n_after)
    return words.interval.format(
        confidence=f"{effect.confidence * 100:g}",
        low=numbers.pct(saved.low),
        high=numbers.pct(saved.high),
        n_before=effect.n_before,
        n_after=effect.n_after,
    )


def missing(campaign: Campaign, words: Words) -> str:
    """How many planned runs are missing; empty when none is."""
    if campaign.missing_runs <= 0:
        return ""
    return words.missing_runs.format(missing=campaign.missing_runs, planned=campaign.planned)


def control(campaign: Campaign, words: Words) -> str:
    """What no change looks like: A against A where this host was calibrated, and runs of one arm among themselves."""
    told = [calibrated(campaign, words), within(campaign, words)]
    return (" " if words.language == "en" else "").join(filter(None, told))


def calibrated(campaign: Campaign, words: Words) -> str:
    """What `calibrate` found on this host for the headline metric; empty when it was not run."""
    known = dict(campaign.calibrated)
    if not campaign.headline or campaign.headline[0].metric not in known:
        return ""
    name = campaign.headline[0].metric
    low, high = (100.0 * (ratio - 1.0) for ratio in (known[name].low, known[name].high))
    return words.calibrated.format(metric=words.metric(name), low=numbers.pct(low), high=numbers.pct(high))


def within(campaign: Campaign, words: Words) -> str:
    """The largest difference of two runs of one and the same arm in the headline metric."""
    if not campaign.headline:
        return words.no_control
    name = campaign.headline[0].metric
    series = [metric.run_values_ms() for metric in campaign.metric(name)]
    enough = [values for values in series if len(values) > 1 and min(values) > 0.0]
    if not enough:
        return words.no_control
    spread = max(max(values) / min(values) - 1.0 for values in enough) * 100.0
    runs = " + ".join(str(len(values)) for values in series)
    told = words.control.format(spread=numbers.pct(spread), metric=words.metric(name), runs=runs)
    if any(effect.is_paired_estimate for effect in campaign.headline):
        told += (" " if words.language == "en" else "") + words.control_paired
    return told


def parity(campaign: Campaign, words: Words) -> str:
    """Whether the arms compute the same things."""
    found = campaign.parity
    if found is None:
        return words.no_parity
    failed = sum(not line.ok for line in found.lines)
    template = words.parity_holds if found.ok else words.parity_fails
    return template.format(
        count=len(found.lines),
        failed=failed,
        steps=numbers.NOTHING if found.steps is None else found.steps,
        num_envs=numbers.NOTHING if found.num_envs is None else found.num_envs,
        tolerance=found.tolerance or numbers.NOTHING,
    )


def legend(campaign: Campaign, words: Words) -> str:
    """How to read the intervals and the verdicts."""
    confidence, delta = f"{campaign.confidence * 100:g}", f"{campaign.delta * 100:g}"
    told = [words.interval_legend.format(confidence=confidence, delta=delta)]
    if any(effect.is_paired_estimate for effect in campaign.effects):
        told.append(words.paired_legend)
    allowances = [effect.order_allowance for effect in campaign.effects if effect.order_allowance > 0.0]
    if allowances:
        told.append(words.order_legend.format(allowance=numbers.pct(min(allowances) * 100.0)))
    return (" " if words.language == "en" else "").join(told)


def scale(campaign: Campaign, words: Words) -> str:
    """Environments, warm-up and measured steps."""
    found = dict(campaign.scale)
    return words.scale.format(**{key: found.get(key, numbers.NOTHING) for key in ("num_envs", "warmup", "measure")})


def anew(campaign: Campaign) -> str:
    """The command line that runs the same campaign again, its words quoted for a shell."""
    arms = ",".join(arm.name for arm in campaign.arms)
    words = [f"study={campaign.study}", f"study.arms=[{arms}]"]
    if name := dict(campaign.scale).get("name"):
        words.append(f"scale={name}")
    if campaign.protocol:
        words.append(f"protocol={campaign.protocol}")
    return " ".join(["nox -s", shlex.quote(f"ab-{campaign.backend}"), "--", *map(shlex.quote, words)])
