"""The matrix: every planned run once, whatever happens; nothing lost, nothing measured twice, nothing passed over."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from fake_matrix import RUNS, Campaign
from waiting import pid_in, wait_dead

from twotrees.digest import sha256_file
from twotrees.errors import PinsDiffer, RunFailed
from twotrees.runs import journal
from twotrees.runs.matrix import recorded

ALL = list(range(1, len(RUNS) + 1))


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    made = Campaign(tmp_path)
    made.begin()
    return made


def statuses(campaign: Campaign) -> list[tuple[int, str]]:
    return [(record["run"], record["status"]) for record in campaign.records()]


# --- when all goes well ---------------------------------------------------------------------------------------------


def test_every_planned_run_is_measured_once_in_the_planned_order(campaign: Campaign) -> None:
    campaign.drive()
    assert campaign.measured() == ALL
    assert statuses(campaign) == [(run, "ok") for run in ALL]
    assert [(r["arm"], r["mode"], r["repeat"]) for r in campaign.records()] == [(r.arm, r.mode, r.repeat) for r in RUNS]


def test_attempts_are_numbered_from_one_and_their_logs_kept_byte_for_byte(campaign: Campaign) -> None:
    campaign.drive()
    assert [record["attempt"] for record in campaign.records()] == ALL
    for record in campaign.records():
        log = campaign.work.log(record["attempt"], "err").read_text()
        assert log == f"NaN \x1b[1m log of run {record['run']} in {campaign.folder}\n"
        assert "not the result" in campaign.work.log(record["attempt"], "out").read_text()


def test_the_journal_has_a_line_before_and_after_each_run_that_names_its_record(campaign: Campaign) -> None:
    campaign.drive()
    _, lines = journal.read(campaign.work.journal)
    assert [line["event"] for line in lines] == ["plan", *["start", "end"] * len(ALL)]
    for line in lines:
        if line["event"] == "end":
            assert sha256_file(campaign.work.data / line["file"]) == line["sha256"]


def test_the_watcher_sees_each_run_begin_and_end(campaign: Campaign) -> None:
    seen = campaign.drive()
    assert seen == [event for run in ALL for event in (("start", run), ("ok", run))]


def test_a_record_holds_argv_environment_times_use_and_result_and_no_path_of_this_machine(campaign: Campaign) -> None:
    campaign.drive()
    record = campaign.records()[2]
    assert record["argv"][3:] == [
        "3",
        "before",
        "phase",
        "${WORK}/results/0003.json",
        "${WORK}/traces/before.npz",
        "${HERE}",
    ]
    assert record["env"]["XDG_CACHE_HOME"] == "${WORK}/private/before/xdg-cache"
    assert record["scrubbed"] == ["EDITOR"]
    assert record["result"]["repo"] == "${HERE}"
    assert record["start"] <= record["end"]
    assert record["rusage"]["max_rss_kib"] > 0
    assert record["environment"]["before"] == record["environment"]["after"] == sha256_file(campaign.packages)
    assert not [path for path in (campaign.work.data / "runs").iterdir() if str(campaign.folder) in path.read_text()]


def test_driving_a_finished_matrix_again_measures_nothing(campaign: Campaign) -> None:
    campaign.drive()
    before = campaign.work.journal.read_bytes()
    assert campaign.drive() == []
    assert campaign.measured() == ALL
    assert campaign.work.journal.read_bytes() == before


def test_every_record_can_be_read_back_in_order(campaign: Campaign) -> None:
    campaign.drive()
    assert [record["run"] for record in recorded(campaign.work)] == ALL


# --- when a run fails -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "status", "told"),
    [
        ("crash", "failed", "exit status 1: "),
        ("killed", "failed", "ended by SIGKILL: "),
        ("hang", "timeout", "it was ended after "),
        ("silent", "invalid", "it ended well but wrote no result file"),
        ("NaN", "invalid", "NaN is not a JSON number"),
        ("negative", "invalid", "update_state_ms mean_ms is -1.5, and a time must have passed"),
    ],
)
def test_a_run_that_fails_stops_the_matrix_and_is_kept_with_its_reason(
    campaign: Campaign, behaviour: str, status: str, told: str
) -> None:
    campaign.behave({4: behaviour})
    with pytest.raises(RunFailed) as caught:
        campaign.drive(timeout_s=1.5)
    line = str(caught.value)
    assert "0004.err: run 4 (before phase 2): " in line
    assert f"{status}: " in line
    assert told in line
    assert "nox -s resume" in line
    assert "\n" not in line
    assert caught.value.exit_code == 4
    assert campaign.measured() == [1, 2, 3, 4]
    assert statuses(campaign)[-1] == (4, status)
    assert told in campaign.records()[-1]["reason"]
    assert campaign.journal()[-1]["status"] == status


def test_the_reason_in_a_record_names_this_machines_folders_by_symbols(campaign: Campaign) -> None:
    campaign.behave({1: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    assert "no such file: ${HERE}/mesh.obj" in campaign.records()[0]["reason"]


def test_after_its_cause_is_mended_the_matrix_goes_on_with_the_run_that_failed(campaign: Campaign) -> None:
    campaign.behave({4: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    campaign.behave({})
    campaign.drive()
    assert campaign.measured() == [1, 2, 3, 4, 4, 5, 6, 7, 8]
    assert [(r["attempt"], r["run"], r["status"]) for r in campaign.records()][3:5] == [(4, 4, "failed"), (5, 4, "ok")]
    assert [record["attempt"] for record in campaign.records()] == list(range(1, 10))


def test_where_failures_are_sealed_the_other_arm_goes_on_and_the_failed_one_is_not_asked_again(
    campaign: Campaign,
) -> None:
    campaign.behave({3: "crash", 4: "crash", 5: "crash"})
    campaign.drive(stop=False)
    assert campaign.measured() == [1, 2, 3, 6, 7, 8]
    assert statuses(campaign) == [(1, "ok"), (2, "ok"), (3, "failed"), (6, "ok"), (7, "ok"), (8, "ok")]


def test_a_parity_run_that_writes_no_trace_is_invalid_at_once(campaign: Campaign) -> None:
    campaign.behave({1: "no trace"})
    with pytest.raises(RunFailed, match="it ended well but wrote no trace"):
        campaign.drive()
    assert campaign.measured() == [1]


def test_the_trace_of_an_earlier_attempt_never_stands_in_for_one_that_is_missing(campaign: Campaign) -> None:
    campaign.behave({2: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    campaign.work.trace("after").write_bytes(b"of an earlier attempt")
    campaign.behave({2: "no trace"})
    with pytest.raises(RunFailed, match="it ended well but wrote no trace"):
        campaign.drive()


def test_the_traces_of_parity_runs_outlive_the_runs_after_them(campaign: Campaign) -> None:
    campaign.drive()
    assert campaign.work.trace("before").is_file()
    assert campaign.work.trace("after").is_file()


# --- when the code or the packages are not the pinned ones ----------------------------------------------------------


def test_a_run_that_refused_the_wrong_code_stops_the_matrix_with_exit_code_3(campaign: Campaign) -> None:
    campaign.behave({3: "wrong code"})
    with pytest.raises(PinsDiffer, match="module subject was imported from elsewhere") as caught:
        campaign.drive(stop=False)
    assert caught.value.exit_code == 3
    assert statuses(campaign)[-1] == (3, "failed")


def test_a_result_that_imported_a_file_which_is_not_the_commits_is_refused(campaign: Campaign) -> None:
    campaign.behave({3: "other file"})
    with pytest.raises(PinsDiffer, match=r"run 3 .*subject\.py is not the commit's; a result of other code"):
        campaign.drive(stop=False)
    record = campaign.records()[-1]
    assert (record["status"], record["reason"]) == ("invalid", "/elsewhere/src/subject.py is not the commit's")
    assert campaign.measured() == [1, 2, 3]


def test_packages_that_change_while_a_run_runs_make_it_invalid_and_stop_the_matrix(campaign: Campaign) -> None:
    campaign.behave({3: "sync"})
    with pytest.raises(PinsDiffer, match=r"run 3 .*the installed packages changed while it ran"):
        campaign.drive(stop=False)
    record = campaign.records()[-1]
    assert record["status"] == "invalid"
    assert record["environment"]["before"] != record["environment"]["after"]
    assert campaign.measured() == [1, 2, 3]


def test_packages_that_changed_between_an_interruption_and_its_resume_stop_it_before_a_run(campaign: Campaign) -> None:
    campaign.behave({4: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    campaign.behave({})
    installed = campaign.packages.read_text()
    campaign.packages.write_text("numpy 2.4.5\n")
    with pytest.raises(PinsDiffer, match=r"run 4 .*no longer those of the runs before it; install them again"):
        campaign.drive()
    assert campaign.measured() == [1, 2, 3, 4]
    campaign.packages.write_text(installed)
    campaign.drive()
    assert campaign.measured() == [1, 2, 3, 4, 4, 5, 6, 7, 8]


# --- the tuner's cache ----------------------------------------------------------------------------------------------


def decisions(campaign: Campaign) -> list[str]:
    return [record["result"]["twotrees"]["decisions"]["chunk"] for record in campaign.records()]


def test_frozen_every_run_of_every_arm_finds_what_the_first_run_left_and_nothing_later(campaign: Campaign) -> None:
    campaign.drive(frozen=True)
    assert decisions(campaign) == ["none", *["tuned"] * 7]


def test_frozen_survives_a_resume(campaign: Campaign) -> None:
    campaign.behave({4: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive(frozen=True)
    campaign.behave({})
    campaign.drive(frozen=True)
    assert [r["result"]["twotrees"]["decisions"]["chunk"] for r in campaign.records() if r["status"] == "ok"] == [
        *["none"],
        *["tuned"] * 7,
    ]


def test_private_each_arm_finds_what_its_own_runs_left(campaign: Campaign) -> None:
    campaign.drive()
    assert decisions(campaign) == [
        *["none", "none", "tuned", "tuned then before 3", "tuned then before 3 then before 4"],
        *["tuned", "tuned then after 6", "tuned then after 6 then after 7"],
    ]


def test_shared_an_arm_finds_what_the_other_left(campaign: Campaign) -> None:
    campaign.drive(shared=True)
    assert decisions(campaign)[:3] == ["none", "tuned", "tuned then after 2"]


# --- when the campaign itself is stopped ----------------------------------------------------------------------------


def test_a_campaign_killed_in_the_middle_of_a_run_is_resumed_and_shows_the_interruption(campaign: Campaign) -> None:
    campaign.behave({5: "hang"})
    process = campaign.as_a_process()
    child = pid_in(campaign.folder / "hanging")
    process.kill()
    process.communicate(timeout=30)
    wait_dead(child)
    assert [line["event"] for line in campaign.journal()][-1] == "start"
    campaign.behave({})
    campaign.drive()
    assert campaign.measured() == [1, 2, 3, 4, 5, 5, 6, 7, 8]
    stopped = campaign.records()[4]
    assert (stopped["attempt"], stopped["run"], stopped["status"]) == (5, 5, "interrupted")
    assert stopped["reason"] == "the campaign was killed while it ran"
    assert (stopped["end"], stopped["exit"], stopped["result"]) == (None, None, None)
    assert statuses(campaign)[5:] == [(run, "ok") for run in (5, 6, 7, 8)]
    assert [record["attempt"] for record in campaign.records()] == list(range(1, 10))
    assert "log of run 5" in campaign.work.log(5, "err").read_text()


def test_ctrl_c_keeps_what_is_done_and_the_stopped_attempt(campaign: Campaign) -> None:
    campaign.behave({3: "hang"})
    process = campaign.as_a_process()
    child = pid_in(campaign.folder / "hanging")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    wait_dead(child)
    assert statuses(campaign) == [(1, "ok"), (2, "ok"), (3, "interrupted")]
    assert campaign.records()[2]["reason"] == "stopped by the user"
    assert campaign.journal()[-1]["status"] == "interrupted"
    campaign.behave({})
    campaign.drive()
    assert campaign.measured() == [1, 2, 3, 3, 4, 5, 6, 7, 8]


def test_a_campaign_killed_again_and_again_is_still_finished_with_every_interruption_shown(campaign: Campaign) -> None:
    for run in (1, 2, 6):
        campaign.behave({run: "hang"})
        process = campaign.as_a_process()
        wait_dead_after_kill(campaign, process)
    campaign.behave({})
    campaign.drive()
    assert statuses(campaign) == [
        *[(1, "interrupted"), (1, "ok"), (2, "interrupted"), (2, "ok"), (3, "ok"), (4, "ok"), (5, "ok")],
        *[(6, "interrupted"), (6, "ok"), (7, "ok"), (8, "ok")],
    ]


def wait_dead_after_kill(campaign: Campaign, process: subprocess.Popen[str]) -> None:
    child = pid_in(campaign.folder / "hanging")
    (campaign.folder / "hanging").unlink()
    process.kill()
    process.communicate(timeout=30)
    wait_dead(child)


def test_a_journal_line_that_the_crash_cut_short_counts_as_not_written(campaign: Campaign) -> None:
    campaign.behave({4: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    path = campaign.work.journal
    path.write_bytes(path.read_bytes()[:-20])
    campaign.behave({})
    campaign.drive()
    assert statuses(campaign)[3:5] == [(4, "interrupted"), (4, "ok")]


# --- when somebody touched what was measured ------------------------------------------------------------------------


@pytest.mark.parametrize("change", ["edited", "deleted"])
def test_a_record_that_is_not_the_journals_is_found_before_any_run(campaign: Campaign, change: str) -> None:
    campaign.behave({4: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    record = campaign.work.run(2)
    if change == "edited":
        record.write_text(record.read_text().replace("1.5", "1.4"))
    else:
        record.unlink()
    campaign.behave({})
    with pytest.raises(RunFailed, match=r"0002\.json: is not the record that the journal names"):
        campaign.drive()
    assert campaign.measured() == [1, 2, 3, 4]


def test_a_journal_in_which_a_failure_was_called_a_success_is_found(campaign: Campaign) -> None:
    campaign.behave({4: "crash"})
    with pytest.raises(RunFailed):
        campaign.drive()
    text = campaign.work.journal.read_text()
    campaign.work.journal.write_text(text.replace('"failed"', '"ok"'))
    with pytest.raises(RunFailed, match=r"journal\.jsonl: line 9: its hash is not that of its content"):
        campaign.drive()
    assert json.loads(text.splitlines()[-1])["status"] == "failed"
