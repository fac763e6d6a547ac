"""Worktrees are made fresh, removed after, and found again after a crash."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from twotrees import process, trees
from twotrees.errors import UsageError
from twotrees.trees import cache, git

CRASHING = """
import os, signal, sys
from pathlib import Path
from types import SimpleNamespace
from twotrees import trees
unused = dict.fromkeys(("url", "commit", "requirement", "sha256", "path"))
source = SimpleNamespace(kind="overlay", base="before", overlays=(), **unused)
base = Path(sys.argv[1])
tree = trees.make(source, "before", base / "work", base=base)
(tree.path / "made-later.txt").write_text("x")
if sys.argv[2] == "die":
    os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def overlay(folder_of, source):
    folder_of("before", {"src/p/__init__.py": "VALUE = 1\n"})
    return source("overlay", base="before")


def worktrees(git_dir: Path) -> list[str]:
    listing = subprocess.run(
        ["git", f"--git-dir={git_dir}", "worktree", "list", "--porcelain"], capture_output=True, text=True, check=True
    )
    return [line for line in listing.stdout.splitlines() if line.startswith("worktree ")][1:]


def crash(base: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CRASHING, str(base), "die"], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr


def test_a_removed_tree_leaves_nothing(overlay, tmp_path):
    tree = trees.make(overlay, "before", tmp_path / "work", base=tmp_path)
    assert len(worktrees(tree.git_dir)) == 1
    (tree.path / "src/p/locked").mkdir()
    (tree.path / "src/p/locked/file").write_text("x")
    (tree.path / "src/p/locked").chmod(0o555)
    trees.remove(tree)
    assert not tree.path.exists() and worktrees(tree.git_dir) == []
    trees.remove(tree)


def test_a_crash_leaves_a_tree_that_clean_finds(overlay, tmp_path):
    crash(tmp_path)
    left = trees.leftovers()
    assert [(entry.arm, entry.path) for entry in left] == [("before", tmp_path / "work/trees/before")]
    assert left[0].path.is_dir()
    assert trees.clean() == left
    assert not left[0].path.exists() and trees.leftovers() == () and worktrees(left[0].git_dir) == []


def test_a_resumed_campaign_takes_the_place_of_a_crashed_one(overlay, tmp_path):
    crash(tmp_path)
    tree = trees.make(overlay, "before", tmp_path / "work", base=tmp_path)
    assert not (tree.path / "made-later.txt").exists()
    assert trees.leftovers() == ()


def test_a_tree_removed_by_hand_is_cleaned_from_its_repository(overlay, tmp_path):
    crash(tmp_path)
    git_dir = trees.leftovers()[0].git_dir
    shutil.rmtree(tmp_path / "work")
    trees.clean()
    assert worktrees(git_dir) == [] and trees.leftovers() == ()


def test_a_leftover_whose_cache_is_gone_is_removed_all_the_same(overlay, tmp_path, user_folders):
    crash(tmp_path)
    shutil.rmtree(user_folders / "cache")
    trees.clean()
    assert not (tmp_path / "work/trees").exists() and trees.leftovers() == ()


def test_a_tree_in_use_by_another_process_is_neither_taken_nor_cleaned(overlay, tmp_path):
    command = [sys.executable, "-c", CRASHING, str(tmp_path), "wait"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"ready\n"
        assert trees.clean() == ()
        with pytest.raises(UsageError, match=f"is in use by process {other.pid}"):
            trees.make(overlay, "before", tmp_path / "work", base=tmp_path)
        other.stdin.close()
    assert (tmp_path / "work/trees/before").is_dir()


def test_a_folder_that_twotrees_did_not_make_is_never_removed(overlay, tmp_path):
    mine = tmp_path / "work/trees/before"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("x")
    with pytest.raises(UsageError, match="is in the way: twotrees did not make it"):
        trees.make(overlay, "before", tmp_path / "work", base=tmp_path)
    assert (mine / "thesis.txt").read_text() == "x"


def test_an_entry_cut_short_by_a_full_disk_harms_nothing(overlay, tmp_path, user_folders):
    tree = trees.make(overlay, "before", tmp_path / "work", base=tmp_path)
    folder = user_folders / "state/twotrees/worktrees"
    (folder / "0123.json").write_text('{"path": "/')
    (folder / "0124.json").write_text("[]")
    assert trees.leftovers() == ()
    trees.remove(tree)


def test_a_failed_checkout_leaves_nothing(overlay, tmp_path):
    work = tmp_path / "work"
    (work / "trees").mkdir(parents=True)
    (work / "trees").chmod(0o555)
    if os.access(work / "trees", os.W_OK):  # root writes everywhere: put a file in the way instead
        (work / "trees").chmod(0o755)
        (work / "trees").rmdir()
        (work / "trees").write_text("a file")
    with pytest.raises(UsageError) as caught:
        trees.make(overlay, "before", work, base=tmp_path)
    assert "\n" not in str(caught.value)
    assert trees.leftovers() == ()


def test_a_cache_that_cannot_be_written_is_one_clear_line(overlay, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(UsageError, match="set XDG_CACHE_HOME to a folder you may write"):
        trees.resolve(overlay, base=tmp_path)


def test_a_store_that_another_process_holds_is_waited_for_and_then_told(tmp_path):
    told = pytest.raises(UsageError, match=r"store\.lock: another twotrees process has held it")
    with cache.locked(tmp_path / "store"), told, cache.locked(tmp_path / "store", wait_s=0.2):
        pass
    with cache.locked(tmp_path / "store", wait_s=0.0):
        pass


def test_several_campaigns_may_make_the_same_tree_at_once(overlay, tmp_path, folder_of):
    folders = [folder_of(f"user{number}", {"before/src/p/__init__.py": "VALUE = 1\n"}) for number in range(4)]
    commands = [[sys.executable, "-c", CRASHING, str(folder), "leave"] for folder in folders]
    others = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) for command in commands]
    assert [(other.wait(), other.stderr.read()) for other in others] == [(0, b"")] * 4
    for other in others:
        other.stderr.close()


def test_no_space_is_one_clear_line():
    full = process.Finished(
        ("git",), 128, b"", b"fatal: write error: No space left on device\nfatal: index-pack failed\n"
    )
    assert str(git.fault(full, "the tree cannot be written")).startswith("the tree cannot be written: no space left")
    assert "no space left" in str(git.transport_fault(full, "here"))


@pytest.mark.parametrize("arm", ["../x", "", "a/b", "-x", ".git"])
def test_an_arm_is_a_plain_name(overlay, tmp_path, arm):
    with pytest.raises(UsageError, match="cannot name an arm"):
        trees.make(overlay, arm, tmp_path / "work", base=tmp_path)
