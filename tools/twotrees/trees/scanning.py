"""A look over a whole tree before it is measured: what in it would make a run fail later or measure something else."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from twotrees import digest
from twotrees.trees import lfs
from twotrees.trees.findings import NOTE, REFUSE, Finding
from twotrees.trees.tree import Tree

NUMBA_CACHES = (".nbi", ".nbc")
EXTENSION_MODULES = (".so", ".pyd", ".dylib")
SKIPPED = frozenset({".git"})


def scan(tree: Tree) -> tuple[Finding, ...]:
    """Looks over the files on disk.

    Returns:
        Unfetched LFS files, numba caches, bytecode, extension modules, links that leave the tree, names equal but
        for case.
    """
    files = tuple(_files(tree.path))
    return (*_pointers(tree), *_by_name(tree, files), *_links(tree, files), *_colliding(tree))


def _files(top: Path) -> Iterator[str]:
    for place, folders, names in os.walk(top):
        here = Path(place)
        links = [name for name in folders if (here / name).is_symlink()]
        folders[:] = sorted(
            name
            for name in folders
            if name not in SKIPPED and name not in links and not (here / name / "pyvenv.cfg").is_file()
        )
        for name in sorted([*names, *links]):
            yield (here / name).relative_to(top).as_posix()


def _pointers(tree: Tree) -> Iterator[Finding]:
    for name in lfs.unfetched(tree):
        yield Finding("lfs", name, f"LFS object not fetched: {name}", REFUSE)


def _by_name(tree: Tree, files: tuple[str, ...]) -> Iterator[Finding]:
    bytecode = 0
    for name in files:
        suffix = Path(name).suffix
        if suffix in NUMBA_CACHES:
            yield Finding("numba-cache", name, f"numba cache in the tree, which may hold old code: {name}", REFUSE)
        elif suffix == ".pyc":
            cached = "__pycache__" in Path(name).parts
            bytecode += cached
            if not cached:
                yield Finding("bytecode", name, f"bytecode without source would be imported: {name}", REFUSE)
        elif suffix in EXTENSION_MODULES and not (tree.path / name).is_symlink():
            told = digest.sha256_file(tree.path / name)
            yield Finding("extension-module", name, f"extension module {name}, sha256 {told}", NOTE)
    if bytecode:
        line = f"{bytecode} bytecode files in __pycache__; runs keep theirs in a fresh folder of their own"
        yield Finding("bytecode", "__pycache__", line, NOTE)


def _links(tree: Tree, files: tuple[str, ...]) -> Iterator[Finding]:
    top = tree.path.resolve()
    for name in files:
        path = tree.path / name
        if path.is_symlink() and not path.resolve().is_relative_to(top):
            yield Finding("link-outside", name, f"link leaves the tree: {name} -> {path.readlink()}", NOTE)


def _colliding(tree: Tree) -> Iterator[Finding]:
    same: defaultdict[str, list[str]] = defaultdict(list)
    for name in tree.entries():
        same[name.casefold()].append(name)
    for names in same.values():
        if len(names) > 1:
            together = ", ".join(sorted(names))
            line = f"names equal but for case, of which some systems keep only one: {together}"
            yield Finding("case-collision", names[0], line, NOTE)
