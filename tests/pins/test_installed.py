"""What is installed against the lock, file by file."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twotrees.errors import PinsDiffer
from twotrees.pins import environment, installed, lock
from twotrees.pins.finding import Finding


def _findings(project: Any, **changes: Any) -> list[Finding]:
    read = lock.read(project.root / "uv.lock")
    return installed.against_lock(read, environment.environment_digest([project.site]), **changes)


def _told(project: Any, **changes: Any) -> list[tuple[str, str]]:
    return [(item.kind, item.file) for item in _findings(project, **changes)]


def test_a_synced_environment_has_nothing_to_tell(locked: Any) -> None:
    assert _findings(locked) == []


def test_bytecode_is_no_difference(project: Any) -> None:
    done = subprocess.run([str(project.interpreter), "-c", "import alpha, beta"], env={}, timeout=30)
    assert done.returncode == 0
    assert list(project.site.rglob("*.pyc"))
    assert _findings(project) == []


def test_an_edited_file_in_site_packages_is_named(project: Any) -> None:
    (project.site / "beta.py").write_text("VALUE = 3\n")
    (finding,) = _findings(project)
    assert finding.kind == "edited"
    assert finding.sentence == (
        "beta.py: differs from what beta 2.1 installed; "
        "reinstall it: uv cache clean beta && uv sync --reinstall-package beta"
    )


def test_one_flipped_byte_in_a_data_file_is_named(project: Any) -> None:
    path = project.site / "beta_data/table.bin"
    data = bytearray(path.read_bytes())
    data[4321] ^= 1
    path.write_bytes(data)
    assert _told(project) == [("edited", "beta_data/table.bin")]


def test_an_edited_console_script_outside_site_packages_is_named(project: Any) -> None:
    script = project.root / ".venv/bin/alpha-tool"
    script.write_text(script.read_text() + "# more\n")
    assert _told(project) == [("edited", "../../../bin/alpha-tool")]


def test_a_missing_file_is_named(project: Any) -> None:
    (project.site / "beta.py").unlink()
    assert _told(project) == [("missing-file", "beta.py")]


@pytest.mark.parametrize("name", ["sitecustomize.py", "alpha/extra.py", "evil.pth", "new_package/__init__.py"])
def test_a_file_that_no_record_lists_is_named(project: Any, name: str) -> None:
    path = project.site / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("x = 1\n")
    assert _told(project) == [("unlisted", name)]


def test_an_edit_that_also_edits_record_is_not_seen_here_but_changes_the_digest(project: Any) -> None:
    """RECORD is no anchor against somebody who rewrites it; the docs say so, and the environment digest shows it."""
    before = environment.environment_digest([project.site]).digest
    record = project.site / "beta-2.1.dist-info/RECORD"
    (project.site / "beta.py").write_text("VALUE = 3\n")
    lines = [line for line in record.read_text().splitlines() if not line.startswith("beta.py")]
    import base64

    digest = base64.urlsafe_b64encode(hashlib.sha256(b"VALUE = 3\n").digest()).decode().rstrip("=")
    record.write_text("\n".join([f"beta.py,sha256={digest},10", *lines, ""]))
    assert _told(project) == []
    assert environment.environment_digest([project.site]).digest != before


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("beta.py,md5=abc,1", ("unhashed", "beta.py")),
        ("beta.py,,", ("unhashed", "beta.py")),
        ("beta.py,sha256=,1", ("record", "beta-2.1.dist-info/RECORD")),
        ("beta.py", ("record", "beta-2.1.dist-info/RECORD")),
        ("beta.py,sha256=a,1,extra", ("record", "beta-2.1.dist-info/RECORD")),
    ],
)
def test_a_record_line_that_proves_nothing_is_named(project: Any, line: str, told: tuple[str, str]) -> None:
    record = project.site / "beta-2.1.dist-info/RECORD"
    kept = [text for text in record.read_text().splitlines() if not text.startswith("beta.py")]
    record.write_text("\n".join([line, *kept, ""]))
    assert told in _told(project)


def test_an_edited_or_missing_record_is_named(project: Any) -> None:
    record = project.site / "beta-2.1.dist-info/RECORD"
    record.unlink()
    assert ("record", "beta-2.1.dist-info") in _told(project)
    record.write_bytes(b"\xff\xfe")
    assert ("record", "beta-2.1.dist-info/RECORD") in _told(project)


def test_a_name_with_a_comma_is_read_as_csv(project: Any, new_wheel: Callable[..., Path]) -> None:
    text = "odd\n"
    (project.site / "odd, name.txt").write_text(text)
    import base64

    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
    record = project.site / "beta-2.1.dist-info/RECORD"
    record.write_text(record.read_text() + f'"odd, name.txt",sha256={digest},4\n')
    assert _told(project) == []


def test_another_version_and_a_package_outside_the_lock_are_named(
    project: Any, uv: Callable[..., None], new_wheel: Callable[..., Path], tmp_path: Path
) -> None:
    new_wheel(tmp_path / "w", "beta", "2.2", {"beta.py": "VALUE = 2\n"})
    new_wheel(tmp_path / "w", "stray", "0.1", {"stray.py": "\n"})
    arguments = ("--offline", "--no-index", "--find-links", str(tmp_path / "w"), "--python", str(project.interpreter))
    uv("pip", "install", *arguments, "beta==2.2", "stray", cwd=tmp_path)
    found = {item.file: item for item in _findings(project)}
    assert found["beta"].what == "version 2.2 is installed, the lock has 2.1"
    assert found["stray"].kind == "not-locked"
    assert set(found) == {"beta", "stray"}


def test_a_local_wheel_in_place_of_the_locked_file_is_named(
    project: Any, uv: Callable[..., None], new_wheel: Callable[..., Path], tmp_path: Path
) -> None:
    wheel = new_wheel(tmp_path / "w", "beta", "2.1", {"beta.py": "VALUE = 7\n"})
    uv("pip", "install", "--offline", "--no-index", "--python", str(project.interpreter), str(wheel), cwd=tmp_path)
    (finding,) = _findings(project)
    assert finding.kind == "source"
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in finding.what or "archive" in finding.what


def test_a_missing_distribution_is_named_with_its_extra_or_group(project: Any) -> None:
    assert _told(project, extras=["more"]) == [("missing", "delta-pkg")]
    assert _told(project, groups=["test"]) == [("missing", "epsilon")]


def test_a_group_that_was_not_asked_for_may_be_installed(project: Any, uv: Callable[..., None], wheels: Path) -> None:
    arguments = ("--offline", "--no-index", "--find-links", str(wheels), "--python", str(project.interpreter))
    uv("pip", "install", *arguments, "epsilon", cwd=project.root)
    assert _told(project) == []


def test_two_versions_of_one_distribution_are_named(project: Any) -> None:
    left = project.site / "beta-1.9.dist-info"
    left.mkdir()
    (left / "RECORD").write_text("beta-1.9.dist-info/RECORD,,\n")
    assert ("twice", "beta") in _told(project)


def test_a_python_outside_the_locked_range_is_named(locked: Any) -> None:
    markers = {**installed.markers_of(), "python_full_version": "3.14.1"}
    (finding,) = _findings(locked, markers=markers)
    assert finding.sentence.startswith("Python: is 3.14.1, the lock wants")


def test_the_markers_of_another_interpreter_are_asked_for(locked: Any, tmp_path: Path) -> None:
    assert installed.markers_of(Path(sys.executable)) == installed.markers_of()
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    with pytest.raises(PinsDiffer, match="exit status 3"):
        installed.markers_of(broken)


def test_progress_ends_at_the_number_of_files(locked: Any) -> None:
    seen: list[tuple[int, int]] = []
    _findings(locked, progress=lambda done, total: seen.append((done, total)))
    assert seen
    assert seen[-1][0] == seen[-1][1] > 5
