"""Google Benchmark JSON, one file for each arm: its `compare.py benchmarks before.json after.json`.

A run is a repetition. CPU time is not known for a step; the field that the format demands repeats the real time, and
the context says so.
"""

from __future__ import annotations

from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

from twotrees.report.exports.protocol import Exported, file_part, short, write_json
from twotrees.report.facts import ArmMetric, Campaign

NAME = "google-benchmark"
WHAT = "Google Benchmark JSON for its compare.py"


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes ``<arm>.json`` for each arm that has a metric."""
    files, left_out = [], []
    for arm in campaign.arms:
        metrics = [metric for metric in campaign.metrics if metric.arm == arm.name]
        if not metrics:
            left_out.append(f"{arm.name}: no run that counts")
            continue
        rows = [row for family, metric in enumerate(metrics) for row in rows_of(metric, family)]
        context = context_of(campaign)
        context["twotrees_arm"], context["twotrees_commit"] = arm.name, arm.commit
        files.append(write_json(out / f"{file_part(arm.name)}.json", {"context": context, "benchmarks": rows}))
    return Exported(tuple(files), tuple(left_out))


def context_of(campaign: Campaign) -> dict[str, Any]:
    """What the format asks of the host, as far as it is known."""
    host = {label: fact.value for label, fact in campaign.host.asked_first()} if campaign.host else {}
    threads = host.get("threads", "")
    return {
        "date": campaign.created,
        "host_name": "",
        "executable": f"{campaign.study} {campaign.backend}",
        "num_cpus": int(threads) if threads.isdigit() else 0,
        "mhz_per_cpu": 0,
        "cpu_scaling_enabled": False,
        "caches": [],
        "load_avg": [],
        "library_build_type": "release",
        "twotrees_note": "cpu_time repeats real_time: the CPU time of a step is not recorded",
    }


def rows_of(metric: ArmMetric, family: int) -> list[dict[str, Any]]:
    """The repetitions of one metric, then their aggregates."""
    name, values = short(metric.metric), metric.run_values_ms()
    common = {"run_name": name, "family_index": family, "per_family_instance_index": 0, "repetitions": len(values)}
    common |= {"threads": 1}
    rows = [
        {
            "name": name,
            **common,
            "run_type": "iteration",
            "repetition_index": place,
            "iterations": run.n_steps,
            "real_time": value,
            "cpu_time": value,
            "time_unit": "ms",
        }
        for place, (run, value) in enumerate(zip(metric.runs, values, strict=True))
    ]
    if len(values) > 1:
        for aggregate, number in (("mean", mean(values)), ("median", median(values)), ("stddev", stdev(values))):
            rows.append(
                {
                    "name": f"{name}_{aggregate}",
                    **common,
                    "run_type": "aggregate",
                    "aggregate_name": aggregate,
                    "aggregate_unit": "time",
                    "iterations": len(values),
                    "real_time": number,
                    "cpu_time": number,
                    "time_unit": "ms",
                }
            )
    return rows
