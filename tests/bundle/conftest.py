"""A sound bundle made once, and a bench with a fresh copy of it for each test."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from synthetic.corpus import KEY, PRINCIPAL, Bench
from synthetic.forge import make_bundle


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound, signed bundle; not to be changed."""
    return make_bundle(tmp_path_factory.mktemp("sound"), KEY)


@pytest.fixture
def bench(sound: Path, tmp_path: Path) -> Bench:
    """A copy of it that may be mistreated, and the auditor's list beside it."""
    bundle = Path(shutil.copytree(sound, tmp_path / "results" / sound.name))
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(KEY.allowed(PRINCIPAL))
    return Bench(tmp_path, bundle, allowed)
