"""Submodules: recorded, fetched into clones of their own, checked out inside the tree, and part of what is compared."""

from __future__ import annotations

import shutil

import pytest

from twotrees import trees
from twotrees.errors import UsageError
from twotrees.trees.submodules import joined


@pytest.fixture
def inner(new_repository):
    repository = new_repository("servers/inner")
    repository.commit({"inner/__init__.py": "VALUE = 10\n"})
    return repository


@pytest.fixture
def outer(new_repository, inner):
    """A repository with a submodule by relative address; the submodule went on since."""
    repository = new_repository("servers/outer")
    repository.write("src/p/__init__.py", "VALUE = 1\n")
    repository.git("submodule", "add", "-q", inner.url, "src/inner")
    repository.git("config", "-f", ".gitmodules", "submodule.src/inner.url", "../inner")
    repository.commit()
    inner.commit({"inner/__init__.py": "VALUE = 11\n"})
    return repository


@pytest.mark.parametrize("by", ["path", "url"])
def test_a_submodule_is_checked_out_at_its_pinned_commit_and_recorded(outer, inner, source, tmp_path, by):
    where = {"path": "servers/outer"} if by == "path" else {"url": outer.url}
    tree = trees.make(source("git", commit="main", **where), "before", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/inner/inner/__init__.py").read_text() == "VALUE = 10\n"
    pinned = inner.git("rev-parse", "main~1")
    assert [(item.path, item.commit) for item in tree.submodules] == [("src/inner", pinned)]
    assert [item["commit"] for item in trees.describe(tree)["submodules"]] == [pinned]
    assert trees.changed(tree) == {}


def test_a_file_of_a_submodule_has_its_blob_id_there(outer, inner, source, tmp_path):
    tree = trees.make(source("git", url=outer.url, commit="main"), "before", tmp_path / "work", base=tmp_path)
    blob = inner.git("rev-parse", "main~1:inner/__init__.py")
    assert tree.blobs()["src/inner/inner/__init__.py"] == blob
    (tree.path / "src/inner/inner/__init__.py").write_text("VALUE = 12\n")
    assert list(trees.changed(tree)) == ["src/inner/inner/__init__.py"]


def test_submodules_within_submodules_are_there_too(outer, inner, new_repository, source, tmp_path):
    top = new_repository("servers/top")
    top.git("submodule", "add", "-q", outer.url, "deps/outer")
    top.commit()
    tree = trees.make(source("git", url=top.url, commit="main"), "before", tmp_path / "work", base=tmp_path)
    assert [item.path for item in tree.submodules] == ["deps/outer", "deps/outer/src/inner"]
    assert (tree.path / "deps/outer/src/inner/inner/__init__.py").read_text() == "VALUE = 10\n"
    trees.remove(tree)
    assert not tree.path.exists() and trees.leftovers() == ()


def test_a_submodule_already_checked_out_by_the_user_needs_no_network(outer, inner, source, tmp_path):
    pinned = outer.git("rev-parse", "HEAD:src/inner")
    outer.git("config", "-f", ".gitmodules", "submodule.src/inner.url", "https://nowhere.invalid/inner.git")
    outer.commit()
    outer.git("-C", "src/inner", "checkout", "-q", pinned)
    shutil.rmtree(inner.path)
    tree = trees.make(source("git", path="servers/outer", commit="main"), "before", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/inner/inner/__init__.py").read_text() == "VALUE = 10\n"
    assert tree.submodules[0].url == "https://nowhere.invalid/inner.git"


def test_a_submodule_that_cannot_be_had_is_named_with_the_reason(outer, inner, source, tmp_path):
    shutil.rmtree(inner.path)
    with pytest.raises(UsageError, match=r"submodule src/inner: there is no git repository at"):
        trees.make(source("git", url=outer.url, commit="main"), "before", tmp_path / "work", base=tmp_path)
    assert not (tmp_path / "work/trees/before").exists()


def test_a_commit_that_the_submodule_lost_is_named(outer, inner, source, tmp_path):
    pinned = inner.git("rev-parse", "main~1")
    inner.git("checkout", "-q", "--orphan", "new")
    inner.commit()
    inner.git("branch", "-q", "-D", "main")
    inner.git("reflog", "expire", "--expire=now", "--all")
    inner.git("gc", "-q", "--prune=now")
    with pytest.raises(UsageError, match=f"submodule src/inner: commit {pinned} is not in"):
        trees.make(source("git", url=outer.url, commit="main"), "before", tmp_path / "work", base=tmp_path)


def test_a_server_cannot_point_a_submodule_at_this_machine(outer, inner, serve, source, tmp_path):
    outer.git("config", "-f", ".gitmodules", "submodule.src/inner.url", inner.url)
    outer.commit()
    url = serve().url("servers/outer/.git")
    with pytest.raises(UsageError, match=r"submodule src/inner of .* points at a path of this machine"):
        trees.make(source("git", url=url, commit="main"), "before", tmp_path / "work", base=tmp_path)


def test_a_submodule_with_a_password_in_its_address_is_refused_without_printing_it(outer, source, tmp_path):
    outer.git("config", "-f", ".gitmodules", "submodule.src/inner.url", "https://me:s3cret@host.invalid/x.git")
    outer.commit()
    with pytest.raises(UsageError, match="submodule src/inner: the URL holds a user or a password") as caught:
        trees.make(source("git", url=outer.url, commit="main"), "before", tmp_path / "work", base=tmp_path)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("parent", "relative", "whole"),
    [
        ("https://h/a/b.git", "../c.git", "https://h/a/c.git"),
        ("https://h/a/b", "../../x/c.git", "https://h/x/c.git"),
        ("https://h/a/b/", "./c", "https://h/a/b/c"),
        ("git@h:a/b.git", "../c.git", "git@h:a/c.git"),
        ("git@h:b.git", "../c.git", "git@h:c.git"),
        ("/srv/a/b", "../c", "/srv/a/c"),
    ],
)
def test_a_relative_address_stands_against_its_parent(parent, relative, whole):
    assert joined(parent, relative) == whole
