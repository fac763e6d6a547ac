"""pyperf JSON, one file for each arm: `pyperf compare_to before.json after.json`, `stats`, `hist`, `check`.

A run of ours is a run of pyperf's, its steps are the values. pyperf takes positive seconds only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twotrees.report.exports.protocol import Exported, Series, file_part, series_of, short, write_json
from twotrees.report.facts import Campaign
from twotrees.report.host_facts import parsed_time

NAME = "pyperf"
WHAT = "pyperf JSON for `pyperf compare_to`, `stats` and `hist`"


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes ``<arm>.json`` for each arm."""
    files, left_out = [], []
    for arm in campaign.arms:
        benchmarks: dict[str, list[Series]] = {}
        for series in series_of(campaign, arm.name):
            benchmarks.setdefault(series.metric, []).append(series)
        for metric in [name for name, many in benchmarks.items() if any(min(one.values_ms) <= 0.0 for one in many)]:
            del benchmarks[metric]
            left_out.append(f"{arm.name} {short(metric)}: it holds zeros, and pyperf takes positive times only")
        if not benchmarks:
            left_out.append(f"{arm.name}: no run that counts")
            continue
        metadata = {"unit": "second", "description": f"{campaign.study}, {campaign.backend}, arm {arm.name}"}
        if arm.commit:
            metadata["twotrees_commit"] = arm.commit
        suite = {
            "version": "1.0",
            "metadata": metadata,
            "benchmarks": [
                {
                    "metadata": {"name": short(metric), "loops": 1, "inner_loops": 1},
                    "runs": [run_of(one) for one in many],
                }
                for metric, many in benchmarks.items()
            ],
        }
        files.append(write_json(out / f"{file_part(arm.name)}.json", suite))
    return Exported(tuple(files), tuple(left_out))


def run_of(series: Series) -> dict[str, Any]:
    """One run: its values in seconds, when it began and how long the process took."""
    metadata: dict[str, Any] = {}
    begun = parsed_time(series.attempt.start)
    if begun is not None:
        metadata["date"] = begun.replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")
    if series.attempt.wall_s:
        metadata["duration"] = series.attempt.wall_s
    return {"values": [value / 1000.0 for value in series.values_ms], "metadata": metadata}
