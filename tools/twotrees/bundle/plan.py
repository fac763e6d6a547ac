"""The plan of a bundle, read strictly: what was to be run, and what may not differ from it.

In comes `data/plan.json`, out come typed facts. The plan is the stranger's; that it is whole and of one mind with
itself is all that is checked here.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from twotrees.bundle import layout
from twotrees.bundle.read import Contents
from twotrees.bundle.shape import HEX_64, OBJECT_ID, WORD, Node

SCHEMA = "twotrees-plan-v1"
PER_ARM = "per-arm"
LABEL_PER_ARM = "environments differ"
MODES = ("parity", "phase", "terms", "lockstep")


@dataclass(frozen=True)
class Planned:
    """One entry of the matrix."""

    run: int
    arm: str
    mode: str
    repeat: int


@dataclass(frozen=True)
class Plan:
    """What the checks need of the plan.

    Attributes:
        node: The plan itself.
        arms: Name to (commit, tree).
        matrix: Planned runs in order.
        created: When it was written.
        labels: What a reader must know.
        excluded: Runs that the plan leaves out of the numbers, with their reasons.
    """

    node: Node
    arms: dict[str, tuple[str, str]]
    matrix: tuple[Planned, ...]
    created: datetime
    labels: tuple[str, ...]
    excluded: dict[int, str]

    @property
    def per_arm(self) -> bool:
        """Whether each arm was measured in an environment of its own."""
        kind = self.node.get("environment")
        return kind is not None and kind.value == PER_ARM

    @property
    def data(self) -> dict[str, Any]:
        """The plan as data."""
        data: dict[str, Any] = self.node.value
        return data

    def first_of_round(self, planned: Planned) -> int:
        """The run whose place in the order counts: of a lockstep round, whose workers run at once, the first one."""
        if planned.mode != "lockstep":
            return planned.run
        return min(one.run for one in self.matrix if (one.mode, one.repeat) == (planned.mode, planned.repeat))

    def expected(self, mode: str) -> dict[str, Any]:
        """Keys of a result and the values that the plan gives them in a run of *mode*."""
        node = self.node
        values: dict[str, Any] = {
            "backend": node["backend"].value,
            "num_envs": node["scale"]["num_envs"].value,
            "action_seed": node["seeds"]["action"].value,
            "env_seed": node["seeds"]["env"].value,
            "instrument": mode == "terms",
        }
        if mode in ("phase", "terms"):
            values["warmup"] = node["scale"]["warmup"].value
            values["measure"] = node["scale"]["measure"].value
        elif mode == "parity" and (steps := node["protocol"].get("parity_steps")) is not None:
            values["measure"] = steps.value
        return values


def read_plan(contents: Contents, root: str) -> Plan:
    """Reads the plan.

    Raises:
        BundleBroken: its shape is wrong, or it contradicts itself.
    """
    node = Node(contents.json(layout.PLAN), layout.PLAN)
    node["schema"].equals(SCHEMA, "the format")
    node["study"].text(WORD)
    node["backend"].text(WORD)
    node["study_root"].text(HEX_64)
    for key in ("num_envs", "measure"):
        node["scale"][key].integer(1)
    node["scale"]["warmup"].integer()
    for key in ("action", "env", "order"):
        node["seeds"][key].integer()
    for _, digest in node["scripts"].members():
        digest.text(HEX_64)
    node["pins"]["checksums_sha256"].text(HEX_64)
    if (lock := node["pins"]["lock_identity"]).value is not None:  # an installed wheel has no lock to name
        lock.text(HEX_64)
    dict(node["statistics"].members())
    node["protocol"]["name"].text(WORD)
    if (replicates := node["replicates"]).value is not None and replicates.text(HEX_64) == root:
        replicates.refuse("a replication cannot be of itself")
    arms: dict[str, tuple[str, str]] = {}
    for arm in node["arms"].items():
        name = arm["name"].text(WORD)
        if name in arms:
            arm["name"].refuse(f"two arms are called {name}")
        arms[name] = arm["commit"].text(OBJECT_ID), arm["tree"].text(OBJECT_ID)
    if len(arms) < 2:
        node["arms"].refuse("at least two arms are compared")
    matrix = _matrix(node, arms)
    labels = tuple(label.text() for label in node["labels"].items())
    plan = Plan(node, arms, matrix, node["created"].moment(), labels, _exclusions(node, len(matrix)))
    if plan.per_arm and not any(label.startswith(LABEL_PER_ARM) for label in labels):
        node["labels"].refuse(f"each arm has an environment of its own, and no label says `{LABEL_PER_ARM}`")
    return plan


def _matrix(node: Node, arms: dict[str, tuple[str, str]]) -> tuple[Planned, ...]:
    matrix: list[Planned] = []
    counts: dict[tuple[str, str], int] = {}
    for place, entry in enumerate(node["matrix"].items(), start=1):
        entry["run"].equals(place, "its place in the matrix")
        arm, mode = entry["arm"].text(), entry["mode"].text()
        if arm not in arms:
            entry["arm"].refuse(f"there is no arm {arm[:64]!a}")
        if mode not in MODES:
            entry["mode"].refuse(f"there is no mode {mode[:64]!a}")
        counts[arm, mode] = counts.get((arm, mode), 0) + 1
        entry["repeat"].equals(counts[arm, mode], "the count of such runs before it")
        matrix.append(Planned(place, arm, mode, counts[arm, mode]))
    for mode in MODES:
        numbers = {counts.get((arm, mode), 0) for arm in arms}
        if len(numbers) > 1:
            node["matrix"].refuse(f"the arms do not have equally many runs of mode {mode}")
        planned = node["protocol"].get(f"{mode}_runs")
        if planned is not None and {planned.integer()} != numbers:
            planned.refuse(f"the matrix has {max(numbers)} runs of mode {mode} for each arm")
    if not matrix:
        node["matrix"].refuse("no run is planned")
    return tuple(matrix)


def _exclusions(node: Node, runs: int) -> dict[int, str]:
    excluded: dict[int, str] = {}
    for entry in node["exclusions"].items():
        run = entry["run"].integer(1)
        if run > runs or run in excluded:
            entry["run"].refuse("not a planned run, or excluded twice")
        excluded[run] = entry["reason"].text()
        if not excluded[run].strip():
            entry["reason"].refuse("an exclusion needs its reason")
    return excluded
