"""The published aggregator's keys, recomputed from a campaign.

In: a `Campaign`. Out: one backend's part of the aggregate: stages, terms, and the coarse partition of update_state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from twotrees.stats.campaign import Campaign, MeasuredRun
from twotrees.stats.tables import CANONICAL, TARGETS, Add, aggregate_value

Json = dict[str, Any]

TERM_SUMS = ("four_body_rewards", "target_five", "all_reward_termination", "other_reward_termination")
COARSE_SUMS = ("observation_term_calls", "observation_post_concat_residual", "two_robot_state_refreshes")
STAGES = ("command_compute", "command_post_compute", "observation_compute")


def change(before: float, after: float) -> Json:
    """Before, after, what was saved, in per cent of before, and as a factor; of zero there is no per cent."""
    saved = before - after
    return {
        "before_ms": before,
        "after_ms": after,
        "saved_ms": saved,
        "reduction_pct": saved / before * 100.0 if before else None,
        "speedup_x": before / after if after else None,
    }


def over_runs(pair: Sequence[Sequence[MeasuredRun]], value: Callable[[MeasuredRun], float]) -> Json | None:
    """The change of the median over runs; None where a run lacks the value, or an arm has no run."""
    try:
        before, after = (np.array([value(run) for run in runs]) for runs in pair)
    except KeyError:
        return None
    return change(float(np.median(before)), float(np.median(after))) if before.size and after.size else None


def published(campaign: Campaign, add: Add) -> Json:
    """The baseline against the second arm, under the published keys; what was not measured is left out."""
    arms = campaign.arms[0], campaign.arms[min(1, len(campaign.arms) - 1)]
    phase = [campaign.of(arm, campaign.timing_mode) for arm in arms]
    terms = [campaign.of(arm, "terms") for arm in arms]
    out: Json = {}
    for name in CANONICAL:
        line = over_runs(phase, partial(median_of, name=name))
        if line is not None:
            for label, runs in zip(("before", "after"), phase, strict=True):
                line[f"{label}_run_medians_ms"] = [median_of(run, name) for run in runs]
            out[name] = line
    listed = {name: over_runs(terms, partial(mean_of, name=name)) for name in TARGETS}
    listed |= {name: over_runs(terms, partial(aggregate_value, name=name, add=add)) for name in TERM_SUMS}
    coarse = {name: over_runs(terms, partial(mean_of, name=f"manager/{name}")) for name in STAGES}
    coarse |= {name: over_runs(terms, partial(aggregate_value, name=name, add=add)) for name in COARSE_SUMS}
    out["terms"] = {name: line for name, line in listed.items() if line is not None}
    out["coarse"] = {name: line for name, line in coarse.items() if line is not None}
    if "two_robot_state_refreshes" in out["coarse"]:
        out["coarse"]["two_robot_state_refreshes"]["calls_per_update"] = 2.0
    parts = {**out["coarse"], **out["terms"]}
    shown = (*STAGES, "all_reward_termination")
    if "update_state_ms" in out and all(name in parts for name in shown):
        stage = out["update_state_ms"]["after_ms"]
        accounted = float(np.median([accounted_for(run) for run in terms[1]]))
        out["coarse"]["current_accounted_total_ms"] = accounted
        out["coarse"]["current_accounted_share_pct"] = accounted / stage * 100.0
        out["coarse"]["current_share_pct"] = {name: parts[name]["after_ms"] / stage * 100.0 for name in shown}
    return out


def median_of(run: MeasuredRun, name: str) -> float:
    """A phase's median in one run, in ms. Raises: KeyError."""
    median = run.summaries[name].median_ms
    assert median is not None
    return median


def mean_of(run: MeasuredRun, name: str) -> float:
    """A probe's mean over its calls in one run, in ms. Raises: KeyError."""
    return float(run.result["terms"][name]["step"]["mean_ms"])


def accounted_for(run: MeasuredRun) -> float:
    """What the managers and all reward and termination terms take in one run, in ms."""
    first, second, third = (mean_of(run, f"manager/{name}") for name in STAGES)
    return float(first + second + third + run.result["term_sum_step_ms"]["mean_ms"])
