"""The tools of the head-to-head: each measures baseline against other arm within a budget, as its documentation says.

In: a case and a budget in seconds. Out: a `Verdict`: the tool's own answer, its estimate and interval if it has one,
and the raw samples of both arms, equally many. Sizes are set from what a start and a step cost, measured beforehand.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from head_to_head_work import BASE_UNITS, SINGLE_THREADED, units_of

from twotrees.runs.lockstep import Round, Schedule, run_rounds, schedules
from twotrees.runs.lockstep_process import Limits, ProcessWorker
from twotrees.stats.effects import judge, order_allowance
from twotrees.stats.intervals import LogRatio, fewest_pairs, hodges_lehmann, welch_log_t
from twotrees.stats.rounds import round_log_ratio

HERE = Path(__file__).resolve().parent
WORK = HERE / "head_to_head_work.py"
CONFIDENCE = 0.95
LOCKSTEP_STEPS = 6
HANG_S = 600.0


@dataclass(frozen=True)
class Case:
    """What is compared: a workload, how much more work the other arm does, and whether a neighbour disturbs it."""

    workload: str
    effect: float
    noisy: bool

    @property
    def units(self) -> tuple[int, int]:
        return BASE_UNITS, units_of(self.effect)

    @property
    def truth(self) -> float:
        """True log-ratio."""
        return math.log1p(self.effect)


@dataclass(frozen=True)
class Costs:
    """Seconds that a process of a workload takes before its first step, and for a step."""

    start_s: float
    step_s: float


@dataclass(frozen=True)
class Verdict:
    """What a tool said.

    Attributes:
        estimate: Log-ratio, other arm over baseline.
        low: Lower bound of the tool's own interval of it, if it gives one.
        high: Upper bound, likewise.
        p: The tool's own p-value, if it has one.
        says: slower, faster or same: the tool's own verdict.
        before: Raw samples of the baseline in seconds (or run values, where the tool keeps no more).
        after: Of the other arm.
    """

    estimate: float
    low: float | None
    high: float | None
    p: float | None
    says: str
    before: Sequence[float]
    after: Sequence[float]


@dataclass
class Bench:
    """Where tools run: an interpreter that has them, a scratch folder, the costs that sizes are made from."""

    python: Path
    scratch: Path
    costs: Callable[[Case], Costs]
    made: dict[str, Any] = field(default_factory=dict)

    def env(self) -> dict[str, str]:
        """What every tool's processes see: the workloads, twotrees, no bytecode or kernel cache of anybody else."""
        paths = [str(HERE), str(HERE.parent / "tools")]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(paths),
            "NUMBA_CACHE_DIR": str(self.scratch / "numba"),
            "PYTHONHASHSEED": "0",
        }

    def call(self, case: Case, argv: Sequence[str], cwd: Path | None = None, ok: Sequence[int] = (0,)) -> str:
        """Runs a tool's command on the cores that a case may use, and gives back what it printed."""
        done = subprocess.run(
            argv,
            cwd=cwd or self.scratch,
            env=self.env(),
            capture_output=True,
            text=True,
            timeout=HANG_S,
            check=False,
            preexec_fn=pinned(case),
        )
        if done.returncode not in ok:
            raise RuntimeError(
                f"{' '.join(argv[:4])} … ended with {done.returncode}: {done.stderr[-600:]}{done.stdout[-1500:]}"
            )
        return done.stdout

    def run_once(self, case: Case, units: int, samples: int) -> list[float]:
        """One plain process's step times in seconds."""
        argv = [str(self.python), str(WORK), "run", case.workload, str(units), "--samples", str(samples)]
        return [ns / 1e9 for ns in json.loads(self.call(case, argv))]


def cores_of(case: Case) -> set[int]:
    """All tools alike: one core for a single-threaded workload, all of them for a parallel one."""
    usable = os.sched_getaffinity(0)
    return {max(usable)} if case.workload in SINGLE_THREADED else set(usable)


def pinned(case: Case) -> Callable[[], None]:
    """What a child does before its program starts."""
    cores = cores_of(case)
    return lambda: os.sched_setaffinity(0, cores)


def between(least: int, value: float, most: int) -> int:
    """A size, within what makes sense."""
    return max(least, min(most, int(value)))


def own_verdict(interval: LogRatio, allowance: float = 0.0) -> str:
    """twotrees' verdict in the words of this comparison; delta is nothing, so that small effects are told as well."""
    verdict = judge(interval.ratio_bounds, delta=1e-12, allowance=allowance).verdict
    return verdict if verdict in ("faster", "slower") else "same"


# ---------------------------------------------------------------------------------------------------- twotrees' own


def aaabbb(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """The plain loop: three processes of one arm, then three of the other, process medians. Its own verdict is the one
    that twotrees gives for the documented protocol; what others would say of the same data is Welch's in the score.
    """
    costs = bench.costs(case)
    samples = between(5, (budget_s / 6 - costs.start_s) / costs.step_s, 100_000)
    middles = [[float(np.median(bench.run_once(case, units, samples))) for _ in range(3)] for units in case.units]
    found = welch_log_t(middles[0], middles[1], CONFIDENCE)
    sides = [(np.arange(3.0) + 3 * arm, np.asarray(values)) for arm, values in enumerate(middles)]
    says = own_verdict(found, order_allowance(sides[0], sides[1]))
    return Verdict(found.center, found.low, found.high, found.p, says, *middles)


def interleaved(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """Pairs of fresh processes, leaders alternating; half of the budget at most goes into starting them."""
    costs = bench.costs(case)
    pairs = between(fewest_pairs(CONFIDENCE), budget_s / (4 * costs.start_s), 16)
    samples = between(5, (budget_s / (2 * pairs) - costs.start_s) / costs.step_s, 100_000)
    middles: list[list[float]] = [[], []]
    for pair in range(pairs):
        for arm in (0, 1) if pair % 2 == 0 else (1, 0):
            middles[arm].append(float(np.median(bench.run_once(case, case.units[arm], samples))))
    found = hodges_lehmann(np.log(middles[1]) - np.log(middles[0]), CONFIDENCE)
    return Verdict(found.center, found.low, found.high, found.p, own_verdict(found), *middles)


def lockstep(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """Rounds of two live processes taking turns; half of the budget at most goes into starting them."""
    costs = bench.costs(case)
    rounds = between(fewest_pairs(CONFIDENCE), budget_s / (4 * costs.start_s), 16)
    folder = bench.scratch / "lockstep"
    folder.mkdir(exist_ok=True)
    units = dict(zip("ab", case.units, strict=True))

    def start(schedule: Schedule, arm: str) -> ProcessWorker:
        argv = [str(bench.python), str(WORK), "serve", case.workload, str(units[arm])]
        err = folder / f"{arm}.err"
        return ProcessWorker(
            arm, argv, env=bench.env(), cwd=folder, err=err, limits=Limits(120.0, 60.0), cores=cores_of(case)
        )

    good: list[Round] = []
    began, seed = time.monotonic(), time.time_ns() % 2**32

    def planned() -> Iterator[Schedule]:
        """Each round as long as what is left of the budget allows, by what the rounds before it have cost."""
        for number in range(rounds):
            spent = [block.wall_ns / 1e9 / LOCKSTEP_STEPS for ended in good for block in ended.blocks]
            step_s = float(np.median(spent)) if spent else costs.step_s
            left_s = (budget_s - (time.monotonic() - began)) / (rounds - number) - 2 * costs.start_s
            cycles = between(2, left_s / (4 * LOCKSTEP_STEPS * step_s), 2000)
            yield schedules(("a", "b"), rounds=rounds, cycles=cycles, steps=LOCKSTEP_STEPS, seed=seed)[number]

    for ended in run_rounds(planned(), start, time.monotonic_ns):
        if ended.status == "ok":
            good.append(ended)
    ratios = [ratio for ended in good if (ratio := ratio_of(ended)) is not None]
    found = hodges_lehmann(ratios, CONFIDENCE)
    middles = [[float(np.median(np.concatenate(blocks_of(ended, arm)))) / 1e9 for ended in good] for arm in "ab"]
    return Verdict(found.center, found.low, found.high, found.p, own_verdict(found), *middles)


def blocks_of(ended: Round, arm: str) -> list[np.ndarray]:
    """An arm's blocks in order, in ns."""
    return [np.asarray(block.samples["step_ms"], float) for block in ended.blocks if block.arm == arm]


def ratio_of(ended: Round) -> float | None:
    """A round's log-ratio."""
    return round_log_ratio(blocks_of(ended, "a"), blocks_of(ended, "b"))


# ------------------------------------------------------------------------------------------------------------ peers


PYPERF_SCRIPT = """
import sys
import pyperf
from head_to_head_work import warmed

workload, units = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
runner = pyperf.Runner(program_args=(sys.argv[0], workload, str(units)))
runner.bench_func("step", warmed(workload, units))
"""


def pyperf(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """`pyperf` runs a script for each arm, then `pyperf compare_to`: its verdict is a t test at 95 %."""
    costs = bench.costs(case)
    start_s = costs.start_s + 0.25
    processes = between(3, budget_s / (4 * start_s), 20)  # 20 is its default
    values = between(3, (budget_s / (2 * processes) - start_s) / costs.step_s - 1, 100_000)
    script = bench.scratch / "pyperf_step.py"
    script.write_text(PYPERF_SCRIPT)
    files = [bench.scratch / f"pyperf_{arm}.json" for arm in "ab"]
    for path, units in zip(files, case.units, strict=True):
        path.unlink(missing_ok=True)
        sizes = ["--processes", str(processes), "--values", str(values), "--warmups", "1", "--loops", "1"]
        argv = [str(bench.python), str(script), case.workload, str(units), *sizes, "--quiet", "-o", str(path)]
        bench.call(case, [*argv, "--inherit-environ", "PYTHONPATH,NUMBA_CACHE_DIR,PYTHONHASHSEED"])
    said = bench.call(case, [str(bench.python), "-m", "pyperf", "compare_to", *map(str, files)])
    before, after = (pyperf_values(path) for path in files)
    estimate = math.log(np.mean(after) / np.mean(before))
    says = "slower" if "slower" in said else "faster" if "faster" in said else "same"
    return Verdict(estimate, None, None, None, says, before, after)


def pyperf_values(path: Path) -> list[float]:
    """All values of a pyperf result, in seconds."""
    runs = json.loads(path.read_text())["benchmarks"][0]["runs"]
    return [value for run in runs for value in run.get("values", [])]


def hyperfine(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """`hyperfine A B`: whole processes. Its verdict is its ratio and ±: beyond 1 by more than that or not."""
    costs = bench.costs(case)
    runs = between(5, budget_s / (4 * costs.start_s), 50)
    samples = between(3, (budget_s / (2 * runs) - costs.start_s) / costs.step_s, 100_000)
    out = bench.scratch / "hyperfine.json"
    commands = [
        " ".join([str(bench.python), str(WORK), "run", case.workload, str(units), "--samples", str(samples)])
        for units in case.units
    ]
    program = shutil.which("hyperfine")
    if program is None:
        raise FileNotFoundError("hyperfine is not installed; it is a Debian package")
    bench.call(
        case,
        [program, "--runs", str(runs), "--warmup", "1", "-N", "--export-json", str(out), "--style", "none", *commands],
    )
    before, after = (line["times"] for line in json.loads(out.read_text())["results"])
    ratio = np.mean(after) / np.mean(before)
    # Its own error of the ratio: first-order propagation of the two standard deviations.
    error = ratio * math.hypot(np.std(before, ddof=1) / np.mean(before), np.std(after, ddof=1) / np.mean(after))
    says = "same" if abs(ratio - 1.0) <= error else "slower" if ratio > 1.0 else "faster"
    return Verdict(math.log(ratio), None, None, None, says, before, after)


PYTEST_SCRIPT = """
import os
from head_to_head_work import warmed


def test_step(benchmark):
    step = warmed(os.environ["H2H_WORKLOAD"], int(os.environ["H2H_UNITS"]))
    benchmark.pedantic(step, rounds=int(os.environ["H2H_ROUNDS"]), iterations=1, warmup_rounds=3)
"""


def pytest_benchmark(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """Two sessions, the second with `--benchmark-compare-fail=median:1%`: it has a threshold, not a test."""
    costs = bench.costs(case)
    rounds = between(5, (budget_s / 2 - costs.start_s - 1.0) / costs.step_s, 1_000_000)
    folder = bench.scratch / "pytest_benchmark"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "test_step.py").write_text(PYTEST_SCRIPT)
    storage = [
        "--benchmark-storage",
        f"file://{folder / 'saved'}",
        "--benchmark-save-data",
        "-q",
        "-p",
        "no:cacheprovider",
    ]
    said = ""
    for arm, units in zip("ab", case.units, strict=True):
        compare = ["--benchmark-compare", "--benchmark-compare-fail=median:1%"] if arm == "b" else []
        setting = [f"H2H_WORKLOAD={case.workload}", f"H2H_UNITS={units}", f"H2H_ROUNDS={rounds}"]
        argv = [str(bench.python), "-m", "pytest", "test_step.py", f"--benchmark-save={arm}", *storage, *compare]
        said = bench.call(case, ["env", *setting, *argv], cwd=folder, ok=(0, 1))
    data = [json.loads(path.read_text()) for path in sorted(folder.glob("saved/**/*.json"))]
    before, after = (one["benchmarks"][0]["stats"]["data"] for one in data)
    estimate = math.log(np.median(after) / np.median(before))
    return Verdict(estimate, None, None, None, "slower" if "regressed" in said else "same", before, after)


ASV_CONFIG = {
    "version": 1,
    "project": "h2h",
    "repo": "repo",
    "branches": ["main"],
    "environment_type": "virtualenv",
    "benchmark_dir": "suite",
    "env_dir": "env",
    "results_dir": "results",
    "html_dir": "html",
    "build_command": [],
    "install_command": [
        'in-dir={build_dir} python -c "import shutil, sysconfig; '
        "shutil.copy('h2h_units.py', sysconfig.get_path('purelib'))\""
    ],
    "uninstall_command": ['return-code=any python -c "pass"'],
}
ASV_SUITE = """
import os
import sys

sys.path += os.environ["H2H_PATHS"].split(os.pathsep)


class Step:
    timeout = 600

    def setup(self):
        from head_to_head_work import warmed
        from h2h_units import UNITS
        self.step = warmed(os.environ["H2H_WORKLOAD"], UNITS)

    def time_step(self):
        self.step()
"""


def asv(bench: Bench, case: Case, budget_s: float) -> Verdict:
    """`asv continuous` on a repository whose two commits differ by the units, rounds interleaved, factor 1.001."""
    costs = bench.costs(case)
    folder = asv_project(bench, case)
    commits, overhead_s = bench.made[str(folder)]
    repeat = between(5, (budget_s - overhead_s) / (4 * costs.step_s), 100_000)
    attributes = {"number": 1, "repeat": repeat, "rounds": 2, "warmup_time": 0.0}
    chosen = [text for name, value in attributes.items() for text in ("-a", f"{name}={value}")]
    argv = [
        str(bench.python),
        "-m",
        "asv",
        "continuous",
        "--show-stderr",
        "--interleave-rounds",
        "-f",
        "1.001",
        *chosen,
        "base",
        "main",
    ]
    said = bench.call(case, ["env", *asv_env(bench, case), *argv], cwd=folder, ok=(0, 1))
    found = {path.name: json.loads(path.read_text()) for path in folder.glob("results/*/*.json")}
    before, after = (asv_samples(found, commit) for commit in commits)
    estimate = math.log(np.median(after) / np.median(before))
    marks = re.findall(r"^\|?\s*([+-])\s", said, flags=re.MULTILINE)
    says = "slower" if "+" in marks else "faster" if "-" in marks else "same"
    return Verdict(estimate, None, None, None, says, before, after)


def asv_env(bench: Bench, case: Case) -> list[str]:
    """What asv's benchmark processes need of ours: it drops PYTHONPATH, so that the suite must find the rest itself."""
    paths = [str(HERE), *base_paths(bench.python)]
    home = f"HOME={bench.scratch}"  # it keeps a file about the machine there
    return [home, f"H2H_PATHS={os.pathsep.join(paths)}", f"H2H_WORKLOAD={case.workload}"]


def base_paths(python: Path) -> list[str]:
    """Where an interpreter finds its installed packages."""
    code = "import sys, json; print(json.dumps([p for p in sys.path if 'site-packages' in p]))"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    paths: list[str] = json.loads(done.stdout)
    return paths


def asv_project(bench: Bench, case: Case) -> Path:
    """The project of a workload and effect, made once: a repository with two commits, a suite, an environment.

    Making it counts in no trial: a project that uses asv has made it long ago.
    """
    folder = bench.scratch / f"asv-{case.workload}-{case.effect}"
    if str(folder) in bench.made:
        return folder
    repository = folder / "repo"
    repository.mkdir(parents=True)
    (folder / "suite").mkdir()
    (folder / "suite" / "__init__.py").write_text("")
    (folder / "suite" / "step.py").write_text(ASV_SUITE)
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    (folder / "asv.conf.json").write_text(json.dumps({**ASV_CONFIG, "pythons": [python]}))
    commits = []
    identity = ["-c", "user.name=h2h", "-c", "user.email=h2h@example.invalid"]
    git(repository, "init", "-q", "-b", "main")
    for tag, units in zip(("base", "head"), case.units, strict=True):
        (repository / "h2h_units.py").write_text(f"UNITS = {units}  # {tag}\n")
        git(repository, "add", "-A")
        git(repository, *identity, "commit", "-q", "-m", tag)
        git(repository, "tag", tag)
        commits.append(git(repository, "rev-parse", "HEAD").strip())
    bench.call(case, ["env", *asv_env(bench, case), str(bench.python), "-m", "asv", "machine", "--yes"], cwd=folder)
    for _ in range(2):  # the first time it makes its environment; the second tells what a comparison costs at least
        start = time.monotonic()
        quick = [str(bench.python), "-m", "asv", "continuous", "--quick", "--interleave-rounds", "base", "main"]
        bench.call(case, ["env", *asv_env(bench, case), *quick], cwd=folder, ok=(0, 1))
        bench.made[str(folder)] = commits, time.monotonic() - start
    return folder


def asv_samples(results: dict[str, Any], commit: str) -> list[float]:
    """A commit's raw samples, in seconds."""
    data = next(one for name, one in results.items() if name.startswith(commit[:8]))
    line = dict(zip(data["result_columns"], data["results"]["step.Step.time_step"], strict=False))
    samples: list[float] = line["samples"][0]
    return samples


def git(folder: Path, *arguments: str) -> str:
    """One git command."""
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout


TOOLS: dict[str, Callable[[Bench, Case, float], Verdict]] = {
    "twotrees lockstep": lockstep,
    "twotrees interleaved": interleaved,
    "AAABBB": aaabbb,
    "pyperf": pyperf,
    "hyperfine": hyperfine,
    "pytest-benchmark": pytest_benchmark,
    "asv": asv,
}
# What is made once for a case, before any trial's clock starts.
PREPARATIONS: dict[str, Callable[[Bench, Case], object]] = {"asv": asv_project}
