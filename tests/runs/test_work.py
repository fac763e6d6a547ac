"""The work folder, and the lock that keeps two campaigns from measuring each other."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from waiting import wait_until

from twotrees.errors import PinsDiffer, UsageError
from twotrees.runs.work import Work, host_lock, results_folder, unfinished, write_json

Script = Callable[..., list[str]]

HOLDER = """
    import sys, time
    sys.path[:0] = {path!r}
    from pathlib import Path
    from twotrees.errors import TwotreesError
    from twotrees.runs.work import host_lock
    try:
        with host_lock(sys.argv[1], Path(sys.argv[2])):
            Path(sys.argv[3]).touch()
            time.sleep(float(sys.argv[4]))
    except TwotreesError as error:
        print(error)
        sys.exit(error.exit_code)
"""


def campaign(script: Script, name: str, folder: Path, seconds: float) -> subprocess.Popen[str]:
    """A process that holds the host for *seconds*, and touches a file of its name once it does."""
    argv = script(HOLDER.format(path=sys.path), name, folder / "lock", folder / name, seconds)
    return subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)


# --- the lock -------------------------------------------------------------------------------------------------------


def test_a_second_campaign_on_the_host_is_refused_and_told_who_measures(script: Script, tmp_path: Path) -> None:
    first = campaign(script, "g1-mujoco-20261201", tmp_path, 600)
    wait_until((tmp_path / "g1-mujoco-20261201").exists, "the first campaign's lock")
    second = campaign(script, "other", tmp_path, 0)
    told, _ = second.communicate(timeout=30)
    first.kill()
    first.wait()
    assert second.returncode == 3
    assert f"this host is being measured by g1-mujoco-20261201 (process {first.pid}); wait until it has ended" in told
    assert not (tmp_path / "other").exists()


def test_the_lock_of_a_campaign_that_was_killed_is_free(script: Script, tmp_path: Path) -> None:
    first = campaign(script, "killed", tmp_path, 600)
    wait_until((tmp_path / "killed").exists, "the first campaign's lock")
    first.kill()
    first.wait()
    with host_lock("next", tmp_path / "lock"):
        assert (tmp_path / "lock").read_text() == f"next (process {os.getpid()})"


def test_one_campaign_after_the_other_is_fine(tmp_path: Path) -> None:
    for name in ("first", "second"):
        with host_lock(name, tmp_path / "lock"):
            pass


def test_a_campaign_that_fails_lets_go_of_the_host(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), host_lock("fails", tmp_path / "lock"):
        raise ZeroDivisionError
    with host_lock("next", tmp_path / "lock"):
        pass


def test_within_one_process_too_a_second_campaign_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with host_lock("first", lock), pytest.raises(PinsDiffer, match="measured by first"), host_lock("second", lock):
        pass


def test_the_lock_does_not_pass_to_the_runs_and_outlive_the_campaign(script: Script, tmp_path: Path) -> None:
    with host_lock("campaign", tmp_path / "lock"):
        text = "import pathlib, sys, time; pathlib.Path(sys.argv[1]).touch(); time.sleep(600)"
        run = subprocess.Popen(script(text, tmp_path / "runs"), close_fds=False)
        wait_until((tmp_path / "runs").exists, "the run")
    try:
        with host_lock("next", tmp_path / "lock"):
            pass
    finally:
        run.kill()
        run.wait()


def test_a_link_in_the_place_of_the_lock_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "victim")
    with pytest.raises(UsageError, match=r"lock: cannot be locked: .*; remove what lies there"):
        host_lock("campaign", tmp_path / "lock").__enter__()
    assert (tmp_path / "victim").read_text() == "precious"


def test_a_folder_in_the_place_of_the_lock_is_told(tmp_path: Path) -> None:
    (tmp_path / "lock").mkdir()
    with pytest.raises(UsageError, match="cannot be locked"):
        host_lock("campaign", tmp_path / "lock").__enter__()


# --- where results go -----------------------------------------------------------------------------------------------


def test_the_results_folder_is_made(tmp_path: Path) -> None:
    assert results_folder(tmp_path / "a" / "b", needed_bytes=1).is_dir()


def test_a_file_in_the_place_of_the_results_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(UsageError) as caught:
        results_folder(tmp_path / "results")
    assert "results: results: cannot be written: " in str(caught.value)
    assert "choose another: results=FOLDER" in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system on which nobody may write")
def test_a_folder_on_which_nobody_may_write_is_told() -> None:
    with pytest.raises(UsageError, match="/proc/results: results: cannot be written: "):
        results_folder(Path("/proc/results"))


WRITER = """
    import sys
    sys.path[:0] = {path!r}
    from pathlib import Path
    from twotrees.errors import UsageError
    from twotrees.runs.work import results_folder
    try:
        results_folder(Path(sys.argv[1]))
    except UsageError as error:
        print(error)
"""
# Root may write everywhere, unless it gives that power up.
POWERLESS = ["setpriv", "--bounding-set=-dac_override", "--inh-caps=-dac_override"] if os.geteuid() == 0 else []


@pytest.mark.skipif(bool(POWERLESS) and shutil.which("setpriv") is None, reason="root, and no setpriv to be less")
def test_a_folder_on_which_this_user_may_not_write_is_told(script: Script, tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o555)
    argv = [*POWERLESS, *script(WRITER.format(path=sys.path), locked / "results")]
    told = subprocess.run(argv, capture_output=True, text=True, timeout=30).stdout
    assert told == f"{locked}/results: results: cannot be written: Permission denied; choose another: results=FOLDER\n"


def test_a_disk_without_room_is_told_with_what_is_free_and_what_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        results_folder(tmp_path, needed_bytes=2**62)
    assert "MiB are free and a campaign needs 4398046511104; make room" in str(caught.value)
    assert caught.value.exit_code == 2


def test_nothing_but_the_work_folder_is_left_by_the_proof_that_it_can_be_written(tmp_path: Path) -> None:
    results_folder(tmp_path, needed_bytes=1)
    assert [path.name for path in tmp_path.rglob("*")] == [".work"]


# --- the work folder ------------------------------------------------------------------------------------------------


def test_only_campaigns_with_a_plan_can_be_resumed_the_newest_first(tmp_path: Path) -> None:
    for name, seconds in (("old", 1_000), ("new", 2_000), ("unplanned", None)):
        work = Work(tmp_path / ".work" / name)
        work.make()
        if seconds is not None:
            work.plan.write_text("{}")
            os.utime(work.plan, (seconds, seconds))
    assert [work.root.name for work in unfinished(tmp_path)] == ["new", "old"]


def test_attempts_have_numbered_files_whose_names_sort_in_their_order(tmp_path: Path) -> None:
    work = Work(tmp_path)
    assert work.run(7).name == "0007.json"
    assert work.log(7, "err").name == "0007.err"
    assert sorted(work.run(number).name for number in (10, 9, 100)) == ["0009.json", "0010.json", "0100.json"]


def test_a_json_file_is_replaced_as_a_whole_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_json(path, {"a": 1})
    write_json(path, {"a": 2, "ü": "中"})
    assert json.loads(path.read_text(encoding="utf-8")) == {"a": 2, "ü": "中"}
    assert [entry.name for entry in tmp_path.iterdir()] == ["plan.json"]


def test_a_value_that_is_no_json_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    write_json(path, {"a": 1})
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"a": float("nan")})
    assert json.loads(path.read_text()) == {"a": 1}


def test_a_campaigns_folder_is_removed_with_all_that_is_in_it(tmp_path: Path) -> None:
    work = Work(tmp_path / "campaign")
    work.make()
    work.remove()
    assert not (tmp_path / "campaign").exists()
    work.remove()
