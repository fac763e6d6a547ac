"""What a run sees of this machine, and what a record shows of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.runs.surroundings import Private, Roots, resolved_threads, roots, scrubbed, variables
from twotrees.study import Threads

AUTO = Threads(numba="auto", numba_layer="workqueue", blas="auto", physics="auto")
RESOLVED = resolved_threads(AUTO, 4)


def seen(folder: Path, arm: str = "before", passed: tuple[str, ...] = ()) -> dict[str, str]:
    return variables(folder / "trees" / arm, Private(folder / "private" / arm), Path(sys.executable), RESOLVED, passed)


# --- variables ------------------------------------------------------------------------------------------------------


def test_every_variable_of_ours_that_the_run_does_not_see_is_listed(tmp_path: Path) -> None:
    given_to_run = seen(tmp_path)
    assert set(os.environ) <= set(given_to_run) | set(scrubbed(given_to_run))
    assert not set(scrubbed(given_to_run)) & set(given_to_run)


def test_a_documented_variable_passes_and_one_that_is_set_here_cannot_be_smuggled_in(tmp_path: Path) -> None:
    text = """
import json, os, sys
sys.path[:0] = json.loads(sys.argv[1])
from pathlib import Path
from twotrees.runs.surroundings import Private, resolved_threads, variables
from twotrees.study import Threads
threads = resolved_threads(Threads(numba=1, numba_layer="omp", blas=1, physics=1), 4)
env = variables(Path("/t"), Private(Path("/p")), Path("/v/bin/python"), threads, ("MUJOCO_GL", "PYTHONPATH", "NOT_SET"))
print(json.dumps([env.get("MUJOCO_GL"), env["PYTHONPATH"], "NOT_SET" in env, "EDITOR" in env, env["HOME"]]))
"""
    ours = {"MUJOCO_GL": "egl", "PYTHONPATH": "/elsewhere", "EDITOR": "vi", "HOME": "/home/me"}
    argv = [sys.executable, "-E", "-c", text, json.dumps(sys.path)]
    told = subprocess.run(argv, env=ours, capture_output=True, text=True, timeout=60, check=True).stdout
    assert json.loads(told) == ["egl", "/t/src", False, False, "/p/home"]


def test_each_arm_has_homes_and_caches_of_its_own(tmp_path: Path) -> None:
    before, after = seen(tmp_path, "before"), seen(tmp_path, "after")
    private = {name for name, value in before.items() if str(tmp_path) in value}
    assert {name for name in before if before[name] != after[name]} == private
    assert private == {
        *("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR", "MPLCONFIGDIR"),
        *("PYTHONPATH", "PYTHONPYCACHEPREFIX", "NUMBA_CACHE_DIR", "WARP_CACHE_PATH"),
    }


def test_the_folders_that_a_run_is_told_of_exist_once_made(tmp_path: Path) -> None:
    Private(tmp_path / "private" / "before").make()
    told = seen(tmp_path)
    missing = [
        name for name in told if name.endswith(("HOME", "DIR", "PREFIX", "_PATH")) and not Path(told[name]).is_dir()
    ]
    assert missing == []


def test_a_python_started_with_them_imports_the_tree_and_writes_its_bytecode_apart(tmp_path: Path) -> None:
    package = tmp_path / "trees" / "before" / "src" / "subject_of_a_test"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("HERE = __file__\n")
    Private(tmp_path / "private" / "before").make()
    argv = [sys.executable, "-c", "import subject_of_a_test as s; print(s.HERE)"]
    told = subprocess.run(argv, env=seen(tmp_path), capture_output=True, text=True, timeout=60, check=True).stdout
    assert Path(told.strip()) == package / "__init__.py"
    assert not list(package.rglob("*.pyc"))
    assert list((tmp_path / "private" / "before" / "bytecode").rglob("*.pyc"))


# --- threads --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("usable", "numba"), [(1, 1), (2, 2), (8, 8), (32, 8)])
def test_auto_comes_to_the_usable_cores_and_for_numba_to_eight_at_most(usable: int, numba: int) -> None:
    threads = resolved_threads(AUTO, usable)
    assert (threads["numba"], threads["blas"], threads["physics"]) == (numba, usable, usable)


def test_a_stated_count_is_kept_and_reaches_the_variables(tmp_path: Path) -> None:
    threads = resolved_threads(Threads(numba=3, numba_layer="omp", blas=5, physics=7), 2)
    env = variables(tmp_path, Private(tmp_path), Path(sys.executable), threads, ())
    assert (env["NUMBA_NUM_THREADS"], env["NUMBA_THREADING_LAYER"], threads["physics"]) == ("3", "omp", 7)
    assert {env[f"{pool}_NUM_THREADS"] for pool in ("OMP", "OPENBLAS", "MKL")} == {"5"}


# --- the tuner's cache ----------------------------------------------------------------------------------------------


def test_a_restored_cache_is_the_snapshot_whatever_a_run_wrote_added_or_removed(tmp_path: Path) -> None:
    snapshot, private = tmp_path / "snapshot", Private(tmp_path / "private")
    (snapshot / "subject").mkdir(parents=True)
    (snapshot / "subject" / "chunk.json").write_text("12")
    private.make()
    (private.cache / "subject").mkdir()
    (private.cache / "subject" / "chunk.json").write_text("24")
    (private.cache / "added").write_text("x")
    private.restore_cache(snapshot)
    found = {path.relative_to(private.cache).as_posix() for path in private.cache.rglob("*") if path.is_file()}
    assert found == {"subject/chunk.json"}
    assert (private.cache / "subject" / "chunk.json").read_text() == "12"
    assert (snapshot / "subject" / "chunk.json").read_text() == "12"


def test_a_shared_cache_is_one_folder_and_the_rest_stays_private(tmp_path: Path) -> None:
    one, two = (Private(tmp_path / arm, cache_root=tmp_path / "shared") for arm in ("a", "b"))
    assert one.cache == two.cache == tmp_path / "shared" / "xdg-cache"
    assert one.root != two.root


# --- symbols --------------------------------------------------------------------------------------------------------

HERE = Roots(
    {
        "WORK": Path("/home/me/twotrees/results/.work/c1"),
        "TOOLKIT": Path("/home/me/twotrees"),
        "VENV": Path("/home/me/twotrees/.nox/ab"),
        "HOME": Path("/home/me"),
        "ROOT": Path("/"),
    }
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/twotrees/results/.work/c1/trees/before", "${WORK}/trees/before"),
        ("/home/me/twotrees/.nox/ab/bin/python", "${VENV}/bin/python"),
        ("/home/me/twotrees", "${TOOLKIT}"),
        ("--out=/home/me/x.json", "--out=${HOME}/x.json"),
        ("file:///home/me/x", "file://${HOME}/x"),
        ("/home/me/a:/home/me/b:/usr/bin", "${HOME}/a:${HOME}/b:/usr/bin"),
        ('File "/home/me/twotrees/a.py", line 3', 'File "${TOOLKIT}/a.py", line 3'),
        ("cannot read /home/me.", "cannot read ${HOME}."),
        ("/home/melissa/x", "/home/melissa/x"),
        ("/home/me2", "/home/me2"),
        ("/home/me-too", "/home/me-too"),
        ("/home/me.old/x", "/home/me.old/x"),
        ("/mnt/home/me/x", "/mnt/home/me/x"),
        ("/usr/bin", "/usr/bin"),
        ("", ""),
    ],
)
def test_a_record_names_this_machines_folders_by_symbols(text: str, shown: str) -> None:
    assert HERE.symbolic(text) == shown


def test_symbols_reach_into_lists_and_dictionaries_and_leave_other_values_alone() -> None:
    value = {"argv": ["/home/me/x", 3], "pair": ("/home/me", None), "deep": {"n": 1.5, "ok": True}}
    assert HERE.symbolic(value) == {
        "argv": ["${HOME}/x", 3],
        "pair": ["${HOME}", None],
        "deep": {"n": 1.5, "ok": True},
    }


@given(st.text(st.sampled_from("/homewtrsul.ab 0:=-"), max_size=40))
def test_no_text_that_starts_with_a_known_folder_keeps_it(tail: str) -> None:
    assert not HERE.symbolic("/home/me/" + tail).startswith("/home/me/")


def test_a_campaign_knows_its_own_folders(tmp_path: Path) -> None:
    here = roots(tmp_path / "work", tmp_path / "toolkit", tmp_path / "venv" / "bin" / "python")
    argv = [str(tmp_path / "venv/bin/python"), str(tmp_path / "work/scripts/p.py"), str(tmp_path / "toolkit/tools")]
    assert here.symbolic(argv) == ["${VENV}/bin/python", "${WORK}/scripts/p.py", "${TOOLKIT}/tools"]
