"""Which formulas may stand behind a gain printed beside a pair: "−9.917 ms", "34.0 %", "1.52×".

In: a pair's dimension, and the gain's unit, sign and role. Out: the admissible readings, as few as the words allow:
a sign that is printed and a base that is named are binding.
"""

from __future__ import annotations

from twotrees.audit.claims import Reading
from twotrees.audit.post.numerals import Token
from twotrees.audit.post.words import Role

LESS_IS_BETTER = ("time", "memory")


def readings(before: str, after: str, dimension: str, gain: Token, role: Role) -> tuple[Reading, ...]:
    """The formulas over *before* and *after* that *gain* may be.

    Args:
        before, after: Claim ids.
        dimension: That of the pair.
        gain: The printed gain.
        role: What its header or neighbouring word says it is.

    Returns:
        Empty where the gain cannot belong to the pair.
    """
    match gain.dimension:
        case "factor":
            return _factor(before, after, dimension, role)
        case "percent":
            return _percent(before, after, dimension, gain, role)
        case "points":
            return _differences(before, after, gain, role) if dimension == "percent" else ()
        case other:
            return _differences(before, after, gain, role) if other == dimension else ()


def _sign(gain: Token) -> str:
    return gain.text.lstrip("~≈约 ")[0] if gain.signed else ""


def _differences(before: str, after: str, gain: Token, role: Role) -> tuple[Reading, ...]:
    change, saved = Reading("difference", (after, before)), Reading("difference", (before, after))
    if role is Role.CHANGE and gain.signed:
        return (change,)
    if role is Role.SAVED and _sign(gain) != "-":
        return (saved,)
    if role is Role.INCREASE:
        return (change,)
    return (change, saved)


def _percent(before: str, after: str, dimension: str, gain: Token, role: Role) -> tuple[Reading, ...]:
    pair = (before, after)
    change, reduction = Reading("change_pct", pair), Reading("reduction_pct", pair)
    faster = Reading("reduction_pct", pair, "after")  # 1.52 times as fast is 52 % faster
    minus = _sign(gain) == "-"
    points = _differences(before, after, gain, role) if dimension == "percent" else ()
    if role is Role.CHANGE:
        return ((change,) if gain.signed else (change, reduction)) + points
    if role is Role.SAVED:
        return ((change, reduction) if minus else (reduction,)) + points
    if role is Role.INCREASE:
        return (change, *points)
    if role is Role.RATIO:
        return (Reading("share_pct", (after, before)), Reading("share_pct", pair), change, reduction, *points)
    if minus or dimension == "rate":
        return (change, reduction, *points)
    return (reduction, faster, change, *points)


def _factor(before: str, after: str, dimension: str, role: Role) -> tuple[Reading, ...]:
    down, up = Reading("ratio", (before, after)), Reading("ratio", (after, before))
    if role is Role.FASTER and dimension in LESS_IS_BETTER:
        return (down,)
    if role is Role.FASTER and dimension == "rate":
        return (up,)
    return (down, up)
