"""Head-to-head: the same workloads through asv, pyperf, hyperfine, pytest-benchmark, a plain loop and twotrees.

    python benchmarks/head_to_head.py run --out trials.jsonl --trials 100 --peers PYTHON
    python benchmarks/head_to_head.py report trials.jsonl --markdown docs/head_to_head.md --plot docs/head_to_head.png

Every trial compares a workload with itself, or with the same workload and 0.5, 1, 2 or 5 % more units, with and without
a neighbour process. The tools take turns trial by trial, each with the same wall-time budget and equally many samples
of both arms. PYTHON is an interpreter with asv, pyperf, pytest-benchmark, virtualenv and everything twotrees needs;
hyperfine is a Debian package. A run appends, and goes on where the file ends; Ctrl-C loses at most one trial.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))

from head_to_head_score import Trial, markdown, plot
from head_to_head_tools import PREPARATIONS, TOOLS, Bench, Case, Costs, Verdict
from head_to_head_work import WORKLOADS

EFFECTS = (0.0, 0.005, 0.01, 0.02, 0.05)
# Seconds for one trial of every tool; enough that six rounds of two processes spend at most half of it on starting.
BUDGETS_S = {"pure_python": 10.0, "numpy_memory": 12.0, "numba_parallel": 40.0, "mujoco_step": 12.0}
SAMPLES_KEPT = 2000

NEIGHBOUR = """
import random, sys, time
draw = random.Random(int(sys.argv[1]))
while True:
    until = time.monotonic() + draw.uniform(0.05, 1.5)
    total = 0
    while time.monotonic() < until:
        total += sum(i * i for i in range(20_000))
    time.sleep(draw.uniform(0.05, 2.0))
"""


@contextlib.contextmanager
def neighbour(wanted: bool, seed: int) -> Iterator[None]:
    """A process that computes in bursts of up to 1.5 s with pauses, for as long as the trial takes."""
    if not wanted:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR, str(seed)])
    try:
        yield
    finally:
        process.terminate()
        process.wait()


def costs_of(bench: Bench, workload: str, noisy: bool) -> Costs:
    """What a process costs before its first step, and a step, from two plain runs beside the neighbour or without."""
    case = Case(workload, 0.0, noisy)
    bench.run_once(case, case.units[0], 5)  # kernels are compiled, files are read
    walls, steps = [], []
    with neighbour(noisy, 0):
        for _ in range(2):
            start = time.monotonic()
            taken = bench.run_once(case, case.units[0], 25)
            walls.append(time.monotonic() - start - sum(taken))
            steps += taken
    return Costs(start_s=max(0.05, min(walls)), step_s=float(np.mean(steps)))


def thinned(samples: Sequence[float]) -> list[float]:
    """At most 2,000 of the samples, evenly spread: enough for any test, and the file stays small."""
    if len(samples) <= SAMPLES_KEPT:
        return [float(value) for value in samples]
    kept = np.linspace(0, len(samples) - 1, SAMPLES_KEPT).round().astype(int)
    return [float(samples[place]) for place in kept]


def one_trial(bench: Bench, tool: str, case: Case, budget_s: float, number: int) -> Trial:
    """One tool's try at one case; a tool that fails is a trial with its fault."""
    line: dict[str, Any] = {
        "tool": tool,
        "workload": case.workload,
        "effect": case.effect,
        "noisy": case.noisy,
        "trial": number,
        "budget_s": budget_s,
        "fault": None,
    }
    start = time.monotonic()
    try:
        if tool in PREPARATIONS:
            PREPARATIONS[tool](bench, case)
            start = time.monotonic()
        with neighbour(case.noisy, number):
            found: Verdict = TOOLS[tool](bench, case, budget_s)
    except (
        RuntimeError,
        OSError,
        subprocess.SubprocessError,
        ValueError,
        KeyError,
        IndexError,
        StopIteration,
    ) as fault:
        return {**line, "wall_s": time.monotonic() - start, "fault": f"{type(fault).__name__}: {fault}"}
    return {
        **line,
        "wall_s": time.monotonic() - start,
        "estimate": float(found.estimate),
        "low": None if found.low is None else float(found.low),
        "high": None if found.high is None else float(found.high),
        "p": None if found.p is None else float(found.p),
        "says": found.says,
        "n_before": len(found.before),
        "n_after": len(found.after),
        "before": thinned(found.before),
        "after": thinned(found.after),
    }


def read_trials(path: Path) -> list[Trial]:
    """The trials of a file; a last line that was cut off by a kill is not one."""
    trials = []
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            trials.append(json.loads(text))
    return trials


def run(options: argparse.Namespace) -> None:
    """Runs what is not in the file yet, tools taking turns trial by trial."""
    done = Counter((t["tool"], t["workload"], t["effect"], t["noisy"]) for t in read_trials(options.out))
    deadline = time.monotonic() + 3600.0 * options.hours
    known: dict[tuple[str, bool], Costs] = {}
    with tempfile.TemporaryDirectory(prefix="head_to_head_") as scratch, options.out.open("a", encoding="utf-8") as out:
        bench = Bench(options.peers, Path(scratch), lambda case: known[case.workload, case.noisy])
        cells = list(itertools.product(options.workload, options.effect, options.noise))
        for number in range(options.trials):
            for place, (workload, effect, noisy) in enumerate(cells):
                case = Case(workload, effect, noisy)
                if (workload, noisy) not in known:
                    known[workload, noisy] = costs_of(bench, workload, noisy)
                budget_s = (options.budget or BUDGETS_S[workload]) * options.budget_factor
                turn = (number + place) % len(options.tool)
                for tool in options.tool[turn:] + options.tool[:turn]:
                    key = (tool, workload, effect, noisy)
                    if done[key] > number:
                        continue
                    if time.monotonic() > deadline:
                        print("the time is over; run again to go on", file=sys.stderr)
                        return
                    line = one_trial(bench, tool, case, budget_s, number)
                    out.write(json.dumps(line, allow_nan=False) + "\n")
                    out.flush()
                    told = line["fault"] or f"{100 * np.expm1(line['estimate']):+.2f} % {line['says']}"
                    where = f"{number + 1}/{options.trials} {workload} {100 * effect:g} %{' noisy' if noisy else ''}"
                    print(f"{where:38} {tool:22} {told[:120]} in {line['wall_s']:.1f} s", flush=True)


def report(options: argparse.Namespace) -> None:
    """Makes the table and the plot."""
    trials = read_trials(options.trials)
    text = markdown(trials)
    if options.markdown:
        options.markdown.write_text(text, encoding="utf-8")
    else:
        print(text)
    if options.plot:
        plot(trials, options.plot)


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="twotrees beside its peers, on effects of exactly known size.")
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="run trials and append them to a file")
    running.add_argument("--out", type=Path, required=True, help="one JSON line for each trial")
    running.add_argument("--trials", type=int, default=20, help="of each tool, workload, effect and noise")
    running.add_argument("--hours", type=float, default=24.0, help="stop after this")
    running.add_argument("--peers", type=Path, default=Path(sys.executable), help="interpreter that has the peers")
    running.add_argument("--tool", action="append", choices=list(TOOLS))
    running.add_argument("--workload", action="append", choices=list(WORKLOADS))
    running.add_argument("--effect", action="append", type=float)
    running.add_argument("--noise", choices=("without", "with", "both"), default="both")
    running.add_argument("--budget", type=float, help="seconds for one trial, instead of each workload's own")
    running.add_argument("--budget-factor", type=float, default=1.0, help="on the budgets, for a short try")
    reporting = commands.add_parser("report", help="make the table and the plot of such a file")
    reporting.add_argument("trials", type=Path)
    reporting.add_argument("--markdown", type=Path)
    reporting.add_argument("--plot", type=Path)
    options = parser.parse_args(argv)
    if options.command == "run":
        options.tool = options.tool or list(TOOLS)
        options.workload = options.workload or list(WORKLOADS)
        options.effect = options.effect if options.effect is not None else list(EFFECTS)
        options.noise = {"without": [False], "with": [True], "both": [False, True]}[options.noise]
    return options


def main(argv: Sequence[str] | None = None) -> None:
    options = parse(argv)
    run(options) if options.command == "run" else report(options)


if __name__ == "__main__":
    main()
