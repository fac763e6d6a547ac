"""A local folder measured where it lies: its commit if it is a repository, else the id that its files would have.

Such a tree is labelled unpinned, because nobody else can get it; whether it is dirty is found by content.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from twotrees.trees import clone, compare, git, throwaway
from twotrees.trees.tree import UNPINNED_LABEL, Submodule, Tree, commit_entries

IMPORTABLE = (".py", ".so", ".pyd", ".pyc", ".pth")
LISTED = 3


@dataclass(frozen=True)
class Look:
    """What a local folder is.

    Attributes:
        commit: 40 digits.
        labels: What every report has to say.
        notes: What a reader may want to know.
        git_dir: The repository that holds the commit.
        submodules: Those of its submodules that are checked out.
    """

    commit: str
    labels: tuple[str, ...]
    notes: tuple[str, ...]
    git_dir: Path
    submodules: tuple[Submodule, ...]


def look(folder: Path) -> Look:
    """Finds out what *folder* is, and changes nothing in it.

    Raises:
        UsageError: it is no repository and its files cannot make a tree.
    """
    top = git.call(["rev-parse", "--show-toplevel"], cwd=folder)
    if top.ok and Path(top.text).resolve() == folder.resolve():
        git_dir = _git_dir(folder)
        head = clone.commit_in(git_dir, "HEAD")
        if head is not None:
            return Look(head, (UNPINNED_LABEL,), (), git_dir, tuple(_checked_out(folder, git_dir, head, "")))
    repository = throwaway.repository()
    commit = throwaway.commit_files(repository, throwaway.compose((folder,)))
    note = "no repository with a commit of 40 digits: the commit is made from the files as they were"
    return Look(commit, (UNPINNED_LABEL,), (note,), repository, ())


def _git_dir(folder: Path) -> Path:
    what = "the repository cannot be read"
    return Path(git.ask(["rev-parse", "--absolute-git-dir"], what=what, cwd=folder).decode().strip())


def _checked_out(folder: Path, git_dir: Path, commit: str, prefix: str) -> list[Submodule]:
    found: list[Submodule] = []
    for name, entry in commit_entries(git_dir, commit).items():
        inner = folder / name
        if entry.mode != "160000" or not (inner / ".git").exists():
            continue
        inner_git_dir = _git_dir(inner)
        if clone.commit_in(inner_git_dir, entry.blob) is None:
            continue
        address = git.call(["config", "--get", "remote.origin.url"], cwd=inner).text
        shown = address if "://" in address else Path(address).name
        found.append(Submodule(f"{prefix}{name}", git.redacted(shown), entry.blob, inner_git_dir))
        found += _checked_out(inner, inner_git_dir, entry.blob, f"{prefix}{name}/")
    return found


def untracked(tree: Tree, *, ignored: bool) -> list[str]:
    """The files that git does not know, but for bytecode caches and virtual environments."""
    if not (tree.path / ".git").exists():
        return []
    exclude = [] if ignored else ["--exclude-standard"]
    listing = git.call(["ls-files", "--others", *exclude, "-z"], cwd=tree.path)
    names = (raw.decode("utf-8", "surrogateescape") for raw in listing.stdout.split(b"\0")[:-1])
    return [name for name in names if not name.endswith("/") and not _is_litter(tree, PurePosixPath(name))]


def _is_litter(tree: Tree, name: PurePosixPath) -> bool:
    return any(
        parent.name in throwaway.LITTER_FOLDERS or (tree.path / parent / "pyvenv.cfg").is_file()
        for parent in name.parents
        if parent.name
    )


def importable_extras(tree: Tree, *, ignored: bool) -> dict[str, str]:
    """The untracked files that could be imported -> blob id on disk."""
    names = (name for name in untracked(tree, ignored=ignored) if name.endswith(IMPORTABLE))
    return {name: compare.blob_on_disk(tree.path / name) or "" for name in names}


def differing(tree: Tree) -> list[str]:
    """Every file by which the tree differs from its commit: changed, deleted, or untracked and not ignored."""
    return sorted({*compare.changed(tree), *untracked(tree, ignored=False)})


def edits(tree: Tree) -> Mapping[str, str]:
    """What makes a local tree dirty: tracked files that differ, and untracked, unignored ones that could be imported.

    Returns:
        Path -> blob id on disk, "" if deleted.
    """
    return dict(sorted((importable_extras(tree, ignored=False) | compare.changed(tree)).items()))


def listed(names: Mapping[str, str]) -> str:
    """The first few names, and how many more there are."""
    first = list(names)[:LISTED]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")
