"""The aggregate, made again from the plan and the run files by the toolkit's own aggregator, and compared.

In comes the private copy of a bundle's data, out comes the first number that differs. The aggregator is this toolkit's
file, run apart with nothing of the bundle on its path and a time limit; what the bundle says it was made with is not
asked.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any

import twotrees
from twotrees import process, strict_json
from twotrees.bundle import layout
from twotrees.bundle.read import Contents
from twotrees.bundle.tags import broken
from twotrees.digest import sha256_file
from twotrees.errors import PinsDiffer

SCRIPT = "aggregate_update_state.py"
TIMEOUT_S = 300.0
TOLERANCE = 1e-9
# These go through log and exp, or a distribution's quantile, whose last digits belong to the C library.
THROUGH_LIBM = frozenset({"ratio", "ratio_low", "ratio_high", "t_low", "t_high", "p", "p_holm", "order_allowance"})


def aggregator() -> Path:
    """The toolkit's aggregator: beside the package in a checkout, inside it in a wheel.

    Raises:
        PinsDiffer: this installation has none.
    """
    package = Path(twotrees.__file__).parent
    for folder in (package / "_toolkit" / "tools", package.parent):
        if (folder / SCRIPT).is_file():
            return folder / SCRIPT
    raise PinsDiffer("the toolkit's aggregator is missing from this installation", file=SCRIPT)


def check_aggregate(contents: Contents) -> None:
    """Recomputes ``data/aggregate.json``.

    Raises:
        BundleBroken: it cannot be recomputed, or says something else.
        PinsDiffer: this installation has no aggregator.
    """
    claimed = contents.json(layout.AGGREGATE)
    ours = claimed.get("twotrees") if isinstance(claimed, dict) else None
    summation = ours.get("summation") if isinstance(ours, dict) else None
    if summation not in ("plain", "compensated"):
        broken(layout.AGGREGATE, "it does not say how it was summed", "twotrees.summation")
    data = contents.kept / layout.PAYLOAD
    argv = [sys.executable, "-I", str(aggregator()), "--data", str(data), "--summation", summation]
    finished = process.run(argv, env={"PATH": os.defpath}, cwd=data, timeout_s=TIMEOUT_S)
    if not finished.ok:
        lines = finished.stderr.decode("utf-8", "replace").strip().splitlines()
        reason = (lines[-1] if lines else finished.complaint).replace(f"{contents.kept}/", "")
        broken(layout.AGGREGATE, f"it cannot be recomputed from the runs: {reason}")
    difference = first_difference(claimed, strict_json.loads(finished.stdout), "")
    if difference:
        where, what = difference
        pinned = contents.json(layout.PLAN)["scripts"].get(SCRIPT)
        other = "" if pinned == sha256_file(aggregator()) else f"; the plan pins another {SCRIPT}, {str(pinned)[:16]}…"
        broken(layout.AGGREGATE, what + other, where)


def first_difference(claimed: Any, made: Any, where: str) -> tuple[str, str] | None:
    """Where two documents first differ, and how; order statistics and sums must agree to the last bit."""
    if isinstance(made, dict) and isinstance(claimed, dict):
        for key in (*made, *claimed):
            at = f"{where}.{key}" if where else key
            if key not in claimed:
                return at, "missing, but the runs give it"
            if key not in made:
                return at, "the runs do not give it"
            if found := first_difference(claimed[key], made[key], at):
                return found
        return None
    if isinstance(made, list) and isinstance(claimed, list):
        if len(made) != len(claimed):
            return where, f"{len(claimed)} entries, but the runs give {len(made)}"
        for place, (one, other) in enumerate(zip(claimed, made, strict=True)):
            if found := first_difference(one, other, f"{where}[{place}]"):
                return found
        return None
    if type(made) is type(claimed) and (made == claimed or _close(claimed, made, where)):
        return None
    return where, f"{str(claimed)[:120]!a}, but the runs give {str(made)[:120]!a}"


def _close(claimed: Any, made: Any, where: str) -> bool:
    return (
        isinstance(made, float)
        and where.rpartition(".")[2] in THROUGH_LIBM
        and math.isclose(claimed, made, rel_tol=TOLERANCE, abs_tol=0.0)
    )
