"""Where two aggregates of one campaign differ: a recorded one, and one recomputed from the runs.

In: two documents. Out: one line for each difference. Order statistics, sums and everything made of them must be equal
to the last bit; intervals go through logarithms and quantiles of t, whose last bits belong to the machine's libraries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

# Through log, exp and quantiles of t: equal to this relative difference.
THROUGH_LIBRARIES = frozenset({"ratio", "ratio_low", "ratio_high", "t_low", "t_high", "p", "p_holm", "order_allowance"})
RELATIVE = 1e-12
P_RELATIVE = 1e-9
# Two implementations word these for themselves.
WORDS = frozenset({"notes", "detail", "reason"})


def differences(recorded: Any, recomputed: Any, at: str = "") -> Iterator[str]:
    """Every place where two aggregates differ in more than words or the last bits of an interval.

    Args:
        recorded: For example a bundle's aggregate.json.
        recomputed: For example `recompute.aggregate` of its runs.
        at: The place of the two within their documents, for the messages.
    """
    key = at.rpartition(".")[2]
    if key in WORDS:
        return
    if isinstance(recorded, dict) and isinstance(recomputed, dict):
        for name in [*recorded, *(name for name in recomputed if name not in recorded)]:
            place = f"{at}.{name}" if at else str(name)
            if name in WORDS:
                continue
            if name not in recomputed or name not in recorded:
                yield f"{place}: only {'recorded' if name in recorded else 'recomputed'}"
            else:
                yield from differences(recorded[name], recomputed[name], place)
    elif isinstance(recorded, list) and isinstance(recomputed, list):
        if len(recorded) != len(recomputed):
            yield f"{at}: {len(recorded)} recorded, {len(recomputed)} recomputed"
            return
        for index, (one, other) in enumerate(zip(recorded, recomputed, strict=True)):
            label = one.get("metric") or one.get("line") or one.get("check") if isinstance(one, dict) else None
            yield from differences(one, other, f"{at}[{label or index}]")
    elif not same(recorded, recomputed, key):
        yield f"{at}: recorded {recorded!r}, recomputed {recomputed!r}"


def same(recorded: Any, recomputed: Any, key: str) -> bool:
    """Whether two leaves are equal, as far as their key allows."""
    if isinstance(recorded, bool) or isinstance(recomputed, bool):
        return recorded is recomputed
    if key in THROUGH_LIBRARIES and isinstance(recorded, int | float) and isinstance(recomputed, int | float):
        relative = P_RELATIVE if key in ("p", "p_holm") else RELATIVE
        return math.isclose(recorded, recomputed, rel_tol=relative, abs_tol=1e-15)
    return bool(recorded == recomputed)
