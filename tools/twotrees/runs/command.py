"""The argv of a run: the study's command with its placeholders filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twotrees.runs.plan import PlannedRun
from twotrees.study import CampaignConfig


@dataclass(frozen=True)
class Command:
    """What stays the same in every argv of one arm.

    Attributes:
        config: The typed campaign.
        python: The interpreter of the measured environment.
        profiler: The measured child.
        tree: The arm's tree.
        device: What ``backend.device`` came to.
        threads: What the thread counts came to.
    """

    config: CampaignConfig
    python: Path
    profiler: Path
    tree: Path
    device: str
    threads: Mapping[str, Any]

    def argv(self, planned: PlannedRun, out: Path, trace: Path) -> list[str]:
        """The exact tokens of one run; a parity run has no warm-up and as many steps as its protocol says."""
        config, parity = self.config, planned.mode == "parity"
        values = {
            "python": self.python,
            "profiler": self.profiler,
            "tree": self.tree,
            "arm": planned.arm,
            "backend": config.backend.name,
            "num_envs": config.scale.num_envs,
            "warmup": 0 if parity else config.scale.warmup,
            "measure": steps_of(config, planned),
            "action_seed": config.seeds.action,
            "env_seed": config.seeds.env,
            "out": out,
            "trace": trace,
        }
        study = config.study
        added = {"phase": (), "terms": study.instrument, "parity": study.parity, "lockstep": study.serve}[planned.mode]
        command = study.command if "{mode}" in study.command else (*study.command, "{mode}")
        tokens: list[str] = []
        for token in command:
            if token == "{mode}":
                tokens += [more.format(**values) for more in added]
            else:
                tokens += self.options() if token == "{options}" else [token.format(**values)]
        return tokens

    def options(self) -> list[str]:
        """``--option KEY=VALUE`` for each option of the study, then of the backend."""
        given = {"device": self.device, "physics_threads": self.threads["physics"]}
        told = self.config.study.options.get(self.config.backend.name, {})
        options = {key: value.format(**given) for key, value in told.items()}
        options |= {key: str(value) for key, value in self.config.backend.options.items()}
        return [token for key, value in options.items() for token in ("--option", f"{key}={value}")]


def steps_of(config: CampaignConfig, planned: PlannedRun) -> int:
    """How many steps a run measures; a lockstep worker's are those of its blocks, discarded ones included."""
    if planned.mode == "parity":
        return config.protocol.parity.steps
    if planned.mode == "lockstep" and config.protocol.lockstep is not None:
        return 2 * config.protocol.lockstep.cycles * config.protocol.lockstep.steps
    return config.scale.measure


def expected(config: CampaignConfig, planned: PlannedRun) -> dict[str, Any]:
    """The keys of a run's result and the values that the plan gives them."""
    return {
        "backend": config.backend.name,
        "num_envs": config.scale.num_envs,
        "warmup": 0 if planned.mode == "parity" else config.scale.warmup,
        "measure": steps_of(config, planned),
        "instrument": planned.mode == "terms",
        "action_seed": config.seeds.action,
        "env_seed": config.seeds.env,
    }
