"""Campaigns to report on: run files as `runs/` writes them, aggregated by the real aggregator as a process."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from statistics import mean, median, quantiles
from typing import Any

import pytest

AGGREGATOR = Path(__file__).resolve().parents[2] / "tools" / "aggregate_update_state.py"

# Milliseconds in the arms before, after and next.
PHASES = {
    "update_state_ms": (29.147, 19.230, 12.1),
    "env_step_total_ms": (93.857, 83.815, 76.2),
    "reset_done_ms": (8.257, 8.323, 8.3),
    "backend_physics_ms": (49.0, 49.1, 49.05),
}
TERMS = {
    "termination/anchor_pos": (4.746, 0.572, 0.57),
    "termination/time_out": (0.0203, 0.0201, 0.0202),
    "reward/motion_body_pos": (1.246, 0.105, 0.105),
    "reward/motion_body_ori": (1.083, 0.351, 0.35),
    "reward/motion_body_lin_vel": (1.259, 0.088, 0.088),
    "reward/motion_body_ang_vel": (1.256, 0.087, 0.087),
    "reward/action_rate": (0.9, 0.9, 0.9),
    "obs/actor/joint_pos": (0.3, 0.3, 0.3),
    "obs/critic/joint_vel": (0.6, 0.6, 0.6),
    "manager/command_compute": (7.3, 7.25, 3.1),
    "manager/command_post_compute": (6.4, 4.23, 2.0),
    "manager/observation_compute": (4.4, 4.37, 2.2),
    "command/robot_state_refresh/first_read": (4.594, 0.481, 0.48),
    "command/robot_state_refresh/force": (2.292, 0.332, 0.33),
}


def summary(values_ms: Sequence[float]) -> dict[str, Any]:
    if not values_ms:
        return {"count": 0, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}
    p95 = quantiles(values_ms, n=20, method="inclusive")[-1] if len(values_ms) > 1 else values_ms[0]
    return {"count": len(values_ms), "mean_ms": mean(values_ms), "median_ms": median(values_ms), "p95_ms": p95}


@dataclass(frozen=True)
class Recipe:
    """What kind of campaign: everything that a test may want to be otherwise."""

    arms: tuple[str, ...] = ("before", "after")
    repeats: int = 3
    steps: int = 40
    terms: dict[str, tuple[float, ...]] = field(default_factory=lambda: dict(TERMS))
    phases: dict[str, tuple[float, ...]] = field(default_factory=lambda: dict(PHASES))
    modes: tuple[str, ...] = ("phase", "terms")
    run_noise: float = 0.004
    labels: tuple[str, ...] = ()
    parity: dict[str, Any] | None = field(
        default_factory=lambda: {
            "schema": "twotrees-parity-v1",
            "ok": True,
            "baseline": "before",
            "arms": ["before", "after"],
            "steps": 20,
            "num_envs": 64,
            "tolerance": {"absolute": 1e-5, "relative": 1e-4},
            "terms": [
                {
                    "arm": "after",
                    "name": "reward/motion_body_pos",
                    "ok": True,
                    "max_abs_delta": 2.1e-7,
                    "first_step": None,
                },
                {"arm": "after", "name": "step/reward", "ok": True, "max_abs_delta": 0.0, "first_step": None},
            ],
        }
    )
    edit_plan: Callable[[dict[str, Any]], None] = lambda plan: None
    edit_attempt: Callable[[dict[str, Any]], None] = lambda attempt: None
    extra_attempts: tuple[dict[str, Any], ...] = ()
    host: bool = True


def child_result(draw: random.Random, arm: int, mode: str, recipe: Recipe) -> dict[str, Any]:
    factor = 1.0 + draw.gauss(0.0, recipe.run_noise)

    def series(level_ms: float) -> list[int]:
        return [
            max(1, round(level_ms * factor * 1e6 * (1.0 + abs(draw.gauss(0.0, 0.02))))) for _ in range(recipe.steps)
        ]

    samples = {name: series(levels[arm]) for name, levels in recipe.phases.items()}
    timing: dict[str, Any] = {
        name: summary([ns / 1e6 for ns in values]) for name, values in samples.items() if not name.startswith("backend")
    }
    timing["backend"] = {
        name: summary([ns / 1e6 for ns in values]) for name, values in samples.items() if name.startswith("backend")
    }
    result: dict[str, Any] = {
        "repo": "${WORK}/tree",
        "backend": "mujoco",
        "num_envs": 64,
        "warmup": 10,
        "measure": recipe.steps,
        "instrument": mode == "terms",
        "action_seed": 20260826,
        "env_seed": 123,
        "timing": timing,
    }
    ours: dict[str, Any] = {
        "schema": "twotrees-result-v1",
        "samples": {name: {"unit": "ns", "values": values} for name, values in samples.items()},
        "provenance": [{"module": "g1", "path": "src/g1/env.py", "sha256": f"{arm:064d}", "blob": f"{arm:040d}"}],
        "workload": {"steps": recipe.steps, "num_envs": 64, "reset_counts": [3] * recipe.steps},
        "config": {"env": {"num_envs": 64}},
        "decisions": {"chunk_size": 12},
        "compiles_after_warmup": 0,
    }
    if mode == "terms":
        calls = {name: series(levels[arm]) for name, levels in recipe.terms.items()}
        first, force = (calls.get(f"command/robot_state_refresh/{part}") for part in ("first_read", "force"))
        if first and force:
            calls["command/robot_state_refresh"] = [ns for pair in zip(first, force, strict=True) for ns in pair]
        result["terms"] = {
            name: {"step": summary([ns / 1e6 for ns in values]), "reset": summary([])}
            for name, values in sorted(calls.items())
        }
        scored = [values for name, values in sorted(calls.items()) if name.startswith(("reward/", "termination/"))]
        result["term_sum_step_ms"] = summary([sum(ns / 1e6 for ns in step) for step in zip(*scored, strict=True)])
        ours["term_samples"] = {
            name: {"step": {"unit": "ns", "values": values}, "reset": {"unit": "ns", "values": []}}
            for name, values in sorted(calls.items())
        }
    result["twotrees"] = ours
    return result


def write(data: Path, recipe: Recipe) -> Path:
    draw = random.Random(7)
    matrix = [
        (arm, mode, repeat) for arm in recipe.arms for mode in recipe.modes for repeat in range(1, recipe.repeats + 1)
    ]
    plan: dict[str, Any] = {
        "schema": "twotrees-plan-v1",
        "study": "g1_update_state",
        "title": "G1 motion tracking, update_state",
        "study_root": "5" * 64,
        "backend": "mujoco",
        "device": "cpu",
        "protocol": {"name": "documented", "order": "by-arm"},
        "scale": {"name": "quick", "num_envs": 64, "warmup": 10, "measure": recipe.steps},
        "seeds": {"action": 20260826, "env": 123, "order": 1},
        "arms": [
            {"name": arm, "commit": f"{place}" * 40, "tree": f"{place + 5}" * 40, "source": {"kind": "overlay"}}
            for place, arm in enumerate(recipe.arms, start=1)
        ],
        "matrix": [
            {"run": place, "arm": arm, "mode": mode, "repeat": repeat}
            for place, (arm, mode, repeat) in enumerate(matrix, start=1)
        ],
        "statistics": {"confidence": 0.95, "delta": 0.01},
        "exclusions": [],
        "scripts": {"profile_update_state.py": "a" * 64, "aggregate_update_state.py": "b" * 64},
        "pins": {"lock_identity": "c" * 64, "checksums_sha256": "d" * 64},
        "labels": list(recipe.labels),
        "replicates": None,
        "created": "2026-12-01T06:00:00.000Z",
    }
    recipe.edit_plan(plan)
    (data / "runs").mkdir(parents=True)
    (data / "plan.json").write_text(json.dumps(plan))
    for number, (arm, mode, repeat) in enumerate(matrix, start=1):
        attempt: dict[str, Any] = {
            "schema": "twotrees-run-v1",
            "attempt": number,
            "run": number,
            "arm": arm,
            "backend": "mujoco",
            "mode": mode,
            "repeat": repeat,
            "argv": ["${VENV}/bin/python", "profile_update_state.py"],
            "env": {},
            "scrubbed": [],
            "start": f"2026-12-01T06:{number:02d}:00.000Z",
            "end": f"2026-12-01T06:{number:02d}:41.000Z",
            "wall_s": 41.0,
            "exit": 0,
            "signal": None,
            "status": "ok",
            "reason": "",
            "rusage": {},
            "environment": {"before": "e" * 64, "after": "e" * 64},
            "result": child_result(draw, recipe.arms.index(arm), mode, recipe),
        }
        recipe.edit_attempt(attempt)
        (data / "runs" / f"{number:04d}.json").write_text(json.dumps(attempt))
    for number, changes in enumerate(recipe.extra_attempts, start=len(matrix) + 1):
        lost = {**attempt, "attempt": number, "result": None, **changes}
        (data / "runs" / f"{number:04d}.json").write_text(json.dumps(lost))
    if recipe.parity is not None:
        (data / "parity.json").write_text(json.dumps(recipe.parity))
    if recipe.host:
        write_host(data / "host", minutes=len(matrix) + 1)
    aggregated = subprocess.run(
        [sys.executable, str(AGGREGATOR), "--data", str(data)], capture_output=True, text=True, check=True
    )
    (data / "aggregate.json").write_text(aggregated.stdout)
    return data


def write_host(folder: Path, minutes: int) -> None:
    folder.mkdir()
    before = {
        "schema": "twotrees-host-v1",
        "facets": {
            "processor": {"model_name": "AMD EPYC", "cores": 2, "threads": 2, "microcode": {"unknown": "not readable"}},
            "kernel": {"release": "6.1.0"},
            "python": {"version": "3.11.7"},
            "load": {"load_1": 0.1, "busy_pct": 1.0},
        },
    }
    after = json.loads(json.dumps(before))
    after["facets"]["load"]["load_1"] = 1.5
    (folder / "before.json").write_text(json.dumps(before))
    (folder / "after.json").write_text(json.dumps(after))
    begin = datetime(2026, 12, 1, 6, tzinfo=UTC).timestamp()
    lines: list[dict[str, Any]] = [{"schema": "twotrees-monitor-v1", "hz": 1.0}]
    lines += [
        {
            "time": begin + 60 * minute + 30,
            "frequency_mhz": {"0": 3000 + minute, "1": 3010},
            "temperature_c": {"unknown": "no sensor answers"},
            "load_1": 1.0 + minute / 10,
            "busy_pct": 50.0,
            "steal_pct": 2.5,
            "throttle_counts": {"unknown": "not counted"},
            "quota_throttled": 0,
            "gpu": {"GPU-1": {"sm_clock_mhz": 1980, "temperature_c": 40 + minute, "throttle_reasons": []}},
            "own_cpu_s": 0.01 * minute,
        }
        for minute in range(1, minutes)
    ]
    (folder / "monitor.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


Make = Callable[..., Path]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a data folder of a recipe with some things otherwise."""
    return lambda **otherwise: write(tmp_path / "data", Recipe(**otherwise))


@pytest.fixture(scope="session")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A campaign like the published one; tests only read it."""
    return write(tmp_path_factory.mktemp("published") / "data", Recipe())
