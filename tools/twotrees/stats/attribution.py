"""Attribution: a stage in disjoint parts that sum to it, with the residual printed.

In: terms runs (every probe wrapped) and the probe-free stage. Out: one line for each part. A term that happens to read
the body state first pays for the whole refresh; the refreshes are split off and their hosts shown net, so that what was
saved is never counted twice.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from twotrees.stats.campaign import Campaign, MeasuredRun
from twotrees.stats.tables import ANCHOR, REFRESH, REWARDS, Add, aggregate_value

Json = dict[str, Any]

STAGE = "update_state_ms"
USUAL_HOSTS = {f"{REFRESH}/first_read": ANCHOR, f"{REFRESH}/force": "manager/command_post_compute"}


def line_of(probe: str) -> str:
    """The line in which a probe's own time is shown."""
    if probe in REWARDS:
        return "four_body_rewards"
    if probe.startswith("obs/"):
        return "observation_compute"
    named = {
        ANCHOR: "anchor_pos_net",
        "manager/command_compute": "command_compute",
        "manager/command_post_compute": "command_post_compute_net",
        "manager/observation_compute": "observation_compute",
    }
    return named.get(probe, "other_terms")


def parts_of(run: MeasuredRun, add: Add) -> dict[str, float]:
    """One instrumented run's parts, in ms per step.

    Raises:
        KeyError: the run lacks a probe.
    """

    def per_step(probe: str) -> float:
        step = run.result["terms"][probe]["step"]
        return float(step["mean_ms"] * step["count"] / run.result["measure"])

    every, five = (aggregate_value(run, name, add) for name in ("all_reward_termination", "target_five"))
    parts = {
        "four_body_rewards": aggregate_value(run, "four_body_rewards", add),
        "refresh_first_read": per_step(f"{REFRESH}/first_read"),
        "refresh_force": per_step(f"{REFRESH}/force"),
        "anchor_pos_net": per_step(ANCHOR),
        "other_terms": every - five,
        "command_compute": per_step("manager/command_compute"),
        "command_post_compute_net": per_step("manager/command_post_compute"),
        "observation_compute": per_step("manager/observation_compute"),
    }
    hosts = USUAL_HOSTS | run.evidence.get("nested_in", {})
    for refresh, host in hosts.items():
        if refresh in USUAL_HOSTS and host is not None:
            parts[line_of(host)] -= parts[f"refresh_{refresh.rpartition('/')[2]}"]
    return parts


def attribution(campaign: Campaign, add: Add) -> list[Json]:
    """The lines of every arm against the baseline; empty where the study lacks the probes."""
    stages: dict[str, float] = {}
    middle: dict[str, dict[str, float]] = {}
    for arm in campaign.arms:
        phase = [
            run.summaries[STAGE].median_ms for run in campaign.of(arm, campaign.timing_mode) if STAGE in run.summaries
        ]
        try:
            parts = [parts_of(run, add) for run in campaign.of(arm, "terms")]
        except KeyError:
            return []
        if not phase or not parts:
            continue
        stages[arm] = float(np.median([value for value in phase if value is not None]))
        middle[arm] = {line: float(np.median([one[line] for one in parts])) for line in parts[0]}
        middle[arm]["residual"] = stages[arm] - math.fsum(middle[arm].values())
        middle[arm]["update_state"] = stages[arm]
    baseline = campaign.arms[0]
    return [
        row(arm, baseline, line, middle[baseline][line], middle[arm][line], stages)
        for arm in campaign.arms[1:]
        if arm in middle and baseline in middle
        for line in middle[arm]
    ]


def row(arm: str, baseline: str, line: str, before: float, after: float, stages: dict[str, float]) -> Json:
    """One printed line; shares are of the probe-free stage, and of its saving."""
    saved = stages[baseline] - stages[arm]
    return {
        "arm": arm,
        "baseline": baseline,
        "line": line,
        "kind": {"residual": "residual", "update_state": "stage"}.get(line, "part"),
        "before_ms": before,
        "after_ms": after,
        "saved_ms": before - after,
        "before_share_pct": before / stages[baseline] * 100.0,
        "after_share_pct": after / stages[arm] * 100.0,
        "share_of_saving_pct": (before - after) / saved * 100.0 if saved else None,
    }
