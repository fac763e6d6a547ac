"""Synthetic campaigns in the shape that `runs/` writes: a plan, attempts, and children's results with raw samples."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOL = REPOSITORY / "tools" / "aggregate_update_state.py"

# Typical per-step times in ms, before and after; the refreshes lie inside anchor_pos and post_compute.
PHASES = {
    "update_state_ms": (29.1, 19.2),
    "env_step_total_ms": (93.9, 83.8),
    "reset_done_ms": (8.2, 8.3),
    "apply_action_ms": (0.4, 0.4),
    "backend_physics_ms": (49.0, 49.1),
}
TERMS = {
    "termination/anchor_pos": (4.7, 0.57),
    "termination/time_out": (0.02, 0.02),
    "reward/motion_body_pos": (1.25, 0.10),
    "reward/motion_body_ori": (1.08, 0.35),
    "reward/motion_body_lin_vel": (1.26, 0.09),
    "reward/motion_body_ang_vel": (1.26, 0.09),
    "reward/action_rate": (0.9, 0.9),
    "obs/actor/joint_pos": (0.3, 0.3),
    "obs/critic/joint_vel": (0.6, 0.6),
    "manager/command_compute": (7.3, 7.2),
    "manager/command_post_compute": (6.4, 4.2),
    "manager/observation_compute": (4.4, 4.4),
}
REFRESHES = {"first_read": (4.6, 0.48), "force": (2.3, 0.33)}


def summary(values_ms: Any) -> dict[str, Any]:
    array = np.asarray(values_ms, dtype=np.float64)
    return {
        "count": int(array.size),
        "mean_ms": float(array.mean()),
        "median_ms": float(np.median(array)),
        "p95_ms": float(np.percentile(array, 95)),
    }


def noisy_ns(rng: np.random.Generator, level_ms: float, n: int, spread: float = 0.03) -> list[int]:
    """Right-skewed step times in whole nanoseconds."""
    return [int(value) for value in np.round(level_ms * 1e6 * np.exp(np.abs(rng.normal(0.0, spread, n))))]


def series(ns: list[int]) -> dict[str, Any]:
    return {"unit": "ns", "values": ns}


def ms(ns: list[int]) -> list[float]:
    return [value / 1e6 for value in ns]


def child_result(
    rng: np.random.Generator, arm: int, *, instrument: bool, factor: float = 1.0, n: int = 100, envs: int = 64
) -> dict[str, Any]:
    """One child's JSON for arm 0 (before) or 1 (after), every time multiplied by *factor*."""
    column = min(arm, 1)
    samples = {name: noisy_ns(rng, levels[column] * factor, n) for name, levels in PHASES.items()}
    counts = [3] * n
    timing: dict[str, Any] = {
        name: summary(ms(samples[name])) for name in PHASES if not name.startswith(("apply", "backend"))
    }
    timing["reset_done_count"] = summary(counts)
    timing["backend"] = {name: summary(ms(ns)) for name, ns in samples.items() if name.startswith("backend_")}
    config = {"env": {"seed": 123, "num_envs": envs}}
    result: dict[str, Any] = {
        "repo": "${WORK}/tree",
        "backend": "mujoco",
        "num_envs": envs,
        "warmup": 10,
        "measure": n,
        "instrument": instrument,
        "action_seed": 20260826,
        "env_seed": 123,
        "timing": timing,
    }
    ours: dict[str, Any] = {
        "schema": "twotrees-result-v1",
        "samples": {name: series(ns) for name, ns in samples.items()},
        "provenance": [{"module": "g1", "path": "src/g1/env.py", "sha256": f"{arm:064d}", "blob": f"{arm:040d}"}],
        "workload": {"steps": n, "num_envs": envs, "action_digest": "ab" * 32, "reset_counts": counts},
        "config": config,
        "config_sha256": "cd" * 32,
        "decisions": {"chunk_size": 12, "chunk_cache": "hit"},
        "compiles_after_warmup": 0,
    }
    if instrument:
        terms = {name: noisy_ns(rng, levels[column] * factor, n) for name, levels in TERMS.items()}
        split = {name: noisy_ns(rng, levels[column] * factor, n) for name, levels in REFRESHES.items()}
        both = [value for pair in zip(split["first_read"], split["force"], strict=True) for value in pair]
        terms["command/robot_state_refresh"] = both
        terms |= {f"command/robot_state_refresh/{name}": ns for name, ns in split.items()}
        empty = {"count": 0, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}
        result["terms"] = {name: {"step": summary(ms(ns)), "reset": empty} for name, ns in sorted(terms.items())}
        total = np.zeros(n)
        for name, ns in sorted(terms.items()):
            if name.startswith(("reward/", "termination/")):
                total += np.asarray(ms(ns))
        result["term_sum_step_ms"] = summary(total)
        ours["term_samples"] = {name: {"step": series(ns), "reset": series([])} for name, ns in sorted(terms.items())}
    result["twotrees"] = ours
    return result


def lockstep_result(rng: np.random.Generator, arm: int, *, blocks: list[dict[str, list[int]]]) -> dict[str, Any]:
    """A lockstep worker's JSON: the usual facts, blocks in order instead of samples."""
    result = child_result(rng, arm, instrument=False)
    del result["twotrees"]["samples"]
    result["twotrees"]["blocks"] = [
        {"block": place, "samples": {name: series(ns) for name, ns in samples.items()}}
        for place, samples in enumerate(blocks)
    ]
    return result


Matrix = list[tuple[str, str, int]]


def documented_matrix(arms: tuple[str, ...] = ("before", "after"), repeats: int = 3) -> Matrix:
    return [(arm, mode, r) for arm in arms for mode in ("phase", "terms") for r in range(1, repeats + 1)]


def interleaved_matrix(repeats: int, modes: tuple[str, ...] = ("phase",)) -> Matrix:
    """Each repeat holds both arms, the leading one alternating."""
    order = [("before", "after"), ("after", "before")]
    return [(arm, mode, r) for mode in modes for r in range(1, repeats + 1) for arm in order[r % 2]]


def write_campaign(
    data: Path,
    results: list[dict[str, Any]],
    matrix: Matrix,
    *,
    protocol: dict[str, Any] | None = None,
    arms: tuple[str, ...] = ("before", "after"),
    attempts: Callable[[dict[str, Any]], None] | None = None,
    **plan_keys: Any,
) -> Path:
    """Writes DATA from one result per planned run; *attempts* may edit each attempt before it is written."""
    plan = {
        "schema": "twotrees-plan-v1",
        "study": "g1_update_state",
        "backend": "mujoco",
        "protocol": protocol or {"name": "documented"},
        "scale": {"num_envs": 64, "warmup": 10, "measure": 100},
        "seeds": {"action": 20260826, "env": 123, "order": 1},
        "arms": [{"name": arm, "commit": "0" * 40, "tree": "0" * 40} for arm in arms],
        "matrix": [
            {"run": index, "arm": arm, "mode": mode, "repeat": repeat}
            for index, (arm, mode, repeat) in enumerate(matrix, start=1)
        ],
        "statistics": {"confidence": 0.95, "delta": 0.01},
        "exclusions": [],
        "labels": [],
        **plan_keys,
    }
    runs = data / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    (data / "plan.json").write_text(json.dumps(plan))
    for number, ((arm, mode, repeat), result) in enumerate(zip(matrix, results, strict=True), start=1):
        attempt = {
            "schema": "twotrees-run-v1",
            "attempt": number,
            "run": number,
            "arm": arm,
            "mode": mode,
            "repeat": repeat,
            "env": {"PYTHONPATH": f"${{WORK}}/trees/{arm}/src", "NUMBA_NUM_THREADS": "2"},
            "status": "ok",
            "reason": "",
            "environment": {"before": "e" * 64, "after": "e" * 64},
            "result": result,
        }
        if mode == "lockstep":
            attempt["round"] = repeat
        if attempts is not None:
            attempts(attempt)
        (runs / f"{number:04d}.json").write_text(json.dumps(attempt))
    return data


def documented_results(seed: int = 1, matrix: Matrix | None = None) -> list[dict[str, Any]]:
    rng = np.random.default_rng(seed)
    arms = {"before": 0, "after": 1, "next": 2}
    return [
        child_result(rng, arms[arm], instrument=mode == "terms", factor=float(np.exp(rng.normal(0, 0.004))))
        for arm, mode, _ in matrix or documented_matrix()
    ]


@pytest.fixture(scope="session")
def tool() -> ModuleType:
    """The single-file aggregator, imported from where it lies."""
    spec = importlib.util.spec_from_file_location("aggregate_update_state", TOOL)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def documented_data(tmp_path: Path) -> Path:
    """A whole documented campaign: 3 phase and 3 terms runs per arm, about 34 % faster."""
    return write_campaign(tmp_path / "data", documented_results(), documented_matrix())


class Builders:
    """The functions above, for tests that cannot import a conftest."""

    summary = staticmethod(summary)
    noisy_ns = staticmethod(noisy_ns)
    child_result = staticmethod(child_result)
    lockstep_result = staticmethod(lockstep_result)
    documented_matrix = staticmethod(documented_matrix)
    interleaved_matrix = staticmethod(interleaved_matrix)
    documented_results = staticmethod(documented_results)
    write_campaign = staticmethod(write_campaign)


@pytest.fixture(scope="session")
def build() -> Builders:
    """The builders of this folder's synthetic campaigns."""
    return Builders()
