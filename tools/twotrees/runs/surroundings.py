"""What a run may see: the environment variables it gets, the private folders behind them, and what was scrubbed.

Every variable is either set here, passed through because the study documents it, or scrubbed and listed.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twotrees.study import Threads

# Needed to load drivers and libraries; recorded in the fingerprint like every other that passes.
ALWAYS_PASSED = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH", "NVIDIA_VISIBLE_DEVICES", "SYSTEMROOT")
NUMBA_THREADS_AT_MOST = 8


@dataclass(frozen=True)
class Private:
    """An arm's own folders: nothing in them is shared with another arm or with the user.

    Attributes:
        root: Holds the rest.
        cache_root: Holds the tuner's cache instead, where that is shared between arms.
    """

    root: Path
    cache_root: Path | None = None

    @property
    def cache(self) -> Path:
        """XDG_CACHE_HOME: where a start-up tuner keeps what it decided."""
        return (self.cache_root or self.root) / "xdg-cache"

    def make(self) -> None:
        """Creates the folders, empty where they do not exist yet."""
        for name in ("home", "xdg-config", "xdg-data", "xdg-state", "tmp", "bytecode", "numba", "warp"):
            (self.root / name).mkdir(parents=True, exist_ok=True)
        self.cache.mkdir(parents=True, exist_ok=True)

    def restore_cache(self, snapshot: Path) -> None:
        """Makes the tuner's cache a copy of *snapshot* again, whatever the last run wrote there."""
        shutil.rmtree(self.cache, ignore_errors=True)
        shutil.copytree(snapshot, self.cache)


def resolved_threads(threads: Threads, usable: int) -> dict[str, Any]:
    """What `auto` comes to on a host with *usable* cores (affinity and quota counted in)."""
    return {
        "numba": min(NUMBA_THREADS_AT_MOST, usable) if threads.numba == "auto" else threads.numba,
        "numba_layer": threads.numba_layer,
        "blas": usable if threads.blas == "auto" else threads.blas,
        "physics": usable if threads.physics == "auto" else threads.physics,
    }


def shared_cores(threads: Mapping[str, Any]) -> frozenset[int] | None:
    """The cores on which live workers take turns: one for a subject without threads, else all that may be used.

    One core for all of them means equal caches and clocks; a pool of threads needs the same set in every arm.
    """
    if not hasattr(os, "sched_getaffinity"):
        return None
    usable = sorted(os.sched_getaffinity(0))
    alone = all(threads[kind] == 1 for kind in ("numba", "blas", "physics"))
    return frozenset(usable[-1:] if alone else usable)


def variables(
    tree: Path, private: Private, interpreter: Path, threads: Mapping[str, Any], passed: Sequence[str]
) -> dict[str, str]:
    """The whole environment of one run.

    Args:
        tree: The arm's tree; ``<tree>/src`` is the `PYTHONPATH`.
        private: The arm's own folders.
        interpreter: Its folder leads the `PATH`.
        threads: As `resolved_threads` gives them.
        passed: Names that the study passes through, if they are set here.
    """
    root = private.root
    result = {
        "PATH": os.pathsep.join([str(interpreter.parent), "/usr/local/bin", "/usr/bin", "/bin"]),
        "HOME": str(root / "home"),
        "XDG_CACHE_HOME": str(private.cache),
        "XDG_CONFIG_HOME": str(root / "xdg-config"),
        "XDG_DATA_HOME": str(root / "xdg-data"),
        "XDG_STATE_HOME": str(root / "xdg-state"),
        "TMPDIR": str(root / "tmp"),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(tree / "src"),
        "PYTHONPYCACHEPREFIX": str(root / "bytecode"),
        "PYTHONNOUSERSITE": "1",
        "PYTHONHASHSEED": "0",
        "NUMBA_CACHE_DIR": str(root / "numba"),
        "NUMBA_NUM_THREADS": str(threads["numba"]),
        "NUMBA_THREADING_LAYER": str(threads["numba_layer"]),
        "OMP_NUM_THREADS": str(threads["blas"]),
        "OPENBLAS_NUM_THREADS": str(threads["blas"]),
        "MKL_NUM_THREADS": str(threads["blas"]),
        "VECLIB_MAXIMUM_THREADS": str(threads["blas"]),
        "WARP_CACHE_PATH": str(root / "warp"),
        "MPLCONFIGDIR": str(root / "xdg-config"),
    }
    for name in (*ALWAYS_PASSED, *passed):
        if name in os.environ:
            result.setdefault(name, os.environ[name])
    return result


def scrubbed(given: Mapping[str, str]) -> list[str]:
    """Names that are set for us and that a run does not see."""
    return sorted(name for name in os.environ if name not in given)


@dataclass(frozen=True)
class Roots:
    """The folders of this machine that records name by a symbol, so that a bundle carries no local path.

    Attributes:
        folders: Symbol to folder, for example ``WORK`` to the campaign's folder.
    """

    folders: Mapping[str, Path]

    def symbolic(self, value: Any) -> Any:
        """*value* with each known folder at the start of a path replaced by ``${SYMBOL}``, deep inside lists and dicts.

        The longest folder wins, so that the work folder inside the home is the work folder.
        """
        if isinstance(value, dict):
            return {key: self.symbolic(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.symbolic(item) for item in value]
        if not isinstance(value, str):
            return value
        for symbol, folder in sorted(self.folders.items(), key=lambda item: -len(str(item[1]))):
            text = str(folder)
            if len(text) > 1:
                # Whole path parts only: with the home /home/a, /data/home/a/x and /home/a2 are others.
                value = re.sub(rf"(?<![\w.-]){re.escape(text)}(?![\w-]|\.\w)", f"${{{symbol}}}", value)
        return value


def roots(work: Path, toolkit: Path, interpreter: Path, tree: Path | None = None) -> Roots:
    """The symbols of a campaign: its work folder, the toolkit, the interpreter's environment, the home; an arm's tree.

    An arm's own tree is ``TREE`` wherever it lies, so that the records of two arms read alike.
    """
    folders = {
        "WORK": work,
        "TOOLKIT": toolkit,
        "VENV": interpreter.parent.parent,
        "PYTHON": Path(sys.base_prefix),
        "HOME": Path.home(),
    }
    return Roots(folders if tree is None else {"TREE": tree, **folders})
