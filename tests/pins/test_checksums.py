"""CHECKSUMS, beside the program whose format it is."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from twotrees.errors import PinsDiffer, UsageError
from twotrees.pins import checksums

SHA256SUM = shutil.which("sha256sum")


@pytest.fixture
def toolkit(tmp_path: Path) -> Path:
    """A small toolkit with its CHECKSUMS, and junk around it."""
    for name in (
        *("noxfile.py", "pyproject.toml", "uv.lock", "tools/profile_update_state.py", "tools/twotrees/cli.py"),
        *("tools/twotrees/host/monitor.py", "conf/config.yaml", "subject/before/src/a.py", "README.md"),
        *("tools/twotrees/__pycache__/cli.cpython-311.pyc", "conf/.config.yaml.swp", "conf/config.yaml~"),
        *("subject/.DS_Store", "subject/before/src/.ipynb_checkpoints/a.py", "tools/notes.txt", "results/r/x"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")
    checksums.write(tmp_path)
    return tmp_path


def _told(root: Path) -> list[tuple[str, str]]:
    return [(item.kind, item.file) for item in checksums.verify(root)]


def test_the_covered_files_and_no_junk_are_listed_in_byte_order(toolkit: Path) -> None:
    names = [line[66:] for line in (toolkit / "CHECKSUMS").read_text().splitlines()]
    assert names == [
        *("conf/config.yaml", "noxfile.py", "pyproject.toml", "subject/before/src/a.py"),
        *("tools/profile_update_state.py", "tools/twotrees/cli.py", "tools/twotrees/host/monitor.py", "uv.lock"),
    ]


def test_writing_twice_gives_the_same_bytes_in_any_folder(
    toolkit: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = (toolkit / "CHECKSUMS").read_bytes()
    other = tmp_path_factory.mktemp("elsewhere") / "copy"
    shutil.copytree(toolkit, other)
    os.utime(other / "conf/config.yaml", (1, 1))
    checksums.write(other)
    assert (other / "CHECKSUMS").read_bytes() == first


@pytest.mark.skipif(SHA256SUM is None, reason="no sha256sum on this system")
def test_sha256sum_accepts_it_strictly(toolkit: Path) -> None:
    done = subprocess.run(["sha256sum", "-c", "--strict", "--quiet", "CHECKSUMS"], cwd=toolkit, capture_output=True)
    assert (done.returncode, done.stdout) == (0, b"")


def test_an_untouched_toolkit_has_nothing_to_tell(toolkit: Path) -> None:
    assert checksums.verify(toolkit) == []


def test_changed_missing_and_extra_files_are_named(toolkit: Path) -> None:
    (toolkit / "tools/profile_update_state.py").write_text("faster\n")
    (toolkit / "conf/config.yaml").unlink()
    (toolkit / "subject/before/src/b.py").write_text("new\n")
    assert _told(toolkit) == [
        ("missing-file", "conf/config.yaml"),
        ("changed", "tools/profile_update_state.py"),
        ("extra", "subject/before/src/b.py"),
    ]


def test_a_link_to_an_identical_file_is_named(toolkit: Path) -> None:
    path = toolkit / "conf/config.yaml"
    shutil.move(path, toolkit / "real.yaml")
    path.symlink_to("../real.yaml")
    assert _told(toolkit) == [("link", "conf/config.yaml")]
    with pytest.raises(UsageError, match=r"conf/config\.yaml: is a link"):
        checksums.write(toolkit)


def test_malformed_lines_are_named_by_number(toolkit: Path) -> None:
    path = toolkit / "CHECKSUMS"
    path.write_text("not a line\n" + path.read_text() + "deadbeef  conf/config.yaml\n")
    lines = [item.what for item in checksums.verify(toolkit)]
    assert lines == [
        "line 1 is no checksum line: 'not a line'",
        "line 10 is no checksum line: 'deadbeef  conf/config.yaml'",
    ]


def test_an_empty_or_missing_list_never_passes(toolkit: Path) -> None:
    (toolkit / "CHECKSUMS").write_text("# nothing\n\n")
    assert ("malformed", "CHECKSUMS") in _told(toolkit)
    (toolkit / "CHECKSUMS").unlink()
    with pytest.raises(PinsDiffer, match="CHECKSUMS: there is no such file"):
        checksums.verify(toolkit)


@pytest.mark.parametrize("name", ["../outside", "/etc/hostname", "conf/../../x"])
def test_a_name_outside_the_toolkit_is_refused_unread(toolkit: Path, name: str) -> None:
    path = toolkit / "CHECKSUMS"
    path.write_text(path.read_text() + f"{'0' * 64}  {name}\n")
    (finding,) = checksums.verify(toolkit)
    assert finding.kind == "malformed"
    assert "outside the toolkit" in finding.what


def test_two_hashes_for_one_name_are_named_and_the_same_line_twice_is_not(toolkit: Path) -> None:
    path = toolkit / "CHECKSUMS"
    first = path.read_text().splitlines()[0]
    path.write_text(path.read_text() + first + "\n")
    assert checksums.verify(toolkit) == []
    path.write_text(path.read_text() + "0" * 64 + first[64:] + "\n")
    assert "two hashes" in checksums.verify(toolkit)[0].what


def test_a_name_that_would_need_escaping_is_refused(toolkit: Path) -> None:
    (toolkit / "conf/two\nlines.yaml").write_text("x\n")
    with pytest.raises(UsageError, match="cannot stand in a checksum file"):
        checksums.write(toolkit)


DIGEST = hashlib.sha256(b"hi\n").hexdigest()
NAMES = st.text(st.characters(codec="ascii", exclude_characters="/\0"), min_size=1, max_size=6).filter(
    lambda name: name not in {".", ".."}
)
SPACES = st.sampled_from(["  ", " *", " ", "\t", "   "])
MANGLED = st.builds(
    lambda back, digest, space, name, tail: f"{back}{digest}{space}{name}{tail}",
    st.sampled_from(["", "\\", "#", " "]),
    st.sampled_from([DIGEST, DIGEST.upper(), DIGEST[:-1], DIGEST + "0"]),
    SPACES,
    st.one_of(NAMES, st.sampled_from(["a\\\\b", "a\\nb", "a\\", "a\\tb"])),
    st.sampled_from(["", "\r"]),
).filter(lambda line: "\n" not in line and "\r" not in line.removesuffix("\r"))


@pytest.mark.skipif(SHA256SUM is None, reason="no sha256sum on this system")
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(line=MANGLED)
def test_a_line_that_we_read_means_the_same_to_sha256sum(tmp_path: Path, line: str) -> None:
    """Not the other way round: a single space or a leading blank, which it lets pass in places, are malformed to us."""
    folder = tmp_path / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    parsed, _ = checksums.parse(line + "\n")
    assume(parsed)
    (folder / parsed[0].name).write_text("hi\n")
    done = subprocess.run(
        ["sha256sum", "-c", "--strict"], cwd=folder, input=(line + "\n").encode(), capture_output=True
    )
    assert (done.returncode == 0) is (parsed[0].digest == DIGEST), (line, done.stdout, done.stderr)


@given(names=st.lists(st.from_regex(r"[a-z]{1,8}(/[a-z]{1,8})?", fullmatch=True), unique=True, max_size=6))
def test_what_is_written_reads_back(names: list[str]) -> None:
    text = "".join(f"{hashlib.sha256(name.encode()).hexdigest()}  {name}\n" for name in names)
    lines, malformed = checksums.parse(text)
    assert [line.name for line in lines] == names
    assert malformed == []
