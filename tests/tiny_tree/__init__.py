"""A tiny subject for tests: a whole tree whose environment keeps every promise that the measured child relies on.

`write_tree` writes it to a folder, with one fault or another when asked; real enough to be run as a real process.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parent / "src"
ENTRY = "tiny_subject.entry:make_env"
REWARDS = ("motion_body_pos", "motion_body_ori", "motion_body_lin_vel", "motion_body_ang_vel", "action_rate")
TERMINATIONS = ("anchor_pos", "time_out")
OBSERVATIONS = {"actor": ("body_pos", "last_action"), "critic": ("body_pos", "body_lin_vel")}

# What `src/tiny_subject/knobs.py` holds. Steps are counted from 1 over all calls of `env.step`, the warm-up included.
KNOBS: dict[str, Any] = {
    "update_us": 0,  # microseconds of busy work added to every update_state
    "fused": False,  # one body-state copy instead of four gathers, as the `after` arm of the published study
    "crash_at": 0,  # raise in this step
    "hang_at": 0,  # sleep for an hour in this step
    "kill_at": 0,  # end the own process with SIGKILL in this step
    "fake_time": None,  # (step, key, value): what the step reports as that timing instead of the truth
    "absent_key": None,  # a timing key that is never reported
    "wrong_reward": 0.0,  # added to reward/motion_body_pos
    "dead_resets": False,  # environments that ended are never reset
    "junk": False,  # print to standard output at import, at init and in every step
    "numba": False,  # compute one reward in a compiled kernel
    "compile_at": 0,  # compile one more kernel in this step
    "cache_file_at": 0,  # write a new file into the kernel cache in this step, as Warp does when it compiles
    "import_only": "",  # a module to import and not to use
    "chunk_size": 12,  # what the start-up tuner decided
    "idle_term": False,  # one reward term that the manager never calls, as managers do with a term without weight
    "decision": "miss",  # what the start-up tuner says of its cache
    "option": "",  # stands in the composed configuration
}


def write_tree(path: Path, **knobs: Any) -> Path:
    """Writes a tree to *path* (made if missing) and returns it.

    Args:
        path: The tree's folder; the subject lies in ``<path>/src/tiny_subject``.
        knobs: Any of `KNOBS`; the rest keep their honest defaults.

    Raises:
        KeyError: there is no such knob.
    """
    for name in knobs:
        KNOBS[name]
    package = path / "src" / "tiny_subject"
    shutil.copytree(SOURCE / "tiny_subject", package, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    lines = [f"{name} = {value!r}" for name, value in {**KNOBS, **knobs}.items()]
    header = '"""How this tree behaves; written by the test that made it."""\n\n'
    (package / "knobs.py").write_text(header + "\n".join(lines) + "\n", encoding="utf-8")
    return path


UNILAB_REGISTRY = '''"""Stands in for UniLab's registry: one task, made from the tiny subject."""

from tiny_subject.entry import make_env

ready = []


def ensure_registries():
    """Must be called before `make`, as in UniLab."""
    ready.append(True)


def make(name, *, sim_backend, env_cfg_override, num_envs):
    """Makes the environment of a task."""
    assert ready and name == "G1MotionTrackingSAC", name
    return make_env(None, sim_backend, num_envs, env_cfg_override["seed"], {})
'''
UNILAB_ADAPTER = '''"""Stands in for UniLab's adapter from a composed configuration to an environment's overrides."""


class BackendAdapter:
    """Takes the environment's part out of a composed configuration."""

    def __init__(self, cfg, *, root_dir, algo_name):
        self.cfg = cfg
        assert (root_dir / "conf" / algo_name).is_dir()

    def build_task_env_cfg_override(self):
        """The environment's part."""
        return dict(self.cfg.env)
'''


def write_unilab(path: Path, **knobs: Any) -> Path:
    """Writes a tree whose environment is reached through a package `unilab` and a Hydra tree, as in UniLab."""
    write_tree(path, **knobs)
    base = path / "src" / "unilab" / "base"
    base.mkdir(parents=True, exist_ok=True)
    for file, text in {
        base.parent / "__init__.py": "",
        base / "__init__.py": "",
        base / "registry.py": UNILAB_REGISTRY,
        base / "config_adapter.py": UNILAB_ADAPTER,
    }.items():
        file.write_text(text, encoding="utf-8")
    conf = path / "conf" / "sac"
    tasks = conf / "task" / "g1_motion_tracking"
    tasks.mkdir(parents=True, exist_ok=True)
    (conf / "config.yaml").write_text("defaults: [task: g1_motion_tracking/mujoco, _self_]\nenv: {seed: 1}\n")
    for backend in ("mujoco", "mjwarp"):
        (tasks / f"{backend}.yaml").write_text(f"# @package _global_\nsim_backend: {backend}\n")
    return path
