"""What a probe adds to one call of a term: median nanoseconds for each shape of probe, beside a call without one.

    python benchmarks/probe_cost.py

Each round times the bare callable and the wrapped one in turn, so that a slow moment hits both; the difference of a
round is one sample. Exit status 1 when the plain probe costs more than 600 ns, which is under one per cent of the
cheapest of the published target terms (80 µs).
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter_ns
from types import ModuleType
from typing import Any

LIMIT_NS = 600
ROOT = Path(__file__).resolve().parents[1]


def profiler() -> ModuleType:
    """The measured child as a module, without running it."""
    spec = importlib.util.spec_from_file_location("profile_update_state", ROOT / "tools" / "profile_update_state.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Env:
    """What a probe reads of an environment."""

    common_step_counter = 1

    def __init__(self, *, resetting: bool = False) -> None:
        self._autoreset_reset_active = resetting


class Command:
    """What a refresh probe reads of a command: a cache that is older than the step, so that every call counts."""

    _robot_cache_step = 0


def empty(*args: Any, **kwargs: Any) -> None:
    """Takes what a term takes and does nothing, so that only the probe is seen."""


def added_ns(wrapped: Callable[..., Any], call: Callable[[Callable[..., Any]], None], rounds: int) -> list[float]:
    """For each round the nanoseconds per call that *wrapped* takes beyond `empty`; `call` makes 1000 calls."""
    added = []
    for _ in range(rounds):
        start = perf_counter_ns()
        call(empty)
        between = perf_counter_ns()
        call(wrapped)
        added.append(((perf_counter_ns() - between) - (between - start)) / 1000)
    return added


def thousand(*args: Any, **kwargs: Any) -> Callable[[Callable[..., Any]], None]:
    """Makes 1000 calls with these arguments."""

    def call(function: Callable[..., Any]) -> None:
        for _ in range(1000):
            function(*args, **kwargs)

    return call


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    child = profiler()
    step, resetting, samples = Env(), Env(resetting=True), {}
    shapes = {
        "term in a step": (child.Probe(empty, step, child.sink(samples, "a")), thousand(step, std=0.3)),
        "term in a reset": (child.Probe(empty, resetting, child.sink(samples, "b")), thousand(resetting, std=0.3)),
        "manager with env_ids": (child.Probe(empty, step, child.sink(samples, "c")), thousand(env_ids=[1])),
        "refresh that copies": (child.RefreshProbe(empty, Command(), step, samples), thousand(force=True)),
    }
    medians = {}
    print(f"{'probe':<22} {'median':>8} {'p5':>8} {'p95':>8}   ns added to one call, {rounds} rounds of 1000 calls")
    for name, (probe, call) in shapes.items():
        added = added_ns(probe, call, rounds)
        cuts = quantiles(added, n=20)
        medians[name] = median(added)
        print(f"{name:<22} {medians[name]:8.0f} {cuts[0]:8.0f} {cuts[-1]:8.0f}")
    print(f"told by every terms run (probe_cost_ns): {child.probe_cost_ns()}")
    return int(medians["term in a step"] > LIMIT_NS)


if __name__ == "__main__":
    sys.exit(main())
