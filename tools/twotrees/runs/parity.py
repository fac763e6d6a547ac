"""Parity: do the arms compute the same things from equal seeds?

In: one trace of each arm (arrays written by parity runs). Out: for every output the largest difference to the
baseline, against the backend's stated tolerance. Timings of arms that fail this are not comparable.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from twotrees.study import Tolerance

SCHEMA = "twotrees-parity-v1"


def compare(traces: Mapping[str, Path], tolerance: Tolerance) -> dict[str, Any]:
    """Compares every arm's trace with that of the first.

    Args:
        traces: Arm to its ``.npz``: arrays of shape ``(steps, environments, …)``.
        tolerance: ``|a - b| <= absolute + relative * |a|``; booleans and counts must be equal.

    Returns:
        The data of `parity.json`: overall verdict, and one line for each arm and output.
    """
    arms = list(traces)
    with np.load(traces[arms[0]], allow_pickle=False) as stored:
        baseline = {name: stored[name] for name in stored.files}
    lines = []
    for arm in arms[1:]:
        with np.load(traces[arm], allow_pickle=False) as stored:
            other = {name: stored[name] for name in stored.files}
        lines += [
            compared(arm, name, baseline.get(name), other.get(name), tolerance) for name in names(baseline, other)
        ]
    shape = baseline["environments"].shape
    return {
        "schema": SCHEMA,
        "ok": all(line["ok"] for line in lines),
        "baseline": arms[0],
        "arms": arms,
        "steps": int(next(array for name, array in baseline.items() if name != "environments").shape[0]),
        "num_envs": int(shape[-1]),
        "tolerance": {"absolute": tolerance.absolute, "relative": tolerance.relative},
        "terms": lines,
    }


def names(baseline: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Every output that either arm recorded, in name order."""
    return sorted(set(baseline) | set(other))


def compared(
    arm: str, name: str, a: npt.NDArray[Any] | None, b: npt.NDArray[Any] | None, tolerance: Tolerance
) -> dict[str, Any]:
    """One line: the largest difference of one output between the baseline *a* and another arm's *b*.

    `first_step` is the first step in which an element lies outside the tolerance: a wrong kernel is wrong at once,
    while rounding that a simulator amplifies grows over steps.
    """
    line: dict[str, Any] = {"arm": arm, "name": name, "ok": False, "max_abs_delta": None, "first_step": None}
    if a is None or b is None:
        return {**line, "reason": "only one of the two arms has it"}
    if a.shape != b.shape:
        return {**line, "reason": f"shapes differ: {a.shape} and {b.shape}"}
    if a.dtype.kind in "biu":
        outside = a != b
        delta = outside.astype(np.float64)
    else:
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            return {**line, "reason": "not finite"}
        wide_a = a.astype(np.float64)
        delta = np.abs(wide_a - b.astype(np.float64))
        outside = delta > tolerance.absolute + tolerance.relative * np.abs(wide_a)
    steps = np.flatnonzero(outside.reshape(outside.shape[0], -1).any(axis=1)) if outside.size else np.array([], int)
    line["max_abs_delta"] = float(delta.max()) if delta.size else 0.0
    line["ok"] = not len(steps)
    if len(steps):
        line["first_step"] = int(steps[0])
        line["share_outside"] = float(outside.mean())
        line["reason"] = f"outside the tolerance from step {int(steps[0])}"
    return line
