"""Parity: do the arms compute the same things from equal seeds?

In: one trace of each arm (arrays written by parity runs). Out: for every output the largest difference to the
baseline, against the backend's stated tolerance. Timings of arms that fail this are not comparable.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from twotrees.errors import RunFailed
from twotrees.study import Tolerance

SCHEMA = "twotrees-parity-v1"


def compare(traces: Mapping[str, Path], tolerance: Tolerance) -> dict[str, Any]:
    """Compares every arm's trace with that of the first.

    Args:
        traces: Arm to its ``.npz``: arrays of shape ``(steps, environments, …)``.
        tolerance: ``|a - b| <= absolute + relative * |a|``; booleans and counts must be equal.

    Returns:
        The data of `parity.json`: overall verdict, and one line for each arm and output.

    Raises:
        RunFailed: a trace is missing, damaged, or holds no output: nothing compared must never read as equal.
    """
    arms = list(traces)
    baseline = arrays(traces[arms[0]])
    lines = []
    for arm in arms[1:]:
        other = arrays(traces[arm])
        lines += [
            compared(arm, name, baseline.get(name), other.get(name), tolerance) for name in names(baseline, other)
        ]
    return {
        "schema": SCHEMA,
        "ok": all(line["ok"] for line in lines),
        "baseline": arms[0],
        "arms": arms,
        "steps": int(next(array for name, array in baseline.items() if name != "environments").shape[0]),
        "num_envs": int(baseline["environments"].shape[-1]),
        "tolerance": {"absolute": tolerance.absolute, "relative": tolerance.relative},
        "terms": lines,
    }


def arrays(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of one trace.

    Raises:
        RunFailed: it cannot be read, or is not a trace.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, AttributeError) as fault:
        raise RunFailed(f"the trace cannot be read: {fault}", file=path, mend="look at the parity run's log") from None
    if "environments" not in found or len(found) < 2 or any(array.ndim == 0 for array in found.values()):
        raise RunFailed("the trace holds no outputs", file=path, mend="look at the parity run's log")
    return found


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
    elif a.dtype.kind != "f" or b.dtype.kind not in "biuf":
        return {**line, "reason": f"not numbers: {a.dtype} and {b.dtype}"}
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
