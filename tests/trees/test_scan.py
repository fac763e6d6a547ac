"""A look over a tree before it is measured finds what would fail later or measure something else."""

from __future__ import annotations

import hashlib

import pytest

from twotrees import trees
from twotrees.errors import PinsDiffer

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"4d" * 32 + b"\nsize 12345\n"


@pytest.fixture
def made(new_repository, source, tmp_path):
    """Makes the tree of a repository with these files."""

    def make(files, **links):
        repository = new_repository()
        for name, target in links.items():
            (repository.path / name).symlink_to(target)
        commit = repository.commit(files)
        return trees.make(source("git", path="subject", commit=commit), "before", tmp_path / "work", base=tmp_path)

    return make


def found(tree) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for finding in trees.scan(tree):
        result.setdefault(finding.kind, []).append(finding.path)
    return result


def test_a_clean_tree_has_no_findings(made):
    assert trees.scan(made({"src/p/__init__.py": "VALUE = 1\n"})) == ()


def test_an_lfs_pointer_stops_the_run_by_name(made, monkeypatch):
    tree = made({".gitattributes": "*.stl filter=lfs diff=lfs merge=lfs -text\n", "assets/hand.stl": POINTER})
    findings = trees.scan(tree)
    assert [finding.line for finding in findings] == ["LFS object not fetched: assets/hand.stl"]
    assert any("LFS" in note for note in tree.notes)
    with pytest.raises(PinsDiffer, match=r"arm before: LFS object not fetched: assets/hand\.stl"):
        trees.refuse("before", findings)


def test_an_lfs_pointer_of_the_user_s_own_git_configuration_is_found_too(made, user_folders):
    (user_folders / "home/.gitconfig").write_text('[filter "lfs"]\n\tsmudge = cat\n\trequired = true\n')
    assert found(made({".gitattributes": "*.stl filter=lfs\n", "a.stl": POINTER})) == {"lfs": ["a.stl"]}


def test_git_lfs_is_asked_to_fetch_where_it_is_installed(made, tmp_path, monkeypatch):
    """A stand-in for git-lfs: what matters here is that it is called in the tree and that its work is then compared."""
    content = b"solid hand\n"
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{hashlib.sha256(content).hexdigest()}\nsize 11\n"
    program = tmp_path / "bin/git-lfs"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\ntest "$1" = pull && printf "solid hand\\n" > assets/hand.stl\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    tree = made({".gitattributes": "*.stl filter=lfs\n", "assets/hand.stl": pointer})
    assert trees.scan(tree) == () and trees.changed(tree) == {} and trees.diff(tree) == ""
    (tree.path / "assets/hand.stl").write_bytes(b"solid foot\n")
    assert list(trees.changed(tree)) == ["assets/hand.stl"]


def test_a_text_that_only_talks_about_lfs_is_no_pointer(made):
    assert found(made({"README.md": "version https://git-lfs.github.com/spec/v1\nis what a pointer says\n"})) == {}


def test_numba_caches_in_the_tree_stop_the_run(made):
    tree = made(
        {"src/p/__init__.py": "", "src/p/__pycache__/f.py311.nbi": b"x", "src/p/__pycache__/f.py311.1.nbc": b"x"}
    )
    assert sorted(found(tree)["numba-cache"]) == ["src/p/__pycache__/f.py311.1.nbc", "src/p/__pycache__/f.py311.nbi"]
    with pytest.raises(PinsDiffer, match=r"numba cache in the tree.*\(and 1 more\)"):
        trees.refuse("before", trees.scan(tree))


def test_bytecode_without_source_stops_the_run_and_a_cache_is_noted(made):
    tree = made({"src/p/__init__.py": "", "src/p/old.pyc": b"x", "src/p/__pycache__/a.cpython-311.pyc": b"x"})
    weights = {(finding.path, finding.refuses) for finding in trees.scan(tree)}
    assert weights == {("src/p/old.pyc", True), ("__pycache__", False)}


def test_extension_modules_are_listed_with_their_hash(made):
    tree = made({"src/p/_fast.cpython-311.so": b"\x7fELF"})
    assert trees.describe(tree)["extension_modules"] == [
        {"path": "src/p/_fast.cpython-311.so", "sha256": hashlib.sha256(b"\x7fELF").hexdigest()}
    ]


def test_a_link_that_leaves_the_tree_is_noted(made, tmp_path):
    tree = made({"inside.txt": "x"}, out="../../../elsewhere", near="inside.txt")
    assert found(tree) == {"link-outside": ["out"]}


def test_names_equal_but_for_case_are_noted(made):
    assert list(found(made({"src/Terms.py": "", "src/terms.py": ""}))) == ["case-collision"]


def test_a_virtual_environment_in_a_local_folder_is_not_scanned(folder_of, source, tmp_path):
    folder_of("here", {"src/p/__init__.py": "", ".venv/pyvenv.cfg": "", ".venv/lib/x.so": b"", ".venv/lib/y.nbi": b""})
    tree = trees.make(source("path", path="here"), "before", tmp_path / "work", base=tmp_path)
    assert trees.scan(tree) == ()
