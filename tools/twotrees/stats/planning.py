"""Planning: how many rounds a 1 %, 2 %, 5 % effect needs on this host for this study, from rounds of A against A.

In: log-ratios of A/A rounds. Out: the power of a campaign of so many rounds, and the rounds for a wanted power.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import stats as distributions

from twotrees.stats.intervals import EXACT_SIGNED_RANK_MAX, fewest_pairs, signed_rank_cdf

Array = npt.NDArray[np.float64]

# Asymptotic relative efficiency of the signed-rank test against t for normal data (Hodges & Lehmann 1956).
NORMAL_EFFICIENCY = 3.0 / math.pi
SEED = 20260826


def t_power(spread: float, effect: float, rounds: int, confidence: float = 0.95) -> float:
    """The probability that a t interval over *rounds* pairs excludes no change, by the noncentral t (Cohen 1988).

    Args:
        spread: Standard deviation of one round's log-ratio.
        effect: Such as 0.01; its logarithm is what is found.
        rounds: How many.
        confidence: Level of the interval.
    """
    if rounds < 2:
        return 0.0
    if spread == 0.0:
        return 1.0
    shift = math.log1p(abs(effect)) / spread * math.sqrt(rounds)
    limit = float(distributions.t.isf((1.0 - confidence) / 2.0, rounds - 1))
    noncentral = distributions.nct(rounds - 1, shift)
    return float(noncentral.sf(limit) + noncentral.cdf(-limit))


def rounds_by_t(spread: float, effect: float, power: float = 0.9, confidence: float = 0.95) -> int | None:
    """The fewest rounds with this power if log-ratios are normal, for the signed-rank interval; None above 10,000."""
    for rounds in _ladder(10_000):
        if t_power(spread, effect, rounds, confidence) >= power:
            return max(fewest_pairs(confidence), math.ceil(rounds / NORMAL_EFFICIENCY))
    return None


def resampled_power(
    log_ratios: Sequence[float] | Array,
    effect: float,
    rounds: int,
    *,
    confidence: float = 0.95,
    draws: int = 2000,
    seed: int = SEED,
) -> float:
    """The share of campaigns of *rounds* rounds, drawn from this host's A/A rounds and shifted, that see the effect.

    Source: the bootstrap (Efron 1979, Ann. Stat. 7) of the very statistic that decides, so that heavy tails and two
    modes count as they are. The A/A rounds are symmetrised first (each with its mirror image): which of two equal arms
    is called A is chance.
    Limits: a host's noise of another hour is not in it; with few A/A rounds its tails are not seen.

    Args:
        log_ratios: Of A/A rounds, at least ten for a usable answer.
        effect: Such as 0.01.
        rounds: Of the campaign that is planned.
        confidence: Level of its interval.
        draws: How many campaigns are drawn.
        seed: Of the draw.
    """
    observed = np.asarray(log_ratios, float)
    if rounds < fewest_pairs(confidence):
        return 0.0
    draw = np.random.default_rng(seed)
    centered = observed - np.median(observed)
    sample = draw.choice(centered, size=(draws, rounds)) * draw.choice([-1.0, 1.0], size=(draws, rounds))
    shifted = sample + math.log1p(effect)
    if rounds > EXACT_SIGNED_RANK_MAX:
        limit = float(distributions.t.isf((1.0 - confidence) / 2.0, rounds - 1))
        score = shifted.mean(axis=1) / (shifted.std(axis=1, ddof=1) / math.sqrt(rounds))
        return float(np.mean(np.abs(score) > limit))
    # The signed-rank interval excludes zero exactly when W+ lies in the tail that its ends leave out.
    ranks = distributions.rankdata(np.abs(shifted), axis=1)
    positive = np.where(shifted > 0.0, ranks, 0.0).sum(axis=1)
    least = np.minimum(positive, rounds * (rounds + 1) / 2 - positive)
    cdf = np.asarray(signed_rank_cdf(rounds))
    return float(np.mean(cdf[np.ceil(least).astype(int)] <= (1.0 - confidence) / 2.0))


def rounds_needed(
    log_ratios: Sequence[float] | Array,
    effect: float,
    *,
    power: float = 0.9,
    confidence: float = 0.95,
    most: int = 400,
    draws: int = 1000,
    seed: int = SEED,
) -> int | None:
    """The fewest rounds (on a ladder of steps of about 10 %) whose resampled power is enough; None above *most*."""
    for rounds in _ladder(most, first=fewest_pairs(confidence)):
        if resampled_power(log_ratios, effect, rounds, confidence=confidence, draws=draws, seed=seed) >= power:
            return rounds
    return None


def _ladder(most: int, first: int = 2) -> list[int]:
    """Whole numbers up to *most*, each at least one and about 10 % above the last."""
    steps = [first]
    while steps[-1] < most:
        steps.append(min(most, max(steps[-1] + 1, round(steps[-1] * 1.1))))
    return steps
