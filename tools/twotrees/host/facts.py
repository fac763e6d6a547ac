"""What a host fact is: a plain JSON value, or `Unknown` with the reason; never 0, never an empty string in its place.

In: values and texts as the system gives them. Out: facts, and the JSON form in which a fingerprint stores them.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Unknown:
    """A fact that could not be found out, and why."""

    reason: str


class Kind(enum.Enum):
    """What a difference in a fact means for a comparison of two hosts.

    SPEED: it can change how fast code runs. STATE: it moves by itself from minute to minute. LABEL: it names or
    records, and says nothing about speed.
    """

    SPEED = "speed"
    STATE = "state"
    LABEL = "label"


Facts = dict[str, Any]
"""Fact name to a str, int, float, bool, list, dict of those, or `Unknown` (at any depth of a dict)."""


def jsonable(value: Any) -> Any:
    """The JSON form of a fact: `Unknown` becomes ``{"unknown": reason}``, a non-finite number becomes one too."""
    if isinstance(value, Unknown):
        return {"unknown": value.reason}
    if isinstance(value, float) and not math.isfinite(value):
        return {"unknown": f"not a finite number: {value}"}
    if isinstance(value, Mapping):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [jsonable(item) for item in value]
    return value


def unknown_reason(value: Any) -> str | None:
    """The reason when *value* is the JSON form of an unknown fact, else None."""
    if isinstance(value, dict) and set(value) == {"unknown"}:
        return str(value["unknown"])
    return None


def positive(text: str | Unknown, what: str, divisor: int = 1) -> int | float | Unknown:
    """A measured quantity read from *text*: unknown when it is no number, zero or negative.

    Args:
        text: Digits as a system file gives them, or why there are none.
        what: Names the quantity in the reason.
        divisor: Turns the file's unit into ours (kHz to MHz: 1000).
    """
    if isinstance(text, Unknown):
        return text
    try:
        value = float(text)
    except ValueError:
        return Unknown(f"{what} reads {text[:40]!r}")
    if not math.isfinite(value) or value <= 0:
        return Unknown(f"{what} reads {text[:40]}")
    scaled = value / divisor
    return int(scaled) if scaled.is_integer() else round(scaled, 3)


def first_known(candidates: Iterable[Callable[[], Any]], otherwise: str) -> Any:
    """The first candidate's value that is not `Unknown`; else the first reason given, else *otherwise*."""
    reason: Unknown | None = None
    for candidate in candidates:
        value = candidate()
        if not isinstance(value, Unknown):
            return value
        reason = reason or value
    return reason or Unknown(otherwise)


def same_for_all(values: Mapping[str, Any], otherwise: str) -> Any:
    """One value where all CPUs agree, else a dict from CPU list to value.

    Args:
        values: CPU list (as in `0-3`) to value.
        otherwise: The reason when there are no CPUs to ask.
    """
    if not values:
        return Unknown(otherwise)
    distinct = list(values.values())
    # The reasons name each CPU's own file; where no CPU tells, the first one's reason speaks for all.
    same = all(value == distinct[0] for value in distinct) or all(isinstance(value, Unknown) for value in distinct)
    return distinct[0] if same else dict(values)


def cpu_numbers(text: str) -> frozenset[int]:
    """The CPU numbers of a kernel list such as ``0-3,8,10-11``; the empty list is the empty set.

    Raises:
        ValueError: not such a list.
    """
    numbers: set[int] = set()
    for part in text.replace(",", " ").split():
        first, dash, last = part.partition("-")
        numbers.update(range(int(first), int(last if dash else first) + 1))
    return frozenset(numbers)


def cpu_list(numbers: Iterable[int]) -> str:
    """The kernel's list form of CPU numbers: sorted, runs joined (``0-3,8``)."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
