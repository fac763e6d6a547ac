"""A checked-out tree as data: which arm, which commit, where on disk, and the blob id of every file of that commit."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from twotrees.trees import git

DIRTY_LABEL = "dirty tree"
UNPINNED_LABEL = "unpinned"


@dataclass(frozen=True)
class Entry:
    """One file of a commit.

    Attributes:
        mode: Git's mode: 100644, 100755, 120000 (link) or 160000 (submodule).
        blob: The object id; of a submodule its commit.
    """

    mode: str
    blob: str


@dataclass(frozen=True)
class Submodule:
    """A submodule, checked out inside the tree.

    Attributes:
        path: Its place in the tree.
        url: Where it came from, as it may be stored.
        commit: 40 digits.
        git_dir: The repository that holds it.
    """

    path: str
    url: str
    commit: str
    git_dir: Path


@dataclass(frozen=True)
class Tree:
    """An arm's source on disk.

    Attributes:
        arm: The arm's name.
        path: The folder, absolute.
        commit: 40 digits.
        tree_id: The id of the commit's tree object: equal trees have equal ids whatever their history.
        kind: overlay, git, wheel or path.
        labels: What every report has to say about it; empty for a pinned commit.
        notes: What a reader may want to know.
        submodules: Every submodule, also nested ones.
        git_dir: The repository in which the commit lies.
        source: The source as it may be stored in a bundle.
        edits: For a tree measured dirty on request: each file that differs from the commit -> its blob id,
            "" if deleted.
        prepared: Files that the study's prepare commands made and that could be imported -> blob id.
    """

    arm: str
    path: Path
    commit: str
    tree_id: str
    kind: str
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    submodules: tuple[Submodule, ...]
    git_dir: Path
    source: Mapping[str, Any]
    edits: Mapping[str, str] = field(default_factory=dict)
    prepared: Mapping[str, str] = field(default_factory=dict)

    def entries(self) -> dict[str, Entry]:
        """Every file of the commit and of its submodules: path inside the tree -> mode and blob id."""
        found = dict(commit_entries(self.git_dir, self.commit))
        for submodule in self.submodules:
            inner = commit_entries(submodule.git_dir, submodule.commit)
            found |= {f"{submodule.path}/{name}": entry for name, entry in inner.items()}
        return found

    def blobs(self) -> dict[str, str]:
        """Every file of the commit and of its submodules: path inside the tree -> blob id."""
        return {name: entry.blob for name, entry in self.entries().items() if entry.mode != "160000"}


@functools.lru_cache(maxsize=64)  # a commit never changes, so neither does its listing
def commit_entries(git_dir: Path, commit: str) -> Mapping[str, Entry]:
    """The files of a commit, without those of its submodules.

    Raises:
        UsageError: the commit cannot be read.
    """
    listing = git.ask(
        ["ls-tree", "-r", "-z", "--full-tree", commit], what=f"commit {commit} cannot be listed", git_dir=git_dir
    )
    found: dict[str, Entry] = {}
    for row in listing.split(b"\0")[:-1]:
        head, _, name = row.partition(b"\t")
        mode, _, blob = head.decode().split(" ")
        found[name.decode("utf-8", "surrogateescape")] = Entry(mode, blob)
    return found


def tree_of(git_dir: Path, commit: str) -> str:
    """The id of the commit's tree object."""
    what = f"commit {commit} cannot be read"
    return git.ask(["rev-parse", "--verify", f"{commit}^{{tree}}"], what=what, git_dir=git_dir).decode().strip()
