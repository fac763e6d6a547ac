"""The tree as a bundle carries it: `data/trees/ARM.json`, and the diff of a tree that was measured dirty on request."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from twotrees.trees import git, imports, lfs, local
from twotrees.trees.findings import Finding
from twotrees.trees.scanning import scan
from twotrees.trees.tree import DIRTY_LABEL, Tree

SCHEMA = "twotrees-tree-v1"


def labels(tree: Tree) -> tuple[str, ...]:
    """Everything that a report has to say about the tree beside its commit."""
    return (*tree.labels, DIRTY_LABEL) if tree.edits else tree.labels


def describe(
    tree: Tree, imported: Sequence[Mapping[str, Any]] = (), findings: Sequence[Finding] | None = None
) -> dict[str, Any]:
    """The record of a tree, without any absolute path of this machine.

    Args:
        tree: The tree, still on disk.
        imported: What the measured children reported, from all runs of the arm.
        findings: What was found; by default a fresh :func:`twotrees.trees.scan.scan`.
    """
    found = scan(tree) if findings is None else findings
    blobs = tree.blobs()
    pointers = lfs.unfetched(tree)
    return {
        "schema": SCHEMA,
        "arm": tree.arm,
        "kind": tree.kind,
        "source": dict(tree.source),
        "commit": tree.commit,
        "tree": tree.tree_id,
        "labels": list(labels(tree)),
        "notes": list(tree.notes),
        "files": len(blobs),
        "submodules": [{"path": item.path, "url": item.url, "commit": item.commit} for item in tree.submodules],
        "lfs": [
            {"path": name, "sha256": pointer.sha256, "size": pointer.size, "fetched": False}
            for name, pointer in sorted(pointers.items())
        ],
        "extension_modules": [
            {"path": item.path, "sha256": item.line.rpartition(" ")[2]}
            for item in found
            if item.kind == "extension-module"
        ],
        "edits": dict(tree.edits),
        "prepared": dict(tree.prepared),
        "imported": _imported(tree, imported, blobs),
        "findings": [
            {"kind": item.kind, "path": item.path, "line": item.line, "weight": item.weight} for item in found
        ],
    }


def _imported(tree: Tree, reported: Sequence[Mapping[str, Any]], blobs: Mapping[str, str]) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str, str], dict[str, Any]] = {}
    for line in reported:
        module = imports.imported(line)
        name = imports.inside(tree, module.path) if module.path else None
        row = {
            "module": module.module,
            "path": f"(outside)/{Path(module.path).name}" if name is None else name,
            "sha256": module.sha256,
            "blob": module.blob,
            "commit_blob": blobs.get(name) if name is not None else None,
        }
        rows[(module.module, str(row["path"]), module.blob)] = row
    return [rows[key] for key in sorted(rows)]


def diff(tree: Tree) -> str:
    """How the files on disk differ from the commit, as a patch; untracked files are in it, ignored ones are not.

    Which files differ is found by content. The patch is made through an index and an object store of its own: flags in
    the tree's index hide nothing, and nothing is written into its repository.

    Raises:
        UsageError: the files cannot be read.
    """
    names = local.differing(tree)
    parts = [("", tree.git_dir, tree.commit), *((item.path, item.git_dir, item.commit) for item in tree.submodules)]
    mine: dict[str, list[str]] = {path: [] for path, _, _ in parts}
    for name in names:
        owner = max((path for path in mine if not path or name.startswith(f"{path}/")), key=len)
        mine[owner].append(name[len(owner) + 1 :] if owner else name)
    return "".join(_patch(tree, path, git_dir, commit, mine[path]) for path, git_dir, commit in parts if mine[path])


def _patch(tree: Tree, prefix: str, git_dir: Path, commit: str, names: Sequence[str]) -> str:
    what = f"the diff of arm {tree.arm} cannot be made"
    place = tree.path / prefix
    found = git.ask(["rev-parse", "--git-path", "objects"], what=what, git_dir=git_dir, cwd=place)
    with tempfile.TemporaryDirectory(prefix="twotrees-diff-") as scratch:
        env = git.content_environment(
            {
                "GIT_INDEX_FILE": str(Path(scratch) / "index"),
                "GIT_OBJECT_DIRECTORY": str(Path(scratch) / "objects"),
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str((place / os.fsdecode(found).strip()).absolute()),
                "GIT_WORK_TREE": str(place),
                "GIT_LITERAL_PATHSPECS": "1",
            }
        )
        (Path(scratch) / "objects").mkdir()
        git.ask(["read-tree", commit], what=what, git_dir=git_dir, cwd=place, env=env)
        listing = b"".join(os.fsencode(name) + b"\0" for name in names)
        add = ["add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul"]
        git.ask(add, what=what, git_dir=git_dir, cwd=place, env=env, stdin=listing, timeout_s=git.CHECKOUT_S)
        inner = f"{prefix}/" if prefix else ""
        options = ["--binary", "--full-index", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames"]
        sides = [f"--src-prefix=a/{inner}", f"--dst-prefix=b/{inner}"]
        patch = git.ask(["diff", "--cached", *options, *sides, commit], what=what, git_dir=git_dir, cwd=place, env=env)
    return patch.decode("utf-8", "replace")
