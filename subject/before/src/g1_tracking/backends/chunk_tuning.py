"""The start-up tuner of the rollout chunk size, and its memory of this host.

In: a way to time one step with a given chunk size. Out: the chunk size, and how it was found.
"""

import hashlib
import json
import os
import platform
from collections.abc import Callable
from pathlib import Path
from statistics import median

import mujoco

_ROUNDS = 3
_CANDIDATES = (1, 4, 12, 32, 128)
_USUAL = 32
# A candidate must beat the usual size clearly, so that noise does not make two processes decide differently.
_MARGIN = 0.15
# Robots that are stepped to find out; a larger batch prefers the same size.
TUNING_ROWS = 1024


def choose_chunk_size(num_envs: int, threads: int, time_step_ns: Callable[[int], int]) -> dict[str, int | str]:
    """Choose the chunk size for this host, asking the cache first.

    Args:
        num_envs: robots per step.
        threads: threads of the pool.
        time_step_ns: steps `TUNING_ROWS` robots, or all if fewer, with a chunk size; returns nanoseconds.

    Returns:
        `chunk_size`, and `chunk_cache`: `hit` or `miss`.
    """
    path = _cache_file(num_envs, threads)
    known = _read(path)
    if known is not None:
        return {"chunk_size": known, "chunk_cache": "hit"}
    rows = min(num_envs, TUNING_ROWS)
    candidates = [size for size in _CANDIDATES if size == 1 or size * threads <= rows]
    usual = max(size for size in candidates if size <= _USUAL)
    times: dict[int, list[int]] = {size: [] for size in candidates}
    for _ in range(_ROUNDS):
        for size in candidates:
            times[size].append(time_step_ns(size))
    best = min(candidates, key=lambda size: median(times[size]))
    if median(times[best]) > (1.0 - _MARGIN) * median(times[usual]):
        best = usual
    _write(path, best)
    return {"chunk_size": best, "chunk_cache": "miss"}


def _cache_file(num_envs: int, threads: int) -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    host = [platform.machine(), platform.processor(), os.cpu_count(), threads, num_envs, mujoco.__version__]
    key = hashlib.sha256(json.dumps(host).encode()).hexdigest()[:16]
    return base / "g1_tracking" / f"chunk-{key}.json"


def _read(path: Path) -> int | None:
    try:
        value = json.loads(path.read_text())["chunk_size"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return value if isinstance(value, int) and value > 0 else None


def _write(path: Path, chunk_size: int) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps({"chunk_size": chunk_size}))
        partial.replace(path)
    except OSError:
        return  # a read-only cache costs the next start its hit, nothing else
