"""Lockstep rounds within the matrix: each worker an attempt of its own, counting only together."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from fake_matrix import CYCLES, STEPS, Campaign, rounds
from waiting import pid_in, wait_dead

from twotrees.errors import PinsDiffer, RunFailed


@pytest.fixture
def campaign(tmp_path: Path) -> Campaign:
    """Four rounds of two arms: runs 1 and 2 are the first round's workers, 3 and 4 the second's, and so on."""
    made = Campaign(tmp_path, rounds(4))
    made.begin()
    return made


def statuses(campaign: Campaign) -> list[tuple[int, str]]:
    return [(record["run"], record["status"]) for record in campaign.records()]


def test_each_round_gives_an_attempt_of_each_arm_with_all_its_blocks(campaign: Campaign) -> None:
    campaign.drive()
    records = campaign.records()
    assert [record["attempt"] for record in records] == list(range(1, 9))
    assert {(record["mode"], record["status"]) for record in records} == {("lockstep", "ok")}
    for record in records:
        blocks = record["result"]["twotrees"]["blocks"]
        assert [block["block"] for block in blocks] == list(range(2 * CYCLES))
        assert sum(len(block["samples"]["update_state_ms"]["values"]) for block in blocks) == STEPS


def test_each_arm_leads_in_half_of_the_rounds_and_its_attempt_has_the_lower_number(
    campaign: Campaign,
) -> None:
    campaign.drive()
    arms = [record["arm"] for record in campaign.records()]
    assert sorted(arms[::2]) == ["after", "after", "before", "before"]
    assert all(set(arms[first : first + 2]) == {"before", "after"} for first in range(0, 8, 2))


def test_the_journal_begins_all_workers_of_a_round_before_it_ends_any(campaign: Campaign) -> None:
    campaign.drive()
    told = [(line["event"], line["attempt"]) for line in campaign.journal() if line["event"] in ("start", "end")]
    assert told[:4] == [("start", 1), ("start", 2), ("end", 1), ("end", 2)]
    assert told[4:8] == [("start", 3), ("start", 4), ("end", 3), ("end", 4)]


@pytest.mark.parametrize("behaviour", ["crash", "crash later"])
def test_a_worker_that_dies_ends_its_round_and_not_the_campaign(campaign: Campaign, behaviour: str) -> None:
    campaign.behave({4: behaviour})
    campaign.drive()
    assert [status for _, status in statuses(campaign)] == ["ok", "ok", "interrupted", "failed", *["ok"] * 4]
    other, dead = campaign.records()[2:4]
    assert f"{dead['arm']}: ended with exit status 1" in dead["reason"]
    assert "RuntimeError: no " in dead["reason"]
    assert other["reason"].startswith("its round ended: ")
    assert (other["result"], dead["result"]) == (None, None)


def test_rounds_that_fail_in_a_row_stop_the_campaign_and_name_the_worker_that_died(
    campaign: Campaign,
) -> None:
    campaign.behave({2: "crash", 4: "crash later", 5: "crash"})
    with pytest.raises(RunFailed) as caught:
        campaign.drive()
    assert "run 5 " in str(caught.value)
    assert "0005.err" in str(caught.value)
    assert [run for run, status in statuses(campaign) if status == "ok"] == []
    assert set(campaign.measured()) <= {1, 2, 3, 4, 5, 6}


def test_rounds_that_fail_now_and_then_do_not_stop_the_campaign(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, rounds(6))
    campaign.begin()
    campaign.behave({1: "crash", 3: "crash", 7: "crash", 9: "crash"})
    campaign.drive()
    assert [run for run, status in statuses(campaign) if status == "ok"] == [5, 6, 11, 12]


def test_rounds_that_failed_are_measured_again_by_a_resume_and_the_good_ones_are_not(campaign: Campaign) -> None:
    campaign.behave({4: "crash"})
    campaign.drive()
    campaign.behave({})
    campaign.drive()
    assert statuses(campaign)[8:] == [(3, "ok"), (4, "ok")]
    assert [record["attempt"] for record in campaign.records()] == list(range(1, 11))


def test_a_worker_that_hangs_is_ended_and_so_is_the_other(campaign: Campaign) -> None:
    campaign.behave({2: "hang later"})
    campaign.drive(timeout_s=2.0)
    hung = pid_in(campaign.folder / "hanging")
    wait_dead(hung)
    records = campaign.records()
    assert [record["status"] for record in records[:2]] == ["interrupted", "timeout"]
    assert "gave no reply in 2 s" in records[1]["reason"]
    assert {record["status"] for record in records[2:]} == {"ok"}


def test_a_worker_that_refused_the_wrong_code_stops_the_campaign_with_exit_code_3(campaign: Campaign) -> None:
    campaign.behave({3: "wrong code"})
    with pytest.raises(PinsDiffer, match="module subject was imported from elsewhere"):
        campaign.drive()
    assert len(campaign.records()) == 4


def test_packages_that_change_in_a_round_void_both_of_its_attempts(campaign: Campaign) -> None:
    campaign.behave({1: "sync"})
    with pytest.raises(PinsDiffer, match="the installed packages changed while it ran"):
        campaign.drive()
    assert [record["status"] for record in campaign.records()] == ["invalid", "invalid"]


@pytest.mark.parametrize(
    ("how", "told"),
    [(signal.SIGKILL, "the campaign was killed while it ran"), (signal.SIGINT, "stopped by the user")],
    ids=["killed", "ctrl-c"],
)
def test_a_campaign_stopped_in_a_round_resumes_with_both_workers_anew(
    campaign: Campaign, how: signal.Signals, told: str
) -> None:
    campaign.behave({4: "hang later"})
    process = campaign.as_a_process()
    child = pid_in(campaign.folder / "hanging")
    process.send_signal(how)
    process.communicate(timeout=60)
    wait_dead(child)
    campaign.behave({})
    campaign.drive()
    assert statuses(campaign) == [
        *[(1, "ok"), (2, "ok"), (3, "interrupted"), (4, "interrupted")],
        *[(run, "ok") for run in range(3, 9)],
    ]
    assert [record["reason"] for record in campaign.records()[2:4]] == [told, told]
