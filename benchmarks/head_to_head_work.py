"""The workloads of the head-to-head: steps of exactly known work, so that a true effect is counted, not guessed.

A step does UNITS equal units of work; a true effect of 0.5 % is 402 units against 400. Each workload is of another
kind: pure Python, NumPy bound by memory, Numba in parallel, MuJoCo. Every tool measures the same callable in its way.

    python benchmarks/head_to_head_work.py run pure_python 400 --samples 50     one process, prints its step times in ns
    python benchmarks/head_to_head_work.py serve pure_python 402 --out FILE     a lockstep worker
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

BASE_UNITS = 400
WARMUP_STEPS = 3
SINGLE_THREADED = ("pure_python", "numpy_memory", "mujoco_step")


def pure_python(units: int) -> Callable[[], None]:
    """A linear congruential generator in the interpreter: 60 turns a unit."""

    def step() -> None:
        value = 1
        for _ in range(units):
            for _ in range(60):
                value = (value * 1103515245 + 12345) & 0x7FFFFFFF

    return step


def numpy_memory(units: int) -> Callable[[], None]:
    """Sums of blocks that lie far beyond the caches: one block of 32 KiB from each of two arrays a unit."""
    import numpy as np

    blocks, width = 1024, 4096
    a, b, out = (np.ones((blocks, width)) for _ in range(3))
    place = 0

    def step() -> None:
        nonlocal place
        for _ in range(units):
            np.add(a[place], b[place], out=out[place])
            place = (place + 1) % blocks

    return step


def numba_parallel(units: int) -> Callable[[], None]:
    """Polynomials in a parallel loop: one row a unit, rows shared evenly among the threads."""
    import numba
    import numpy as np

    @numba.njit(parallel=True, cache=True, fastmath=True)
    def rows(values: np.ndarray) -> None:
        for row in numba.prange(values.shape[0]):
            for column in range(values.shape[1]):
                x = values[row, column]
                for _ in range(8):
                    x = x * 0.999 + 0.001
                values[row, column] = x

    values = np.ones((units, 2048))

    def step() -> None:
        rows(values)

    return step


CHAIN = """<mujoco><option timestep="0.002" gravity="0 0 -9.81"/><worldbody>{}</worldbody></mujoco>"""
LINK = """<body pos="0 0 {z}"><joint type="hinge" axis="0 1 0"/><geom type="capsule" size="0.02"
fromto="0 0 0 0 0 -0.2" contype="0" conaffinity="0"/>{inner}</body>"""


def mujoco_step(units: int) -> Callable[[], None]:
    """A swinging chain of twelve links without contacts, from the same start: one physics step a unit."""
    import mujoco

    chain = ""
    for link in range(12):
        chain = LINK.format(z=2.5 if link == 11 else -0.2, inner=chain)
    model = mujoco.MjModel.from_xml_string(CHAIN.format(chain))
    data = mujoco.MjData(model)

    def step() -> None:
        mujoco.mj_resetData(model, data)
        data.qpos[0] = 1.0
        mujoco.mj_step(model, data, nstep=units)

    return step


WORKLOADS: dict[str, Callable[[int], Callable[[], None]]] = {
    "pure_python": pure_python,
    "numpy_memory": numpy_memory,
    "numba_parallel": numba_parallel,
    "mujoco_step": mujoco_step,
}


def units_of(effect: float) -> int:
    """Units of a step that is *effect* more work than the baseline's.

    Raises:
        ValueError: the effect is not a whole number of units.
    """
    units = round(BASE_UNITS * (1.0 + effect))
    if abs(units - BASE_UNITS * (1.0 + effect)) > 1e-9:
        raise ValueError(f"{effect:.3%} of {BASE_UNITS} units is not a whole number of them")
    return units


def warmed(workload: str, units: int) -> Callable[[], None]:
    """The callable that makes one step, compiled and warm."""
    step = WORKLOADS[workload](units)
    for _ in range(WARMUP_STEPS):
        step()
    return step


def run(workload: str, units: int, samples: int) -> list[int]:
    """One process's step times in ns."""
    step = warmed(workload, units)
    times = []
    for _ in range(samples):
        start = time.perf_counter_ns()
        step()
        times.append(time.perf_counter_ns() - start)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description="A workload of exactly known work.")
    parser.add_argument("mode", choices=("run", "serve"))
    parser.add_argument("workload", choices=list(WORKLOADS))
    parser.add_argument("units", type=int)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    if options.mode == "run":
        print(json.dumps(run(options.workload, options.units, options.samples)))
        return
    from twotrees.runs.worker_protocol import result_of, serve

    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    blocks = serve(warmed(options.workload, options.units), sys.stdin, replies)
    if options.out is not None:
        options.out.write_text(json.dumps(result_of(blocks)), encoding="utf-8")


if __name__ == "__main__":
    main()
