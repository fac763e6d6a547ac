"""Whether the lock answers pyproject.toml, with uv, without it, and without network."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from twotrees.errors import PinsDiffer
from twotrees.pins import in_step, lock
from twotrees.process import Finished


def _ask(project: Any, **changes: Any) -> in_step.InStep:
    return in_step.in_step(project.root, lock.read(project.root / "uv.lock"), **changes)


def test_a_fresh_lock_is_in_step_by_uvs_own_word_without_network(locked: Any) -> None:
    assert _ask(locked) == in_step.InStep("in step", "uv agrees")


def test_a_users_own_index_settings_do_not_matter(locked: Any) -> None:
    environ = {**os.environ, "UV_DEFAULT_INDEX": "https://mirror.invalid/simple", "UV_INDEX_URL": "https://x.invalid"}
    assert _ask(locked, environ=environ).state == "in step"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('"alpha>=1"', '"alpha>=1.0.1"', "pyproject.toml demands alpha>=1.0.1, the lock does not"),
        ('"alpha>=1"', '"alpha>=1", "beta"', "pyproject.toml demands beta, the lock does not"),
        ('["Delta_Pkg>=1"]', "[]", "the lock demands delta-pkg>=1 (extra more), pyproject.toml does not"),
        ('["epsilon"]', '["epsilon<9"]', "pyproject.toml demands epsilon<9 (group base), the lock does not"),
        (">=3.11,<3.14", ">=3.11,<3.13", "pyproject.toml wants Python <3.13,>=3.11, the lock <3.14,>=3.11"),
    ],
)
def test_a_changed_requirement_is_named(project: Any, old: str, new: str, told: str) -> None:
    path = project.root / "pyproject.toml"
    path.write_text(path.read_text().replace(old, new))
    answer = _ask(project)
    assert answer.state == "out of step"
    assert told in answer.detail


def test_what_only_uv_sees_is_out_of_step_too(project: Any) -> None:
    path = project.root / "pyproject.toml"
    path.write_text(path.read_text() + 'constraint-dependencies = ["beta<2.1"]\n')
    answer = _ask(project)
    assert answer.state != "in step"


def test_without_uv_the_lists_are_compared_and_the_answer_says_so(project: Any, tmp_path: Path) -> None:
    empty = {"PATH": str(tmp_path)}

    def no_module(argv: Any, env: Any) -> Finished:
        if argv[0] == "uv":
            return Finished(tuple(argv), None, b"", b"", "uv is not installed")
        return Finished(tuple(argv), 1, b"", b"/python: No module named uv\n")

    answer = _ask(project, run=no_module, environ=empty)
    assert answer == in_step.InStep("in step by lists", "uv is not installed; the lists of requirements agree")
    path = project.root / "pyproject.toml"
    path.write_text(path.read_text().replace('"alpha>=1"', '"alpha>=2"'))
    assert _ask(project, run=no_module, environ=empty).state == "out of step"


def test_a_uv_that_cannot_decide_is_quoted(project: Any, tmp_path: Path) -> None:
    fake = tmp_path / "bin/uv"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho 'error: the cache is on fire' >&2\nexit 2\n")
    fake.chmod(0o755)
    answer = _ask(project, environ={"PATH": f"{fake.parent}:/usr/bin:/bin"})
    assert answer.state == "in step by lists"
    assert "error: the cache is on fire" in answer.detail


@pytest.mark.parametrize(
    ("text", "complaint"),
    [(None, "no such file"), ("[project", "cannot be read"), ('[project]\ndependencies = ["=="]\n', "requirements")],
)
def test_a_pyproject_that_cannot_be_read_is_refused_by_name(project: Any, text: str | None, complaint: str) -> None:
    path = project.root / "pyproject.toml"
    path.unlink() if text is None else path.write_text(text)
    with pytest.raises(PinsDiffer, match=f"pyproject.toml: .*{complaint}"):
        _ask(project)


def test_a_group_that_includes_itself_is_refused(project: Any) -> None:
    path = project.root / "pyproject.toml"
    path.write_text(path.read_text().replace('base = ["epsilon"]', 'base = [{ include-group = "test" }]'))
    with pytest.raises(PinsDiffer, match="includes itself"):
        _ask(project)
