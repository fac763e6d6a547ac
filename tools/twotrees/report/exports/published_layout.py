"""The file names of the published scripts: `base_mujoco_phase.json`, `final_mujoco_terms_r2.json`, …

The published aggregator reads three phase and three terms runs of two arms; with more arms or runs, the baseline, the
second arm and the first three runs of each are written, and the rest is told.
"""

from __future__ import annotations

from pathlib import Path

from twotrees.errors import UsageError
from twotrees.report.exports.protocol import Exported, file_part, write_json
from twotrees.report.facts import Campaign

NAME = "published-layout"
WHAT = "the published aggregator's file layout"

SUFFIXES = {"phase": ("phase", "phase_r2", "phase_r3"), "terms": ("terms_r2", "terms_r3", "terms_r4")}


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes twelve files of two arms.

    Raises:
        UsageError: an arm has fewer than three runs of a mode.
    """
    if len(campaign.arms) < 2:
        raise UsageError("the published layout holds two arms", key=f"export={NAME}")
    files = []
    left_out = [f"arm {arm.name}: the layout holds two arms" for arm in campaign.arms[2:]]
    for prefix, arm in zip(("base", "final"), campaign.arms, strict=False):
        for mode, suffixes in SUFFIXES.items():
            runs = {one.run: one for one in campaign.attempts if one.ok and (one.arm, one.mode) == (arm.name, mode)}
            if len(runs) < len(suffixes):
                raise UsageError(
                    f"arm {arm.name} has {len(runs)} {mode} runs that count; the published layout holds three",
                    key=f"export={NAME}",
                )
            ordered = [runs[number] for number in sorted(runs)]
            left_out += [f"run {one.run}: the layout holds three {mode} runs" for one in ordered[len(suffixes) :]]
            for one, suffix in zip(ordered, suffixes, strict=False):
                name = f"{prefix}_{file_part(campaign.backend)}_{suffix}.json"
                files.append(write_json(out / name, one.result or {}))
    return Exported(tuple(files), tuple(left_out))
