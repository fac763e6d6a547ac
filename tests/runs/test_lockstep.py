"""Lockstep's controller: who computes when, and what becomes of a worker that does not behave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.runs.lockstep import Round, Schedule, WorkerDied, run_round, run_rounds, schedules


class Scripted:
    """A worker without a process. It advances the shared clock by what its steps take."""

    def __init__(self, arm: str, log: list[str], time: list[int], *, step_ns: int = 1000, **faults: Any) -> None:
        self.arm = arm
        self.log = log
        self.time = time
        self.step_ns = step_ns
        self.dies_at: int | None = faults.get("dies_at")
        self.idle_share: float = faults.get("idle_share", 0.0)
        self.hidden_share: float = faults.get("hidden_share", 0.0)
        self.reply: Callable[[dict[str, Any]], Any] = faults.get("reply", lambda reply: reply)
        self.blocks = 0
        self.accounted = 0
        self.replied: int | None = None

    def ready(self) -> None:
        self.log.append(f"{self.arm} ready")
        self.replied = self.time[0]

    def steps(self, n: int) -> Mapping[str, Any]:
        if self.blocks == self.dies_at:
            raise WorkerDied(self.arm, "ended with SIGSEGV")
        waited = self.time[0] - (self.replied or 0)
        self.log.append(self.arm)
        self.time[0] += n * self.step_ns
        self.replied = self.time[0]
        self.blocks += 1
        idle = int(self.idle_share * waited)
        self.accounted += idle + n * self.step_ns
        return self.reply(
            {
                "samples": {"update_state_ms": [self.step_ns] * n},
                "cpu_ns": n * self.step_ns,
                "wall_ns": n * self.step_ns,
                "idle_cpu_ns": idle,
            }
        )

    def finish(self) -> None:
        self.log.append(f"{self.arm} finish")

    def end(self) -> None:
        self.log.append(f"{self.arm} end")

    def tree_cpu_ns(self) -> int | None:
        return self.accounted + int(self.hidden_share * self.time[0])


def driven(schedule: Schedule, **faults_of_b: Any) -> tuple[Round, list[str]]:
    log: list[str] = []
    time = [0]
    step_ns = faults_of_b.pop("step_ns", 1000)
    workers = {
        "a": Scripted("a", log, time, step_ns=step_ns),
        "b": Scripted("b", log, time, step_ns=step_ns, **faults_of_b),
    }
    return run_round(workers, schedule, lambda: time[0]), log


def one_schedule(cycles: int = 3, steps: int = 5) -> Schedule:
    return schedules(("a", "b"), rounds=1, cycles=cycles, steps=steps, seed=1)[0]


@given(
    arms=st.integers(2, 4),
    turns=st.integers(1, 5),
    cycles=st.integers(1, 6),
    seed=st.integers(0, 2**31),
    random=st.booleans(),
)
def test_every_cycle_holds_each_arm_twice_and_each_arm_leads_equally_often(
    arms: int, turns: int, cycles: int, seed: int, random: bool
) -> None:
    names = tuple("abcd"[:arms])
    style = "random" if random else "mirrored"
    planned = schedules(names, rounds=turns * arms, cycles=cycles, steps=4, seed=seed, style=style)
    assert set(Counter(schedule.order[0] for schedule in planned).values()) == {turns}
    for schedule in planned:
        for start in range(0, len(schedule.order), 2 * arms):
            cycle = schedule.order[start : start + 2 * arms]
            assert Counter(cycle) == dict.fromkeys(names, 2)
            if not random:
                assert cycle == cycle[::-1]


def test_two_arms_take_turns_as_abba_then_baab() -> None:
    order = "".join(one_schedule(cycles=2).order)
    assert order in ("abbabaab", "baababba")


def test_the_same_seed_gives_the_same_order() -> None:
    plans = [schedules(("a", "b", "c"), rounds=9, cycles=4, steps=3, seed=5, style="random") for _ in range(2)]
    assert plans[0] == plans[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"arms": ("a",)},
        {"arms": ("a", "a")},
        {"rounds": 0},
        {"cycles": 0},
        {"steps": 1},
        {"style": "sorted"},
    ],
)
def test_a_schedule_that_compares_nothing_is_refused(wrong: dict[str, Any]) -> None:
    arms = wrong.pop("arms", ("a", "b"))
    with pytest.raises(ValueError):
        schedules(arms, **{"rounds": 2, "cycles": 2, "steps": 4, "seed": 0} | wrong)


def test_only_the_worker_whose_turn_it_is_gets_a_request() -> None:
    schedule = one_schedule()
    ended, log = driven(schedule)
    assert ended.status == "ok"
    assert [line for line in log if len(line) == 1] == list(schedule.order)
    assert [block.arm for block in ended.blocks] == list(schedule.order)
    assert all(block.samples == {"update_state_ms": (1000,) * 5} for block in ended.blocks)


def test_both_workers_finish_and_both_are_ended() -> None:
    _, log = driven(one_schedule())
    assert {"a finish", "b finish", "a end", "b end"} <= set(log)


def test_a_worker_that_dies_ends_its_round_and_names_itself() -> None:
    ended, log = driven(one_schedule(), dies_at=2)
    assert ended.status == "failed"
    assert ended.reason == "b: ended with SIGSEGV"
    assert {"a end", "b end"} <= set(log)
    assert "a finish" not in log


def test_a_worker_that_computes_while_it_waits_is_flagged() -> None:
    ended, _ = driven(one_schedule(), step_ns=5_000_000, idle_share=0.9)
    assert [(one.arm, one.seen_by) for one in ended.spinning] == [("b", "worker")]
    assert ended.spinning[0].share == pytest.approx(0.9, rel=0.01)


def test_a_pool_of_child_processes_that_spins_is_seen_from_outside() -> None:
    ended, _ = driven(one_schedule(), step_ns=20_000_000, hidden_share=0.5)
    assert [(one.arm, one.seen_by) for one in ended.spinning] == [("b", "outside")]


def test_reading_a_request_is_not_spinning() -> None:
    ended, _ = driven(one_schedule(), step_ns=100_000, idle_share=0.2)
    assert ended.spinning == ()


@pytest.mark.parametrize(
    ("reply", "complaint"),
    [
        (lambda reply: {**reply, "samples": {}}, "no samples"),
        (lambda reply: {**reply, "samples": {"x": [1, 2]}}, "2 x samples where 5"),
        (lambda reply: {**reply, "samples": {"x": [1, 2, -3, 4, 5]}}, "-3 ns"),
        (lambda reply: {**reply, "samples": {"x": [None] * 5}}, "is not one"),
        (lambda reply: {"samples": reply["samples"]}, "is not one"),
        (lambda reply: {**reply, "samples": 7}, "is not one"),
    ],
)
def test_an_answer_that_is_not_one_ends_the_round(reply: Any, complaint: str) -> None:
    ended, _ = driven(one_schedule(), reply=reply)
    assert ended.status == "failed"
    assert complaint in ended.reason


def campaign(faults: Mapping[int, dict[str, Any]], rounds: int = 6, **keys: Any) -> list[Round]:
    """Rounds whose worker b has the given faults in the given round."""
    log: list[str] = []
    time = [0]

    def start(schedule: Schedule, arm: str) -> Scripted:
        return Scripted(arm, log, time, **(faults.get(schedule.number, {}) if arm == "b" else {}))

    planned = schedules(("a", "b"), rounds=rounds, cycles=2, steps=3, seed=2)
    return list(run_rounds(planned, start, lambda: time[0], **keys))


def test_a_death_ends_its_round_not_the_campaign() -> None:
    ended = campaign({2: {"dies_at": 1}, 5: {"dies_at": 0}})
    assert [one.status for one in ended] == ["ok", "failed", "ok", "ok", "failed", "ok"]


def test_rounds_that_all_fail_end_the_campaign() -> None:
    ended = campaign({number: {"dies_at": 0} for number in range(1, 7)}, give_up_after=3)
    assert [one.status for one in ended] == ["failed"] * 3


def test_a_stopping_rule_is_asked_after_every_good_round_and_obeyed() -> None:
    asked: list[int] = []

    def enough(rounds: Sequence[Round]) -> bool:
        asked.append(len(rounds))
        return len(rounds) >= 3

    ended = campaign({2: {"dies_at": 1}}, enough=enough)
    assert asked == [1, 2, 3]
    assert [one.status for one in ended] == ["ok", "failed", "ok", "ok"]


def test_a_worker_that_does_not_start_fails_its_round_and_the_other_is_ended() -> None:
    log: list[str] = []
    time = [0]

    def start(schedule: Schedule, arm: str) -> Scripted:
        if arm == schedule.order[-1] and schedule.number == 1 and arm != schedule.arms[0]:
            raise WorkerDied(arm, "did not start")
        if schedule.number == 1 and arm == schedule.arms[1]:
            raise WorkerDied(arm, "did not start")
        return Scripted(arm, log, time)

    planned = schedules(("a", "b"), rounds=2, cycles=1, steps=3, seed=2)
    ended = list(run_rounds(planned, start, lambda: time[0]))
    assert [one.status for one in ended] == ["failed", "ok"]
    assert log[1].endswith("end")
