"""The arms as a reader sees them: overlays hold what differs and nothing else, and running them leaves no trace."""

import ast
import filecmp
from pathlib import Path

import pytest

SUBJECT = Path(__file__).resolve().parents[2] / "subject"
BENEATH = {"after": ("before",), "next": ("before", "after")}


def files(folder):
    return sorted(p.relative_to(folder) for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


@pytest.mark.parametrize("arm", BENEATH)
def test_an_overlay_holds_only_files_that_differ_from_what_lies_beneath(arm):
    overlaid = files(SUBJECT / arm)
    assert 1 <= len(overlaid) <= 6
    for name in overlaid:
        for layer in BENEATH[arm]:
            below = SUBJECT / layer / name
            assert not below.exists() or not filecmp.cmp(below, SUBJECT / arm / name, shallow=False)


@pytest.mark.parametrize("arm", BENEATH)
def test_an_overlay_changes_code_and_no_configuration(arm):
    assert {name.parts[0] for name in files(SUBJECT / arm)} == {"src"}


def test_the_first_arm_uses_no_compiled_kernels():
    for name in files(SUBJECT / "before" / "src"):
        imported = {
            alias.name.split(".")[0]
            for node in ast.walk(ast.parse((SUBJECT / "before" / "src" / name).read_text()))
            if isinstance(node, ast.Import | ast.ImportFrom)
            for alias in ([ast.alias(node.module or "")] if isinstance(node, ast.ImportFrom) else node.names)
        }
        assert "numba" not in imported


def test_running_an_arm_writes_nothing_into_its_tree(recordings, trees):
    for arm, tree in trees.items():
        expected = set(files(SUBJECT / "before"))
        for layer in (*BENEATH.get(arm, ()), arm):
            expected |= set(files(SUBJECT / layer))
        assert set(files(tree.path)) == expected
        assert all("__pycache__" not in p.parts for p in tree.path.rglob("*"))


@pytest.mark.parametrize("arm", BENEATH)
def test_compiled_kernels_are_kept_in_the_private_cache(recordings, trees, arm):
    assert list((trees[arm].caches / "g1_tracking" / "numba").rglob("*.nbi"))
