"""Children that were run, with the tree that each needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from measured_child import Ran, run_child
from tiny_tree import write_tree


@pytest.fixture
def child(tmp_path: Path) -> Callable[..., Ran]:
    """Writes a tree with the given knobs and runs the child in it: ``child("--instrument", fused=True)``."""

    def run(
        *more: str, flags: dict[str, str | None] | None = None, env: dict[str, str] | None = None, **knobs: Any
    ) -> Ran:
        number = len(list(tmp_path.glob("tree*")))
        tree = write_tree(tmp_path / f"tree{number}", **knobs)
        return run_child(tree, tmp_path / f"result{number}.json", *more, env=env, **(flags or {}))

    return run


@pytest.fixture(scope="session")
def phase(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One honest phase run."""
    folder = tmp_path_factory.mktemp("phase")
    return run_child(write_tree(folder / "tree"), folder / "result.json")


@pytest.fixture(scope="session")
def terms(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """One honest terms run of an arm whose body states are copied in one go."""
    folder = tmp_path_factory.mktemp("terms")
    return run_child(write_tree(folder / "tree", fused=True), folder / "result.json", "--instrument")
