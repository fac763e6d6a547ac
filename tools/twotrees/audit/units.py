"""Units of printed numbers: a name as printed becomes a dimension and an exact factor to that dimension's base unit.

Time is kept in milliseconds, rates per second, memory in bytes; per cent, factors (×) and counts have no scale.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit: `name` as twotrees writes it, what it measures, and how many base units it is."""

    name: str
    dimension: str
    scale: Fraction = Fraction(1)


NONE = Unit("", "none")
PERCENT = Unit("%", "percent")
POINTS = Unit("pp", "points")
FACTOR = Unit("×", "factor")
MS = Unit("ms", "time")

_TIME = {
    "ns": Fraction(1, 10**6),
    "µs": Fraction(1, 1000),
    "ms": Fraction(1),
    "s": Fraction(1000),
    "min": Fraction(60_000),
    "h": Fraction(3_600_000),
}
_MEMORY = {
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}
_COUNTED = (
    "env",
    "step",
    "run",
    "call",
    "process",
    "thread",
    "core",
    "socket",
    "iteration",
    "sample",
    "frame",
    "episode",
    "term",
    "test",
    "file",
    "line",
    "kernel",
    "round",
    "block",
    "seed",
    "commit",
    "warmup",
    "repeat",
    "digit",
    "bit",
)

# Each unit and the ways in which posts write it.
_SPELLINGS: dict[Unit, tuple[str, ...]] = {
    Unit("ns", "time", _TIME["ns"]): ("ns", "纳秒", "nanosecond", "nanoseconds"),
    Unit("µs", "time", _TIME["µs"]): ("µs", "us", "usec", "微秒", "microsecond", "microseconds"),
    MS: ("ms", "msec", "毫秒", "millisecond", "milliseconds"),
    Unit("s", "time", _TIME["s"]): ("s", "sec", "secs", "秒", "second", "seconds"),
    Unit("min", "time", _TIME["min"]): ("min", "mins", "分钟", "minute", "minutes"),
    Unit("h", "time", _TIME["h"]): ("h", "hr", "hrs", "小时", "hour", "hours"),
    PERCENT: ("%", "percent", "per cent", "pct"),
    POINTS: ("pp", "ppt", "pts", "百分点", "个百分点", "percentage points", "points", "%pt"),
    FACTOR: ("×", "x", "倍", "times", "-fold"),
    Unit("/s", "rate"): (
        "steps/s",
        "step/s",
        "env/s",
        "envs/s",
        "env steps/s",
        "env-steps/s",
        "samples/s",
        "frames/s",
        "it/s",
        "iter/s",
        "req/s",
        "ops/s",
        "fps",
        "sps",
        "/s",
        "步/秒",
        "步/s",
        "帧/秒",
        "steps per second",
        "frames per second",
    ),
    Unit("Hz", "frequency"): ("hz",),
    Unit("MHz", "frequency", Fraction(10**6)): ("mhz",),
    Unit("GHz", "frequency", Fraction(10**9)): ("ghz",),
    Unit("W", "power"): ("w", "watt", "watts"),
    Unit("°C", "temperature"): ("°c", "℃"),
    **{Unit(name, "memory", Fraction(size)): (name,) for name, size in _MEMORY.items()},
    **{
        Unit(word, "count"): (word, f"{word}s", f"{word}es") if word not in ("process",) else (word, "processes")
        for word in _COUNTED
    },
    Unit("个", "count"): ("个独立进程", "个进程", "个环境", "个线程", "个", "轮", "次", "步", "遍", "条", "项", "行"),
}

_BY_SPELLING: dict[str, Unit] = {
    spelling.lower(): unit for unit, spellings in _SPELLINGS.items() for spelling in spellings
}
_WORDLIKE = re.compile(r"[A-Za-z°µ/]$")


def unit_named(text: str) -> Unit | None:
    """The unit that *text* is a spelling of, or None; the empty string is a number without unit."""
    return NONE if not text else _BY_SPELLING.get(text.strip().lower())


def _pattern() -> str:
    longest_first = sorted(_BY_SPELLING, key=len, reverse=True)
    parts = []
    for spelling in longest_first:
        body = re.escape(spelling).replace(r"\ ", " ")
        parts.append(body + (r"(?![A-Za-z0-9_°µ/])" if _WORDLIKE.search(spelling) else ""))
    return "|".join(parts)


# A unit right after a number. `×` and `x` before another digit are a multiplication sign, not a unit.
UNIT_AFTER = re.compile(rf"[ \u202f]{{0,4}}(?P<unit>(?:{_pattern()}))(?![ ]?(?<=[×x])[ ]?[0-9])", re.IGNORECASE)
