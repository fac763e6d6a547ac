"""The worker's side of lockstep for any Python callable: JSON lines on stdin and stdout, one block on each request.

In: a callable that makes one step, requests from the controller. Out: one reply for each, and a result file whose
`twotrees.blocks` the aggregator reads. `tools/profile_update_state.py --serve` speaks the same; see docs/lockstep.md.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from twotrees import strict_json

STEP_METRIC = "step_ms"
Step = Callable[[], "Mapping[str, int] | None"]


def timed(step: Step) -> dict[str, int]:
    """Makes one step: its own times in ns by metric, or, when it gives none, the time that the call took."""
    start = time.perf_counter_ns()
    given = step()
    elapsed = time.perf_counter_ns() - start
    return dict(given) if given is not None else {STEP_METRIC: elapsed}


def serve(step: Step, requests: TextIO, replies: TextIO) -> list[dict[str, Any]]:
    """Answers requests until `finish` or the end of input; between them it waits in a read and computes nothing.

    Args:
        step: Makes one step.
        requests: Lines ``{"do": "steps", "n": K}`` and ``{"do": "finish"}``.
        replies: Receives one line when ready, then one for each block.

    Returns:
        The blocks in order, as `twotrees.blocks` holds them.

    Raises:
        ValueError: a request that is neither.
    """

    def reply(message: Mapping[str, Any]) -> None:
        replies.write(strict_json.dumps_line(message) + "\n")
        replies.flush()

    blocks: list[dict[str, Any]] = []
    reply({"ready": True, "pid": os.getpid()})
    replied_cpu = time.process_time_ns()
    for line in requests:
        request = strict_json.loads(line)
        if request.get("do") == "finish":
            break
        if request.get("do") != "steps":
            raise ValueError(f"not a request: {line.strip()!r}")
        cpu, wall = time.process_time_ns(), time.perf_counter_ns()
        samples: dict[str, list[int]] = {}
        for _ in range(int(request["n"])):
            for metric, ns in timed(step).items():
                samples.setdefault(metric, []).append(ns)
        wall_ns, cpu_ns = time.perf_counter_ns() - wall, time.process_time_ns() - cpu
        blocks.append(
            {"block": len(blocks), "samples": {name: {"unit": "ns", "values": ns} for name, ns in samples.items()}}
        )
        reply({"samples": samples, "cpu_ns": cpu_ns, "wall_ns": wall_ns, "idle_cpu_ns": cpu - replied_cpu})
        replied_cpu = time.process_time_ns()
    return blocks


def result_of(blocks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A worker's result file: summaries of all its steps under `timing`, and the blocks themselves."""
    pooled: dict[str, list[float]] = {}
    for block in blocks:
        for metric, series in block["samples"].items():
            pooled.setdefault(metric, []).extend(ns / 1e6 for ns in series["values"])
    timing = {
        metric: {"count": len(ms), "mean_ms": statistics.fmean(ms), "median_ms": statistics.median(ms)}
        for metric, ms in pooled.items()
    }
    return {"timing": timing, "twotrees": {"schema": "twotrees-result-v1", "blocks": list(blocks)}}


def main(argv: Sequence[str] | None = None) -> int:
    """``python -m twotrees.runs.worker_protocol module:function --out FILE`` makes a worker of any callable.

    The function is called once, without arguments, and gives the callable that makes one step.
    """
    parser = argparse.ArgumentParser(description="Be a lockstep worker that steps a Python callable.")
    parser.add_argument("entry", help="module:function; calling it gives the callable that makes one step")
    parser.add_argument("--out", type=Path, required=True, help="where the result JSON goes")
    parser.add_argument("--warmup", type=int, default=3, help="steps before the first block")
    options = parser.parse_args(argv)
    # Whatever the subject prints must not land between two replies.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    module, _, function = options.entry.partition(":")
    step: Step = getattr(importlib.import_module(module), function)()
    for _ in range(options.warmup):
        step()
    result = result_of(serve(step, sys.stdin, replies))
    draft = options.out.with_name(options.out.name + ".part")
    draft.write_text(strict_json.dumps(result), encoding="utf-8")
    draft.replace(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
