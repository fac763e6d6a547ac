"""Scores of the head-to-head: from one line for each trial to rates, errors, coverage, a table and a plot.

In: the trials as the runs wrote them. Out: for each tool and judge (its own verdict, Welch and Mann-Whitney on its raw
samples) false positives, detections, detections at an equal rate of false positives, errors and coverage.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats as distributions

from twotrees.stats.calibration import Share, share
from twotrees.stats.intervals import welch_log_t

Trial = dict[str, Any]
JUDGES = ("own", "Welch", "Mann-Whitney")
LEVEL = 0.05


@dataclass(frozen=True)
class Score:
    """One tool under one judge, over all workloads, with or without a neighbour.

    Attributes:
        tool: Which.
        judge: Who decides.
        trials: Of equal arms.
        false_positives: Equal arms that were told apart.
        detected: True effect to the share of trials in which it was told, in the right direction.
        matched: The same when the judge's limit is set so that 5 % of equal arms are told apart; None without p-values.
        typical_error: Median of |estimate - truth| as a ratio, equal arms.
        large_error: 95th percentile of the same.
        coverage: Trials whose interval held the truth; None where there is no interval.
        wall_s: Mean seconds of a trial.
    """

    tool: str
    judge: str
    trials: int
    false_positives: Share
    detected: dict[float, Share]
    matched: dict[float, Share] | None
    typical_error: float
    large_error: float
    coverage: Share | None
    wall_s: float


def judged(trial: Trial, judge: str) -> tuple[int, float | None, tuple[float, float] | None]:
    """(direction told: -1, 0 or 1; p-value; interval) of one trial under one judge; the direction is 0 if not told."""
    if judge == "own":
        bounds = None if trial["low"] is None else (trial["low"], trial["high"])
        return {"faster": -1, "slower": 1, "same": 0}[trial["says"]], trial["p"], bounds
    before, after = trial["before"], trial["after"]
    if judge == "Welch":
        found = welch_log_t(before, after, 1.0 - LEVEL)
        if found.p is None or found.low is None or found.high is None:
            return 0, None, None
        return (int(math.copysign(1, found.center)) if found.p <= LEVEL else 0), found.p, (found.low, found.high)
    p = float(distributions.mannwhitneyu(before, after, alternative="two-sided").pvalue)
    toward = 1 if np.median(after) > np.median(before) else -1
    return (toward if p <= LEVEL else 0), p, None


def scores(trials: Sequence[Trial]) -> Iterator[Score]:
    """Every tool under every judge."""
    for tool in dict.fromkeys(trial["tool"] for trial in trials):
        own = [trial for trial in trials if trial["tool"] == tool and trial["fault"] is None]
        equal = [trial for trial in own if trial["effect"] == 0.0]
        if not equal:
            continue
        errors = np.abs(np.expm1([trial["estimate"] for trial in equal]))
        for judge in JUDGES:
            told = {id(trial): judged(trial, judge) for trial in own}
            effects = sorted({trial["effect"] for trial in own} - {0.0})
            limit = matched_limit([told[id(trial)][1] for trial in equal])
            intervals = [(trial, bounds) for trial in own if (bounds := told[id(trial)][2]) is not None]
            yield Score(
                tool=tool,
                judge=judge,
                trials=len(equal),
                false_positives=counted(told[id(trial)][0] != 0 for trial in equal),
                detected={e: counted(told[id(t)][0] == 1 for t in own if t["effect"] == e) for e in effects},
                matched=None
                if limit is None
                else {e: counted(seen(t, told[id(t)][1], limit) for t in own if t["effect"] == e) for e in effects},
                typical_error=float(np.median(errors)),
                large_error=float(np.quantile(errors, 0.95)),
                coverage=counted(low <= math.log1p(trial["effect"]) <= high for trial, (low, high) in intervals)
                if intervals
                else None,
                wall_s=float(np.mean([trial["wall_s"] for trial in own])),
            )


def seen(trial: Trial, p: float | None, limit: float) -> bool:
    """Whether a trial tells its effect (all true effects are slowdowns) at a given limit of p."""
    return p is not None and p <= limit and trial["estimate"] > 0.0


def matched_limit(p_values: Sequence[float | None]) -> float | None:
    """The p below which 5 % of equal arms lie: with it all judges have the same rate of false positives."""
    known = [p for p in p_values if p is not None]
    return float(np.quantile(known, LEVEL, method="lower")) if len(known) >= 1 / LEVEL else None


def counted(events: Iterable[bool]) -> Share:
    """How many of them, with the exact interval of the share."""
    listed = [bool(event) for event in events]
    return share(sum(listed), len(listed)) if listed else Share(0, 0, 0.0, 1.0)


def percent(value: Share | None) -> str:
    """A share for the table: per cent, and of how many."""
    return "–" if value is None or not value.trials else f"{100 * value.value:.1f} % ({value.count}/{value.trials})"


def markdown(trials: Sequence[Trial]) -> str:
    """The table, one part without a neighbour and one with."""
    parts = []
    for noisy, title in ((False, "Quiet"), (True, "Beside a noisy neighbour")):
        lines = list(scores([trial for trial in trials if trial["noisy"] is noisy]))
        if not lines:
            continue
        effects = sorted({effect for line in lines for effect in line.detected})
        heads = ["tool", "judge", "false +"]
        heads += [f"sees {100 * e:g} %" for e in effects] + [f"{100 * e:g} % at 5 % false +" for e in effects]
        heads += ["median error", "95 % error", "coverage", "s a trial"]
        rows = [
            [line.tool, line.judge, percent(line.false_positives)]
            + [percent(line.detected.get(e)) for e in effects]
            + [percent(line.matched.get(e)) if line.matched else "–" for e in effects]
            + [f"{100 * line.typical_error:.2f} %", f"{100 * line.large_error:.2f} %"]
            + [percent(line.coverage), f"{line.wall_s:.1f}"]
            for line in lines
        ]
        table = [heads, ["---"] * len(heads), *rows]
        parts.append(f"## {title}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in table))
    faults = [trial for trial in trials if trial["fault"] is not None]
    if faults:
        named = sorted({f"{trial['tool']} on {trial['workload']}: {trial['fault'][:160]}" for trial in faults})
        parts.append(f"## Trials that failed ({len(faults)})\n\n" + "\n".join(f"- {name}" for name in named))
    return "\n\n".join(parts) + "\n"


def plot(trials: Sequence[Trial], path: Path) -> None:
    """Detection by true effect, each tool by its own verdict, false positives at zero; a panel for each noise."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    parts = [noisy for noisy in (False, True) if any(trial["noisy"] is noisy for trial in trials)]
    figure, axes = pyplot.subplots(1, len(parts), figsize=(6.4 * len(parts), 4.4), squeeze=False, sharey=True)
    for axis, noisy in zip(axes[0], parts, strict=True):
        for line in scores([trial for trial in trials if trial["noisy"] is noisy]):
            if line.judge != "own":
                continue
            points = {0.0: line.false_positives, **line.detected}
            x = [100 * effect for effect in points]
            y = [100 * one.value for one in points.values()]
            reach = [
                [100 * (one.value - one.low) for one in points.values()],
                [100 * (one.high - one.value) for one in points.values()],
            ]
            axis.errorbar(x, y, yerr=reach, marker="o", capsize=3, linewidth=1.2, label=line.tool)
        axis.axhline(100 * LEVEL, color="grey", linewidth=0.8, linestyle=":")
        axis.set_xlabel("true effect, %")
        axis.set_title("beside a noisy neighbour" if noisy else "quiet")
    axes[0][0].set_ylabel("trials that told the arms apart, %")
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    pyplot.close(figure)
