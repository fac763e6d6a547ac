"""An arm's source in, a fresh tree on disk out; and the way back.

A pinned commit is checked out with `git worktree add --detach` from a repository in the cache; a `path` tree is
measured where it lies. Every worktree is in the registry from before it exists until after it is gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from twotrees.errors import PinsDiffer, UsageError
from twotrees.trees import clone, git, lfs, local, registry, sources, submodules, throwaway, wheel
from twotrees.trees.sources import GitSource, OverlaySource, PathSource, SourceLike, WheelSource
from twotrees.trees.tree import Submodule, Tree, tree_of

_ARM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Commitment:
    """What a source was resolved to, before any tree exists.

    Attributes:
        kind: The source's kind.
        commit: 40 digits; for a path that is no repository, the id that its files would have.
        labels: What every report has to say.
        notes: What a reader may want to know.
        git_dir: The repository that holds the commit.
        source: The source as it may be stored in a bundle.
    """

    kind: str
    commit: str
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    git_dir: Path
    source: dict[str, Any]


def quiet(_line: str) -> None:
    """Says nothing."""


def resolve(source: SourceLike, *, base: Path, say: Callable[[str], None] = quiet) -> Commitment:
    """Checks that a source can be had, and finds its commit, without making a tree.

    Args:
        source: The study's source.
        base: The folder against which its relative paths stand.
        say: Told, in one line, about work that may take long.

    Raises:
        UsageError: it cannot be had.
        PinsDiffer: it is not what the study pins.
    """
    return _commitment(sources.typed(source, base), say)


def _commitment(source: sources.Source, say: Callable[[str], None]) -> Commitment:
    if isinstance(source, OverlaySource):
        return _overlay(source)
    if isinstance(source, WheelSource):
        return _wheel(source, say)
    if isinstance(source, GitSource):
        say(f"looking up {source.commit} in {source.shown}")
        found = clone.clone_of(source)
        resolved = clone.resolve(found, source.commit)
        record = {"kind": "git", "url": source.shown, "asked": source.commit}
        return Commitment("git", resolved.commit, resolved.labels, resolved.notes, found.git_dir, record)
    return _path(source)


def _overlay(source: OverlaySource) -> Commitment:
    repository = throwaway.repository()
    commit = throwaway.commit_files(repository, throwaway.compose(source.folders))
    shown = " + ".join(source.shown)
    _demand_pin(commit, source.commit, f"the files of {shown}", "restore the files")
    labels = () if source.commit else ("commit not pinned by the study",)
    record = {"kind": "overlay", "base": source.shown[0], "overlays": list(source.shown[1:]), "asked": source.commit}
    return Commitment("overlay", commit, labels, (), repository, record)


def _wheel(source: WheelSource, say: Callable[[str], None]) -> Commitment:
    say(f"looking up {source.name}=={source.version}")
    file = wheel.obtain(source)
    repository = throwaway.repository()
    commit, notes = wheel.commit(file, repository)
    _demand_pin(commit, source.commit, f"the files of {file.filename}", "take the pinned wheel")
    labels = () if source.sha256 else ("wheel hash not pinned by the study",)
    record = {
        "kind": "wheel",
        "requirement": f"{source.name}=={source.version}",
        "filename": file.filename,
        "sha256": file.sha256,
        "asked": source.sha256,
    }
    return Commitment("wheel", commit, labels, notes, repository, record)


def _path(source: PathSource) -> Commitment:
    found = local.look(source.path)
    record = {"kind": "path", "path": source.shown}
    return Commitment("path", found.commit, found.labels, found.notes, found.git_dir, record)


def _demand_pin(commit: str, pinned: str | None, subject: str, restore: str) -> None:
    if pinned is not None and pinned != commit:
        raise PinsDiffer(
            f"{subject} give commit {commit}, but the study pins {pinned}",
            key="commit",
            mend=f"if the change is meant, write commit: {commit} into the study; else {restore}",
        )


def make(
    source: SourceLike,
    arm: str,
    work: Path,
    *,
    base: Path,
    allow_dirty: bool = False,
    say: Callable[[str], None] = quiet,
) -> Tree:
    """Makes the tree of one arm.

    Args:
        source: The study's source.
        arm: The arm's name.
        work: The campaign's work folder; the worktree becomes ``work/trees/ARM``.
        base: The folder against which the source's relative paths stand.
        allow_dirty: Whether a `path` tree that differs from its commit may be measured; it is labelled.
        say: Told, in one line, about work that may take long.

    Raises:
        UsageError: the source cannot be had, the tree is dirty without leave, or the place is taken.
        PinsDiffer: the source is not what the study pins.
    """
    if not _ARM.fullmatch(arm):
        raise UsageError(f"{arm!r} cannot name an arm", mend="use letters, digits, dot, dash and underscore")
    concrete = sources.typed(source, base)
    commitment = _commitment(concrete, say)
    if isinstance(concrete, PathSource):
        return _in_place(concrete, arm, commitment, allow_dirty)
    inner: tuple[submodules.Found, ...] = ()
    if isinstance(concrete, GitSource):
        say(f"fetching the files of {commitment.commit}")
        parent = clone.clone_of(concrete)
        clone.fetch_blobs(parent, commitment.commit)
        inner = tuple(submodules.of(parent, commitment.commit))
    place = work.absolute() / "trees" / arm
    _clear(place)
    try:
        _add(place, commitment.git_dir, commitment.commit, arm)
        for found in inner:
            _add(_inside(place, found.path), found.clone.git_dir, found.commit, arm)
    except BaseException:
        _discard_under(place)
        raise
    tree = Tree(
        arm=arm,
        path=place,
        commit=commitment.commit,
        tree_id=tree_of(commitment.git_dir, commitment.commit),
        kind=commitment.kind,
        labels=commitment.labels,
        notes=commitment.notes,
        submodules=tuple(
            Submodule(found.path, found.clone.shown, found.commit, found.clone.git_dir) for found in inner
        ),
        git_dir=commitment.git_dir,
        source=commitment.source,
    )
    return _with_lfs(tree, concrete, inner, say) if isinstance(concrete, GitSource) else tree


def _with_lfs(tree: Tree, source: GitSource, inner: Sequence[submodules.Found], say: Callable[[str], None]) -> Tree:
    """The tree with its LFS files fetched, or with the reason why they are not; `scan` then names each."""
    pointers = lfs.unfetched(tree)
    if not pointers:
        return tree
    say(f"fetching {len(pointers)} LFS files")
    parts = [("", clone.clone_of(source)), *((found.path, found.clone) for found in inner)]
    owners = {max((path for path, _ in parts if _within(name, path)), key=len) for name in pointers}
    reasons = {lfs.fetch(tree.path / path, part.environment) for path, part in parts if path in owners} - {""}
    return replace(tree, notes=(*tree.notes, *(f"LFS: {reason}" for reason in sorted(reasons))))


def _within(name: str, folder: str) -> bool:
    return not folder or name.startswith(f"{folder}/")


def _in_place(source: PathSource, arm: str, commitment: Commitment, allow_dirty: bool) -> Tree:
    tree = Tree(
        arm=arm,
        path=source.path,
        commit=commitment.commit,
        tree_id=tree_of(commitment.git_dir, commitment.commit),
        kind="path",
        labels=commitment.labels,
        notes=commitment.notes,
        submodules=local.look(source.path).submodules,
        git_dir=commitment.git_dir,
        source=commitment.source,
    )
    edits = local.edits(tree)
    if edits and not allow_dirty:
        raise UsageError(
            f"the tree is dirty: {local.listed(edits)} differ from commit {tree.commit}",
            file=source.shown,
            mend="commit the changes, or ask for a dirty run, which is labelled and carries its diff",
        )
    return replace(tree, edits=edits)


def as_dirty(tree: Tree) -> Tree:
    """The tree as it lies now, its differences from the commit taken for wanted: labelled, and carried as a diff."""
    return replace(tree, edits=local.edits(tree))


def prepared(tree: Tree) -> Tree:
    """The tree after the study's prepare commands: what they made and could be imported is known from now on.

    Tracked files that they changed stay changed, and refuse the run when they are imported.
    """
    return replace(tree, prepared=dict(sorted(local.importable_extras(tree, ignored=True).items())))


def _clear(place: Path) -> None:
    """Takes away what an earlier attempt at this place left; nothing that twotrees did not make is touched."""
    entry = registry.entry_of(place)
    if entry is not None and entry.owner_lives and not entry.own:
        raise UsageError(
            f"is in use by process {entry.pid}", file=place, mend="end that campaign, or use another work folder"
        )
    _discard_under(place)
    if place.exists() or place.is_symlink():
        raise UsageError("is in the way: twotrees did not make it", file=place, mend="move it away")


def _add(place: Path, git_dir: Path, commit: str, arm: str) -> None:
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"cannot be made: {fault.strerror or fault}", file=place.parent) from None
    registry.note(place, git_dir, arm)
    git.call(["worktree", "prune", "--expire=now"], git_dir=git_dir)
    git.ask(
        ["worktree", "add", "--detach", "--force", "-q", str(place), commit],
        what=f"the worktree of {arm} cannot be made",
        git_dir=git_dir,
        timeout_s=git.CHECKOUT_S,
    )


def _inside(tree: Path, path: str) -> Path:
    """The place of a submodule, refused when a link in the tree leads it outside."""
    place = tree / path
    if not place.resolve().is_relative_to(tree.resolve()):
        raise UsageError(f"submodule {path} leads outside the tree")
    return place


def remove(tree: Tree) -> None:
    """Takes a tree made by :func:`make` off the disk; a `path` tree stays.

    Raises:
        UsageError: something of it cannot be removed.
    """
    if tree.kind != "path":
        _discard_under(tree.path)


def _discard_under(place: Path) -> None:
    """Takes away the worktree at *place* and those of submodules inside it, the innermost first."""
    inside = [entry for entry in registry.entries() if entry.path.is_relative_to(place)]
    for entry in sorted(inside, key=lambda entry: len(entry.path.parts), reverse=True):
        registry.discard(entry)
