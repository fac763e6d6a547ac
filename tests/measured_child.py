"""The measured child as what it is: one file, run as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tiny_tree import ENTRY

PROFILER = Path(__file__).resolve().parents[1] / "tools" / "profile_update_state.py"
FLAGS = {
    "backend": "mujoco",
    "num-envs": "16",
    "warmup": "2",
    "measure": "5",
    "action-seed": "20260826",
    "entry": ENTRY,
}


@dataclass(frozen=True)
class Ran:
    """What came of one child.

    Attributes:
        exit: Its exit status.
        out: Its standard output.
        err: Its standard error.
        file: The result file it was told to write.
    """

    exit: int
    out: str
    err: str
    file: Path

    @property
    def result(self) -> dict[str, Any]:
        """The result that it wrote."""
        assert self.exit == 0, self.err
        return dict(json.loads(self.file.read_text(encoding="utf-8")))

    @property
    def ours(self) -> dict[str, Any]:
        """What our profiler adds to the published keys."""
        return dict(self.result["twotrees"])


def arguments(tree: Path, out: Path, *more: str, **flags: str | None) -> list[str]:
    """The child's words; ``num_envs="4"`` replaces a flag, None leaves it out."""
    given = {**FLAGS, **{name.replace("_", "-"): value for name, value in flags.items()}}
    words = [word for name, value in given.items() if value is not None for word in (f"--{name}", value)]
    return ["--repo", str(tree), *words, "--out", str(out), *more]


def environment(**more: str) -> dict[str, str]:
    """The environment of a run, without a variable of ours that could change it."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return {**kept, "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_NUM_THREADS": "2", **more}


def run_child(
    tree: Path,
    out: Path,
    *more: str,
    python: str = sys.executable,
    env: dict[str, str] | None = None,
    profiler: Path = PROFILER,
    **flags: str | None,
) -> Ran:
    """Runs the child in *tree*'s parent folder."""
    argv = [python, str(profiler), *arguments(tree, out, *more, **flags)]
    variables = environment(**(env or {}))
    done = subprocess.run(argv, env=variables, cwd=tree.parent, capture_output=True, text=True, timeout=120)
    return Ran(done.returncode, done.stdout, done.stderr, out)
