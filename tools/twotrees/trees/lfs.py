"""Git LFS pointers: told apart from the files they stand for, fetched where git-lfs is there to do it.

A checkout without git-lfs ends with status 0 and leaves the pointers in place; what loads them later fails obscurely.
"""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from twotrees.trees import git
from twotrees.trees.tree import Tree

MAX_POINTER_BYTES = 1024
_POINTER = re.compile(
    rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/v1\n"
    rb"(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d+)\n?"
)


@dataclass(frozen=True)
class Pointer:
    """What an LFS pointer says.

    Attributes:
        sha256: The SHA-256 of the file that it stands for.
        size: That file's size in bytes.
    """

    sha256: str
    size: int


def pointer(data: bytes) -> Pointer | None:
    """The pointer in *data*, or None if it is anything else."""
    match = _POINTER.match(data) if len(data) <= MAX_POINTER_BYTES else None
    return None if match is None else Pointer(match[1].decode(), int(match[2]))


def pointer_at(path: Path) -> Pointer | None:
    """The pointer in the file at *path*, or None."""
    if path.is_symlink() or not path.is_file() or path.stat().st_size > MAX_POINTER_BYTES:
        return None
    return pointer(path.read_bytes())


def unfetched(tree: Tree) -> dict[str, Pointer]:
    """The tracked files of the tree that are still pointers."""
    found: dict[str, Pointer] = {}
    for name, entry in tree.entries().items():
        if entry.mode.startswith("100") and (here := pointer_at(tree.path / name)) is not None:
            found[name] = here
    return found


def fetch(worktree: Path, environment: dict[str, str]) -> str:
    """Asks git-lfs, if it is installed, to put the real files in place.

    Returns:
        The empty string, or why they are not there.
    """
    if shutil.which("git-lfs") is None:
        return "git-lfs is not installed"
    settings = {"clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f", "process": "git-lfs filter-process"}
    options = [part for key, value in settings.items() for part in ("-c", f"filter.lfs.{key}={value}")]
    environment = {name: value for name, value in environment.items() if name != "GIT_LFS_SKIP_SMUDGE"}
    done = git.call([*options, "lfs", "pull"], cwd=worktree, env=environment, timeout_s=git.TRANSPORT_S)
    return "" if done.ok else git.reason(done)
