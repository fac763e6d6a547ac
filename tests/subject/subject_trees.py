"""An arm's tree on disk, laid from the overlays, and children that run in it with caches of their own."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

SUBJECT = Path(__file__).resolve().parents[2] / "subject"
DRIVE = Path(__file__).with_name("drive.py")
LAYERS = {"before": ("before",), "after": ("before", "after"), "next": ("before", "after", "next")}


@dataclass(frozen=True)
class Tree:
    """An arm's tree on disk, and private caches for the children that run in it."""

    path: Path
    caches: Path

    def run(self, *argv: str, timeout_s: float = 300.0, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run Python in this tree's environment; the output is text."""
        env = {
            name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "OMP", "XDG", "PYTHON"))
        }
        env |= {
            "PYTHONPATH": str(self.path / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "XDG_CACHE_HOME": str(self.caches),
            # Warp's kernels are the same in all arms and take a minute to compile.
            "WARP_CACHE_PATH": str(self.path.parent.parent / "warp"),
            **variables,
        }
        return subprocess.run(
            [sys.executable, *argv], env=env, cwd=self.caches, capture_output=True, text=True, timeout=timeout_s
        )

    def drive(self, out: Path, **settings: object) -> dict[str, np.ndarray]:
        """Step an environment in a child and return everything that it recorded."""
        finished = self.run(str(DRIVE), str(self.path), str(out), json.dumps(settings))
        assert finished.returncode == 0, finished.stderr
        with np.load(out) as archive:
            return dict(archive)


def lay_tree(arm: str, root: Path) -> Tree:
    """Lay an arm's overlays over one another below `root`."""
    path, caches = root / "tree", root / "caches"
    for layer in LAYERS[arm]:
        shutil.copytree(SUBJECT / layer, path, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    caches.mkdir(parents=True)
    return Tree(path, caches)
