"""The reference subject's arms side by side in one run: processes alternate, ratios are of medians, nothing is pooled.

In: subject/. Out: a table of milliseconds per step and of ratios between neighbouring arms, each with its range over
the rounds. A fourth column, `tuned`, is `before` with the faster NumPy forms that it leaves out: the distance rewards
as one `einsum` over the flattened row, and unchecked getters. Nobody has to take the kernels' gain on trust.

    python benchmarks/subject_speed.py --num-envs 2048 --rounds 5
    python benchmarks/subject_speed.py --backend mjwarp --num-envs 64 --rounds 3
    python benchmarks/subject_speed.py --unilab-python VENV/bin/python --unilab-tree TREE --profiler PUBLISHED.py

The last form adds the real UniLab, measured by the published profiler in its own environment. It tracks the same 14
bodies with the same nine weighted reward terms; its robot carries meshes and self-collision, its reference is a
recorded clip that it gathers with origins added, its action, entity, event, metrics and recorder layers are general
where ours are fixed, and its observations have delay and history options that cost a little when unused. Only
`update_state` is compared.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LAYERS = {
    "before": ("before",),
    "tuned": ("before",),
    "after": ("before", "after"),
    "next": ("before", "after", "next"),
}
BODY_REWARDS = ("motion_body_pos", "motion_body_ori", "motion_body_lin_vel", "motion_body_ang_vel")
METRICS = (
    "update_state",
    "four body rewards",
    "two refreshes",
    "relative poses",
    "observations",
    "reset_done",
    "refresh_cache",
    "env_step",
)
PAIRS = (("before", "after"), ("before", "tuned"), ("tuned", "after"), ("after", "next"), ("before", "next"))


def child(arm: str, tree: Path, backend: str, num_envs: int, warmup: int, steps: int) -> dict[str, float]:
    """Step one arm: half of the steps without probes for the phases, half with probes for the parts; medians in ms."""
    import numpy as np

    from g1_tracking.entry import make_env

    if arm == "tuned":
        tune_numpy()
    env = make_env(tree, backend, num_envs, 123, {})
    env.init_state()
    rng = np.random.default_rng(20260826)

    def step() -> dict[str, float]:
        state = env.step(rng.uniform(-1.0, 1.0, (num_envs, 29)).astype(np.float32))
        return state.info["timing"]

    for _ in range(warmup):
        step()
    phases = [step() for _ in range(steps)]
    parts: dict[str, list[int]] = {}
    install_probes(env, parts)
    sums: dict[str, list[int]] = {}
    for _ in range(steps):
        parts.clear()
        step()
        for name, values in parts.items():
            sums.setdefault(name, []).append(sum(values))
    env.close()

    def of_phases(key: str) -> float:
        return median(timing[key] for timing in phases)

    ended = [timing["reset_done_ms"] / timing["reset_done_count"] for timing in phases if timing["reset_done_count"]]
    return {
        "update_state": of_phases("update_state_ms"),
        "reset_done": median(ended) if ended else float("nan"),
        "refresh_cache": of_phases("backend_refresh_cache_ms"),
        "env_step": of_phases("env_step_total_ms"),
        **{name: median(values) / 1e6 for name, values in sums.items()},
    }


def tune_numpy() -> None:
    """Give `before` the fastest NumPy forms known to us, in its distance rewards and its getters."""
    import numpy as np

    from g1_tracking.backends.state import RobotState
    from g1_tracking.mdp import rewards

    def flat(env: Any, reference: Any, actual: Any, std: float) -> Any:
        envs, bodies = reference.shape[:2]
        error = np.subtract(reference, actual, out=env.scratch("body_error", reference.shape)).reshape(envs, -1)
        squared = np.einsum("ni,ni->n", error, error, out=env.scratch("flat", (envs,)))
        return rewards._exp_of(squared, std * bodies**0.5)

    def unchecked(quantity: str) -> Any:
        def take(state: Any, body_ids: Any, out: Any) -> None:
            np.take(getattr(state, quantity), body_ids, axis=1, out=out, mode="clip")

        return take

    rewards._distance_reward = flat
    for quantity in ("body_pos", "body_quat", "body_lin_vel", "body_ang_vel"):
        setattr(RobotState, f"take_{quantity}", unchecked(quantity))


def install_probes(env: Any, parts: dict[str, list[int]]) -> None:
    """Time the parts of update_state outside resets, each call appended to its part."""

    def timed(owner: Any, attribute: str, name: str) -> None:
        inner = getattr(owner, attribute)

        def call(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter_ns()
            try:
                return inner(*args, **kwargs)
            finally:
                if not env._autoreset_reset_active:
                    parts.setdefault(name, []).append(time.perf_counter_ns() - start)

        setattr(owner, attribute, call)

    manager = env.reward_manager
    for name, term in zip(manager._term_names, manager._term_cfgs, strict=True):
        if name in BODY_REWARDS:
            timed(term, "func", "four body rewards")
    timed(env.motion, "_refresh_robot_state", "two refreshes")
    timed(env.motion.relative, "update", "relative poses")
    timed(env.observation_manager, "compute", "observations")


def lay_tree(arm: str, root: Path) -> Path:
    """An arm's tree below `root`."""
    tree = root / arm / "tree"
    for layer in LAYERS[arm]:
        shutil.copytree(
            ROOT / "subject" / layer, tree, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
        )
    return tree


def run_child(arm: str, root: Path, options: argparse.Namespace, steps: int) -> dict[str, float]:
    tree = root / arm / "tree"
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}
    environment |= {
        "PYTHONPATH": str(tree / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_CACHE_HOME": str(root / arm / "cache"),
        "WARP_CACHE_PATH": str(root / "warp"),
    }
    argv = [sys.executable, __file__, "--child", arm, "--tree", str(tree), "--backend", options.backend]
    argv += ["--num-envs", str(options.num_envs), "--warmup", str(options.warmup), "--steps", str(steps)]
    finished = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise SystemExit(f"{arm} failed:\n{finished.stderr}")
    return json.loads(finished.stdout.strip().splitlines()[-1])


def run_unilab(options: argparse.Namespace, root: Path) -> dict[str, float]:
    out = root / "unilab.json"
    tree = Path(options.unilab_tree).resolve()
    argv = [options.unilab_python, options.profiler, "--repo", str(tree), "--backend", "mujoco"]
    argv += ["--num-envs", str(options.num_envs), "--warmup", str(options.warmup), "--measure", str(options.steps)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "XDG_CACHE_HOME": str(root / "unilab-cache")}
    finished = subprocess.run([*argv, "--out", str(out)], env=environment, capture_output=True, text=True, check=False)
    if finished.returncode != 0:
        raise SystemExit(f"unilab failed:\n{finished.stderr}")
    timing = json.loads(out.read_text())["timing"]
    return {"update_state": timing["update_state_ms"]["median_ms"]}


def show(results: dict[str, list[dict[str, float]]], options: argparse.Namespace) -> None:
    arms = list(results)
    print(f"\n{options.backend}, {options.num_envs} environments, {options.rounds} rounds of {options.steps} steps")
    print("median of the rounds' medians, ms; reset_done per ended episode\n")
    print(f"{'':20}" + "".join(f"{arm:>10}" for arm in arms))
    for metric in METRICS:
        values = [[run[metric] for run in results[arm] if metric in run] for arm in arms]
        print(f"{metric:20}" + "".join(f"{median(v):10.4f}" if v else f"{'':>10}" for v in values))
    print("\nratio of the medians [lowest and highest of the rounds]\n")
    pairs = [pair for pair in PAIRS if set(pair) <= set(arms)]
    pairs += [("unilab", "next")] if {"unilab", "next"} <= set(arms) else []
    for first, second in pairs:
        for metric in METRICS:
            rounds = [
                a[metric] / b[metric]
                for a, b in zip(results[first], results[second], strict=True)
                if a.get(metric) and b.get(metric)
            ]
            if not rounds or ("tuned" in (first, second) and metric not in METRICS[:3]):
                continue
            whole = median(run[metric] for run in results[first]) / median(run[metric] for run in results[second])
            print(f"{first:>7} / {second:7}{metric:20}{whole:6.2f}x  [{min(rounds):.2f}, {max(rounds):.2f}]")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("mujoco", "mjwarp"), default="mujoco")
    parser.add_argument("--num-envs", type=int, default=2048)
    parser.add_argument("--warmup", type=int, default=10)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--arms", default="before,tuned,after,next")
    parser.add_argument("--json", type=Path, help="write every round's medians here")
    parser.add_argument("--unilab-python")
    parser.add_argument("--unilab-tree")
    parser.add_argument("--profiler")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--tree", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        arguments = (options.tree, options.backend, options.num_envs, options.warmup, options.steps)
        print(json.dumps(child(options.child, *arguments)))
        return
    arms = options.arms.split(",")
    results: dict[str, list[dict[str, float]]] = {arm: [] for arm in arms}
    if options.unilab_python:
        results["unilab"] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for arm in arms:
            lay_tree(arm, root)
            run_child(arm, root, options, steps=1)  # compiles into the arm's own cache
        for round_number in range(options.rounds):
            # Forward and backward in turn, so that no arm always follows the same one.
            order = list(results) if round_number % 2 == 0 else list(results)[::-1]
            for arm in order:
                run = run_unilab(options, root) if arm == "unilab" else run_child(arm, root, options, options.steps)
                results[arm].append(run)
                print(f"round {round_number + 1} {arm}: update_state {run['update_state']:.3f} ms", file=sys.stderr)
    show(results, options)
    if options.json:
        options.json.write_text(json.dumps({"options": vars(options) | {"json": None}, "rounds": results}, default=str))


if __name__ == "__main__":
    main()
