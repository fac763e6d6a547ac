"""The raw samples of one attempt, in ms, from whichever form its profiler kept them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twotrees.report.facts import Attempt

Series = dict[str, list[float]]


def phase_samples(attempt: Attempt) -> Series:
    """Phase name to one time per measured step; of a lockstep worker its blocks one after another."""
    ours = _ours(attempt)
    blocks = ours.get("blocks")
    if isinstance(blocks, list):
        joined: Series = {}
        for block in blocks:
            for name, values in _series(block.get("samples") if isinstance(block, dict) else None).items():
                joined.setdefault(name, []).extend(values)
        return joined
    return _series(ours.get("samples"))


def term_samples(attempt: Attempt) -> Series:
    """Probe name to one time per call outside resets."""
    stored = _ours(attempt).get("term_samples")
    if not isinstance(stored, dict):
        return {}
    return _series({name: phases.get("step") for name, phases in stored.items() if isinstance(phases, dict)})


def _ours(attempt: Attempt) -> Mapping[str, Any]:
    ours = attempt.result.get("twotrees") if attempt.result else None
    return ours if isinstance(ours, dict) else {}


def _series(stored: Any) -> Series:
    if not isinstance(stored, dict):
        return {}
    found: Series = {}
    for name, series in stored.items():
        values = series.get("values") if isinstance(series, dict) else None
        if not isinstance(values, list):
            continue
        # Divided as the aggregator divides, so that a point is exactly the number that went into a median.
        nanoseconds = series.get("unit") == "ns"
        numbers = [value for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
        if numbers:
            found[name] = [value / 1.0e6 if nanoseconds else float(value) for value in numbers]
    return found
