"""uv.lock: read, identified, followed."""

from __future__ import annotations

import random
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.errors import PinsDiffer
from twotrees.pins import installed, lock


def test_a_lock_by_uv_is_read_whole(locked: Any) -> None:
    read = lock.read(locked.root / "uv.lock")
    assert {(item.name, item.version) for item in read.packages} == {
        ("alpha", "1.0"),
        ("beta", "2.1"),
        ("gamma", "1.0"),
        ("delta-pkg", "1.5"),
        ("epsilon", "3.0"),
        ("demo", "0.1"),
    }
    assert read.root is not None
    assert read.root.name == "demo"
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for item in read.packages for digest in item.files)


def test_the_same_files_from_another_index_are_the_same_pins(
    locked: Any, uv: Callable[..., None], index: Path, serve: Callable[[Path], Any], tmp_path: Path
) -> None:
    shutil.copy(locked.root / "pyproject.toml", tmp_path)
    with serve(index) as url:
        uv("lock", "--python", sys.executable, "--default-index", url, cwd=tmp_path)
    first, second = lock.read(locked.root / "uv.lock"), lock.read(tmp_path / "uv.lock")
    assert first.registries != second.registries
    assert lock.identity_of(first) == lock.identity_of(second)


def test_one_more_registry_with_the_same_files_is_no_difference(project: Any) -> None:
    path = project.root / "uv.lock"
    before = lock.identity(path)
    text = path.read_text()
    package = next(block for block in text.split("[[package]]") if 'name = "beta"' in block)
    other = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:1", package)
    path.write_text(text + "\n[[package]]" + other)
    assert lock.identity(path) == before


@pytest.mark.parametrize("what", ["version", "hash", "package"])
def test_another_version_hash_or_package_is_a_difference(project: Any, what: str) -> None:
    path = project.root / "uv.lock"
    before, text = lock.identity(path), path.read_text()
    if what == "version":
        text = text.replace('version = "2.1"', 'version = "2.2"')
    elif what == "hash":
        text = re.sub(r"(sha256:)([0-9a-f])", lambda m: m[1] + ("0" if m[2] != "0" else "1"), text, count=1)
    else:
        text = "".join(block for block in re.split(r"(?=\[\[package\]\])", text) if 'name = "gamma"' not in block)
    path.write_text(text)
    assert lock.identity(path) != before


def test_the_identity_can_be_recomputed_in_a_shell(locked: Any) -> None:
    read = lock.read(locked.root / "uv.lock")
    lines = sorted(f"{item.name} {item.version} {item.files[0]}\n" for item in read.packages if item.files)
    import hashlib

    assert lock.identity_of(read) == hashlib.sha256("".join(lines).encode()).hexdigest()


HEX = st.text("0123456789abcdef", min_size=64, max_size=64)
PACKAGES = st.dictionaries(
    st.from_regex(r"[a-z]{1,5}", fullmatch=True),
    st.tuples(st.from_regex(r"[0-9]\.[0-9]", fullmatch=True), st.lists(HEX, min_size=1, max_size=3, unique=True)),
    min_size=1,
    max_size=5,
)


def _lock_text(packages: list[tuple[str, str, list[str]]], url: str) -> str:
    blocks = ["version = 1\n"]
    for name, version, hashes in packages:
        files = "".join(f'  {{ url = "{url}/{i}.whl", hash = "sha256:{h}" }},\n' for i, h in enumerate(hashes))
        source = f'source = {{ registry = "{url}" }}'
        blocks.append(f'[[package]]\nname = "{name}"\nversion = "{version}"\n{source}\nwheels = [\n{files}]\n')
    return "\n".join(blocks)


@given(packages=PACKAGES, seed=st.integers(0, 1000))
def test_order_and_address_never_change_the_identity_and_any_other_hash_does(
    tmp_path_factory: pytest.TempPathFactory, packages: dict[str, tuple[str, list[str]]], seed: int
) -> None:
    path = tmp_path_factory.mktemp("lock") / "uv.lock"
    listed = [(name, version, hashes) for name, (version, hashes) in packages.items()]
    path.write_text(_lock_text(listed, "https://one.example"))
    first = lock.identity(path)
    shuffled = random.Random(seed).sample(listed, len(listed))
    path.write_text(_lock_text([(n, v, h[::-1]) for n, v, h in shuffled], "https://two.example"))
    assert lock.identity(path) == first
    name, version, hashes = listed[0]
    flipped = ("0" if hashes[0][0] != "0" else "1") + hashes[0][1:]
    path.write_text(_lock_text([(name, version, [flipped, *hashes[1:]]), *listed[1:]], "https://one.example"))
    assert (lock.identity(path) == first) is (flipped in hashes)


def test_a_git_source_counts_by_its_commit(tmp_path: Path) -> None:
    text = 'version = 1\n[[package]]\nname = "g"\nversion = "1"\nsource = {{ git = "{}?rev=main#{}" }}\n'
    path = tmp_path / "uv.lock"
    identities = []
    for url, commit in (("https://a/r", "1" * 40), ("https://b/r", "1" * 40), ("https://a/r", "2" * 40)):
        path.write_text(text.format(url, commit))
        identities.append(lock.identity(path))
    assert identities[0] == identities[1] != identities[2]


def test_a_file_without_a_hash_is_told_as_such(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(
        'version = 1\n[[package]]\nname = "a"\nversion = "1"\nsource = { registry = "../w" }\n'
        'wheels = [{ path = "a-1-py3-none-any.whl" }]\n'
    )
    assert lock.read(tmp_path / "uv.lock").packages[0].files == ("unhashed a-1-py3-none-any.whl",)


def test_what_should_be_installed_follows_extras_groups_and_markers(locked: Any) -> None:
    read, markers = lock.read(locked.root / "uv.lock"), installed.markers_of()
    base = {"demo": "0.1", "alpha": "1.0", "beta": "2.1"}
    assert lock.expected(read, markers=markers) == base
    assert lock.expected(read, extras=["More"], markers=markers) == {**base, "delta-pkg": "1.5"}
    assert lock.expected(read, groups=["test"], markers=markers) == {**base, "epsilon": "3.0"}
    never = {**markers, "sys_platform": "never"}
    assert lock.expected(read, markers=never) == {**base, "gamma": "1.0"}


def test_a_lock_with_forks_gives_each_python_its_version(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(
        """version = 1
requires-python = ">=3.11"
[[package]]
name = "root"
version = "1"
source = { editable = "." }
dependencies = [
  { name = "s", version = "1.17", source = { registry = "x" }, marker = "python_full_version < '3.12'" },
  { name = "s", version = "1.18", source = { registry = "x" }, marker = "python_full_version >= '3.12'" },
  { name = "t", extra = ["fast"] },
]
[[package]]
name = "s"
version = "1.17"
source = { registry = "x" }
[[package]]
name = "s"
version = "1.18"
source = { registry = "x" }
[[package]]
name = "t"
version = "2"
source = { registry = "x" }
[package.optional-dependencies]
fast = [{ name = "u" }]
[[package]]
name = "u"
version = "3"
source = { registry = "x" }
"""
    )
    read = lock.read(tmp_path / "uv.lock")
    old = lock.expected(read, markers={**installed.markers_of(), "python_full_version": "3.11.9"})
    new = lock.expected(read, markers={**installed.markers_of(), "python_full_version": "3.13.0"})
    assert (old["s"], new["s"]) == ("1.17", "1.18")
    assert old["u"] == "3"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "there is no such lock file"),
        ("garbage = [", "is not TOML"),
        ("version = 9\n", "lock version 9 is not known"),
        ("", "lock version None is not known"),
        ('version = 1\n[[package]]\nname = "a"\n', "is not shaped like a uv lock"),
        ('version = 1\n[[package]]\nname = 3\nsource = { registry = "x" }\n', "is not shaped like a uv lock"),
    ],
)
def test_a_lock_that_cannot_be_used_is_refused_by_name(tmp_path: Path, text: str | None, complaint: str) -> None:
    path = tmp_path / "uv.lock"
    if text is not None:
        path.write_text(text)
    with pytest.raises(PinsDiffer, match=f"uv.lock: .*{complaint}"):
        lock.read(path)


def test_an_unknown_extra_and_an_unknown_group_are_named(locked: Any) -> None:
    read, markers = lock.read(locked.root / "uv.lock"), installed.markers_of()
    with pytest.raises(PinsDiffer, match="no extra 'les'"):
        lock.expected(read, extras=["les"], markers=markers)
    with pytest.raises(PinsDiffer, match="no group 'lint'"):
        lock.expected(read, groups=["lint"], markers=markers)
