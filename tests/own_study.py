"""A study of the user's own in a folder of its own, measured by real processes from real git worktrees."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tiny_tree import ENTRY, write_tree

GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]


@dataclass(frozen=True)
class OwnStudy:
    """A folder with `conf/study/tiny.yaml` and a git repository whose commits are the arms.

    Attributes:
        folder: Where `twotrees` is called.
        commits: Arm to commit id.
    """

    folder: Path
    commits: dict[str, str]

    def twotrees(self, *words: str, check: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
        """Runs the CLI as a user would, in this folder, with a home of its own."""
        done = subprocess.run(
            [sys.executable, "-m", "twotrees.cli", *words],
            cwd=self.folder,
            env=self.env(**env),
            capture_output=True,
            text=True,
            timeout=300,
        )
        if check is not None:
            assert done.returncode == check, done.stdout + done.stderr
        return done

    def env(self, **more: str) -> dict[str, str]:
        """The user's environment, with home, caches, state and temporary files inside the folder."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        own = {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "TMPDIR": str(home),
            "TWOTREES_LOCK": str(home / "lock"),
            "GIT_CONFIG_GLOBAL": os.devnull,
        }
        return {**os.environ, **own, **more}

    def bundles(self) -> list[Path]:
        """Every sealed bundle, oldest first."""
        return sorted(path for path in (self.folder / "results").iterdir() if not path.name.startswith("."))

    def change(self, **keys: Any) -> None:
        """Changes keys of the study's configuration file."""
        path = self.folder / "conf" / "study" / "tiny.yaml"
        path.write_text(yaml.safe_dump({**yaml.safe_load(path.read_text()), **keys}, sort_keys=False))


def commit(repository: Path, **knobs: Any) -> str:
    """Commits one version of the tiny subject and returns its id."""
    write_tree(repository, **knobs)
    subprocess.run([*GIT, "add", "-A"], cwd=repository, check=True)
    subprocess.run([*GIT, "commit", "-qm", f"knobs {knobs}"], cwd=repository, check=True)
    head = subprocess.run([*GIT, "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True)
    return head.stdout.strip()


def write_study(folder: Path, before: dict[str, Any] | None = None, after: dict[str, Any] | None = None) -> OwnStudy:
    """Writes an own study; *before* and *after* are the knobs of each arm's tree."""
    repository = folder / "subject"
    repository.mkdir()
    subprocess.run([*GIT, "init", "-q", "-b", "main"], cwd=repository, check=True)
    commits = {
        "before": commit(repository, **({"update_us": 3000} if before is None else before)),
        "after": commit(repository, **({"update_us": 1000} if after is None else after)),
    }
    study = {
        "name": "tiny",
        "title": "the tiny subject",
        "arms": ["before", "after"],
        "trees": {arm: {"kind": "git", "url": "subject", "commit": found} for arm, found in commits.items()},
        "environment": sys.executable,
        "scripts": {"profiler": "tools/profile_update_state.py", "aggregator": "tools/aggregate_update_state.py"},
        "command": [
            *("{python}", "{profiler}", "--repo", "{tree}", "--backend", "{backend}"),
            *("--num-envs", "{num_envs}", "--warmup", "{warmup}", "--measure", "{measure}"),
            *("--action-seed", "{action_seed}", "--env-seed", "{env_seed}"),
            *("--entry", ENTRY, "{options}", "--out", "{out}"),
        ],
    }
    (folder / "conf" / "study").mkdir(parents=True)
    (folder / "conf" / "study" / "tiny.yaml").write_text(yaml.safe_dump(study, sort_keys=False))
    return OwnStudy(folder, commits)
