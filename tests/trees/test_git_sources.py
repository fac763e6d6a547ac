"""Git sources: a path or a URL and a commit; resolved to 40 digits, kept in the cache, checked out for each arm."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from twotrees import trees
from twotrees.errors import UsageError

ABSENT = "1234567890123456789012345678901234567890"


@pytest.fixture
def subject(new_repository):
    """A repository with two commits and a tag on the first."""
    repository = new_repository()
    repository.commit({"src/p/__init__.py": "VALUE = 1\n"})
    repository.git("tag", "v1")
    repository.commit({"src/p/__init__.py": "VALUE = 2\n"})
    return repository


def value(tree) -> str:
    return (tree.path / "src/p/__init__.py").read_text()


def test_two_commits_of_a_local_repository_become_two_trees(subject, source, tmp_path):
    first, second = subject.git("rev-parse", "v1"), subject.git("rev-parse", "main")
    made = [
        trees.make(source("git", path="subject", commit=commit), arm, tmp_path / "work", base=tmp_path)
        for arm, commit in (("before", first), ("after", second))
    ]
    assert [value(tree) for tree in made] == ["VALUE = 1\n", "VALUE = 2\n"]
    assert [tree.commit for tree in made] == [first, second]
    assert made[0].tree_id == subject.git("rev-parse", "v1^{tree}")
    assert made[0].labels == ()


def test_a_path_may_be_a_folder_inside_a_worktree_or_a_bare_repository(subject, source, tmp_path):
    subject.git("worktree", "add", "-q", "../linked", "v1")
    subject.git("clone", "-q", "--bare", ".", "../bare.git")
    places = {"subject/src/p": "main", "linked": "HEAD", "bare.git": "v1", "subject/.git": "main"}
    values = []
    for number, (path, commit) in enumerate(places.items()):
        made = trees.make(source("git", path=path, commit=commit), f"arm{number}", tmp_path / "work", base=tmp_path)
        values.append(value(made))
    assert values == ["VALUE = 2\n", "VALUE = 1\n", "VALUE = 1\n", "VALUE = 2\n"]


def test_the_repository_of_the_user_is_not_touched(subject, source, tmp_path):
    before = subject.git("worktree", "list"), subject.git("for-each-ref"), subject.git("status", "--porcelain")
    commit = subject.git("rev-parse", "v1")
    trees.make(source("git", path="subject", commit=commit), "before", tmp_path / "work", base=tmp_path)
    assert (
        subject.git("worktree", "list"),
        subject.git("for-each-ref"),
        subject.git("status", "--porcelain"),
    ) == before


def test_uncommitted_edits_of_the_user_are_not_in_the_tree(subject, source, tmp_path):
    commit = subject.git("rev-parse", "main")
    subject.write("src/p/__init__.py", "VALUE = 99\n")
    tree = trees.make(source("git", path="subject", commit=commit), "after", tmp_path / "work", base=tmp_path)
    assert value(tree) == "VALUE = 2\n"


def test_a_pinned_commit_in_the_cache_needs_no_repository_any_more(subject, source, tmp_path):
    commit = subject.git("rev-parse", "v1")
    pinned = source("git", url=subject.url, commit=commit)
    trees.remove(trees.make(pinned, "before", tmp_path / "work", base=tmp_path))
    shutil.rmtree(subject.path)
    assert value(trees.make(pinned, "before", tmp_path / "work", base=tmp_path)) == "VALUE = 1\n"


def test_a_clone_is_blobless_where_the_server_allows_it(subject, source, tmp_path, user_folders):
    subject.git("config", "uploadpack.allowFilter", "true")
    subject.commit({"big.bin": b"\0" * 300_000})
    commit = subject.git("rev-parse", "v1")
    subject.commit({"big.bin": b"\1" * 300_000})
    trees.make(source("git", url=subject.url, commit="main"), "after", tmp_path / "work", base=tmp_path)
    tree = trees.make(source("git", url=subject.url, commit=commit), "before", tmp_path / "work", base=tmp_path)
    listing = subject.git(f"--git-dir={tree.git_dir}", "rev-list", "--objects", "--all", "--missing=print")
    assert any(line.startswith("?") for line in listing.splitlines())
    assert value(tree) == "VALUE = 1\n"


def test_a_branch_is_resolved_and_labelled(subject, source, tmp_path):
    found = trees.resolve(source("git", url=subject.url, commit="main"), base=tmp_path)
    assert found.commit == subject.git("rev-parse", "main")
    assert found.labels == (f"named by branch 'main', which can move: it was {found.commit}",)


@pytest.mark.parametrize("by", ["path", "url"])
def test_an_annotated_tag_gives_its_commit(subject, source, tmp_path, by):
    subject.git("tag", "-a", "v2", "-m", "second")
    where = {"path": "subject"} if by == "path" else {"url": subject.url}
    found = trees.resolve(source("git", commit="v2", **where), base=tmp_path)
    assert found.commit == subject.git("rev-parse", "main")
    assert "v2" in found.labels[0]
    by_object = trees.resolve(source("git", commit=subject.git("rev-parse", "v2"), **where), base=tmp_path)
    assert by_object.commit == found.commit and "tag object" in by_object.notes[0]


def test_a_moved_tag_is_told_with_where_it_was(subject, source, tmp_path):
    moved = source("git", url=subject.url, commit="v1")
    first = trees.resolve(moved, base=tmp_path).commit
    subject.git("tag", "-f", "v1", "main")
    found = trees.resolve(moved, base=tmp_path)
    assert found.commit == subject.git("rev-parse", "main")
    assert any("tag 'v1' was moved" in label and first in label for label in found.labels)


def test_a_force_pushed_branch_is_told_and_its_old_commit_stays_measurable(subject, source, tmp_path):
    named = source("git", url=subject.url, commit="main")
    old = trees.resolve(named, base=tmp_path).commit
    subject.git("reset", "-q", "--hard", "v1")
    subject.commit({"src/p/__init__.py": "VALUE = 3\n"})
    subject.git("reflog", "expire", "--expire=now", "--all")
    subject.git("gc", "-q", "--prune=now")
    found = trees.resolve(named, base=tmp_path)
    assert any("was force-pushed" in label and old in label for label in found.labels)
    assert trees.resolve(source("git", url=subject.url, commit=old), base=tmp_path).commit == old


def test_a_branch_that_went_forward_is_told_as_that(subject, source, tmp_path):
    named = source("git", url=subject.url, commit="main")
    trees.resolve(named, base=tmp_path)
    subject.commit({"src/p/__init__.py": "VALUE = 3\n"})
    assert any("went forward" in label for label in trees.resolve(named, base=tmp_path).labels)


def test_a_renamed_branch_is_told_with_its_last_commit(subject, source, tmp_path):
    subject.git("branch", "feature", "v1")
    named = source("git", url=subject.url, commit="feature")
    last = trees.resolve(named, base=tmp_path).commit
    subject.git("branch", "-m", "feature", "feature/terms")
    with pytest.raises(UsageError, match=f"feature is gone.*{last}"):
        trees.resolve(named, base=tmp_path)


def test_a_name_that_is_branch_and_tag_is_refused(subject, source, tmp_path):
    subject.git("branch", "both", "main")
    subject.git("tag", "both", "v1")
    with pytest.raises(UsageError, match="both a branch and a tag"):
        trees.resolve(source("git", url=subject.url, commit="both"), base=tmp_path)


def test_an_unknown_name_is_answered_with_the_nearest(subject, source, tmp_path):
    subject.git("branch", "feature/terms")
    for where in ({"url": subject.url}, {"path": "subject"}):
        with pytest.raises(UsageError, match=r"did you mean feature/terms\?"):
            trees.resolve(source("git", commit="feature/term", **where), base=tmp_path)


@pytest.mark.parametrize("by", ["path", "url"])
def test_an_abbreviation_is_written_out(subject, source, tmp_path, by):
    full = subject.git("rev-parse", "v1")
    where = {"path": "subject"} if by == "path" else {"url": subject.url}
    found = trees.resolve(source("git", commit=full[:9].upper(), **where), base=tmp_path)
    assert found.commit == full
    assert found.labels == () and full in found.notes[0]


def test_a_commit_that_is_nowhere_is_one_line_with_how_to_fetch(subject, source, tmp_path):
    with pytest.raises(UsageError, match=f"commit {ABSENT} is not in subject.*git fetch origin {ABSENT}"):
        trees.resolve(source("git", path="subject", commit=ABSENT), base=tmp_path)
    with pytest.raises(UsageError, match=f"commit {ABSENT} is not in .*on no branch and no tag"):
        trees.resolve(source("git", url=subject.url, commit=ABSENT), base=tmp_path)


def test_a_commit_that_no_branch_holds_is_fetched_by_its_id(subject, source, tmp_path):
    subject.git("config", "uploadpack.allowAnySHA1InWant", "true")
    subject.git("checkout", "-q", "--detach")
    lonely = subject.commit({"src/p/__init__.py": "VALUE = 7\n"})
    subject.git("checkout", "-q", "main")
    tree = trees.make(source("git", url=subject.url, commit=lonely), "after", tmp_path / "work", base=tmp_path)
    assert value(tree) == "VALUE = 7\n"


def test_a_repository_without_commits_is_one_clear_line(new_repository, source, tmp_path):
    empty = new_repository("empty")
    for where in ({"url": empty.url}, {"path": "empty"}):
        with pytest.raises(UsageError) as caught:
            trees.resolve(source("git", commit="main", **where), base=tmp_path)
        assert "\n" not in str(caught.value)


def test_a_repository_in_the_sha256_format_is_refused_as_that(new_repository, source, tmp_path):
    other = new_repository("other", "--object-format=sha256")
    other.commit({"a": "b"})
    for where in ({"url": other.url}, {"path": "other"}):
        with pytest.raises(UsageError, match="uses git's SHA-256 object format"):
            trees.resolve(source("git", commit="main", **where), base=tmp_path)


def test_a_folder_that_is_no_repository_is_one_clear_line(folder_of, source, tmp_path):
    folder_of("plain", {"a": "b"})
    with pytest.raises(UsageError, match="no git repository at plain"):
        trees.resolve(source("git", path="plain", commit="main"), base=tmp_path)
    with pytest.raises(UsageError, match="there is no repository nowhere"):
        trees.resolve(source("git", path="nowhere", commit="main"), base=tmp_path)
    with pytest.raises(UsageError, match="no git repository at file://…/nowhere"):
        trees.resolve(source("git", url=f"file://{tmp_path}/nowhere", commit="main"), base=tmp_path)


def test_a_shallow_clone_is_deepened_by_its_owner_and_then_serves(subject, source, tmp_path, new_repository):
    first = subject.git("rev-parse", "v1")
    subject.git("clone", "-q", "--depth=1", subject.url, str(tmp_path / "shallow"))
    shallow = new_repository("shallow")
    tip = trees.make(source("git", path="shallow", commit="HEAD"), "after", tmp_path / "work", base=tmp_path)
    assert value(tip) == "VALUE = 2\n"
    with pytest.raises(UsageError, match=f"commit {first} is not in shallow, which is a shallow clone.*--unshallow"):
        trees.resolve(source("git", path="shallow", commit=first), base=tmp_path)
    shallow.git("fetch", "-q", "--unshallow")
    tree = trees.make(source("git", path="shallow", commit=first), "before", tmp_path / "work", base=tmp_path)
    assert value(tree) == "VALUE = 1\n"


def test_a_shallow_server_serves_what_it_has(subject, source, tmp_path):
    subject.git("clone", "-q", "--depth=1", "--bare", subject.url, str(tmp_path / "server.git"))
    url = (tmp_path / "server.git").as_uri()
    tip = subject.git("rev-parse", "main")
    assert trees.resolve(source("git", url=url, commit=tip), base=tmp_path).commit == tip
    with pytest.raises(UsageError, match="is not in"):
        trees.resolve(source("git", url=url, commit=subject.git("rev-parse", "v1")), base=tmp_path)


def test_a_clone_cut_short_is_made_again(subject, source, tmp_path, user_folders):
    pinned = source("git", url=subject.url, commit=subject.git("rev-parse", "v1"))
    git_dir = trees.resolve(pinned, base=tmp_path).git_dir
    for name in ("HEAD", "config"):
        (git_dir / name).unlink()
    assert value(trees.make(pinned, "before", tmp_path / "work", base=tmp_path)) == "VALUE = 1\n"


def test_a_lock_that_a_killed_git_left_in_the_cache_does_not_stop_the_next_fetch(subject, source, tmp_path):
    named = source("git", url=subject.url, commit="main")
    git_dir = trees.resolve(named, base=tmp_path).git_dir
    (git_dir / "refs/origin/heads").mkdir(parents=True, exist_ok=True)
    for name in ("packed-refs.lock", "refs/origin/heads/main.lock"):
        (git_dir / name).touch()
    newest = subject.commit({"src/p/__init__.py": "VALUE = 3\n"})
    assert trees.resolve(named, base=tmp_path).commit == newest


def test_line_endings_follow_the_tree_not_the_user(new_repository, source, tmp_path, user_folders):
    repository = new_repository()
    files = {"a.py": "A = 1\r\n", "b.py": "B = 1\n", ".gitattributes": "c.py text eol=crlf\n", "c.py": "C = 1\n"}
    commit = repository.commit(files)
    (user_folders / "home/.gitconfig").write_text("[core]\n\tautocrlf = true\n\teol = crlf\n")
    tree = trees.make(source("git", path="subject", commit=commit), "before", tmp_path / "work", base=tmp_path)
    found = {name: (tree.path / name).read_bytes() for name in ("a.py", "b.py", "c.py")}
    assert found == {"a.py": b"A = 1\r\n", "b.py": b"B = 1\n", "c.py": b"C = 1\r\n"}
    assert trees.changed(tree) == {}


def test_a_repository_of_another_user_is_read(subject, source, tmp_path):
    """Git calls it dubious; the study named it, and reading it runs nothing of it."""
    import os

    if os.getuid() == 0:  # only root can give a folder away
        for place in (subject.path, *subject.path.rglob("*")):
            os.chown(place, 65534, 65534, follow_symlinks=False)
    commit = trees.resolve(source("git", path="subject", commit="v1"), base=tmp_path).commit
    tree = trees.make(source("git", url=subject.url, commit=commit), "before", tmp_path / "work", base=tmp_path)
    assert value(tree) == "VALUE = 1\n"


def test_no_git_is_one_clear_line(subject, source, tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(UsageError, match=r"git is not installed; install git 2\.32"):
        trees.resolve(source("git", path="subject", commit="v1"), base=tmp_path)


def test_an_old_git_is_refused(subject, source, tmp_path, monkeypatch):
    program = tmp_path / "bin/git"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho git version 2.17.1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    with pytest.raises(UsageError, match=r"git version 2\.17\.1 is too old"):
        trees.resolve(source("git", path="subject", commit="v1"), base=tmp_path)


def test_a_replaced_object_does_not_change_what_is_measured(subject, source, tmp_path):
    first, second = subject.git("rev-parse", "v1"), subject.git("rev-parse", "main")
    subject.git("replace", first, second)
    tree = trees.make(source("git", path="subject", commit=first), "before", tmp_path / "work", base=tmp_path)
    assert value(tree) == "VALUE = 1\n"


def test_hooks_of_the_user_do_not_run(subject, source, tmp_path, user_folders):
    hooks = Path(user_folders / "home/hooks")
    hooks.mkdir()
    (hooks / "post-checkout").write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    (hooks / "post-checkout").chmod(0o755)
    (user_folders / "home/.gitconfig").write_text(f"[core]\n\thooksPath = {hooks}\n")
    trees.make(source("git", url=subject.url, commit="v1"), "before", tmp_path / "work", base=tmp_path)
    assert not (tmp_path / "ran").exists()
