"""Overlays: a folder with others laid over it becomes a commit whose id depends on names and bytes alone."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from twotrees import trees
from twotrees.errors import PinsDiffer, UsageError

BEFORE = {"src/p/__init__.py": "VALUE = 1\n", "src/p/terms.py": "def f():\n    return 1\n", "conf/a.yaml": "x: 1\n"}
AFTER = {"src/p/terms.py": "def f():\n    return 2\n", "src/p/kernels.py": "K = 3\n"}

HOSTILE = """
[core]
\tautocrlf = true
\tfileMode = false
\thooksPath = {hooks}
\tattributesFile = {attributes}
\tignoreCase = true
\tsymlinks = false
[user]
\tname = Somebody Else
\temail = else@example.invalid
[commit]
\tgpgSign = true
\ttemplate = {hooks}/none
[gpg]
\tprogram = /bin/false
[init]
\tdefaultBranch = trunk
\ttemplateDir = {template}
\tdefaultObjectFormat = sha256
[i18n]
\tcommitEncoding = ISO-8859-1
[filter "shout"]
\tclean = tr a-z A-Z
\tsmudge = tr a-z A-Z
\trequired = true
"""


def hostile_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user whose git configuration changes everything that a user's configuration can change."""
    hooks, template = home / "hooks", home / "template"
    (template / "hooks").mkdir(parents=True)
    hooks.mkdir()
    for name in ("post-checkout", "pre-commit", "commit-msg", "reference-transaction", "post-commit"):
        for folder in (hooks, template / "hooks"):
            (folder / name).write_text("#!/bin/sh\nexit 1\n")
            (folder / name).chmod(0o755)
    (home / "attributes").write_text("* filter=shout text eol=crlf\n")
    places = {"hooks": hooks, "template": template, "attributes": home / "attributes"}
    (home / ".gitconfig").write_text(HOSTILE.format(**places))
    for name, value in {
        "GIT_AUTHOR_NAME": "Somebody",
        "GIT_AUTHOR_DATE": "2020-01-01T00:00:00",
        "GIT_COMMITTER_DATE": "2020-01-01T00:00:00",
        "GIT_DEFAULT_HASH": "sha256",
        "GIT_DIR": "/nonexistent",
        "GIT_INDEX_FILE": "/nonexistent/index",
        "GIT_TEMPLATE_DIR": str(template),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.autocrlf",
        "GIT_CONFIG_VALUE_0": "true",
        "TZ": "Asia/Kathmandu",
        "LC_ALL": "de_DE.UTF-8",
    }.items():
        monkeypatch.setenv(name, value)


def test_later_folders_win_and_the_rest_stays(folder_of, source, tmp_path):
    folder_of("before", BEFORE)
    folder_of("after", AFTER)
    tree = trees.make(source("overlay", base="before", overlays=("after",)), "after", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/p/terms.py").read_text() == AFTER["src/p/terms.py"]
    assert (tree.path / "src/p/__init__.py").read_text() == BEFORE["src/p/__init__.py"]
    assert set(tree.blobs()) == BEFORE.keys() | AFTER.keys()
    assert trees.changed(tree) == {} and trees.diff(tree) == ""


def test_the_same_files_elsewhere_give_the_same_commit(folder_of, source, tmp_path):
    first, second = folder_of("one/before", BEFORE), folder_of("somewhere/quite/else", BEFORE)
    os.utime(second / "conf/a.yaml", (1, 1))
    found = [trees.resolve(source("overlay", base=str(folder)), base=tmp_path).commit for folder in (first, second)]
    assert found[0] == found[1]


def test_a_hostile_git_configuration_changes_neither_commit_nor_checkout(
    folder_of, source, tmp_path, user_folders, monkeypatch
):
    folder_of("before", BEFORE)
    honest = trees.resolve(source("overlay", base="before"), base=tmp_path).commit
    shutil.rmtree(user_folders / "cache")
    hostile_user(user_folders / "home", monkeypatch)
    tree = trees.make(source("overlay", base="before", commit=honest), "before", tmp_path / "work", base=tmp_path)
    assert tree.commit == honest
    assert {name: (tree.path / name).read_text() for name in BEFORE} == BEFORE


def test_the_executable_bit_of_the_disk_is_not_content(folder_of, source, tmp_path):
    folder = folder_of("before", {"run.sh": "#!/bin/sh\n", "plain.txt": "x\n"})
    first = trees.resolve(source("overlay", base="before"), base=tmp_path).commit
    (folder / "run.sh").chmod(0o755)
    (folder / "plain.txt").chmod(0o755)
    assert trees.resolve(source("overlay", base="before"), base=tmp_path).commit == first


def test_a_script_is_executable_after_checkout(folder_of, source, tmp_path):
    folder_of("before", {"run.sh": "#!/bin/sh\n", "plain.txt": "x\n"})
    tree = trees.make(source("overlay", base="before"), "before", tmp_path / "work", base=tmp_path)
    assert os.access(tree.path / "run.sh", os.X_OK) and not os.access(tree.path / "plain.txt", os.X_OK)


def test_litter_of_running_the_folder_is_not_content(folder_of, source, tmp_path):
    folder = folder_of("before", BEFORE)
    clean = trees.resolve(source("overlay", base="before"), base=tmp_path).commit
    for name in (
        "src/p/__pycache__/terms.cpython-311.pyc",
        "src/p/f-1.nbi",
        ".DS_Store",
        ".git/HEAD",
        ".venv/pyvenv.cfg",
    ):
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_bytes(b"x")
    assert trees.resolve(source("overlay", base="before"), base=tmp_path).commit == clean


def test_a_gitignore_in_the_folder_does_not_take_files_away(folder_of, source, tmp_path):
    folder_of(
        "before", {".gitignore": "*.py\n", ".gitattributes": "*.py export-ignore\n", "src/p/__init__.py": "V = 1\n"}
    )
    tree = trees.make(source("overlay", base="before"), "before", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/p/__init__.py").is_file()


def test_attributes_in_the_folder_do_not_change_its_bytes(folder_of, source, tmp_path):
    files = {".gitattributes": "* text eol=crlf\n*.py ident\n", "a.txt": "x\n", "b.txt": "y\r\n", "c.py": "# $Id$\n"}
    folder_of("before", files)
    tree = trees.make(source("overlay", base="before"), "before", tmp_path / "work", base=tmp_path)
    assert {name: (tree.path / name).read_bytes().decode() for name in files} == files
    assert trees.changed(tree) == {}


def test_another_commit_than_the_pinned_one_names_both_and_how_to_pin_again(folder_of, source, tmp_path):
    folder_of("before", BEFORE)
    pinned = trees.resolve(source("overlay", base="before"), base=tmp_path).commit
    folder_of("before", {"conf/a.yaml": "x: 2\n"})
    with pytest.raises(PinsDiffer) as caught:
        trees.resolve(source("overlay", base="before", commit=pinned), base=tmp_path)
    now = trees.resolve(source("overlay", base="before"), base=tmp_path).commit
    assert pinned in str(caught.value) and f"write commit: {now}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_unpinned_overlay_is_labelled(folder_of, source, tmp_path):
    folder_of("before", BEFORE)
    found = trees.resolve(source("overlay", base="before"), base=tmp_path)
    assert found.labels == ("commit not pinned by the study",)
    assert trees.resolve(source("overlay", base="before", commit=found.commit), base=tmp_path).labels == ()


def test_a_link_in_an_overlay_is_refused_by_name(folder_of, source, tmp_path):
    folder = folder_of("before", BEFORE)
    (folder / "src/p/link.py").symlink_to("terms.py")
    with pytest.raises(UsageError, match=r"link\.py.*plain file"):
        trees.resolve(source("overlay", base="before"), base=tmp_path)


def test_a_file_here_that_is_a_folder_there_is_refused(folder_of, source, tmp_path):
    folder_of("before", {"a": "file\n"})
    folder_of("after", {"a/b": "file\n"})
    with pytest.raises(UsageError, match="a is a file here and a folder there"):
        trees.resolve(source("overlay", base="before", overlays=("after",)), base=tmp_path)


def test_an_empty_or_missing_base_is_one_clear_line(folder_of, source, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no files"):
        trees.resolve(source("overlay", base="empty"), base=tmp_path)
    with pytest.raises(UsageError, match="there is no folder missing"):
        trees.resolve(source("overlay", base="missing"), base=tmp_path)


def test_names_with_spaces_and_other_alphabets_survive(folder_of, source, tmp_path):
    files = {"conf/größe und 名前.yaml": "x: 1\n", '"quoted".txt': "q\n", "-dash": "d\n"}
    folder_of("before", files)
    tree = trees.make(source("overlay", base="before"), "before", tmp_path / "work", base=tmp_path)
    assert set(tree.blobs()) == files.keys()
    assert trees.changed(tree) == {}


def test_the_commit_of_known_files_is_known_for_ever(folder_of, source, tmp_path):
    """Changing how commits are made would change every pin of every study: this number must never move."""
    folder_of("before", {"src/p/__init__.py": "VALUE = 1\n"})
    assert trees.resolve(source("overlay", base="before"), base=tmp_path).commit == KNOWN_COMMIT


KNOWN_COMMIT = "c8c8174bec3403054fe34ae18133b6c293e3f59a"
