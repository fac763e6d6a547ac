"""Calibration: what A against A shows on this host, printed beside every claim made on it.

In: log-ratios of A/A rounds, in the order in which they were run. Out: the noise floor, the false-positive rate with
its own interval, and the rounds that effects of 1, 2 and 5 % need.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats as distributions

from twotrees.stats.intervals import fewest_pairs, hodges_lehmann
from twotrees.stats.planning import rounds_needed

Array = npt.NDArray[np.float64]

EFFECTS = (0.01, 0.02, 0.05)


@dataclass(frozen=True)
class Share:
    """A count out of a number of trials, with its exact interval.

    Attributes:
        count: How many.
        trials: Of how many.
        low: Lower bound of the share.
        high: Upper bound.
    """

    count: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """The share itself."""
        return self.count / self.trials if self.trials else float("nan")


@dataclass(frozen=True)
class Calibration:
    """One metric's noise on one host.

    Attributes:
        metric: Which.
        rounds: A/A rounds in all.
        rounds_per_campaign: How many make one pretended campaign.
        floor: 95th percentile of the campaigns' |ratio - 1|: an effect below it is this host's noise.
        typical_error: Median of the same.
        false_positives: Campaigns whose interval excluded no change.
        needed: Effect to the rounds that see it with 90 % power; None when more than 400.
    """

    metric: str
    rounds: int
    rounds_per_campaign: int
    floor: float
    typical_error: float
    false_positives: Share
    needed: dict[float, int | None]


def share(count: int, trials: int, confidence: float = 0.95) -> Share:
    """A share with its exact binomial interval (Clopper & Pearson 1934, Biometrika 26): never too narrow."""
    tail = (1.0 - confidence) / 2.0
    low = float(distributions.beta.ppf(tail, count, trials - count + 1)) if count else 0.0
    high = float(distributions.beta.isf(tail, count + 1, trials - count)) if count < trials else 1.0
    return Share(count, trials, low, high)


def calibrate(
    metric: str, log_ratios: Sequence[float] | Array, *, rounds_per_campaign: int, confidence: float = 0.95
) -> Calibration:
    """Cuts a row of A/A rounds into campaigns as they would have been run, and judges each.

    Limits: the false-positive rate of few campaigns says little, which is why it carries its interval; noise of hours
    other than these is not in it.

    Args:
        metric: Name.
        log_ratios: One per A/A round, in the order in which they were run.
        rounds_per_campaign: As planned for real campaigns; at least the fewest that have an interval.
        confidence: Level of a campaign's interval.

    Raises:
        ValueError: there are not enough rounds for one campaign, or a campaign has too few for an interval.
    """
    values = np.asarray(log_ratios, float)
    if rounds_per_campaign < fewest_pairs(confidence):
        raise ValueError(f"a campaign needs at least {fewest_pairs(confidence)} rounds for an interval")
    campaigns = values.size // rounds_per_campaign
    if not campaigns:
        raise ValueError(f"{values.size} rounds do not make a campaign of {rounds_per_campaign}")
    cut = values[: campaigns * rounds_per_campaign].reshape(campaigns, rounds_per_campaign)
    found = [hodges_lehmann(row, confidence, "A/A rounds") for row in cut]
    errors = np.abs(np.expm1([one.center for one in found]))
    wrong = sum(one.low is not None and one.high is not None and not one.low <= 0.0 <= one.high for one in found)
    return Calibration(
        metric=metric,
        rounds=int(values.size),
        rounds_per_campaign=rounds_per_campaign,
        floor=float(np.quantile(errors, 0.95)),
        typical_error=float(np.median(errors)),
        false_positives=share(wrong, campaigns, confidence),
        needed={effect: rounds_needed(values, effect, confidence=confidence) for effect in EFFECTS},
    )
