"""The door of the tree."""

import importlib
from pathlib import Path
from typing import Any

from tiny_subject import knobs
from tiny_subject.env import TinyEnv

if knobs.import_only:
    importlib.import_module(knobs.import_only)
if knobs.junk:
    print("Warp 1.14.0 initialized:\n   {not json")


def make_env(repo: Path, backend: str, num_envs: int, env_seed: int, options: dict[str, str]) -> Any:
    """Builds the environment of this tree."""
    return TinyEnv(backend, num_envs, env_seed, options)
