"""Lockstep: live workers, one per arm, that take turns in short blocks while all others wait on a pipe.

In: a schedule and workers that speak the protocol of docs/lockstep.md. Out: rounds, each with its blocks in order, who
computed while it should have waited, and how it ended. What the blocks mean is `stats/`'s; what is kept of each worker
is `attempt.py`'s. The workers are an edge passed in, so that everything else here runs without processes or clocks.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

# A waiting worker that uses more than this share of a core disturbs the one that computes. The floor, for each wait,
# keeps the cost of waking up and reading one request from counting as spinning when blocks are very short.
SPINNING_SHARE = 0.05
SPINNING_FLOOR_NS = 500_000
KERNEL_TICK_NS = 10_000_000


class WorkerDied(Exception):
    """A worker gave no usable reply; the message says what it did instead. `timed_out` tells a hang from a crash."""

    def __init__(self, arm: str, reason: str, *, timed_out: bool = False) -> None:
        super().__init__(f"{arm}: {reason}")
        self.arm = arm
        self.reason = reason
        self.timed_out = timed_out


class Worker(Protocol):
    """One live process of one arm, as the controller sees it."""

    @property
    def arm(self) -> str:
        """Whose tree it steps."""

    def ready(self) -> None:
        """Waits for its first line, unless it has come. Raises: WorkerDied."""

    def steps(self, n: int) -> Mapping[str, Any]:
        """Asks for *n* more steps and waits for the reply. Raises: WorkerDied."""

    def finish(self) -> None:
        """Asks it to write its result and leave, and waits for that. Raises: WorkerDied."""

    def end(self) -> None:
        """Ends it and everything it started, whatever state it is in; never raises."""

    def tree_cpu_ns(self) -> int | None:
        """CPU time of it and its children so far, seen from outside; None where that cannot be read."""


@dataclass(frozen=True)
class Schedule:
    """Who computes when, in one round.

    Attributes:
        number: The round, from 1.
        order: Arm of each block. Every cycle (twice as many blocks as arms) holds each arm twice.
        steps: Steps of one block, the discarded first one included.
    """

    number: int
    order: tuple[str, ...]
    steps: int

    @property
    def arms(self) -> tuple[str, ...]:
        """The arms in the order in which they lead: their workers are started in it."""
        return tuple(dict.fromkeys(self.order))


@dataclass(frozen=True)
class Block:
    """Consecutive steps of one arm.

    Attributes:
        index: Place in the round.
        arm: Who computed.
        samples: Metric to the steps' times in ns, all of them: the first is discarded only in analysis.
        wall_ns: The block's duration on the worker's clock.
        cpu_ns: CPU time that the worker used in it.
        idle_cpu_ns: CPU time that the worker used while it waited before this block.
        waited_ns: How long it waited.
    """

    index: int
    arm: str
    samples: Mapping[str, tuple[int, ...]]
    wall_ns: int
    cpu_ns: int
    idle_cpu_ns: int
    waited_ns: int


@dataclass(frozen=True)
class Spinning:
    """A worker that computed while it should have waited.

    Attributes:
        arm: Who.
        idle_cpu_ns: CPU time used while waiting, all waits of the round together.
        waited_ns: How long it waited.
        seen_by: `worker` (its own account) or `outside` (CPU time of its process tree that it did not account for,
            as a pool of child processes makes it).
    """

    arm: str
    idle_cpu_ns: int
    waited_ns: int
    seen_by: str

    @property
    def share(self) -> float:
        """Of one core."""
        return self.idle_cpu_ns / self.waited_ns if self.waited_ns else 0.0


@dataclass(frozen=True)
class Round:
    """One set of processes, from their start to their end.

    Attributes:
        schedule: What was to be done.
        blocks: What was done, in order.
        status: `ok`, `failed` or `timeout`; only an ok round counts, for all of its arms or for none.
        reason: Why it does not count; empty when it does.
        spinning: Who did not wait quietly; such a round counts, and the comparison says so.
    """

    schedule: Schedule
    blocks: tuple[Block, ...]
    status: str = "ok"
    reason: str = ""
    spinning: tuple[Spinning, ...] = field(default=())


def schedules(
    arms: Sequence[str], *, rounds: int, cycles: int, steps: int, seed: int, style: str = "mirrored"
) -> tuple[Schedule, ...]:
    """The rounds of a campaign.

    Each arm leads equally often (as far as *rounds* divides), in an order drawn from *seed*. A mirrored cycle is an
    order of the arms and its mirror image (ABBA; for three arms ABCCBA), which cancels a linear drift; the next cycle
    starts with another arm (BAAB), which cancels what a place in the cycle does. A random cycle holds each arm twice
    in drawn places; it is for subjects that have a rhythm of their own.

    Args:
        arms: In the study's order.
        rounds: How many sets of processes.
        cycles: Cycles of one round.
        steps: Steps of one block, at least 2: the first is discarded.
        seed: The plan's order seed.
        style: `mirrored` or `random`.

    Raises:
        ValueError: fewer than two arms, an unknown style, or a size that leaves nothing to compare.
    """
    if len(arms) < 2 or len(set(arms)) != len(arms):
        raise ValueError("lockstep compares at least two different arms")
    if steps < 2 or cycles < 1 or rounds < 1:
        raise ValueError("lockstep needs steps >= 2, cycles >= 1, rounds >= 1")
    if style not in ("mirrored", "random"):
        raise ValueError(f"unknown style {style!r}; mirrored or random")
    draw = random.Random(seed)
    leaders: list[int] = []
    while len(leaders) < rounds:
        leaders += draw.sample(range(len(arms)), len(arms))
    made = []
    for number, leader in enumerate(leaders[:rounds], start=1):
        order: list[str] = []
        for cycle in range(cycles):
            start = (leader + cycle) % len(arms)
            if style == "mirrored":
                turn = [*arms[start:], *arms[:start]]
                order += turn + turn[::-1]
            else:
                rest = [arm for arm in arms for _ in range(2)]
                rest.remove(arms[start])
                draw.shuffle(rest)
                order += [arms[start], *rest]
        made.append(Schedule(number, tuple(order), steps))
    return tuple(made)


def run_round(workers: Mapping[str, Worker], schedule: Schedule, clock: Callable[[], int]) -> Round:
    """Drives one round over workers that have been started; they have ended, by themselves or not, when it returns.

    A worker that dies, hangs or answers nonsense ends the round, not the campaign: the round comes back as not ok with
    its reason and whatever blocks there were.

    Args:
        workers: By arm; every arm of the schedule.
        schedule: Who computes when.
        clock: Monotonic nanoseconds.
    """
    blocks: list[Block] = []
    status, reason = "ok", ""
    spinning: tuple[Spinning, ...] = ()
    try:
        for arm in schedule.arms:
            workers[arm].ready()
        began = {arm: workers[arm].tree_cpu_ns() for arm in schedule.arms}
        replied = dict.fromkeys(schedule.arms, clock())
        for index, arm in enumerate(schedule.order):
            waited_ns = clock() - replied[arm]
            reply = workers[arm].steps(schedule.steps)
            replied[arm] = clock()
            blocks.append(block_of(index, arm, schedule.steps, reply, waited_ns))
        spinning = (*spinning_inside(blocks), *spinning_outside(blocks, began, workers))
        for arm in schedule.arms:
            workers[arm].finish()
    except WorkerDied as death:
        status, reason = ("timeout" if death.timed_out else "failed"), str(death)
    finally:
        for worker in workers.values():
            worker.end()
    return Round(schedule, tuple(blocks), status, reason, spinning)


def block_of(index: int, arm: str, steps: int, reply: Mapping[str, Any], waited_ns: int) -> Block:
    """A reply as a block.

    Raises:
        WorkerDied: the reply is not one, lacks steps, or holds a time that no clock gives.
    """
    try:
        samples = {str(name): tuple(int(ns) for ns in values) for name, values in reply["samples"].items()}
        wall_ns, cpu_ns, idle_cpu_ns = (int(reply[key]) for key in ("wall_ns", "cpu_ns", "idle_cpu_ns"))
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise WorkerDied(arm, f"its reply to block {index} is not one: {fault!r}") from None
    if not samples:
        raise WorkerDied(arm, f"its reply to block {index} holds no samples")
    for name, values in samples.items():
        if len(values) != steps:
            raise WorkerDied(arm, f"block {index} has {len(values)} {name} samples where {steps} were asked for")
        if min(values) < 0:
            raise WorkerDied(arm, f"{name} in block {index} is {min(values)} ns, which no clock gives")
    return Block(index, arm, samples, wall_ns, cpu_ns, idle_cpu_ns, waited_ns)


def spinning_inside(blocks: Sequence[Block]) -> Iterator[Spinning]:
    """Arms whose workers say themselves that they computed while waiting."""
    for arm in dict.fromkeys(block.arm for block in blocks):
        own = [block for block in blocks if block.arm == arm]
        found = Spinning(arm, sum(b.idle_cpu_ns for b in own), sum(b.waited_ns for b in own), "worker")
        if found.share > SPINNING_SHARE and found.idle_cpu_ns > SPINNING_FLOOR_NS * len(own):
            yield found


def spinning_outside(
    blocks: Sequence[Block], began: Mapping[str, int | None], workers: Mapping[str, Worker]
) -> Iterator[Spinning]:
    """Arms whose process trees used CPU time that their workers do not account for.

    The kernel's account comes in ticks of up to 10 ms, so that a few of them are not yet evidence.
    """
    for arm, start in began.items():
        now = workers[arm].tree_cpu_ns()
        own = [block for block in blocks if block.arm == arm]
        if start is None or now is None:
            continue
        hidden = now - start - sum(block.cpu_ns + block.idle_cpu_ns for block in own)
        waited = sum(block.waited_ns for block in own)
        if hidden > max(5 * KERNEL_TICK_NS, SPINNING_SHARE * waited):
            yield Spinning(arm, hidden, waited, "outside")


def run_rounds(
    planned: Iterable[Schedule],
    start: Callable[[Schedule, str], Worker],
    clock: Callable[[], int],
    *,
    enough: Callable[[Sequence[Round]], bool] = lambda rounds: False,
    give_up_after: int = 3,
) -> Iterator[Round]:
    """Drives the rounds of a campaign, each with workers of its own, one after the other.

    Args:
        planned: The schedules.
        start: Starts the worker of an arm for a round; called in leading order, each once the one before is ready, so
            that no two of them warm up at once.
        clock: Monotonic nanoseconds.
        enough: Asked after every ok round, with the ok rounds so far; a sequential rule or a budget.
        give_up_after: So many rounds that fail one after the other end the campaign.

    Yields:
        Every round, failed ones too, as it ends.
    """
    good: list[Round] = []
    failures = 0
    for schedule in planned:
        workers: dict[str, Worker] = {}
        try:
            for arm in schedule.arms:
                workers[arm] = start(schedule, arm)
                workers[arm].ready()
        except WorkerDied as death:
            for worker in workers.values():
                worker.end()
            ended = Round(schedule, (), "failed", str(death))
        except BaseException:
            for worker in workers.values():
                worker.end()
            raise
        else:
            ended = run_round(workers, schedule, clock)
        yield ended
        if ended.status == "ok":
            good.append(ended)
            failures = 0
            if enough(good):
                return
        else:
            failures += 1
            if failures >= give_up_after:
                return
