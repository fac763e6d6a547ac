"""`check` names what differs, and a campaign refuses to run on it unless told otherwise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of this checkout's tracked files, with pins that are those of its files."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    copy = tmp_path / "checkout"
    for name in filter(None, listed.decode().split("\0")):
        source, target = ROOT / name, copy / name
        if source.is_file() and not name.startswith(("tests/", "results/")):
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(source.read_bytes())
    assert twotrees(copy, "pins").returncode == 0
    return copy


def twotrees(checkout: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The CLI of that copy, in this test's environment."""
    env = {
        **os.environ,
        "PYTHONPATH": str(checkout / "tools"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(checkout.parent),
        "XDG_CONFIG_HOME": str(checkout.parent / "config"),
        "TMPDIR": str(checkout.parent),
        "TWOTREES_LOCK": str(checkout.parent / "lock"),
    }
    argv = [sys.executable, "-m", "twotrees.cli", *words]
    return subprocess.run(argv, cwd=checkout, env=env, capture_output=True, text=True, timeout=300)


def test_files_and_commits_that_are_as_pinned_are_good(checkout: Path) -> None:
    told = twotrees(checkout, "check").stdout
    assert "checksums: good" in told
    assert "commits: good" in told
    assert subprocess.run(["sha256sum", "-c", "--quiet", "CHECKSUMS"], cwd=checkout).returncode == 0


def test_a_changed_script_a_missing_and_an_extra_file_are_each_named(checkout: Path) -> None:
    profiler = checkout / "tools" / "profile_update_state.py"
    profiler.write_text(profiler.read_text() + "\n# edited\n")
    (checkout / "conf" / "scale" / "smoke.yaml").unlink()
    (checkout / "conf" / "scale" / "mine.yaml").write_text("name: mine\n")
    told = twotrees(checkout, "check")
    assert told.returncode == 3
    for name in ("tools/profile_update_state.py", "conf/scale/smoke.yaml", "conf/scale/mine.yaml"):
        assert name in told.stdout


def test_an_edited_overlay_no_longer_gives_the_pinned_commit(checkout: Path) -> None:
    entry = checkout / "subject" / "before" / "src" / "g1_tracking" / "entry.py"
    entry.write_text(entry.read_text() + "\n# edited\n")
    told = twotrees(checkout, "check")
    assert told.returncode == 3
    assert "but the study pins" in told.stdout


def test_a_campaign_refuses_drift_and_on_request_runs_labelled(checkout: Path) -> None:
    entry = checkout / "subject" / "before" / "src" / "g1_tracking" / "entry.py"
    entry.write_text(entry.read_text() + "\n# edited\n")
    few = ("scale=smoke", "protocol.phase_runs=2", "protocol.terms_runs=1", "scale.num_envs=4")
    refused = twotrees(checkout, "ab", *few)
    assert refused.returncode == 3
    assert "--allow-drift" in refused.stderr
    ran = twotrees(checkout, "ab", *few, "--allow-drift")
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    bundle = next(path for path in (checkout / "results").iterdir() if path.name[0] != ".")
    plan = (bundle / "data" / "plan.json").read_text()
    assert "pins: checksums differs" in plan
    assert "pins: commits differs" in plan
