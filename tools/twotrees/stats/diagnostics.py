"""Diagnostics: what the shape of a run's samples says about trusting its summary. Detected and printed, never dropped.

In: one run's steps in their order. Out: findings on heavy tails, two modes, drift and autocorrelation, each with its
number and the limit beyond which it is named.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import signal
from scipy import stats as distributions

Array = npt.NDArray[np.float64]
Name = Literal["heavy tail", "two modes", "drift", "autocorrelation"]

FEWEST_STEPS = 20
# For normal data (q97.5 - q50)/(q75 - q50) is 2.91; log-normal step times of a quiet host stay below 4.
HEAVY_TAIL = 6.0
MODE_VALLEY = 0.7
MODE_HEIGHT = 0.15
DRIFT_P = 0.001
DRIFT_SHARE = 0.01
EFFECTIVE_SHARE = 0.5


@dataclass(frozen=True)
class Finding:
    """Something about a run's samples that a reader should know.

    Attributes:
        name: Which.
        value: Its number.
        limit: Beyond which it is named.
        text: One line.
    """

    name: Name
    value: float
    limit: float
    text: str


def diagnose(steps: Array) -> tuple[Finding, ...]:
    """Everything that stands out; nothing when there are fewer than 20 steps, where nothing can."""
    values = np.asarray(steps, float)
    if values.size < FEWEST_STEPS or np.ptp(values) == 0.0:
        return ()
    found = []
    weight = tail_weight(values)
    if weight > HEAVY_TAIL:
        found.append(
            Finding("heavy tail", weight, HEAVY_TAIL, f"upper tail {weight:.1f} times its quartile (normal: 2.9)")
        )
    modes = mode_levels(values)
    if modes is not None:
        apart = modes[1] / modes[0] - 1.0
        found.append(Finding("two modes", apart, 0.0, f"two modes, at {modes[0]:.4g} and {modes[1]:.4g}"))
    slope, p = drift(values)
    if p < DRIFT_P and abs(slope) > DRIFT_SHARE:
        found.append(Finding("drift", slope, DRIFT_SHARE, f"drifts by {100.0 * slope:+.1f} % from first to last step"))
    effective = effective_size(values)
    if effective < EFFECTIVE_SHARE * values.size:
        found.append(
            Finding(
                "autocorrelation",
                effective,
                EFFECTIVE_SHARE * values.size,
                f"steps depend on each other: {values.size} are worth {effective:.0f}",
            )
        )
    return tuple(found)


def tail_weight(steps: Array) -> float:
    """How far the upper tail reaches beyond the upper quartile: (q97.5 - q50)/(q75 - q50).

    Source: the quantile ratio of Hoaglin, Mosteller & Tukey, Understanding Robust and Exploratory Data Analysis, 1983,
    chapter 10. Limits: blind to the rarest 2.5 %; infinite when half of the steps share one value.
    """
    middle, quartile, high = np.quantile(steps, [0.5, 0.75, 0.975])
    if quartile == middle:
        return math.inf if high > middle else 0.0
    return float((high - middle) / (quartile - middle))


def mode_levels(steps: Array) -> tuple[float, float] | None:
    """The levels of the two main modes, lower first, where a kernel density shows two with a clear valley between.

    Source: Gaussian kernel with the bandwidth of Silverman, Density Estimation, 1986, section 3.4 (0.9 min(s, IQR/1.34)
    n^-0.2), on logs. Two modes count when the smaller one is at least 15 % of the larger and the valley at most 70 % of
    the smaller. Limits: needs about 50 steps; modes closer than three bandwidths are seen as one.
    """
    logs = np.log(steps)
    quarter, three_quarters = np.quantile(logs, [0.25, 0.75])
    spread = min(float(logs.std(ddof=1)), float(three_quarters - quarter) / 1.34) or float(logs.std(ddof=1))
    width = 0.9 * spread * logs.size**-0.2
    low, high = np.quantile(logs, [0.005, 0.995])
    grid = np.linspace(low - 4.0 * width, high + 4.0 * width, 512)
    density = np.exp(-0.5 * ((grid[:, None] - logs[None, :]) / width) ** 2).sum(axis=1)
    peaks, _ = signal.find_peaks(density, height=MODE_HEIGHT * density.max())
    if len(peaks) < 2:
        return None
    first, second = sorted(int(place) for place in peaks[np.argsort(density[peaks])[-2:]])
    valley = float(density[first : second + 1].min())
    if valley > MODE_VALLEY * min(float(density[first]), float(density[second])):
        return None
    return float(np.exp(grid[first])), float(np.exp(grid[second]))


def drift(steps: Array) -> tuple[float, float]:
    """(relative change from first to last step, p-value): Theil-Sen slope with Kendall's tau.

    Source: Sen 1968 (J. Am. Stat. Assoc. 63), Kendall 1938. Limits: autocorrelated steps make p too small, which is why
    the change must also be worth naming.
    """
    places = np.arange(steps.size, dtype=float)
    slope = float(distributions.theilslopes(steps, places).slope)
    p = float(distributions.kendalltau(places, steps).pvalue)
    return slope * (steps.size - 1) / float(np.median(steps)), p


def effective_size(steps: Array) -> float:
    """How many independent steps these are worth: n over the integrated autocorrelation time.

    Source: the initial positive sequence of Geyer 1992 (Stat. Sci. 7): autocorrelations are summed in pairs until a
    pair is not positive. On ranks, so that one wild step neither hides nor makes dependence.
    """
    ranks = distributions.rankdata(steps)
    centered = ranks - ranks.mean()
    n = centered.size
    spectrum = np.fft.rfft(centered, 2 * n)
    covariance = np.fft.irfft(spectrum * np.conj(spectrum))[:n]
    correlation: Array = covariance / covariance[0]
    total = -1.0
    for lag in range(0, n - 1, 2):
        pair = float(correlation[lag] + correlation[lag + 1])
        if pair <= 0.0:
            break
        total += 2.0 * pair
    return float(min(n, n / max(total, 1.0 / n)))
