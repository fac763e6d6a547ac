"""Files on disk against the blobs of a commit, by content: git's index, which can be told to look away, is not asked.

A file equals its blob when its raw bytes do, or when it differs only as the tree's own attributes, a line-ending
setting, or Git LFS make it differ on checkout.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from twotrees import digest
from twotrees.trees import git, lfs
from twotrees.trees.tree import Entry, Tree

RAW = "raw"
FILTERED = "filtered"
LINE_ENDINGS = "line endings"
LFS = "lfs"


def blob_on_disk(path: Path) -> str | None:
    """The blob id of a file's raw bytes (of a link, of its target's name), or None if there is no such file."""
    try:
        return digest.git_blob_id(os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes())
    except OSError:
        return None


def equality(tree: Tree, name: str, blob: str) -> str | None:
    """How the tree's file *name* equals *blob*: RAW, FILTERED, LINE_ENDINGS, LFS, or None when it does not."""
    return equalities(tree, {name: blob}).get(name)


def equalities(tree: Tree, wanted: Mapping[str, str]) -> dict[str, str]:
    """How each file equals its blob; those that differ or are missing are left out.

    Args:
        tree: The tree.
        wanted: Path inside the tree -> blob id.
    """
    found: dict[str, str] = {}
    doubtful: list[str] = []
    for name, blob in wanted.items():
        here = blob_on_disk(tree.path / name)
        if here == blob:
            found[name] = RAW
        elif here is not None and not (tree.path / name).is_symlink():
            doubtful.append(name)
    filtered = _filtered(tree, doubtful)
    for name in doubtful:
        data = (tree.path / name).read_bytes()
        if filtered.get(name) == wanted[name]:
            found[name] = FILTERED
        elif b"\r\n" in data and digest.git_blob_id(data.replace(b"\r\n", b"\n")) == wanted[name]:
            found[name] = LINE_ENDINGS
        elif _is_lfs_content(tree, name, data, wanted[name]):
            found[name] = LFS
    return found


def _filtered(tree: Tree, names: Iterable[str]) -> dict[str, str]:
    """The blob ids that git would give the files, after the filters that the tree's attributes ask for."""
    found: dict[str, str] = {}
    for name in names:
        path = tree.path / name
        done = git.call(["hash-object", f"--path={path.name}", "--", path.name], cwd=path.parent)
        if done.ok:
            found[name] = done.text
    return found


def _is_lfs_content(tree: Tree, name: str, data: bytes, blob: str) -> bool:
    owner = max(
        (item for item in tree.submodules if name.startswith(f"{item.path}/")),
        key=lambda item: len(item.path),
        default=None,
    )
    committed = git.call(["cat-file", "blob", blob], git_dir=owner.git_dir if owner else tree.git_dir)
    pointer = lfs.pointer(committed.stdout) if committed.ok else None
    return pointer is not None and pointer.size == len(data) and pointer.sha256 == digest.sha256_bytes(data)


def changed(tree: Tree) -> dict[str, str]:
    """Every tracked file whose content is not the commit's -> its blob id on disk, "" if it is gone."""
    files = {name: entry.blob for name, entry in tree.entries().items() if _has_content(entry)}
    equal = equalities(tree, files)
    return {name: blob_on_disk(tree.path / name) or "" for name in sorted(files) if name not in equal}


def _has_content(entry: Entry) -> bool:
    return entry.mode != "160000"
