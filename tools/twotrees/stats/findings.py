"""Findings: what the samples of a whole campaign show beside their summaries, in lines to print.

In: a bundle's data folder. Out: one line for each metric, arm and kind of finding, with how many runs show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from twotrees.stats.campaign import Campaign, read
from twotrees.stats.diagnostics import FEWEST_STEPS, Finding, diagnose
from twotrees.stats.tables import CANONICAL


def findings(data: Path, metrics: Sequence[str] = CANONICAL) -> list[str]:
    """The findings of a campaign that lies in *data*; see `of_campaign`.

    Raises:
        UsageError: there is no plan.
        BundleBroken: a run file cannot be read.
        RunFailed: no run counts.
    """
    return of_campaign(read(data), metrics)


def of_campaign(campaign: Campaign, metrics: Sequence[str] = CANONICAL) -> list[str]:
    """Heavy tails, two modes, drift and autocorrelation in the timing runs, most frequent first.

    Args:
        campaign: Read from its run files.
        metrics: Phases to look at.

    Returns:
        Such as ``update_state_ms before: drift in 2 of 3 runs, at most drifts by +4.1 % from first to last step``.
    """
    lines: list[tuple[float, str]] = []
    for metric in metrics:
        for arm in campaign.arms:
            steps = [run.steps[metric] for run in campaign.of(arm, campaign.timing_mode) if metric in run.steps]
            series = [values for values in steps if values.size >= FEWEST_STEPS and values.min() > 0.0]
            by_name: dict[str, list[Finding]] = {}
            for values in series:
                for finding in diagnose(values):
                    by_name.setdefault(finding.name, []).append(finding)
            for name, found in by_name.items():
                worst = max(found, key=lambda one: abs(one.value - one.limit))
                many = f"in {len(found)} of {len(series)} runs"
                lines.append((-len(found) / len(series), f"{metric} {arm}: {name} {many}; the clearest: {worst.text}"))
    return [line for _, line in sorted(lines, key=lambda one: one[0])]
