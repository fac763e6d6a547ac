"""The whole check: everything that differs in one report, and nothing that passes in silence."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from twotrees.errors import PinsDiffer, UsageError
from twotrees.pins import check, checksums


@pytest.fixture
def toolkit(project: Any) -> Any:
    """The project with the toolkit's own files and their CHECKSUMS."""
    for name in ("conf/config.yaml", "tools/profile_update_state.py", "noxfile.py"):
        path = project.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
    checksums.write(project.root)
    return project


def test_a_good_checkout_passes_in_all_four_parts(toolkit: Any) -> None:
    report = check(toolkit.root, interpreter=toolkit.interpreter, commits=[("tree before", lambda: "a" * 40)])
    assert [(part.name, part.state) for part in report.parts] == [
        ("lock", "good"),
        ("installed", "good"),
        ("checksums", "good"),
        ("commits", "good"),
    ]
    assert report.ok
    assert report.labels == ()
    assert "tree before aaaaaaaaaaaa" in report.lines[-1]
    report.demand()
    assert json.loads(json.dumps(report.data()))["environment_digest"] == report.environment.digest  # type: ignore[union-attr]


def test_everything_that_differs_is_gathered_and_labelled(toolkit: Any) -> None:
    (toolkit.site / "beta.py").write_text("VALUE = 3\n")
    (toolkit.root / "conf/config.yaml").write_text("other\n")
    pyproject = toolkit.root / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace('"alpha>=1"', '"alpha>=2"'))

    def gone() -> str:
        raise UsageError("commit 1234 is not there", file="repo", mend="fetch it")

    report = check(toolkit.root, interpreter=toolkit.interpreter, commits=[("tree after", gone)])
    assert {(item.kind, item.file) for item in report.findings} == {
        ("lock", "uv.lock"),
        ("edited", "beta.py"),
        ("changed", "conf/config.yaml"),
        ("changed", "pyproject.toml"),
        ("commit", "tree after (repo)"),
    }
    assert report.labels == (
        "pins: lock differs (1 difference)",
        "pins: installed differs (1 difference)",
        "pins: checksums differs (2 differences)",
        "pins: commits differs (1 difference)",
    )
    with pytest.raises(PinsDiffer, match=r"uv\.lock: is out of step .* \(and 4 more") as refused:
        report.demand()
    assert refused.value.exit_code == 3


def test_an_installed_wheel_says_what_it_cannot_check(project: Any, tmp_path: Path) -> None:
    travelling = tmp_path / "_toolkit"
    (travelling / "conf").mkdir(parents=True)
    report = check(travelling, interpreter=project.interpreter)
    states = {part.name: part.state for part in report.parts}
    assert states == {"lock": "not checked", "installed": "good", "checksums": "not checked", "commits": "good"}
    assert report.ok
    assert len(report.labels) == 2
    assert all("carries no" in label for label in report.labels)
    (project.site / "beta.py").write_text("VALUE = 3\n")
    assert not check(travelling, interpreter=project.interpreter).ok


@pytest.mark.parametrize("name", ["uv.lock", "CHECKSUMS"])
def test_a_checkout_without_its_lock_or_checksums_differs(toolkit: Any, name: str) -> None:
    (toolkit.root / name).unlink()
    report = check(toolkit.root, interpreter=toolkit.interpreter, files=False)
    assert name in {item.file for item in report.findings}
    assert not report.ok


def test_an_environment_that_cannot_be_listed_differs(toolkit: Any) -> None:
    report = check(toolkit.root, interpreter=toolkit.root / "no/python")
    part = next(part for part in report.parts if part.name == "installed")
    assert part.state == "differs"
    assert "is not installed" in part.findings[0].what


def test_an_unknown_extra_is_a_finding_and_no_crash(toolkit: Any) -> None:
    report = check(toolkit.root, interpreter=toolkit.interpreter, extras=["subject"], files=False)
    assert [item.what for item in report.findings] == ["the lock knows no extra 'subject'"]


def test_the_identity_is_kept_when_the_checkout_moves(toolkit: Any, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(toolkit.root, moved, symlinks=True)
    first = check(toolkit.root, interpreter=toolkit.interpreter, files=False)
    second = check(moved, interpreter=toolkit.interpreter, files=False)
    assert first.lock_identity == second.lock_identity
    assert first.checksums_sha256 == second.checksums_sha256
