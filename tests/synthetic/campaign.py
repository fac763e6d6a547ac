"""A finished campaign's `data/` folder, made without measuring anything: plausible samples from a seeded generator.

In: arms, repeats, steps, a seed. Out: a folder that holds together to the last hash, so that what seals, verifies,
audits, compares and reports can be tested in milliseconds. Equal arguments give equal bytes.
"""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from twotrees import digest, strict_json

AGGREGATOR = Path(__file__).parents[2] / "tools" / "aggregate_update_state.py"
LABEL_PER_ARM = "environments differ: each arm was measured in one of its own"
STARTED = datetime(2026, 8, 26, 12, 0, 0, tzinfo=UTC)

# Milliseconds of a step in the baseline arm, and how much of it a full speed-up leaves. The refreshes lie inside
# anchor_pos and command_post_compute, as in the published study.
BODY_REWARDS = ("motion_body_pos", "motion_body_ori", "motion_body_lin_vel", "motion_body_ang_vel")
TERMS_MS: dict[str, tuple[float, float]] = {
    "termination/anchor_pos": (0.60, 0.15),
    "termination/anchor_ori": (0.03, 1.0),
    "termination/ee_body_pos": (0.04, 1.0),
    **{f"reward/{name}": (0.15, 0.15) for name in BODY_REWARDS},
    "reward/action_rate": (0.02, 1.0),
    "reward/joint_limit": (0.03, 1.0),
    "obs/policy/joint_pos": (0.02, 1.0),
    "obs/policy/joint_vel": (0.02, 1.0),
    "obs/critic/body_pos": (0.05, 1.0),
    "manager/command_compute": (0.80, 1.0),
    "manager/command_post_compute": (0.90, 0.5),
    "manager/observation_compute": (0.60, 1.0),
    "manager/observation_compute_group": (0.28, 1.0),
    "manager/map_observations": (0.02, 1.0),
    "command/robot_state_refresh": (0.45, 0.15),
    "command/robot_state_refresh/first_read": (0.50, 0.15),
    "command/robot_state_refresh/force": (0.40, 0.15),
}
CALLS_A_STEP = {"command/robot_state_refresh": 2, "manager/observation_compute_group": 2}
PHASES_MS: dict[str, tuple[float, float]] = {
    "apply_action_ms": (0.40, 1.0),
    "step_core_ms": (6.00, 1.0),
    "update_state_ms": (3.60, 0.55),
    "reset_done_ms": (0.80, 1.0),
}
MODULES = ("__init__.py", "env.py", "rewards.py", "terminations.py", "commands.py")


@dataclass(frozen=True)
class Incident:
    """An attempt that gave no result, just before the good one of the same run.

    Attributes:
        run: The planned run.
        status: `failed`, `timeout`, `invalid` or `interrupted`; an interrupted one is followed by a resume.
        reason: What the record says.
    """

    run: int
    status: str = "failed"
    reason: str = "exit status 1: it crashed"


@dataclass(frozen=True)
class Recipe:
    """What a synthetic campaign is made of; see :func:`write_campaign`."""

    backend: str
    arms: tuple[str, ...]
    repeats: int
    steps: int
    seed: int
    num_envs: int
    study: str
    protocol: str
    speedups: Mapping[str, float]
    noise: float
    labels: tuple[str, ...]
    replicates: str | None
    incidents: tuple[Incident, ...]
    parity: bool
    started: datetime
    environment: str
    per_arm: bool

    def environment_of(self, arm: str) -> str:
        """The digest of what is installed where *arm* is measured."""
        return digest.sha256_json([self.environment, arm]) if self.per_arm else self.environment

    @property
    def timing_mode(self) -> str:
        """The mode from which phases are read."""
        return "lockstep" if self.protocol == "lockstep" else "phase"


def write_campaign(
    folder: Path,
    *,
    backend: str = "mujoco",
    arms: Sequence[str] = ("before", "after"),
    repeats: int = 3,
    steps: int = 20,
    seed: int = 0,
    num_envs: int = 512,
    study: str = "g1_update_state",
    protocol: str = "documented",
    speedups: Mapping[str, float] | None = None,
    noise: float = 0.01,
    labels: Sequence[str] = (),
    replicates: str | None = None,
    incidents: Sequence[Incident] = (),
    parity: bool = True,
    started: datetime = STARTED,
    environment: str = "the pinned environment",
    per_arm: bool = False,
    change_result: Callable[[dict[str, Any]], None] | None = None,
) -> Path:
    """Writes a whole campaign.

    Args:
        folder: Where to; ``folder/data`` must not exist yet.
        backend: Name of the backend.
        arms: In order; the first is the baseline.
        repeats: Phase runs and terms runs of each arm.
        steps: Measured steps of each run.
        seed: Of the samples.
        num_envs: What the plan says.
        study: Name of the study.
        protocol: `documented` (arm by arm), `interleaved` (arms alternate) or `lockstep` (*repeats* rounds of one
            worker for each arm, in blocks of four steps, in the place of phase runs).
        speedups: For each arm what share of the possible saving it makes: 0 is the baseline, 1 the default of all other
            arms. Equal shares are an A/A campaign.
        noise: Relative spread of a step's time, and of a run's level.
        labels: What the plan carries.
        replicates: Root of the bundle that this one replicates.
        incidents: Attempts that gave no result.
        parity: Whether there are parity runs and a `parity.json`.
        started: When it began; all other times follow from it.
        environment: What the digest of installed distributions is made of.
        per_arm: Whether each arm was measured in an environment of its own, as the plan and a label then say.
        change_result: Called with every good run record before it is written: a way to plant a fault that the journal
            and the aggregate then take for real.

    Returns:
        ``folder/data``.
    """
    recipe = Recipe(
        backend, tuple(arms), repeats, steps, seed, num_envs, study, protocol,
        {arm: float(place > 0) for place, arm in enumerate(arms)} | dict(speedups or {}),
        noise, (*labels, *([LABEL_PER_ARM] if per_arm else ())), replicates, tuple(incidents), parity, started,
        digest.sha256_json(environment), per_arm,
    )  # fmt: skip
    data = folder / "data"
    for name in ("runs", "logs", "pins", "host", "trees", "config"):
        (data / name).mkdir(parents=True)
    write_surroundings(data, recipe)
    plan = plan_of(recipe)
    write(data / "plan.json", plan)
    write_runs(data, plan, recipe, change_result or (lambda record: None))
    if parity:
        write(data / "parity.json", parity_of(recipe))
    write_aggregate(data)
    (data / "report.md").write_text(f"# {study} on {backend}\n\nSynthetic: nothing was measured.\n", encoding="utf-8")
    return data


def write(path: Path, value: object) -> None:
    """Writes one JSON file as the campaign writes it."""
    path.write_text(strict_json.dumps(value), encoding="utf-8")


def write_aggregate(data: Path) -> None:
    """Has the toolkit's aggregator make ``aggregate.json`` of what lies in *data*."""
    done = subprocess.run([sys.executable, str(AGGREGATOR), "--data", str(data)], capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    (data / "aggregate.json").write_bytes(done.stdout)


def source_of(arm: str, module: str) -> bytes:
    """The bytes of an imported module of an arm's tree, invented."""
    return f'"""{module} of arm {arm}."""\n'.encode()


def provenance_of(arm: str) -> list[dict[str, str]]:
    """What a run of *arm* imported."""
    rows = []
    for module in MODULES:
        content = source_of(arm, module)
        name = "g1_tracking" if module == "__init__.py" else f"g1_tracking.{module.removesuffix('.py')}"
        row = {"module": name, "path": f"src/g1_tracking/{module}", "sha256": digest.sha256_bytes(content)}
        rows.append({**row, "blob": digest.git_blob_id(content)})
    return rows


def write_surroundings(data: Path, recipe: Recipe) -> None:
    """Pins, host facts, trees and configurations."""
    (data / "pins" / "uv.lock").write_text('version = 1\n\n[[package]]\nname = "numpy"\nversion = "2.4.4"\n')
    scripts = "".join(f"{sha256}  tools/{name}\n" for name, sha256 in scripts_of().items())
    (data / "pins" / "CHECKSUMS").write_text(scripts)
    installed = {"schema": "twotrees-installed-v1", "digest": recipe.environment, "distributions": {"numpy": "2.4.4"}}
    write(data / "pins" / "installed.json", installed)
    facts = {
        "schema": "twotrees-host-v1",
        "host": digest.sha256_json("a host")[:16],
        "cpu": {"model": "Synthetic CPU", "cores": 2, "threads": 2},
        "kernel": {"system": "Linux", "release": "6.1.0"},
        "load": {"one_minute": 0.1},
    }
    for name in ("before", "after"):
        write(data / "host" / f"{name}.json", facts)
    lines = [{"time": clock(recipe, second), "load": 1.0, "steal": 0.0} for second in range(0, 60, 10)]
    (data / "host" / "monitor.jsonl").write_text("".join(f"{strict_json.dumps_line(line)}\n" for line in lines))
    for arm in recipe.arms:
        commit, tree = commit_of(arm)
        imported = [{**row, "commit_blob": row["blob"]} for row in provenance_of(arm)]
        record = {"schema": "twotrees-tree-v1", "arm": arm, "kind": "overlay", "source": {"kind": "overlay"}}
        record |= {"commit": commit, "tree": tree, "labels": [], "notes": [], "files": len(MODULES), "submodules": []}
        record |= {"lfs": [], "extension_modules": [], "edits": {}, "prepared": {}, "imported": imported}
        write(data / "trees" / f"{arm}.json", {**record, "findings": []})
        header = f"# composed by the subject; SHA-256 of its canonical JSON: {config_of(recipe)[1]}\n"
        (data / "config" / f"{arm}.yaml").write_text(f"{header}num_envs: {recipe.num_envs}\nsim_dt: 0.005\n")


def config_of(recipe: Recipe) -> tuple[dict[str, Any], str]:
    """The composed configuration, and the digest by which the measured child names it."""
    config = {"sim_dt": 0.005, "num_envs": recipe.num_envs}
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return config, digest.sha256_bytes(text.encode())


def commit_of(arm: str) -> tuple[str, str]:
    """Commit and tree id of an arm, invented."""
    return digest.git_blob_id(f"commit {arm}".encode()), digest.git_blob_id(f"tree {arm}".encode())


def scripts_of() -> dict[str, str]:
    """The pinned scripts' hashes; the profiler's is invented, for nothing was profiled."""
    return {
        "profile_update_state.py": digest.sha256_bytes(b"a profiler"),
        "aggregate_update_state.py": digest.sha256_file(AGGREGATOR),
    }


def clock(recipe: Recipe, seconds: float) -> str:
    """A UTC time so many seconds into the campaign."""
    moment = recipe.started + timedelta(seconds=seconds)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def matrix_of(recipe: Recipe) -> list[dict[str, Any]]:
    """The planned runs."""
    slots = [(arm, "parity", 1) for arm in recipe.arms] if recipe.parity else []
    modes, repeats = (recipe.timing_mode, "terms"), range(1, recipe.repeats + 1)
    if recipe.protocol == "documented":
        slots += [(arm, mode, repeat) for arm in recipe.arms for mode in modes for repeat in repeats]
    else:
        for mode in modes:
            for repeat in repeats:
                order = recipe.arms if repeat % 2 else recipe.arms[::-1]
                slots += [(arm, mode, repeat) for arm in order]
    return [{"run": n, "arm": arm, "mode": mode, "repeat": repeat} for n, (arm, mode, repeat) in enumerate(slots, 1)]


def plan_of(recipe: Recipe) -> dict[str, Any]:
    """``plan.json``."""
    arms = [dict(zip(("name", "commit", "tree"), (arm, *commit_of(arm)), strict=True)) for arm in recipe.arms]
    order = "by-arm" if recipe.protocol == "documented" else "balanced"
    counts = {f"{mode}_runs": recipe.repeats for mode in (recipe.timing_mode, "terms")}
    plan: dict[str, Any] = {
        "schema": "twotrees-plan-v1",
        "study": recipe.study,
        "title": "a synthetic study",
        "backend": recipe.backend,
        "device": "cpu",
        "environment": "per-arm" if recipe.per_arm else "toolkit",
        "protocol": {
            "name": recipe.protocol,
            "order": order,
            **counts,
            "parity_steps": recipe.steps,
        },
        "scale": {"name": "synthetic", "num_envs": recipe.num_envs, "warmup": 5, "measure": recipe.steps},
        "seeds": {"action": 20260826, "env": 123, "order": 1},
        "arms": [{**arm, "source": {"kind": "overlay"}} for arm in arms],
        "matrix": matrix_of(recipe),
        "statistics": {"confidence": 0.95, "delta": 0.01},
        "exclusions": [],
        "scripts": scripts_of(),
        "pins": {
            "lock_identity": digest.sha256_json("a lock"),
            "checksums_sha256": digest.sha256_bytes(
                "".join(f"{sha256}  tools/{name}\n" for name, sha256 in scripts_of().items()).encode()
            ),
        },
        "labels": list(recipe.labels),
        "replicates": recipe.replicates,
        "created": clock(recipe, 0),
    }
    same = {key: plan[key] for key in ("study", "backend", "scale", "seeds", "scripts")}
    trees = [{"name": arm["name"], "tree": arm["tree"]} for arm in arms]
    plan["study_root"] = digest.sha256_json({**same, "arms": trees})
    return plan


class Journal:
    """Chains lines the way the campaign does."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prev = "0" * 64
        self.seq = 0

    def append(self, time: str, event: str, **facts: Any) -> None:
        """Adds one event."""
        line = {"seq": self.seq, "prev": self.prev, "time": time, "event": event, **facts}
        line["hash"] = digest.sha256_json(line)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(strict_json.dumps_line(line) + "\n")
        self.prev, self.seq = line["hash"], self.seq + 1


def write_runs(
    data: Path, plan: Mapping[str, Any], recipe: Recipe, change_result: Callable[[dict[str, Any]], None]
) -> None:
    """Every attempt with its logs, and the journal around them."""
    journal = Journal(data / "journal.jsonl")
    journal.append(clock(recipe, 0.5), "plan", sha256=digest.sha256_file(data / "plan.json"))
    attempt, second = 0, 1.0
    for planned, incident in attempts_of(plan, recipe):
        attempt += 1
        record = record_of(recipe, planned, attempt, second, incident)
        if incident is None:
            change_result(record)
        journal.append(clock(recipe, second), "start", attempt=attempt, run=planned["run"])
        path = data / "runs" / f"{attempt:04d}.json"
        write(path, record)
        (data / "logs" / f"{attempt:04d}.out").write_text('{"backend":"synthetic"}\n' if incident is None else "")
        (data / "logs" / f"{attempt:04d}.err").write_text("" if incident is None else f"{incident.reason}\n")
        facts = {"status": record["status"], "file": f"runs/{path.name}", "sha256": digest.sha256_file(path)}
        journal.append(clock(recipe, second + 9.5), "end", attempt=attempt, run=planned["run"], **facts)
        second += 10.0
        if incident is not None and incident.status == "interrupted":
            journal.append(clock(recipe, second), "resume")
    journal.append(clock(recipe, second), "close", runs=attempt)


def attempts_of(plan: Mapping[str, Any], recipe: Recipe) -> Iterator[tuple[dict[str, Any], Incident | None]]:
    """The attempts in order; a lockstep round in which a worker fails is tried again with all its workers."""

    def together(planned: Mapping[str, Any]) -> tuple[str, int]:
        return ("round", planned["repeat"]) if planned["mode"] == "lockstep" else ("run", planned["run"])

    for _, group in itertools.groupby(plan["matrix"], key=together):
        runs = list(group)
        for incident in recipe.incidents:
            if incident.run in [run["run"] for run in runs]:
                yield from ((run, incident if run["run"] == incident.run else None) for run in runs)
        yield from ((run, None) for run in runs)


def record_of(
    recipe: Recipe, planned: Mapping[str, Any], attempt: int, second: float, incident: Incident | None
) -> dict[str, Any]:
    """``runs/NNNN.json``."""
    arm = planned["arm"]
    argv = ["${VENV}/bin/python", "${WORK}/scripts/profile_update_state.py", "--repo", f"${{WORK}}/trees/{arm}"]
    argv += ["--backend", recipe.backend, "--num-envs", str(recipe.num_envs), "--warmup", "5"]
    argv += ["--measure", str(recipe.steps), "--action-seed", "20260826", "--env-seed", "123"]
    argv += ["--instrument"] if planned["mode"] == "terms" else []
    argv += ["--out", f"${{WORK}}/results/{attempt:04d}.json"]
    known = incident is None or incident.status != "interrupted"
    return {
        "schema": "twotrees-run-v1",
        "attempt": attempt,
        **planned,
        **({"round": planned["repeat"]} if planned["mode"] == "lockstep" else {}),
        "backend": recipe.backend,
        "argv": argv,
        "env": {"PYTHONPATH": f"${{WORK}}/trees/{arm}/src", "NUMBA_NUM_THREADS": "2", "LC_ALL": "C.UTF-8"},
        "scrubbed": ["EDITOR"],
        "start": clock(recipe, second) if known else None,
        "end": clock(recipe, second + 9.0) if known else None,
        "wall_s": 9.0 if known else None,
        "exit": (0 if incident is None else 1) if known else None,
        "signal": None,
        "status": "ok" if incident is None else incident.status,
        "reason": "" if incident is None else incident.reason,
        "rusage": {"user_s": 8.0, "sys_s": 0.5, "max_rss_kib": 262144} if known else {},
        "environment": {
            "before": recipe.environment_of(arm),
            "after": recipe.environment_of(arm) if known else None,
        },
        "result": result_of(recipe, planned) if incident is None else None,
    }


def summary(series: Mapping[str, Any]) -> dict[str, float | int]:
    """What the measured child prints of a series."""
    values = np.asarray([value / 1e6 if series["unit"] == "ns" else value for value in series["values"]], np.float64)
    if not values.size:
        return {"count": 0, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}
    return {
        "count": int(values.size),
        "mean_ms": float(values.mean()),
        "median_ms": float(np.median(values)),
        "p95_ms": float(np.percentile(values, 95)),
    }


def draw(rng: np.random.Generator, recipe: Recipe, arm: str, cost: tuple[float, float], count: int) -> dict[str, Any]:
    """A series of *count* samples around what *arm* takes, in integer nanoseconds."""
    base, left = cost
    level = base * (1.0 - (1.0 - left) * recipe.speedups[arm]) * (1.0 + recipe.noise * rng.standard_normal())
    spread = np.exp(recipe.noise * rng.standard_normal(count))
    return {"unit": "ns", "values": [int(value) for value in np.maximum(1.0, level * spread * 1e6)]}


def result_of(recipe: Recipe, planned: Mapping[str, Any]) -> dict[str, Any]:
    """The measured child's JSON."""
    arm, mode, steps = planned["arm"], planned["mode"], recipe.steps
    rng = np.random.default_rng([recipe.seed, planned["run"]])
    samples = {name: draw(rng, recipe, arm, cost, steps) for name, cost in PHASES_MS.items()}
    total = [sum(parts) for parts in zip(*(series["values"] for series in samples.values()), strict=True)]
    samples["env_step_total_ms"] = {"unit": "ns", "values": total}
    core = samples["step_core_ms"]["values"]
    samples["backend_physics_ms"] = {"unit": "ns", "values": [value * 9 // 10 for value in core]}
    samples["backend_refresh_cache_ms"] = {"unit": "ns", "values": [value // 10 for value in core]}
    resets = [step % 3 for step in range(steps)]
    backend = {name: summary(samples[name]) for name in sorted(samples) if name.startswith("backend_")}
    config, config_sha256 = config_of(recipe)
    result: dict[str, Any] = {
        "repo": f"${{WORK}}/trees/{arm}",
        "backend": recipe.backend,
        "num_envs": recipe.num_envs,
        "warmup": 5,
        "measure": steps,
        "instrument": mode == "terms",
        "action_seed": 20260826,
        "env_seed": 123,
        "timing": {
            **{name: summary(samples[name]) for name in ("update_state_ms", "env_step_total_ms", "reset_done_ms")},
            "reset_done_count": summary({"unit": "count", "values": resets}),
            "backend": backend,
        },
    }
    ours: dict[str, Any] = {
        "schema": "twotrees-result-v1",
        "samples": dict(sorted(samples.items())),
        "provenance": provenance_of(arm),
        "threads": {"usable_cpus": 2, "numba_threads": 2, "numba_layer": "workqueue"},
        "devices": [],
        "workload": {
            "steps": steps,
            "num_envs": recipe.num_envs,
            "action_digest": digest.sha256_json("the actions"),
            "reset_counts": resets,
        },
        "observation_digest": digest.sha256_json("the observations"),
        "init_ms": 1200.0,
        "first_call_ms": 30.0,
        "compiles_after_warmup": 0,
        "config": config,
        "config_sha256": config_sha256,
        "decisions": {"chunk_size": 12},
        "max_rss_kib": 262144,
    }
    if mode == "terms":
        terms = {
            name: {
                "step": draw(rng, recipe, arm, cost, steps * CALLS_A_STEP.get(name, 1)),
                "reset": draw(rng, recipe, arm, cost, 2 if name.startswith("obs/") else 0),
            }
            for name, cost in TERMS_MS.items()
        }
        result["terms"] = {
            name: {phase: summary(series) for phase, series in phases.items()} for name, phases in sorted(terms.items())
        }
        added = np.zeros(steps)
        for name, phases in terms.items():
            if name.startswith(("reward/", "termination/")):
                added += np.asarray([ns / 1e6 for ns in phases["step"]["values"]])
        result["term_sum_step_ms"] = summary({"unit": "ms", "values": added.tolist()})
        ours |= {"probe_cost_ns": 120, "term_samples": dict(sorted(terms.items()))}
    if mode == "lockstep":
        ours["blocks"] = blocks_of(ours.pop("samples"), steps)
    return {**result, "twotrees": ours}


def blocks_of(samples: Mapping[str, Any], steps: int) -> list[dict[str, Any]]:
    """A lockstep worker's samples, in blocks of four steps."""
    return [
        {
            "block": place,
            "samples": {
                name: {"unit": "ns", "values": series["values"][start : start + 4]} for name, series in samples.items()
            },
        }
        for place, start in enumerate(range(0, steps, 4))
    ]


def parity_of(recipe: Recipe) -> dict[str, Any]:
    """``parity.json`` of arms that agree."""
    names = ("reward/motion_body_pos", "step/reward", "step/terminated")
    lines = [
        {"arm": arm, "name": name, "ok": True, "max_abs_delta": 0.0, "first_step": None}
        for arm in recipe.arms[1:]
        for name in names
    ]
    return {
        "schema": "twotrees-parity-v1",
        "ok": True,
        "baseline": recipe.arms[0],
        "arms": list(recipe.arms),
        "steps": recipe.steps,
        "num_envs": recipe.num_envs,
        "tolerance": {"absolute": 1e-5, "relative": 1e-5},
        "terms": lines,
    }
