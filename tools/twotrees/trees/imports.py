"""What a measured child imported, against the commit that the arm names: is this the code that was to be measured?

The child reports each module of the subject; every file is read again here and compared by blob id, so that neither an
editable install, nor an edit after the checkout, nor a flag in git's index lets other code pass.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twotrees import digest
from twotrees.trees import compare
from twotrees.trees.findings import NOTE, REFUSE, Finding
from twotrees.trees.tree import Tree


@dataclass(frozen=True)
class Imported:
    """One module as the child reported it.

    Attributes:
        module: Its name.
        path: Its file: relative to the tree, or absolute.
        sha256: The SHA-256 of the file as the child read it.
        blob: Its blob id as the child read it.
    """

    module: str
    path: str
    sha256: str
    blob: str


def imported(record: Mapping[str, Any]) -> Imported:
    """Reads one line of a child's report; what is missing is empty and will be found to differ."""
    return Imported(*(str(record.get(key) or "") for key in ("module", "path", "sha256", "blob")))


def inside(tree: Tree, path: str) -> str | None:
    """The path inside the tree that a reported path really is, or None when it is outside, links resolved."""
    top = tree.path.resolve()
    real = (tree.path / path).resolve()
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else None


def provenance(tree: Tree, reported: Sequence[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Compares what was imported with the tree's commit.

    Args:
        tree: The arm's tree.
        reported: The child's lines, each with module, path, sha256, blob.

    Returns:
        The findings; none that refuses means that every imported file is the commit's.
    """
    if not reported:
        line = "the run reports no imported module of the subject, so nobody can say what was measured"
        return (Finding("nothing-imported", "", line, REFUSE),)
    blobs = tree.blobs()
    return tuple(finding for record in reported for finding in _judge(tree, imported(record), blobs))


def _judge(tree: Tree, module: Imported, blobs: Mapping[str, str]) -> Iterator[Finding]:
    name = inside(tree, module.path) if module.path else None
    if name is None:
        where = module.path or "an unknown place"
        line = (
            f"module {module.module} was imported from {where}, outside the tree of arm {tree.arm}"
            " (an editable install or another checkout wins over PYTHONPATH)"
        )
        yield Finding("outside", module.path, line, REFUSE)
        return
    if name.endswith((".pyc", ".pyo")):
        yield Finding(
            "bytecode", name, f"module {module.module} was imported from bytecode without source: {name}", REFUSE
        )
        return
    if (link := _foreign_link(tree, module.path, blobs)) is not None:
        line = f"module {module.module} was imported through the link {link}, which is not in commit {tree.commit}"
        yield Finding("untracked", link, line, REFUSE)
        return
    yield from _content(tree, module, name, blobs)


def _foreign_link(tree: Tree, path: str, blobs: Mapping[str, str]) -> str | None:
    """The first link on the way to an imported file that the commit does not have: it decides which file that is."""
    named = Path(os.path.normpath(tree.path / path))
    if not named.is_relative_to(tree.path):
        return None
    way = named.relative_to(tree.path)
    for step in reversed([way, *way.parents]):
        name = step.as_posix()
        if (tree.path / step).is_symlink() and blobs.get(name) != compare.blob_on_disk(tree.path / step):
            return name
    return None


def _content(tree: Tree, module: Imported, name: str, blobs: Mapping[str, str]) -> Iterator[Finding]:
    if name in tree.edits:
        if module.blob != tree.edits[name]:
            line = f"{name} changed after the dirty tree was taken ({module.module})"
            yield Finding("changed", name, line, REFUSE)
        else:
            yield Finding("dirty", name, f"{name} is measured as edited, not as in commit {tree.commit}", NOTE)
        return
    if name in tree.prepared and name not in blobs:
        if module.blob == tree.prepared[name]:
            yield Finding("prepared", name, f"{name} was made by the study's prepare commands, not by the commit", NOTE)
        else:
            yield Finding("changed", name, f"{name} changed after the study's prepare commands made it", REFUSE)
        return
    if name not in blobs:
        line = f"{name} was imported ({module.module}) but is not in commit {tree.commit}: untracked file"
        yield Finding("untracked", name, line, REFUSE)
        return
    here = compare.blob_on_disk(tree.path / name)
    if here != module.blob or _sha256(tree.path / name) != module.sha256:
        line = f"{name} is not what the run imported ({module.module}): it changed while or after the run read it"
        yield Finding("changed", name, line, REFUSE)
        return
    how = compare.equality(tree, name, blobs[name])
    if how is None:
        line = f"{name} was edited after checkout: blob {here}, commit {tree.commit} has {blobs[name]}"
        yield Finding("changed", name, line, REFUSE)
    elif how != compare.RAW:
        yield Finding("filtered", name, f"{name} differs from the commit's blob only by {how}", NOTE)


def _sha256(path: Path) -> str:
    return digest.sha256_file(path) if path.is_file() else ""
