"""The aggregate, recomputed from the run files by the package: NumPy and SciPy instead of the pinned script's own code.

In: a bundle's data folder. Out: the same document as `tools/aggregate_update_state.py --data` prints, but for the
wording of details and notes. That two programs without common code agree is what the audit relies on.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from twotrees.stats import rounds
from twotrees.stats.attribution import attribution
from twotrees.stats.campaign import Campaign, MeasuredRun, read
from twotrees.stats.effects import DEFAULT_DELTA, DEFAULT_ORDER_ALLOWANCE, holm, is_balanced, judge, order_allowance
from twotrees.stats.intervals import LogRatio, hodges_lehmann, welch_log_t
from twotrees.stats.published import change, published
from twotrees.stats.tables import ADDITIONS, Metric, metric_table, metrics_of
from twotrees.stats.validity import checks

Json = dict[str, Any]

SCHEMA = "twotrees-aggregate-v1"
DEFAULT_CONFIDENCE = 0.95


def native_summation() -> str:
    """How this Python's `sum` adds floats, and with it the published aggregator: compensated from 3.12 on."""
    return "compensated" if sys.version_info >= (3, 12) else "plain"


def aggregate(data: Path, *, summation: str | None = None) -> Json:
    """Recomputes every reported number.

    Args:
        data: Folder with plan.json and runs/.
        summation: `plain` or `compensated`, as the aggregate to compare with says; None for this Python's own.

    Raises:
        UsageError: there is no plan.
        BundleBroken: a run file cannot be read.
        RunFailed: no run counts.
    """
    campaign = read(data)
    summation = summation or native_summation()
    add = ADDITIONS[summation]
    metrics = metrics_of(campaign, add)
    tables = {metric.name: metric_table(campaign, metric) for metric in metrics}
    found = checks(campaign)
    valid = all(check.ok for check in found)
    return {
        campaign.plan["backend"]: published(campaign, add),
        "twotrees": {
            "schema": SCHEMA,
            "study": campaign.plan.get("study"),
            "backend": campaign.plan["backend"],
            "protocol": campaign.plan.get("protocol", {}).get("name"),
            "arms": list(campaign.arms),
            "summation": summation,
            "metrics": tables,
            "effects": [
                line for arm in campaign.arms[1:] for line in arm_effects(campaign, arm, metrics, tables, valid=valid)
            ],
            "attribution": attribution(campaign, add),
            "validity": [
                {"check": one.name, "ok": one.ok, "checked": one.checked, "detail": one.detail} for one in found
            ],
        },
    }


def arm_effects(
    campaign: Campaign, arm: str, metrics: Sequence[Metric], tables: Mapping[str, Json], *, valid: bool
) -> list[Json]:
    """The effects of one arm against the baseline: one family, judged at once."""
    lines = [
        effect(campaign, metric, arm, tables[metric.name], valid=valid)
        for metric in metrics
        if campaign.arms[0] in tables[metric.name] and arm in tables[metric.name]
    ]
    for line, adjusted in zip(lines, holm([line["p"] for line in lines]), strict=True):
        line["p_holm"] = adjusted
    return lines


def effect(campaign: Campaign, metric: Metric, arm: str, table: Json, *, valid: bool) -> Json:
    """One effect as the aggregate holds it."""
    baseline = campaign.arms[0]
    pair = [[run for run in campaign.of(name, metric.mode) if metric.of(run) is not None] for name in (baseline, arm)]
    found = log_ratio(campaign, metric, *pair)
    bounds = None if found is None else found.ratio_bounds
    allowance = 0.0 if bounds is None else allowance_of(campaign, metric, *pair)
    delta = campaign.setting("delta", DEFAULT_DELTA)
    numbers = change(table[baseline]["value_ms"], table[arm]["value_ms"])
    ratio = numbers["after_ms"] / numbers["before_ms"] if numbers["before_ms"] else None
    if found is not None and "Welch" not in found.method:
        ratio = found.ratio
    verdict, reason = judge(bounds, delta=delta, allowance=allowance, valid=valid)
    return {
        "metric": metric.name,
        "kind": metric.kind,
        "arm": arm,
        "baseline": baseline,
        **numbers,
        "ratio": ratio,
        "ratio_low": bounds[0] if bounds else None,
        "ratio_high": bounds[1] if bounds else None,
        "confidence": campaign.setting("confidence", DEFAULT_CONFIDENCE),
        "n_before": found.n_before if found else table[baseline]["n_runs"],
        "n_after": found.n_after if found else table[arm]["n_runs"],
        "method": found.method if found else "none: a value is zero or missing",
        "p": found.p if found else None,
        "t_low": math.exp(found.cross[0]) if found and found.cross else None,
        "t_high": math.exp(found.cross[1]) if found and found.cross else None,
        "order_allowance": allowance,
        "delta": delta,
        "verdict": verdict,
        "reason": reason,
        **({"label": "environments differ"} if campaign.plan.get("environment") == "per-arm" else {}),
    }


def log_ratio(
    campaign: Campaign, metric: Metric, before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]
) -> LogRatio | None:
    """The log-ratio by the plan's protocol: rounds, pairs of runs in a balanced order, or independent runs."""
    confidence = campaign.setting("look_confidence", campaign.setting("confidence", DEFAULT_CONFIDENCE))
    values = [[metric.value(run) for run in runs] for runs in (before, after)]
    known = [np.array([value for value in side if value is not None and value > 0.0]) for side in values]
    if [side.size for side in known] != [len(side) for side in values]:
        return None
    partners = {run.repeat: run for run in after}
    pairs = [(run, partners[run.repeat]) for run in before if run.repeat in partners]
    what = "lockstep rounds" if metric.mode == "lockstep" else "pairs of runs"
    if metric.mode == "lockstep" and metric.kind == "phase":
        found = [
            rounds.round_log_ratio(a.blocks.get(metric.name, []), b.blocks.get(metric.name, []), campaign.discard)
            for a, b in pairs
        ]
        usable = [ratio for ratio in found if ratio is not None]
        return hodges_lehmann(usable, confidence, what) if usable else None
    protocol = campaign.plan.get("protocol", {}).values()
    if not pairs or not (metric.mode == "lockstep" or "balanced" in protocol or "interleaved" in protocol):
        return welch_log_t(known[0], known[1], confidence)
    logs = [math.log(metric.value(b) or 1.0) - math.log(metric.value(a) or 1.0) for a, b in pairs]
    return hodges_lehmann(logs, confidence, what)


def allowance_of(
    campaign: Campaign, metric: Metric, before: Sequence[MeasuredRun], after: Sequence[MeasuredRun]
) -> float:
    """What the order may have made: nothing where it was balanced."""
    places = [[(run.repeat, run.attempt) for run in runs] for runs in (before, after)]
    if metric.mode == "lockstep" or is_balanced(*places):
        return 0.0
    sides = [
        (np.array([float(run.attempt) for run in runs]), np.array([metric.value(run) or 1.0 for run in runs]))
        for runs in (before, after)
    ]
    return order_allowance(sides[0], sides[1], campaign.setting("order_allowance", DEFAULT_ORDER_ALLOWANCE))
