"""Local trees: measured in place, labelled unpinned, and dirty only on request."""

from __future__ import annotations

import pytest

from twotrees import trees
from twotrees.errors import UsageError


@pytest.fixture
def subject(new_repository):
    repository = new_repository()
    repository.commit({"src/p/__init__.py": "VALUE = 1\n", "src/p/terms.py": "T = 1\n", ".gitignore": "*.log\n"})
    return repository


@pytest.fixture
def here(source):
    return source("path", path="subject")


def made(here, tmp_path, **options):
    return trees.make(here, "before", tmp_path / "work", base=tmp_path, **options)


def test_a_clean_local_repository_is_its_commit_and_unpinned(subject, here, tmp_path):
    tree = made(here, tmp_path)
    assert tree.path == subject.path and tree.commit == subject.git("rev-parse", "HEAD")
    assert trees.labels(tree) == ("unpinned",)
    assert str(tmp_path) not in str(trees.describe(tree))


def test_removing_a_local_tree_removes_nothing(subject, here, tmp_path):
    trees.remove(made(here, tmp_path))
    assert (subject.path / "src/p/__init__.py").is_file()


@pytest.mark.parametrize("hidden", ["", "--assume-unchanged", "--skip-worktree"])
def test_a_dirty_tree_is_refused_by_name_however_well_git_hides_it(subject, here, tmp_path, hidden):
    if hidden:
        subject.git("update-index", hidden, "src/p/terms.py")
    subject.write("src/p/terms.py", "T = 2\n")
    with pytest.raises(UsageError, match=r"the tree is dirty: src/p/terms\.py differ from commit"):
        made(here, tmp_path)


@pytest.mark.parametrize("hidden", ["", "--assume-unchanged", "--skip-worktree"])
def test_a_dirty_tree_on_request_is_labelled_and_carries_its_diff(subject, here, tmp_path, hidden):
    if hidden:
        subject.git("update-index", hidden, "src/p/terms.py")
    subject.write("src/p/terms.py", "T = 2\n")
    subject.write("src/p/new.py", "N = 1\n")
    subject.write("run.log", "ignored\n")
    tree = made(here, tmp_path, allow_dirty=True)
    assert trees.labels(tree) == ("unpinned", "dirty tree")
    assert sorted(tree.edits) == ["src/p/new.py", "src/p/terms.py"]
    patch = trees.diff(tree)
    assert "-T = 1\n+T = 2" in patch and "+N = 1" in patch and "ignored" not in patch


def test_the_diff_writes_nothing_into_the_repository_of_the_user(subject, here, tmp_path):
    subject.write("src/p/terms.py", "T = 2\n")
    before = sorted(path.as_posix() for path in (subject.path / ".git").rglob("*"))
    trees.diff(made(here, tmp_path, allow_dirty=True))
    assert sorted(path.as_posix() for path in (subject.path / ".git").rglob("*")) == before


def test_the_diff_applies_to_the_commit(subject, here, tmp_path):
    subject.write("src/p/terms.py", "T = 2\n")
    subject.write("data.bin", bytes(range(256)))
    patch = trees.diff(made(here, tmp_path, allow_dirty=True))
    subject.git("stash", "-q", "-u")
    subject.write("../change.patch", patch)
    subject.git("apply", "../change.patch")
    assert (subject.path / "data.bin").read_bytes() == bytes(range(256))
    assert (subject.path / "src/p/terms.py").read_text() == "T = 2\n"


def test_a_deleted_file_makes_a_tree_dirty(subject, here, tmp_path):
    (subject.path / "src/p/terms.py").unlink()
    assert made(here, tmp_path, allow_dirty=True).edits == {"src/p/terms.py": ""}


def test_notes_and_data_that_nobody_can_import_do_not_make_a_tree_dirty(subject, here, tmp_path):
    subject.write("notes.txt", "x\n")
    assert made(here, tmp_path).edits == {}


def test_bytecode_caches_and_environments_do_not_make_a_tree_dirty(subject, here, tmp_path):
    for name in ("src/p/__pycache__/terms.cpython-311.pyc", "venv/pyvenv.cfg", "venv/lib/site-packages/numpy/x.py"):
        subject.write(name, "x\n")
    tree = made(here, tmp_path)
    assert tree.edits == {} and trees.prepared(tree).prepared == {} and trees.diff(tree) == ""


def test_a_file_with_a_magic_name_is_in_the_diff_as_itself(subject, here, tmp_path):
    subject.commit({"src/[ab]*.py": "X = 1\n", ":(top)": "x\n"})
    subject.write("src/[ab]*.py", "X = 2\n")
    subject.write("src/größe.py", "G = 2\n")
    patch = trees.diff(made(here, tmp_path, allow_dirty=True))
    assert patch.count("diff --git") == 2 and "+X = 2" in patch and "b/src/größe.py" in patch


def test_only_line_endings_are_no_edit(subject, here, tmp_path):
    subject.write("src/p/terms.py", "T = 1\r\n")
    assert made(here, tmp_path).edits == {}


def test_a_diff_program_of_the_repository_is_not_run(subject, here, tmp_path):
    subject.git("config", "diff.external", f"touch {tmp_path}/ran")
    subject.git("config", "core.fsmonitor", f"touch {tmp_path}/ran")
    subject.write("src/p/terms.py", "T = 2\n")
    assert "+T = 2" in trees.diff(made(here, tmp_path, allow_dirty=True))
    assert not (tmp_path / "ran").exists()


def test_a_folder_that_is_no_repository_gets_the_commit_of_its_files(folder_of, source, tmp_path):
    folder_of("plain", {"src/p/__init__.py": "VALUE = 1\n"})
    tree = made(source("path", path="plain"), tmp_path)
    overlay = trees.resolve(source("overlay", base="plain"), base=tmp_path)
    assert tree.commit == overlay.commit
    assert trees.labels(tree) == ("unpinned",) and "no repository" in tree.notes[0]
    (tree.path / "src/p/__init__.py").write_text("VALUE = 2\n")
    assert list(trees.changed(tree)) == ["src/p/__init__.py"]


def test_a_folder_inside_a_repository_stands_for_itself(subject, source, tmp_path):
    tree = made(source("path", path="subject/src"), tmp_path)
    assert set(tree.blobs()) == {"p/__init__.py", "p/terms.py"}


def test_a_submodule_of_a_local_tree_belongs_to_it(subject, new_repository, here, tmp_path):
    inner = new_repository("inner")
    inner.commit({"inner.py": "I = 1\n"})
    subject.git("submodule", "add", "-q", inner.url, "src/inner")
    subject.commit()
    tree = made(here, tmp_path)
    assert "src/inner/inner.py" in tree.blobs()
    subject.write("src/inner/inner.py", "I = 2\n")
    with pytest.raises(UsageError, match=r"src/inner/inner\.py"):
        made(here, tmp_path)
    subject.write("src/p/terms.py", "T = 2\n")
    patch = trees.diff(made(here, tmp_path, allow_dirty=True))
    assert "+++ b/src/inner/inner.py\n@@ -1 +1 @@\n-I = 1\n+I = 2\n" in patch and "+++ b/src/p/terms.py" in patch


def test_a_missing_folder_is_one_clear_line(source, tmp_path):
    with pytest.raises(UsageError, match="there is no folder nowhere"):
        made(source("path", path="nowhere"), tmp_path)
