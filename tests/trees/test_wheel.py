"""Wheels: a release, hash-checked and unpacked member by member, becomes a tree with its packages under src/."""

from __future__ import annotations

import hashlib
import zipfile

import pytest

from twotrees import trees
from twotrees.errors import PinsDiffer, UsageError

FILES = {"subject/__init__.py": b"VALUE = 1\n", "subject/conf/a.yaml": b"x: 1\n"}


def sha256(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_wheel_from_a_folder_becomes_a_tree(wheel_of, source, tmp_path):
    wheel = wheel_of(FILES)
    pinned = source("wheel", requirement="Subject == 1.0", sha256=sha256(wheel), path="wheels")
    tree = trees.make(pinned, "before", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/subject/__init__.py").read_bytes() == FILES["subject/__init__.py"]
    assert (tree.path / "src/subject-1.0.dist-info/METADATA").is_file()
    assert tree.labels == () and trees.changed(tree) == {}
    told = trees.describe(tree)["source"]
    assert (told["filename"], told["sha256"]) == (wheel.name, sha256(wheel))


def test_the_same_wheel_gives_the_same_commit_and_another_another(wheel_of, source, tmp_path):
    wheel_of(FILES)
    asked = source("wheel", requirement="subject==1.0", path="wheels")
    first = trees.resolve(asked, base=tmp_path).commit
    assert trees.resolve(asked, base=tmp_path).commit == first
    wheel_of({**FILES, "subject/__init__.py": b"VALUE = 2\n"})
    assert trees.resolve(asked, base=tmp_path).commit != first


def test_a_wheel_without_a_pinned_hash_is_labelled(wheel_of, source, tmp_path):
    wheel_of(FILES)
    found = trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)
    assert found.labels == ("wheel hash not pinned by the study",)


def test_another_hash_than_the_pinned_one_names_both(wheel_of, source, tmp_path):
    wheel = wheel_of(FILES)
    asked = source("wheel", requirement="subject==1.0", sha256="0" * 64, path="wheels")
    with pytest.raises(PinsDiffer, match=f"{'0' * 64}; offered: {wheel.name} {sha256(wheel)}"):
        trees.resolve(asked, base=tmp_path)


def test_a_pinned_wheel_in_the_cache_needs_neither_folder_nor_registry(wheel_of, source, tmp_path):
    wheel = wheel_of(FILES)
    digest = sha256(wheel)
    trees.resolve(source("wheel", requirement="subject==1.0", sha256=digest, path="wheels"), base=tmp_path)
    wheel.unlink()
    assert trees.resolve(source("wheel", requirement="subject==1.0", sha256=digest), base=tmp_path).kind == "wheel"


def test_a_damaged_wheel_in_the_cache_is_not_believed(wheel_of, source, tmp_path, user_folders):
    wheel = wheel_of(FILES)
    asked = source("wheel", requirement="subject==1.0", sha256=sha256(wheel), path="wheels")
    good = trees.resolve(asked, base=tmp_path).commit
    (cached,) = (user_folders / "cache/twotrees/wheels").rglob("*.whl")
    cached.write_bytes(b"damaged")
    assert trees.resolve(asked, base=tmp_path).commit == good


def test_a_release_that_is_not_there_is_one_clear_line(wheel_of, source, tmp_path):
    wheel_of(FILES)
    with pytest.raises(UsageError, match=r"there is no wheel of subject==2\.0"):
        trees.resolve(source("wheel", requirement="subject==2.0", path="wheels"), base=tmp_path)


@pytest.mark.parametrize(
    "text", [None, "subject", "subject>=1", "subject==1.*", "subject==1,==2", "subject[x]==1", "s @ file:///x"]
)
def test_a_requirement_that_is_not_one_exact_version_is_refused(source, tmp_path, text):
    with pytest.raises(UsageError, match="is not NAME==VERSION"):
        trees.resolve(source("wheel", requirement=text), base=tmp_path)


def test_the_registry_is_asked_through_uv_and_the_file_that_it_names_is_fetched(
    wheel_of, source, tmp_path, monkeypatch, registry
):
    wheel = wheel_of(FILES)
    registry(wheel)
    tree = trees.make(source("wheel", requirement="subject==1.0"), "before", tmp_path / "work", base=tmp_path)
    assert tree.source["sha256"] == sha256(wheel)
    assert (tree.path / "src/subject/__init__.py").is_file()


def test_a_registry_that_gives_other_bytes_than_it_states_is_caught(wheel_of, source, tmp_path, registry):
    stated = sha256(wheel_of({"subject/__init__.py": b"VALUE = 3\n"}))
    registry(wheel_of(FILES), stated=stated)
    with pytest.raises(PinsDiffer, match=f"as fetched has SHA-256 .*, not {stated}"):
        trees.resolve(source("wheel", requirement="subject==1.0"), base=tmp_path)


def test_a_release_unknown_to_the_registry_is_one_clear_line(wheel_of, source, tmp_path, registry):
    registry(wheel_of(FILES))
    with pytest.raises(UsageError, match=r"subject==7\.0 cannot be had from the package registry") as caught:
        trees.resolve(source("wheel", requirement="subject==7.0"), base=tmp_path)
    assert "\n" not in str(caught.value)


def test_no_registry_is_one_clear_line(source, tmp_path, monkeypatch):
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    with pytest.raises(UsageError, match=r"the package registry cannot be reached for subject==1\.0"):
        trees.resolve(source("wheel", requirement="subject==1.0"), base=tmp_path)


def test_no_uv_is_one_clear_line(source, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="uv is not installed; python -m pip install uv"):
        trees.resolve(source("wheel", requirement="subject==1.0"), base=tmp_path)


@pytest.mark.parametrize(
    "member", ["../evil.py", "/evil.py", "subject/../../evil.py", "C:/evil.py", "a\\b.py", ".git/hooks/post-checkout"]
)
def test_a_member_that_leaves_the_folder_is_refused(wheel_of, source, tmp_path, member):
    wheel_of(FILES, extra={member: b"x"})
    with pytest.raises(UsageError, match="is not safe to unpack"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)
    assert not list(tmp_path.rglob("evil.py"))


def test_a_member_that_comes_twice_is_refused(wheel_of, source, tmp_path):
    wheel_of(FILES, extra={"Subject/__init__.py": b"VALUE = 2\n"})
    with pytest.raises(UsageError, match="comes twice"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)


def test_a_link_member_is_refused(wheel_of, source, tmp_path):
    wheel = wheel_of(FILES)
    link = zipfile.ZipInfo("subject/link.py")
    link.external_attr = 0o120777 << 16
    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UsageError, match="is a link or encrypted"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)


def test_a_member_that_is_not_what_record_says_is_refused(wheel_of, source, tmp_path):
    wheel_of(FILES, falsify="subject/__init__.py")
    with pytest.raises(UsageError, match=r"'subject/__init__\.py' differs from its RECORD"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)


def test_a_member_that_record_does_not_know_is_refused(wheel_of, source, tmp_path):
    wheel_of(FILES, extra={"subject/more.py": b"x"})
    with pytest.raises(UsageError, match=r"'subject/more\.py' is not in its RECORD"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)


def test_a_bomb_is_refused_before_it_is_unpacked(wheel_of, source, tmp_path):
    wheel = wheel_of({**FILES, "subject/bomb.bin": b"0123456789" * 123})
    true_size, claimed_size = (1230).to_bytes(4, "little"), ((4 << 30) - 16).to_bytes(4, "little")
    assert wheel.read_bytes().count(true_size) == 2  # before the member and in the directory
    wheel.write_bytes(wheel.read_bytes().replace(true_size, claimed_size))
    with pytest.raises(UsageError, match="more than is believable"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)


def test_a_file_that_is_no_wheel_is_one_clear_line(wheel_of, source, tmp_path):
    wheel_of(FILES).write_bytes(b"<html>404</html>")
    with pytest.raises(UsageError, match="is not a wheel that can be unpacked"):
        trees.resolve(source("wheel", requirement="subject==1.0", path="wheels"), base=tmp_path)


def test_what_belongs_to_an_environment_is_noted_not_unpacked(wheel_of, source, tmp_path):
    wheel_of({**FILES, "subject-1.0.data/purelib/more/__init__.py": b"", "subject-1.0.data/scripts/run": b"#!python\n"})
    tree = trees.make(
        source("wheel", requirement="subject==1.0", path="wheels"), "before", tmp_path / "work", base=tmp_path
    )
    assert "src/more/__init__.py" in tree.blobs()
    assert tree.notes == ("the wheel's scripts belong to an environment and are not in the tree",)
