"""Scripts for the tests of this room: written to a folder and run as real processes."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes Python text to a file and gives the argv that runs it, with *words* after it."""

    def write(text: str, *words: object) -> list[str]:
        path = tmp_path / f"script{len(list(tmp_path.glob('script*.py')))}.py"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return [sys.executable, "-I", str(path), *map(str, words)]

    return write
