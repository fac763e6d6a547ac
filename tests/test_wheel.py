"""The wheel in an environment of its own, used in an empty folder: what a reviewer or another project gets."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from own_study import OwnStudy, write_study

ROOT = Path(__file__).resolve().parents[1]
MINUTES = 600


def run(*argv: object, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in argv], cwd=cwd, env=env, capture_output=True, text=True, timeout=MINUTES
    )


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `twotrees` command of a fresh environment with nothing but the wheel and what it requires."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    tracked = run("git", "ls-files", "-z", cwd=ROOT).stdout.split("\0")
    for name in filter(None, tracked):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    done = run("uv", "build", "--quiet", "--wheel", "--out-dir", folder, source, cwd=folder)
    assert done.returncode == 0, done.stderr
    venv, wheel = folder / "venv", next(folder.glob("*.whl"))
    for words in (("venv", venv), ("pip", "install", "--python", venv, wheel)):
        done = run("uv", *words, "--quiet", cwd=folder)
        assert done.returncode == 0, done.stderr
    return folder / "venv" / "bin" / "twotrees"


@pytest.fixture(scope="module")
def sealed(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[OwnStudy, Path]:
    """A study of the user's own, measured by the installed command; its scripts come from the wheel."""
    study = write_study(tmp_path_factory.mktemp("own"))
    words = ("ab", "study=tiny", "scale=smoke", "protocol.phase_runs=2", "protocol.terms_runs=2")
    done = run(installed, *words, cwd=study.folder, env=clean(study))
    assert done.returncode == 0, done.stdout + done.stderr
    return study, study.bundles()[0]


def clean(study: OwnStudy) -> dict[str, str]:
    """The environment without anything that would let the checkout be imported."""
    return {name: value for name, value in study.env().items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}


def test_a_study_of_ones_own_repository_is_measured_with_the_scripts_inside_the_wheel(
    sealed: tuple[OwnStudy, Path],
) -> None:
    assert (sealed[1] / "data" / "aggregate.json").is_file()


def test_verify_report_and_audit_work_in_an_empty_folder(
    installed: Path, sealed: tuple[OwnStudy, Path], tmp_path: Path
) -> None:
    study, bundle = sealed
    for words in (("verify", bundle), ("report", bundle), ("audit", bundle), ("fingerprint", "--json")):
        done = run(installed, *words, cwd=tmp_path, env=clean(study))
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        assert done.stdout


def test_the_wheel_carries_no_pins_of_a_checkout_and_check_says_so(
    installed: Path, sealed: tuple[OwnStudy, Path], tmp_path: Path
) -> None:
    done = run(installed, "check", cwd=tmp_path, env=clean(sealed[0]))
    assert "not checked" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_wheel_imports_without_the_simulators(installed: Path, tmp_path: Path) -> None:
    python = installed.with_name("python")
    probe = "import importlib.util as u; print([n for n in ('mujoco', 'warp', 'numba') if u.find_spec(n)])"
    assert run(python, "-c", probe, cwd=tmp_path, env={"PATH": os.defpath}).stdout.strip() == "[]"
