"""The dry run: the exact commands of a campaign, printed; nothing is checked out, fetched or measured."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from twotrees import host
from twotrees.campaign.environments import python_of
from twotrees.runs.command import Command
from twotrees.runs.plan import matrix
from twotrees.runs.surroundings import resolved_threads
from twotrees.study import CampaignConfig

WORK = Path("$WORK")


def commands(config: CampaignConfig, base: Path) -> list[dict[str, Any]]:
    """Every planned run with its argv; trees and results stand under ``$WORK``.

    Raises:
        UsageError: the study's interpreter is not there.
    """
    threads = resolved_threads(config.backend.threads, host.usable_cores())
    runs = matrix(config.study.arms, config.protocol, config.seeds.order, with_parity=config.study.compares_outputs)
    rows = []
    for planned in runs:
        tree = WORK / "trees" / planned.arm
        profiler = WORK / "scripts" / Path(config.study.scripts.profiler).name
        python = python_of(config, base, WORK, planned.arm)
        command = Command(config, python, profiler, tree, config.backend.device, threads)
        out = WORK / "results" / f"{planned.run:04d}.json"
        rows.append(
            {
                "run": planned.run,
                "arm": planned.arm,
                "mode": planned.mode,
                "repeat": planned.repeat,
                "pythonpath": str(tree / "src"),
                "argv": command.argv(planned, out, WORK / "traces" / f"{planned.arm}.npz"),
            }
        )
    return rows


def line(row: Mapping[str, Any]) -> str:
    """One run as a line that a shell could run, were ``$WORK`` set."""
    words = [word if word.startswith("$WORK") else shlex.quote(word) for word in row["argv"]]
    return f"PYTHONPATH={row['pythonpath']} {' '.join(words)}"
