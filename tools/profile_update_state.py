#!/usr/bin/env python3
"""The measured child: steps one arm's environment and writes what it timed, counted and imported.

In: a tree, a backend, a scale, seeds. Out: one JSON file whose keys are those of the published profiler, plus one key
`twotrees` with the raw samples and the evidence (which files were imported, threads, workload, configuration).

One file, NumPy and the standard library only, so that its SHA-256 pins all of it. It never edits the subject: probes
replace attributes of live objects after init, and only with ``--instrument``. Exit status: 0, or 3 when the wrong code
was imported, or 4 when the run gave no usable result.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import math
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

clock = time.perf_counter_ns

# Without these three a result says nothing; each must be a positive time in every step.
CANONICAL_METRICS = ("update_state_ms", "env_step_total_ms", "reset_done_ms")
ALWAYS_POSITIVE = ("update_state_ms", "env_step_total_ms")
PARITY_ENVS = 256
EXIT_WRONG_CODE = 3
EXIT_NO_RESULT = 4


class Refused(Exception):
    """The run must not count; carries the exit status that says why."""

    def __init__(self, exit_status: int, reason: str) -> None:
        super().__init__(reason)
        self.exit_status = exit_status


# --- the environment under measurement ------------------------------------------------------------------------------


def unilab_env(repo: Path, backend: str, num_envs: int, env_seed: int, options: dict[str, str]) -> Any:
    """Makes UniLab's G1 motion tracking environment through its own registry, as the published profiler does."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf
    from unilab.base import registry
    from unilab.base.config_adapter import BackendAdapter

    registry.ensure_registries()
    GlobalHydra.instance().clear()
    overrides = [f"task=g1_motion_tracking/{backend}", f"env.seed={env_seed}"]
    overrides += [f"{key}={value}" for key, value in options.items()]
    overrides += ["hydra.run.dir=.", "hydra.output_subdir=null"]
    overrides += ["hydra/job_logging=disabled", "hydra/hydra_logging=disabled"]
    with initialize_config_dir(config_dir=str(repo / "conf" / "sac"), version_base="1.3"):
        config = compose(config_name="config", overrides=overrides)
    adapted = BackendAdapter(config, root_dir=repo, algo_name="sac").build_task_env_cfg_override()
    env = registry.make("G1MotionTrackingSAC", sim_backend=backend, env_cfg_override=adapted, num_envs=num_envs)
    env.config = OmegaConf.to_container(config, resolve=False)
    return env


# Where UniLab's chunk-size tuner (unisim) keeps what it decided, below XDG_CACHE_HOME.
UNILAB_TUNER = ("unisim", "chunk_size.json")


def unilab_told(env: Any, cache_before: bytes | None) -> None:
    """Tells of a live UniLab environment what its start-up settled: the tuner's choice, threads, substeps.

    Args:
        env: After its init; each fact is looked for and may be absent, because releases differ.
        cache_before: The tuner's cache file as it was before the environment was made.
    """
    backend = getattr(env, "_backend", None)
    threads = getattr(backend, "_n_threads", None)
    if threads is not None:
        env.threads = {"physics": threads}
    substeps = getattr(getattr(env, "_cfg", None), "sim_substeps", None)
    if substeps is not None:
        env.workload = {"substeps": substeps}
    if not hasattr(backend, "_chunk_size"):
        return  # this release, or this backend, has no such tuner
    cache_after = unilab_cache()
    found = "none" if cache_after is None else "hit" if cache_after == cache_before else "tuned"
    chosen = backend._chunk_size
    env.decisions = {"chunk_size": "native default" if chosen is None else chosen, "chunk_size_cache": found}


def unilab_cache() -> bytes | None:
    """The tuner's cache file, if there is one."""
    root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    try:
        return root.joinpath(*UNILAB_TUNER).read_bytes()
    except OSError:
        return None


def make_env(args: argparse.Namespace, repo: Path) -> Any:
    """Calls the study's entry adapter, with the tree's ``src`` ahead of everything installed."""
    sys.path.insert(0, str(repo / "src"))
    options = dict(option.split("=", 1) for option in args.option)
    if args.entry == "unilab":
        return unilab_env(repo, args.backend, args.num_envs, args.env_seed, options)
    module_name, _, function_name = args.entry.partition(":")
    entry = getattr(importlib.import_module(module_name), function_name)
    return entry(repo, args.backend, args.num_envs, args.env_seed, options)


# --- provenance -----------------------------------------------------------------------------------------------------


def imported_files(repo: Path) -> list[dict[str, str]]:
    """Every imported module whose top-level name the tree claims, with the bytes it was loaded from.

    Raises:
        Refused: such a module came from outside the tree, or none came from it. An editable install does this: its
            finder stands ahead of ``sys.path``, so that ``PYTHONPATH`` alone cannot be trusted.
    """
    source = repo / "src"
    claimed = {entry.name.partition(".")[0] for entry in source.iterdir() if entry.suffix in ("", ".py", ".so")}
    real_source = source.resolve()
    files = []
    for name, module in sorted(sys.modules.items()):
        origin = getattr(module, "__file__", None)
        if name.partition(".")[0] not in claimed or origin is None:
            continue
        path = Path(origin).resolve()
        if not path.is_relative_to(real_source):
            raise Refused(EXIT_WRONG_CODE, f"{path}: module {name} was imported from here, not from the tree {source}")
        data = path.read_bytes()
        blob = hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
        relative = path.relative_to(repo.resolve()).as_posix()
        files.append({"module": name, "path": relative, "sha256": hashlib.sha256(data).hexdigest(), "blob": blob})
    if not files:
        raise Refused(EXIT_WRONG_CODE, f"{source}: nothing was imported from here, so other code would be measured")
    return files


# --- probes ---------------------------------------------------------------------------------------------------------

Samples = dict[str, dict[str, list[int]]]  # name -> "step" or "reset" -> nanoseconds of each call


class Probe:
    """Stands in for a callable and appends each call's duration; everything else is passed on to the original."""

    __slots__ = ("_env", "_fn", "_reset", "_step")

    def __init__(self, fn: Callable[..., Any], env: Any, phases: dict[str, list[int]]) -> None:
        self._fn = fn
        self._env = env
        self._step = phases["step"].append
        self._reset = phases["reset"].append

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the original; a reset call is one with ``env_ids`` or one inside the automatic reset."""
        start = clock()
        try:
            return self._fn(*args, **kwargs)
        finally:
            elapsed = clock() - start
            if kwargs.get("env_ids") is not None or getattr(self._env, "_autoreset_reset_active", False):
                self._reset(elapsed)
            else:
                self._step(elapsed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fn, name)


class RefreshProbe:
    """Times the refreshes of the body-state cache that really copy, apart as ``first_read`` and ``force``."""

    __slots__ = ("_all", "_command", "_env", "_first", "_fn", "_force")

    def __init__(self, fn: Callable[..., Any], command: Any, env: Any, samples: Samples) -> None:
        self._fn = fn
        self._command = command
        self._env = env
        name = "command/robot_state_refresh"
        self._all = sink(samples, name)
        self._first = sink(samples, f"{name}/first_read")
        self._force = sink(samples, f"{name}/force")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the original; a refresh that finds its cache current copies nothing and is not counted."""
        force = bool(kwargs.get("force", False))
        if not force and self._command._robot_cache_step == self._env.common_step_counter:
            return self._fn(*args, **kwargs)
        start = clock()
        try:
            return self._fn(*args, **kwargs)
        finally:
            elapsed = clock() - start
            phase = "reset" if kwargs.get("env_ids") is not None else "step"
            self._all[phase].append(elapsed)
            (self._force if force else self._first)[phase].append(elapsed)


def sink(samples: Samples, name: str) -> dict[str, list[int]]:
    """The two lists into which the probe called *name* writes."""
    return samples.setdefault(name, {"step": [], "reset": []})


def terms_of(env: Any) -> Iterator[tuple[str, Any]]:
    """Every (full name, term configuration) of the reward, termination and observation managers."""
    for kind in ("reward", "termination"):
        manager = getattr(env, f"{kind}_manager")
        for name, config in zip(manager._term_names, manager._term_cfgs, strict=True):
            yield f"{kind}/{name}", config
    observations = env.observation_manager
    for group, names in observations._group_obs_term_names.items():
        for name, config in zip(names, observations._group_obs_term_cfgs[group], strict=True):
            yield f"obs/{group}/{name}", config


def install_probes(env: Any, samples: Samples) -> None:
    """Wraps every manager term, the manager stages and the two shapes of the body-state refresh."""
    for name, config in terms_of(env):
        config.func = Probe(config.func, env, sink(samples, name))
    stages = (
        (env.command_manager, "compute", "manager/command_compute"),
        (env.command_manager, "post_compute", "manager/command_post_compute"),
        (env.observation_manager, "compute", "manager/observation_compute"),
        (env.observation_manager, "compute_group", "manager/observation_compute_group"),
        (env, "_map_observations", "manager/map_observations"),
    )
    for owner, attribute, name in stages:
        if hasattr(owner, attribute):
            setattr(owner, attribute, Probe(getattr(owner, attribute), env, sink(samples, name)))
    command = env.command_manager.get_term("motion")
    if hasattr(command, "_copy_robot_body_state"):
        copy = command._copy_robot_body_state
        command._copy_robot_body_state = Probe(copy, env, sink(samples, "command/body_state_copy"))
    command._refresh_robot_state = RefreshProbe(command._refresh_robot_state, command, env, samples)


def probe_cost_ns(calls: int = 20_000) -> int:
    """The median cost that one probe adds to one call, in ns, against the same empty function called bare."""

    class Steps:
        _autoreset_reset_active = False

    def empty(env: Any) -> None:
        return None

    phases: dict[str, list[int]] = {"step": [], "reset": []}
    probe = Probe(empty, Steps(), phases)
    rounds = []
    for _ in range(9):
        start = clock()
        for _ in range(calls // 10):
            empty(None)
        bare = clock() - start
        start = clock()
        for _ in range(calls // 10):
            probe(None)
        rounds.append((clock() - start - bare) // (calls // 10))
    return sorted(rounds)[len(rounds) // 2]


# --- what was counted -----------------------------------------------------------------------------------------------


def exact_ns(values_ms: list[float]) -> dict[str, Any]:
    """Samples as integer ns where every ms value is exactly one, else as the ms floats that the subject gave."""
    as_ns = [round(value * 1e6) for value in values_ms]
    if all(ns / 1e6 == value for ns, value in zip(as_ns, values_ms, strict=True)):
        return {"unit": "ns", "values": as_ns}
    return {"unit": "ms", "values": values_ms}


def summary(values_ms: list[float]) -> dict[str, float | int]:
    """Count, mean, median and 95th percentile (linear interpolation) in ms; zeros for no values, as published."""
    if not values_ms:
        return {"count": 0, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}
    array = np.asarray(values_ms, dtype=np.float64)
    return {
        "count": int(array.size),
        "mean_ms": float(array.mean()),
        "median_ms": float(np.median(array)),
        "p95_ms": float(np.percentile(array, 95)),
    }


def effective_threads() -> dict[str, Any]:
    """Thread counts as they are in force in this process, not as the environment asked for them."""
    facts: dict[str, Any] = {"usable_cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None}
    numba = sys.modules.get("numba")
    if numba is not None:
        try:
            facts["numba_layer"] = numba.threading_layer()
            facts["numba_threads"] = numba.get_num_threads()
        except ValueError:  # asking for the count would start the layer
            facts["numba_layer"] = "never started"
            facts["numba_threads"] = numba.config.NUMBA_NUM_THREADS
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        facts["blas"] = "unknown (threadpoolctl is not installed)"
    else:
        facts["blas"] = [
            {key: pool.get(key) for key in ("internal_api", "version", "num_threads", "threading_layer")}
            for pool in threadpool_info()
        ]
    return facts


def devices_used() -> list[dict[str, Any]]:
    """The GPUs that Warp opened in this process, by UUID: index order is not the same in every tool."""
    warp = sys.modules.get("warp")
    if warp is None:
        return []
    return [
        {"alias": device.alias, "name": device.name, "uuid": getattr(device, "uuid", None)}
        for device in warp.get_cuda_devices()
    ]


def kernel_cache_files() -> int:
    """Files in the private kernel caches; one more after the warm-up means that something compiled in the window."""
    folders = [os.environ[name] for name in ("NUMBA_CACHE_DIR", "WARP_CACHE_PATH") if name in os.environ]
    return sum(len(files) for folder in folders for _, _, files in os.walk(folder))


class CompileCounter:
    """Counts what was compiled since it was made: Numba kernels, cached on disk or not, and new kernel cache files."""

    def __init__(self) -> None:
        self._compiled = 0
        self._files = kernel_cache_files()
        self._listening = "numba" in sys.modules
        if self._listening:
            from numba.core import event

            counter = self

            class Listener(event.Listener):  # type: ignore[misc]
                def on_start(self, _event: Any) -> None:
                    counter._compiled += 1

                def on_end(self, _event: Any) -> None:
                    pass

            event.register("numba:compile", Listener())  # type: ignore[no-untyped-call]

    @property
    def count(self) -> int:
        """Zero when nothing was; a Numba that was first imported in the window counts once, for nobody listened."""
        late = int(not self._listening and "numba" in sys.modules)
        return self._compiled + kernel_cache_files() - self._files + late


def plain(value: Any) -> Any:
    """*value* as JSON data: NumPy scalars and arrays unwrapped, anything else unknown to JSON as its text."""
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def sha256_json(value: Any) -> str:
    """SHA-256 of *value* as JSON with sorted keys and no spaces."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


# --- measuring ------------------------------------------------------------------------------------------------------


class Session:
    """One live environment and everything recorded while it steps."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.repo = Path(args.repo).resolve()
        if not (self.repo / "src").is_dir():
            raise Refused(EXIT_WRONG_CODE, f"{self.repo}: not a tree, it has no src folder")
        tuned_before = unilab_cache() if args.entry == "unilab" else None
        start = clock()
        self.env = make_env(args, self.repo)
        self.env.init_state()
        self.init_ns = clock() - start
        if args.entry == "unilab":
            unilab_told(self.env, tuned_before)
        imported_files(self.repo)  # the wrong code must not even warm up
        self.actions = np.random.default_rng(args.action_seed)
        self.action_digest = hashlib.sha256()
        self.timing: dict[str, list[float]] = {}
        self.terms: Samples = {}
        self.first_call_ns = 0
        self.state: Any = None
        if args.instrument:
            install_probes(self.env, self.terms)

    def step(self) -> None:
        """One step with random actions; the actions are drawn outside the subject's own timers."""
        shape = (self.args.num_envs, int(self.env.action_space.shape[0]))
        actions = self.actions.uniform(-1.0, 1.0, size=shape).astype(np.float32)
        self.action_digest.update(actions.tobytes())
        start = clock()
        self.state = self.env.step(actions)
        self.first_call_ns = self.first_call_ns or clock() - start
        timing = self.state.info.get("timing", {})
        for key in CANONICAL_METRICS:
            if key not in timing:
                raise Refused(EXIT_NO_RESULT, f"the subject reports no {key} in state.info['timing']")
        for key, value in timing.items():
            # A gap is what its parts leave of a total: a difference, which may be negative, and not a time.
            if not str(key).endswith("_gap_ms"):
                self.timing.setdefault(str(key), []).append(float(value))

    def warm_up(self) -> None:
        """Steps that are not counted; the compile counters start after them."""
        for _ in range(self.args.warmup):
            self.step()
        self.clear()
        self.compiles = CompileCounter()

    def clear(self) -> None:
        """Forgets every sample, not the environment."""
        self.timing.clear()
        for phases in self.terms.values():
            phases["step"].clear()
            phases["reset"].clear()

    def refuse_impossible_times(self) -> None:
        """Nothing is clamped or dropped: one impossible sample and the whole run does not count.

        Raises:
            Refused: a sample is not finite, is negative, or is zero where a time must have passed.
        """
        for key, values in self.timing.items():
            for index, value in enumerate(values):
                if not math.isfinite(value) or value < 0 or (value == 0 and key in ALWAYS_POSITIVE):
                    raise Refused(EXIT_NO_RESULT, f"{key} of measured step {index} is {value}")

    def result(self) -> dict[str, Any]:
        """The published keys, and ours under `twotrees`."""
        self.refuse_impossible_times()
        args = self.args
        timing = {key: self.timing.get(key, []) for key in CANONICAL_METRICS}
        backend = {key: values for key, values in sorted(self.timing.items()) if key.startswith("backend_")}
        result: dict[str, Any] = {
            "repo": str(self.repo),
            "backend": args.backend,
            "num_envs": args.num_envs,
            "warmup": args.warmup,
            "measure": args.measure,
            "instrument": bool(args.instrument),
            "action_seed": args.action_seed,
            "env_seed": args.env_seed,
            "timing": {
                **{key: summary(values) for key, values in timing.items()},
                "reset_done_count": summary(self.timing.get("reset_done_count", [])),
                "backend": {key: summary(values) for key, values in backend.items()},
            },
        }
        if args.instrument:
            result["terms"] = {
                name: {phase: summary([ns / 1e6 for ns in values]) for phase, values in phases.items()}
                for name, phases in self.called_terms().items()
            }
            result["term_sum_step_ms"] = summary(self.term_sums_ms())
        result["twotrees"] = self.evidence()
        return result

    def called_terms(self) -> Samples:
        """The probes through which a call went, by name; a manager may skip a term, for example one without weight."""
        return {name: phases for name, phases in sorted(self.terms.items()) if phases["step"] or phases["reset"]}

    def term_sums_ms(self) -> list[float]:
        """The sum of all reward and termination calls in each step, in ms."""
        called = self.called_terms().items()
        calls = [phases["step"] for name, phases in called if name.startswith(("reward/", "termination/"))]
        common = min((len(values) for values in calls), default=0)
        total = np.zeros(common, dtype=np.float64)
        for values in calls:
            total += np.asarray([ns / 1e6 for ns in values[:common]], dtype=np.float64)
        return [float(value) for value in total]

    def evidence(self) -> dict[str, Any]:
        """What lets a reader check the timings: raw samples, imported files, threads, workload, configuration."""
        env = self.env
        config = plain(getattr(env, "config", None))
        samples = {key: exact_ns(values) for key, values in sorted(self.timing.items()) if key.endswith("_ms")}
        observations = hashlib.sha256()
        for group in sorted(self.state.obs):
            observations.update(np.ascontiguousarray(self.state.obs[group]).tobytes())
        workload = {
            "steps": len(self.timing.get("update_state_ms", [])),
            "num_envs": self.args.num_envs,
            "action_digest": self.action_digest.hexdigest(),
            "reset_counts": [int(count) for count in self.timing.get("reset_done_count", [])],
            **plain(getattr(env, "workload", {})),
        }
        evidence: dict[str, Any] = {
            "schema": "twotrees-result-v1",
            "samples": samples,
            "provenance": imported_files(self.repo),
            "threads": {**effective_threads(), **plain(getattr(env, "threads", {}))},
            "devices": devices_used(),
            "workload": workload,
            "observation_digest": observations.hexdigest(),
            "init_ms": self.init_ns / 1e6,
            "first_call_ms": self.first_call_ns / 1e6,
            "compiles_after_warmup": self.compiles.count,
            "config": config,
            "config_sha256": sha256_json(config),
            "decisions": plain(getattr(env, "decisions", {})),
            "max_rss_kib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        }
        if self.args.instrument:
            evidence["probe_cost_ns"] = probe_cost_ns()
            evidence["term_samples"] = {
                name: {phase: {"unit": "ns", "values": values} for phase, values in phases.items()}
                for name, phases in self.called_terms().items()
            }
        return evidence


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """A phase or terms run: warm up, clear, step, summarise."""
    session = Session(args)
    with contextlib.closing(session.env):
        session.warm_up()
        for _ in range(args.measure):
            session.step()
        return session.result()


# --- parity ---------------------------------------------------------------------------------------------------------


class Recorder:
    """Keeps a copy of what a term returned in each step outside resets, for the environments in *kept*."""

    def __init__(self, fn: Callable[..., Any], env: Any, kept: Any, outputs: list[Any]) -> None:
        self._fn = fn
        self._env = env
        self._kept = kept
        self._outputs = outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the original and copies what it returned: subjects reuse their output buffers."""
        value = self._fn(*args, **kwargs)
        if not getattr(self._env, "_autoreset_reset_active", False):
            self._outputs.append(np.asarray(value)[self._kept])
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._fn, name)


def trace(args: argparse.Namespace) -> dict[str, Any]:
    """A parity run: every term's output in every step, as arrays ``(steps, environments kept, …)`` in ``--parity``.

    All environments are stepped, so that kernels see their true size; at most `PARITY_ENVS` are kept, spread evenly
    from the first to the last.
    """
    session = Session(args)
    kept = np.unique(np.linspace(0, args.num_envs - 1, min(args.num_envs, PARITY_ENVS)).round().astype(int))
    with contextlib.closing(session.env):
        session.warm_up()
        outputs: dict[str, list[Any]] = {"environments": [kept]}
        for name, config in terms_of(session.env):
            config.func = Recorder(config.func, session.env, kept, outputs.setdefault(name, []))
        for _ in range(args.measure):
            session.step()
            state = session.state
            for name in ("reward", "terminated", "truncated"):
                outputs.setdefault(f"step/{name}", []).append(np.asarray(getattr(state, name))[kept])
            for group, values in state.obs.items():
                outputs.setdefault(f"step/obs/{group}", []).append(np.asarray(values)[kept])
        arrays: dict[str, Any] = {name: np.stack(values) for name, values in outputs.items() if values}
        # Nothing here is timed: whatever these steps compiled was compiled before any window.
        session.compiles, session.cache_files = CompileCounter(), kernel_cache_files()
        result = session.result()
    with whole_file(Path(args.parity)) as draft, draft.open("wb") as stream:
        np.savez(stream, **arrays)
    return result


# --- lockstep worker ------------------------------------------------------------------------------------------------


def steps_asked(line: str) -> int:
    """The number of steps that a request asks for; 0 for the request to finish.

    Raises:
        Refused: it is neither.
    """
    try:
        request = json.loads(line)
        if request["do"] == "finish":
            return 0
        n = request["n"]
        if request["do"] == "steps" and isinstance(n, int) and n > 0:
            return n
    except (ValueError, KeyError, TypeError):
        pass
    raise Refused(EXIT_NO_RESULT, f"not a request: {line.strip()[:80]}")


def serve(args: argparse.Namespace, requests: TextIO, replies: TextIO) -> dict[str, Any]:
    """A lockstep worker (docs/lockstep.md): steps on request, one JSON line for each block, idle in between."""

    def reply(message: dict[str, Any]) -> None:
        replies.write(json.dumps(message, allow_nan=False) + "\n")
        replies.flush()

    session = Session(args)
    with contextlib.closing(session.env):
        session.warm_up()
        blocks: list[dict[str, Any]] = []
        done: dict[str, list[float]] = {}
        last_cpu = time.process_time_ns()
        reply({"ready": True, "pid": os.getpid()})
        for line in requests:
            n = steps_asked(line)
            if n == 0:
                break
            idle_cpu_ns = time.process_time_ns() - last_cpu
            cpu, wall = time.process_time_ns(), clock()
            for _ in range(n):
                session.step()
            wall_ns, cpu_ns = clock() - wall, time.process_time_ns() - cpu
            session.refuse_impossible_times()
            samples = {key: [round(ms * 1e6) for ms in values] for key, values in session.timing.items()}
            times = {key: values for key, values in samples.items() if key.endswith("_ms")}
            blocks.append(
                {
                    "block": len(blocks),
                    "samples": {key: {"unit": "ns", "values": values} for key, values in sorted(times.items())},
                }
            )
            for key, values in session.timing.items():
                # The summary is of what the blocks hold: whole nanoseconds.
                whole = [ns / 1e6 for ns in samples[key]] if key in times else values
                done.setdefault(key, []).extend(whole)
            session.timing.clear()
            reply({"samples": times, "cpu_ns": cpu_ns, "wall_ns": wall_ns, "idle_cpu_ns": idle_cpu_ns})
            last_cpu = time.process_time_ns()
        session.timing = done
        if not blocks:
            raise Refused(EXIT_NO_RESULT, "it was asked for no step")
        result = session.result()
        del result["twotrees"]["samples"]
        result["twotrees"]["blocks"] = blocks
        return result


# --- the command line -----------------------------------------------------------------------------------------------


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    """The published profiler's flags, then ours."""
    parser = argparse.ArgumentParser(description="Step one tree's environment and write what was timed.")
    parser.add_argument("--repo", required=True, help="the arm's tree; its src folder is imported")
    parser.add_argument("--backend", choices=("mujoco", "mjwarp"), required=True)
    parser.add_argument("--num-envs", type=int, default=8192)
    parser.add_argument("--warmup", type=int, default=10, help="steps before the window")
    parser.add_argument("--measure", type=int, default=100, help="steps in the window")
    parser.add_argument("--action-seed", type=int, default=20260826)
    parser.add_argument("--instrument", action="store_true", help="wrap every manager term (a terms run)")
    parser.add_argument("--out", default=None, help="where the JSON result goes")
    parser.add_argument("--env-seed", type=int, default=123)
    parser.add_argument("--entry", default="unilab", help="module:function that makes the environment, or 'unilab'")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="passed to the entry")
    parser.add_argument("--parity", default=None, metavar="FILE.npz", help="record every term's output instead")
    parser.add_argument("--serve", action="store_true", help="be a lockstep worker on stdin and stdout")
    args = parser.parse_args(argv)
    for name, least in (("num_envs", 1), ("warmup", 0), ("measure", 1)):
        if getattr(args, name) < least:
            parser.error(f"--{name.replace('_', '-')} must be at least {least}")
    if any("=" not in option for option in args.option):
        parser.error("--option wants KEY=VALUE")
    if args.instrument and (args.parity or args.serve):
        parser.error("--instrument goes with neither --parity nor --serve")
    for name in ("out", "parity"):
        path = getattr(args, name)
        if path is not None and not Path(path).parent.is_dir():
            parser.error(f"--{name} {path}: there is no such folder")
    return args


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Gives a draft to write, and moves it to *path* in one step, so that a killed run leaves no half file."""
    draft = path.with_name(path.name + ".part")
    yield draft
    draft.replace(path)


def write_result(result: dict[str, Any], out: str | None) -> None:
    """Writes the result file and prints the published keys."""
    if out is not None:
        with whole_file(Path(out)) as draft:
            draft.write_text(json.dumps(result, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    published = {key: value for key, value in result.items() if key != "twotrees"}
    print(json.dumps(published, ensure_ascii=False, allow_nan=False, separators=(",", ":")))


def main() -> int:
    """Runs one child to its result."""
    args = parse()
    try:
        if args.serve:
            # Whatever the subject prints must not land between two replies.
            replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
            os.dup2(2, 1)
            result = serve(args, sys.stdin, replies)
        elif args.parity:
            result = trace(args)
        else:
            result = measure(args)
    except Refused as refusal:
        print(f"profile_update_state: {refusal}", file=sys.stderr)
        return refusal.exit_status
    write_result(result, args.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
