"""Bencher Metric Format, one file for each arm: `bencher run --adapter json --file after.json`.

The value is the reported one in nanoseconds, its bounds the smallest and largest run.
"""

from __future__ import annotations

from pathlib import Path

from twotrees.report.exports.protocol import Exported, file_part, short, write_json
from twotrees.report.facts import Campaign

NAME = "bencher"
WHAT = "Bencher Metric Format for `bencher run --adapter json`"

NS_PER_MS = 1e6


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes ``<arm>.json`` for each arm that has a metric."""
    files, left_out = [], []
    for arm in campaign.arms:
        metrics = {
            short(metric.metric): {
                "latency": {
                    "value": metric.value_ms * NS_PER_MS,
                    "lower_value": min(metric.run_values_ms()) * NS_PER_MS,
                    "upper_value": max(metric.run_values_ms()) * NS_PER_MS,
                }
            }
            for metric in campaign.metrics
            if metric.arm == arm.name
        }
        if metrics:
            files.append(write_json(out / f"{file_part(arm.name)}.json", metrics))
        else:
            left_out.append(f"{arm.name}: no run that counts")
    return Exported(tuple(files), tuple(left_out))
