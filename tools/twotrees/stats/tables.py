"""Metrics: which quantities a campaign has, and each one's numbers by arm and run.

In: a `Campaign`. Out: `Metric`s, whose `of` gives one run's summary. Phases keep their medians, terms and sums of terms
their means, as published.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from twotrees.stats.campaign import Campaign, MeasuredRun, Summary, summary_of

Array = npt.NDArray[np.float64]
Add = Callable[[Iterable[float]], float]
Kind = Literal["phase", "quantile", "term", "aggregate"]
Statistic = Literal["mean_ms", "median_ms", "p95_ms"]

CANONICAL = ("update_state_ms", "env_step_total_ms", "reset_done_ms")
ANCHOR = "termination/anchor_pos"
REWARDS = tuple(f"reward/motion_body_{kind}" for kind in ("pos", "ori", "lin_vel", "ang_vel"))
TARGETS = (ANCHOR, *REWARDS)
REFRESH = "command/robot_state_refresh"
OBSERVATION = "manager/observation_compute"
AGGREGATES = (
    "four_body_rewards",
    "target_five",
    "all_reward_termination",
    "other_reward_termination",
    "observation_term_calls",
    "observation_post_concat_residual",
    "two_robot_state_refreshes",
)


def add_plainly(values: Iterable[float]) -> float:
    """Left to right, as Python's `sum` added floats before 3.12."""
    return functools.reduce(operator.add, values, 0.0)


def add_compensated(values: Iterable[float]) -> float:
    """With Neumaier's correction (1974, Z. angew. Math. Mech. 54), as Python's `sum` adds floats since 3.12."""
    total, lost = 0.0, 0.0
    for value in values:
        large, small = (total, value) if abs(total) >= abs(value) else (value, total)
        reached = total + value
        lost += (large - reached) + small
        total = reached
    return total + lost if lost and math.isfinite(lost) else total


ADDITIONS: dict[str, Add] = {"plain": add_plainly, "compensated": add_compensated}


@dataclass(frozen=True)
class Metric:
    """A reported quantity.

    Attributes:
        name: As in the aggregate, such as ``update_state_ms`` or ``term:reward/motion_body_pos``.
        kind: What it is.
        mode: Which runs have it.
        statistic: Which number of a run is the run's value.
        of: One run's summary, None where the run lacks it.
    """

    name: str
    kind: Kind
    mode: str
    statistic: Statistic
    of: Callable[[MeasuredRun], Summary | None]

    def value(self, run: MeasuredRun) -> float | None:
        """A run's value in ms."""
        summary = self.of(run)
        return None if summary is None else getattr(summary, self.statistic)


def aggregate_value(run: MeasuredRun, name: str, add: Add) -> float:
    """One of the published sums of terms in one run, in ms.

    Raises:
        KeyError: the run lacks a probe that it needs.
    """
    mean = {term: phases["step"]["mean_ms"] for term, phases in run.result["terms"].items()}
    observed = add(value for term, value in mean.items() if term.startswith("obs/"))
    if name == "observation_term_calls":
        return observed
    if name == "observation_post_concat_residual":
        return float(mean[OBSERVATION] - observed)
    if name == "two_robot_state_refreshes":
        refresh = run.result["terms"][REFRESH]["step"]
        return float(refresh["mean_ms"] * refresh["count"] / run.result["measure"])
    if name == "all_reward_termination":
        return float(run.result["term_sum_step_ms"]["mean_ms"])
    if name == "other_reward_termination":
        return float(run.result["term_sum_step_ms"]["mean_ms"] - add(mean[term] for term in TARGETS))
    return add(mean[term] for term in (REWARDS if name == "four_body_rewards" else TARGETS))


def aggregate_steps(run: MeasuredRun, name: str) -> Array | None:
    """The same sum in each step, shape ``(measure,)``; None where not every probe was called once a step."""
    scored = [term for term in run.result["terms"] if term.startswith(("reward/", "termination/"))]
    observed = [term for term in run.result["terms"] if term.startswith("obs/")]
    plus: Sequence[str] = {
        "four_body_rewards": REWARDS,
        "target_five": TARGETS,
        "all_reward_termination": scored,
        "other_reward_termination": [term for term in scored if term not in TARGETS],
        "observation_term_calls": observed,
        "observation_post_concat_residual": [OBSERVATION],
        "two_robot_state_refreshes": [f"{REFRESH}/first_read", f"{REFRESH}/force"],
    }[name]
    minus = observed if name == "observation_post_concat_residual" else []
    rows = [sign * run.calls.get(term, np.empty(0)) for sign, part in ((1.0, plus), (-1.0, minus)) for term in part]
    if not rows or any(row.size != run.result["measure"] for row in rows):
        return None
    return np.array([math.fsum(step) for step in np.column_stack(rows)])


def aggregate_of(run: MeasuredRun, name: str, add: Add) -> Summary | None:
    """A published sum's summary: the mean as published, median and p95 from per-step sums."""
    try:
        mean = aggregate_value(run, name, add)
    except KeyError:
        return None
    if name == "all_reward_termination":
        line = run.result["term_sum_step_ms"]
        return Summary(line["count"], mean, line["median_ms"], line["p95_ms"])
    steps = aggregate_steps(run, name)
    if steps is None:
        return Summary(run.result["measure"], mean, None, None)
    found = summary_of(steps)
    return Summary(found.n, mean, found.median_ms, found.p95_ms)


def metrics_of(campaign: Campaign, add: Add) -> list[Metric]:
    """Every quantity that some run has."""
    return [
        metric
        for metric in candidates(campaign, add)
        if any(run.mode == metric.mode and metric.value(run) for run in campaign.runs)
    ]


def candidates(campaign: Campaign, add: Add) -> Iterator[Metric]:
    """All metrics that any run names, in the aggregate's order."""
    mode = campaign.timing_mode
    phases = dict.fromkeys(CANONICAL)
    terms: dict[str, None] = {}
    for run in campaign.runs:
        named = (name for name in named_phases(run) if name.endswith("_ms"))
        phases.update(dict.fromkeys(named))
        terms.update(dict.fromkeys(run.result.get("terms", {})))
    for name in phases:
        yield Metric(name, "phase", mode, "median_ms", functools.partial(phase_of, name=name))
    for name in CANONICAL[:2]:
        yield Metric(f"{name}@p95", "quantile", mode, "p95_ms", functools.partial(phase_of, name=name))
    for name in terms:
        yield Metric(f"term:{name}", "term", "terms", "mean_ms", functools.partial(term_of, name=name))
    if terms:
        for name in AGGREGATES:
            of = functools.partial(aggregate_of, name=name, add=add)
            yield Metric(name, "aggregate", "terms", "mean_ms", of)


def named_phases(run: MeasuredRun) -> Iterator[str]:
    """Names of phases in the order in which the child wrote them: summaries, backend's, then samples."""
    timing = run.result["timing"] if run.mode != "lockstep" else {}
    yield from (name for name in timing if name != "backend")
    yield from timing.get("backend", {})
    yield from (name for name in run.steps if run.mode != "lockstep" or not name.startswith("backend_"))
    yield from run.steps


def phase_of(run: MeasuredRun, name: str) -> Summary | None:
    """A phase's summary in one run."""
    return run.summaries.get(name)


def term_of(run: MeasuredRun, name: str) -> Summary | None:
    """A probe's summary in one run."""
    return run.terms.get(name)


def metric_table(campaign: Campaign, metric: Metric) -> dict[str, Any]:
    """A metric's part of the aggregate: for each arm its runs, its value, and mean and median beside each other."""
    table: dict[str, Any] = {}
    for arm in campaign.arms:
        found = [(run, summary) for run in campaign.of(arm, metric.mode) if (summary := metric.of(run)) is not None]
        if not found:
            continue
        middle: dict[str, float | None] = {}
        for name in ("median_ms", "mean_ms", "p95_ms"):
            known = [value for _, summary in found if (value := getattr(summary, name)) is not None]
            middle[name] = float(np.median(known)) if known else None
        table[arm] = {
            "runs": [
                {
                    "attempt": run.attempt,
                    "run": run.run,
                    "n": summary.n,
                    "median_ms": summary.median_ms,
                    "mean_ms": summary.mean_ms,
                    "p95_ms": summary.p95_ms,
                }
                for run, summary in found
            ],
            "value_ms": middle[metric.statistic],
            "statistic": f"median over runs of the {metric.statistic.removesuffix('_ms')}",
            "median_ms": middle["median_ms"],
            "mean_ms": middle["mean_ms"],
            "n_runs": len(found),
            "n_steps": sum(summary.n for _, summary in found),
        }
    return table
