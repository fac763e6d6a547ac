"""The plan: which runs, in which order, from which seeds. Written and hashed before the first run."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from twotrees.digest import sha256_json
from twotrees.runs.lockstep import Schedule, schedules
from twotrees.study import BUILT, CampaignConfig, Protocol

SCHEMA = "twotrees-plan-v1"
Mode = Literal["parity", "phase", "lockstep", "terms"]


@dataclass(frozen=True)
class PlannedRun:
    """One process of the matrix.

    Attributes:
        run: Position in the plan, from 1.
        arm: Whose tree it steps.
        mode: `parity` (records outputs), `phase` (no probes), `lockstep` (one worker of a round) or `terms` (every
            term wrapped).
        repeat: How many runs of this arm and mode stand before it, plus 1; of a lockstep worker its round.
    """

    run: int
    arm: str
    mode: Mode
    repeat: int


def matrix(arms: Sequence[str], protocol: Protocol, order_seed: int, *, with_parity: bool) -> tuple[PlannedRun, ...]:
    """The runs in planned order.

    Parity runs come first: arms that compute different things are found before an hour is spent on timing them, and
    they fill the kernel caches. Then by arm, as published, or balanced: in each repeat every arm runs once, in an order
    drawn so that each arm leads equally often (as far as the number of repeats divides).
    """
    slots: list[tuple[str, Mode]] = [(arm, "parity") for arm in arms] if with_parity else []
    if protocol.lockstep is not None:
        slots += [(arm, "lockstep") for schedule in rounds(arms, protocol, order_seed) for arm in schedule.arms]
    counts: dict[Mode, int] = {"phase": protocol.phase_runs, "terms": protocol.terms_runs}
    if protocol.order == "by-arm":
        slots += [(arm, mode) for arm in arms for mode, count in counts.items() for _ in range(count)]
    else:
        draw = random.Random(order_seed)
        for mode, count in counts.items():
            slots += [(arm, mode) for order in balanced_orders(arms, count, draw) for arm in order]
    seen: dict[tuple[str, Mode], int] = {}
    runs = []
    for index, slot in enumerate(slots, start=1):
        seen[slot] = seen.get(slot, 0) + 1
        runs.append(PlannedRun(index, *slot, seen[slot]))
    return tuple(runs)


def rounds(arms: Sequence[str], protocol: Protocol, order_seed: int) -> tuple[Schedule, ...]:
    """The lockstep rounds of a protocol: the same for the same arms and seed, also after a crash."""
    shape = protocol.lockstep
    if shape is None:
        return ()
    return schedules(
        arms, rounds=shape.rounds, cycles=shape.cycles, steps=shape.steps, seed=order_seed, style=shape.style
    )


def balanced_orders(arms: Sequence[str], repeats: int, draw: random.Random) -> list[list[str]]:
    """For each repeat an order of all arms; which arm leads is itself balanced, then shuffled."""
    leaders: list[str] = []
    while len(leaders) < repeats:
        leaders += draw.sample(list(arms), len(arms))
    leaders = leaders[:repeats]
    draw.shuffle(leaders)
    orders = []
    for leader in leaders:
        followers = [arm for arm in arms if arm != leader]
        draw.shuffle(followers)
        orders.append([leader, *followers])
    return orders


def plan_data(
    config: CampaignConfig,
    runs: Sequence[PlannedRun],
    *,
    arms: Sequence[Mapping[str, Any]],
    scripts: Mapping[str, str],
    pins: Mapping[str, Any],
    device: str,
    threads: Mapping[str, Any],
    prepared: Sequence[Mapping[str, Any]],
    labels: Sequence[str],
    control: Mapping[str, Any] | None,
    replicates: str | None,
    created: str,
) -> dict[str, Any]:
    """The plan as data, in the layout that the bundle documents.

    Args:
        config: The typed campaign.
        runs: The matrix.
        arms: For each arm its name, commit, tree id and source.
        scripts: File name to SHA-256 of the measured child and the aggregator.
        pins: Lock identity and the hash of CHECKSUMS.
        device: The device that ``auto`` came to.
        threads: The thread counts that ``auto`` came to.
        prepared: The preparing commands that were run, in order.
        labels: What a reader must know about the circumstances (drift allowed, a dirty tree, …).
        control: What A against A showed on this host, or None when it was never calibrated.
        replicates: Root of the bundle that this campaign replicates.
        created: UTC time, ISO 8601.
    """
    protocol = config.protocol
    plan: dict[str, Any] = {
        "schema": SCHEMA,
        "study": config.study.name,
        "title": config.study.title,
        "backend": config.backend.name,
        "device": device,
        "host_cache": config.backend.host_cache,
        "environment": environment_kind(config.measured_in),
        "declared_differences": list(config.study.declared_differences),
        "threads": dict(threads),
        "protocol": {
            "name": protocol.name,
            "order": protocol.order,
            "phase_runs": protocol.phase_runs,
            "terms_runs": protocol.terms_runs,
            "parity_steps": protocol.parity.steps,
            "timeout_s": protocol.timeout_s,
            "on_failure": protocol.on_failure,
            "lockstep": None if protocol.lockstep is None else asdict(protocol.lockstep),
        },
        "scale": {
            "name": config.scale.name,
            "num_envs": config.scale.num_envs,
            "warmup": config.scale.warmup,
            "measure": config.scale.measure,
        },
        "seeds": {"action": config.seeds.action, "env": config.seeds.env, "order": config.seeds.order},
        "arms": [dict(arm) for arm in arms],
        "matrix": [asdict(run) for run in runs],
        "command": list(config.study.command),
        "instrument": list(config.study.instrument),
        "parity": list(config.study.parity),
        "options": dict(config.study.options.get(config.backend.name, {})),
        "backend_options": dict(config.backend.options),
        "prepare": [list(command) for command in config.study.prepare],
        "prepared": [dict(command) for command in prepared],
        "statistics": {
            "confidence": protocol.confidence,
            "delta": protocol.delta,
            "tolerance": asdict(config.backend.tolerance),
            "phase_value": "median of the steps, then median of the runs",
            "term_value": "mean of the calls, then median of the runs",
        },
        "exclusions": [],
        "scripts": dict(scripts),
        "pins": dict(pins),
        "labels": list(labels),
        "control": None if control is None else dict(control),
        "replicates": replicates,
        "created": created,
    }
    plan["study_root"] = study_root(plan)
    return plan


def environment_kind(environment: str) -> str:
    """What a bundle says of the environment: how it came to be, never a path of this machine."""
    return environment if environment in (*BUILT, "toolkit") else "given"


def study_root(plan: Mapping[str, Any]) -> str:
    """What makes two campaigns runs of one study: equal content, command and workload.

    Commits, locks, hosts, devices, dates, order and repeats are left out on purpose: the same trees under another
    commit id are the same code, and where the rest differs is what a comparison has to tell.
    """
    parts = ("study", "backend", "command", "instrument", "options", "backend_options", "scripts")
    same: dict[str, Any] = {key: plan[key] for key in parts}
    same["scale"] = {key: value for key, value in plan["scale"].items() if key != "name"}
    same["seeds"] = {key: plan["seeds"][key] for key in ("action", "env")}
    same["arms"] = [{"name": arm["name"], "tree": arm["tree"]} for arm in plan["arms"]]
    return sha256_json(same)
