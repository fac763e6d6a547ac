"""What must not become a result: the wrong code, impossible times, half a file. Each with its exit status."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
from measured_child import PROFILER, Ran, arguments, environment, run_child
from tiny_tree import write_tree

Child = Callable[..., Ran]


# --- impossible times -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-0.5"])
@pytest.mark.parametrize("key", ["update_state_ms", "reset_done_ms", "backend_physics_ms"])
def test_a_time_that_is_not_finite_or_negative_is_refused_by_its_name_and_step(
    child: Child, key: str, value: str
) -> None:
    ran = child(fake_time=(5, key, value))  # the third step after two of warm-up
    assert ran.exit == 4
    assert f"profile_update_state: {key} of measured step 2 is {value}" in ran.err
    assert not ran.file.exists()


@pytest.mark.parametrize("key", ["update_state_ms", "env_step_total_ms"])
def test_a_step_that_took_no_time_is_refused(child: Child, key: str) -> None:
    ran = child(fake_time=(3, key, "0"))
    assert ran.exit == 4
    assert f"{key} of measured step 0 is 0.0" in ran.err


def test_a_reset_that_took_no_time_is_nothing_to_refuse(child: Child) -> None:
    assert child(fake_time=(3, "reset_done_ms", "0")).ours["samples"]["reset_done_ms"]["values"][0] == 0


def test_an_impossible_time_in_the_warm_up_is_forgotten_with_it(child: Child) -> None:
    assert child(fake_time=(2, "update_state_ms", "nan")).exit == 0


def test_a_time_that_the_subject_does_not_report_is_named(child: Child) -> None:
    ran = child(absent_key="reset_done_ms")
    assert ran.exit == 4
    assert "the subject reports no reset_done_ms in state.info['timing']" in ran.err
    assert not ran.file.exists()


def test_an_impossible_time_is_refused_in_a_terms_run_and_in_a_parity_run_too(child: Child, tmp_path: Path) -> None:
    trace = tmp_path / "trace.npz"
    for words in (["--instrument"], ["--parity", str(trace)]):
        assert child(*words, fake_time=(4, "update_state_ms", "nan")).exit == 4
    assert not trace.exists()


# --- half a file ----------------------------------------------------------------------------------------------------


def leftovers(ran: Ran) -> list[str]:
    return [path.name for path in ran.file.parent.iterdir() if path.name.startswith(ran.file.name)]


def test_a_subject_that_crashes_leaves_its_traceback_and_no_file(child: Child) -> None:
    ran = child(crash_at=4)
    assert ran.exit == 1
    assert ran.err.rstrip().endswith("RuntimeError: the tiny subject crashes in step 4")
    assert leftovers(ran) == []


def test_a_child_that_is_killed_leaves_no_file(child: Child) -> None:
    ran = child(kill_at=4)
    assert ran.exit == -signal.SIGKILL
    assert leftovers(ran) == []


def test_a_finished_child_leaves_one_file_and_no_draft_and_replaces_an_older_one(child: Child, tmp_path: Path) -> None:
    (tmp_path / "result0.json").write_text("{")
    ran = child()
    assert leftovers(ran) == ["result0.json"]
    assert ran.result["measure"] == 5


def test_whatever_the_subject_prints_the_file_is_the_result(child: Child) -> None:
    ran = child(junk=True)
    assert ran.out.startswith("Warp 1.14.0 initialized")
    assert "NaN" in ran.out
    assert ran.result["timing"]["update_state_ms"]["count"] == 5


# --- bad words ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "flags", "told"),
    [
        ([], {"backend": "motrix"}, "invalid choice: 'motrix'"),
        ([], {"measure": "0"}, "--measure must be at least 1"),
        ([], {"num_envs": "0"}, "--num-envs must be at least 1"),
        ([], {"warmup": "-1"}, "--warmup must be at least 0"),
        ([], {"measure": "many"}, "invalid int value: 'many'"),
        (["--option", "device"], {}, "--option wants KEY=VALUE"),
        (["--instrument", "--serve"], {}, "--instrument goes with neither"),
        (["--out", "/nowhere/at/all/result.json"], {}, "there is no such folder"),
        (["--frobnicate"], {}, "unrecognized arguments: --frobnicate"),
    ],
)
def test_bad_words_are_refused_before_anything_is_built(
    child: Child, words: list[str], flags: dict[str, str], told: str
) -> None:
    ran = child(*words, flags=flags, junk=True)
    assert ran.exit == 2
    assert told in ran.err.splitlines()[-1]
    assert ran.out == ""


# --- the wrong code -------------------------------------------------------------------------------------------------


def test_a_folder_that_is_no_tree_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = run_child(tmp_path / "empty", tmp_path / "result.json")
    assert ran.exit == 3
    assert "not a tree, it has no src folder" in ran.err


class Environment:
    """A real virtual environment with a place for what an installer would put there."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = str(folder / "bin" / "python")
        (self.site,) = folder.glob("lib/python*/site-packages")
        # What the child itself needs, from the environment that these tests run in.
        (self.site / "base.pth").write_text(str(Path(numpy.__file__).parents[1]) + "\n")

    def run(self, tree: Path, out: Path) -> Ran:
        return run_child(tree, out, python=self.python, env={"PYTHONPATH": str(tree / "src")})


@pytest.fixture
def installed(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "environment")


FINDER = """
import importlib.util, sys
class EditableFinder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name == "tiny_subject":
            init = {checkout!r} + "/src/tiny_subject/__init__.py"
            return importlib.util.spec_from_file_location(name, init, submodule_search_locations=[init[:-12]])
def install():
    sys.meta_path.insert(0, EditableFinder)
"""


def test_an_editable_install_whose_finder_stands_first_is_refused_naming_the_file(
    installed: Environment, tmp_path: Path
) -> None:
    checkout = write_tree(tmp_path / "main-checkout", wrong_reward=1.0)
    (installed.site / "__editable___tiny_finder.py").write_text(FINDER.format(checkout=str(checkout)))
    (installed.site / "__editable__.tiny.pth").write_text("import __editable___tiny_finder as f; f.install()\n")
    ran = installed.run(write_tree(tmp_path / "before"), tmp_path / "result.json")
    assert ran.exit == 3
    assert f"{checkout}/src/tiny_subject/__init__.py: module tiny_subject was imported from here" in ran.err
    assert f"not from the tree {tmp_path}/before/src" in ran.err
    assert not ran.file.exists()


def test_a_path_file_of_another_checkout_does_not_win_over_the_tree(installed: Environment, tmp_path: Path) -> None:
    checkout = write_tree(tmp_path / "main-checkout", option="main checkout")
    (installed.site / "tiny.pth").write_text(f"{checkout}/src\n")
    ran = installed.run(write_tree(tmp_path / "before", option="before"), tmp_path / "result.json")
    assert ran.ours["config"]["option"] == "before"
    assert {item["path"].split("/")[0] for item in ran.ours["provenance"]} == {"src"}


def test_a_path_file_that_imports_the_subject_at_start_up_is_refused(installed: Environment, tmp_path: Path) -> None:
    checkout = write_tree(tmp_path / "main-checkout")
    (installed.site / "tiny.pth").write_text(f"{checkout}/src\nimport tiny_subject\n")
    tree = write_tree(tmp_path / "before")
    ran = run_child(tree, tmp_path / "result.json", python=installed.python)
    assert ran.exit == 3
    assert "main-checkout/src/tiny_subject/__init__.py: module tiny_subject" in ran.err


def test_a_single_module_from_elsewhere_is_refused_though_the_rest_is_the_trees(
    installed: Environment, tmp_path: Path
) -> None:
    checkout = write_tree(tmp_path / "main-checkout")
    tree = write_tree(tmp_path / "before")
    with (tree / "src" / "tiny_subject" / "__init__.py").open("a") as stream:
        stream.write(f"\n__path__.insert(0, {str(checkout / 'src' / 'tiny_subject')!r})\n")
    ran = installed.run(tree, tmp_path / "result.json")
    assert ran.exit == 3
    assert "main-checkout/src/tiny_subject/" in ran.err


def test_a_subject_that_is_installed_and_that_the_tree_lacks_is_refused(installed: Environment, tmp_path: Path) -> None:
    checkout = write_tree(tmp_path / "main-checkout")
    (installed.site / "tiny.pth").write_text(f"{checkout}/src\n")
    (tmp_path / "before" / "src").mkdir(parents=True)
    (tmp_path / "before" / "src" / "README.md").write_text("nothing here")
    ran = installed.run(tmp_path / "before", tmp_path / "result.json")
    assert ran.exit == 3
    assert "nothing was imported from here, so other code would be measured" in ran.err


def test_a_tree_that_is_reached_through_a_link_is_the_tree(tmp_path: Path) -> None:
    write_tree(tmp_path / "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    ran = run_child(tmp_path / "link", tmp_path / "result.json")
    assert {item["path"].split("/")[0] for item in ran.ours["provenance"]} == {"src"}


def test_an_untracked_bytecode_file_is_read_as_what_was_imported_and_not_as_its_source(tmp_path: Path) -> None:
    tree = write_tree(tmp_path / "tree")
    source = tree / "src" / "tiny_subject" / "knobs.py"
    argv = [sys.executable, "-c", "import py_compile, sys; py_compile.compile(sys.argv[1], cfile=sys.argv[1] + 'c')"]
    subprocess.run([*argv, str(source)], check=True)
    source.unlink()
    told = {item["module"]: item["path"] for item in run_child(tree, tmp_path / "result.json").ours["provenance"]}
    assert told["tiny_subject.knobs"] == "src/tiny_subject/knobs.pyc"


# --- when its driver goes away --------------------------------------------------------------------------------------


def test_a_closed_standard_output_does_not_cost_the_result(tmp_path: Path) -> None:
    tree, out = write_tree(tmp_path / "tree"), tmp_path / "result.json"
    argv = [sys.executable, str(PROFILER), *arguments(tree, out)]
    process = subprocess.Popen(argv, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    process.stdout.close()
    process.wait(timeout=60)
    assert json.loads(out.read_text())["measure"] == 5


@pytest.mark.parametrize("words", [[], ["--parity", "trace.npz"]], ids=["result", "trace"])
def test_a_disk_that_is_full_leaves_no_half_file(tmp_path: Path, words: list[str]) -> None:
    tree, out = write_tree(tmp_path / "tree"), tmp_path / "result.json"
    child = [sys.executable, str(PROFILER), *arguments(tree, out, *words)]
    argv = ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *child]  # no file may grow beyond 1 KiB
    done = subprocess.run(argv, env=environment(), cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "File too large" in done.stderr
    assert not out.exists()
    assert not (tmp_path / "trace.npz").exists()
