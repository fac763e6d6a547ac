"""Coverage of every interval on simulated campaigns of known truth: 2,000 trials for each shape of noise.

    python benchmarks/stats_coverage.py [--trials 2000] [--out FILE.json]

Prints, for each protocol and shape of noise, how often the 95 % interval held the truth, how often it excluded no
change for equal arms, how often these got a verdict (a fixed order has its allowance), and how often a true 1 % effect
was seen. Deterministic: it draws from a fixed seed, and measures no time.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from twotrees.stats import sequential
from twotrees.stats.calibration import share
from twotrees.stats.effects import judge, order_allowance
from twotrees.stats.intervals import LogRatio, hodges_lehmann, paired_t, welch_log_t
from twotrees.stats.rounds import round_log_ratio
from twotrees.stats.simulated import FAMILIES, Family, lockstep_round, run_values

SEED = 20260826
EFFECT = math.log(1.01)
CYCLES, STEPS = 5, 5
CONFIDENCE = 0.95


class Found(NamedTuple):
    """An interval, and what the order may have made."""

    interval: LogRatio
    allowance: float = 0.0


def lockstep_rounds(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> list[float]:
    """Log-ratios of a campaign's rounds."""
    ratios = []
    for number in range(rounds):
        blocks = lockstep_round(draw, family, truth, cycles=CYCLES, steps=STEPS, leader=number % 2)
        ratio = round_log_ratio(*blocks)
        assert ratio is not None
        ratios.append(ratio)
    return ratios


def lockstep(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> Found:
    return Found(hodges_lehmann(lockstep_rounds(draw, family, truth, rounds), CONFIDENCE))


def lockstep_by_t(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> Found:
    return Found(paired_t(lockstep_rounds(draw, family, truth, rounds), CONFIDENCE))


def until_narrow(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> Found:
    """Sequential: looks after 8, 12, 17 … rounds, stops as soon as the interval is within ±0.5 %."""
    plan = sequential.looks(budget=rounds, until=0.005)
    ratios: list[float] = []
    while True:
        ratios += lockstep_rounds(draw, family, truth, 1)
        decision = sequential.decide(plan, {"m": ratios})
        if decision.stop:
            return Found(decision.intervals["m"])


def until_resolved(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> Found:
    """The same looks, stopped by the worst rule there is: as soon as an interval excludes no change."""
    plan = sequential.looks(budget=rounds, until=0.0)
    ratios: list[float] = []
    while True:
        ratios += lockstep_rounds(draw, family, truth, 1)
        found = sequential.decide(plan, {"m": ratios}).intervals.get("m")
        if found is None or found.low is None or found.high is None:
            continue
        if not found.low <= 0.0 <= found.high or len(ratios) >= rounds:
            return Found(found)


def documented(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> Found:
    """All of one arm, then all of the other; Welch, and the allowance for an order that is not balanced."""
    order = np.repeat([0.0, 1.0], rounds)
    values = run_values(draw, family, truth, order=order, steps=40)
    sides = [(np.flatnonzero(order == arm).astype(float), values[order == arm]) for arm in (0, 1)]
    return Found(welch_log_t(sides[0][1], sides[1][1], CONFIDENCE), order_allowance(sides[0], sides[1]))


def interleaved(draw: np.random.Generator, family: Family, truth: float, rounds: int) -> Found:
    """Pairs of fresh processes, leaders alternating."""
    order = np.array([arm for pair in range(rounds) for arm in ((0.0, 1.0) if pair % 2 else (1.0, 0.0))])
    values = np.log(run_values(draw, family, truth, order=order, steps=40))
    return Found(hodges_lehmann(values[order == 1] - values[order == 0], CONFIDENCE))


PROTOCOLS = {
    "lockstep, 10 rounds": (lockstep, 10),
    "lockstep, 20 rounds": (lockstep, 20),
    "lockstep by t, 10 rounds": (lockstep_by_t, 10),
    "sequential to ±0.5 %, at most 60": (until_narrow, 60),
    "sequential to a verdict, at most 60": (until_resolved, 60),
    "interleaved, 10 pairs": (interleaved, 10),
    "interleaved, 4 pairs": (interleaved, 4),
    "documented, 3 + 3": (documented, 3),
    "documented, 10 + 10": (documented, 10),
}


def measured(name: str, family: Family, trials: int) -> dict[str, object]:
    """One line of the table."""
    protocol, rounds = PROTOCOLS[name]
    covered = wrong = verdicts = seen = 0
    lengths = []
    for truth in (0.0, EFFECT):
        draw = np.random.default_rng([SEED, len(name), len(family.name), int(truth > 0)])
        for _ in range(trials):
            found, allowance = protocol(draw, family, truth, rounds)
            assert found.low is not None and found.high is not None
            covered += found.low <= truth <= found.high
            excludes = not found.low <= 0.0 <= found.high
            verdict = judge(found.ratio_bounds, allowance=allowance).verdict in ("faster", "slower")
            wrong += excludes and truth == 0.0
            verdicts += verdict and truth == 0.0
            seen += verdict and truth > 0.0
            lengths.append(found.high - found.low)
    held, false = share(covered, 2 * trials), share(wrong, trials)
    return {
        "protocol": name,
        "noise": family.name,
        "trials": 2 * trials,
        "coverage": held.value,
        "coverage_low": held.low,
        "coverage_high": held.high,
        "false_positives": false.value,
        "false_positives_high": false.high,
        "false_verdicts": verdicts / trials,
        "sees_1_percent": seen / trials,
        "median_half_width": float(np.median(lengths)) / 2.0,
    }


def table(trials: int, protocols: list[str]) -> Iterator[dict[str, object]]:
    for name in protocols:
        for family in FAMILIES.values():
            yield measured(name, family, trials)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of every interval on simulated campaigns.")
    parser.add_argument("--trials", type=int, default=2000, help="for each truth, protocol and shape of noise")
    parser.add_argument("--protocol", action="append", choices=list(PROTOCOLS), help="only these")
    parser.add_argument("--out", type=Path, help="where the lines go as JSON")
    options = parser.parse_args()
    lines = []
    heads = ("coverage", 22), ("false +", 8), ("verdicts", 9), ("sees 1 %", 9), ("half width", 11)
    print(f"{'protocol':36} {'noise':15} " + " ".join(f"{head:>{width}}" for head, width in heads))
    for line in table(options.trials, options.protocol or list(PROTOCOLS)):
        lines.append(line)
        interval = f"{line['coverage']:.3f} [{line['coverage_low']:.3f}, {line['coverage_high']:.3f}]"
        print(
            f"{line['protocol']:36} {line['noise']:15} {interval:>22} {line['false_positives']:8.3f} "
            f"{line['false_verdicts']:9.3f} "
            f"{line['sees_1_percent']:9.3f} {100 * float(str(line['median_half_width'])):9.2f} %",
            flush=True,
        )
    if options.out:
        options.out.write_text(json.dumps(lines, indent=1, allow_nan=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
