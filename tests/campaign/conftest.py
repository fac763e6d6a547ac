"""Own studies for the campaign's tests."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path

import pytest
from own_study import OwnStudy, write_study


@pytest.fixture
def own_study(tmp_path: Path) -> Callable[..., OwnStudy]:
    """Makes an own study in the test's folder."""
    return functools.partial(write_study, tmp_path)


@pytest.fixture(scope="session")
def make_own_study() -> Callable[..., OwnStudy]:
    """Makes an own study in a folder that outlives one test."""
    return write_study
