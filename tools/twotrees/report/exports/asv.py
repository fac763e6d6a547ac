"""airspeed velocity results: `asv compare`, `asv show`, `asv publish` in a folder that holds the subject's repository.

asv keys results by commit, so every arm needs one of its own. Its samples are our runs' values: runs, not steps, are
what repeats independently.
"""

from __future__ import annotations

import math
from pathlib import Path
from statistics import median, quantiles, stdev
from typing import Any

from twotrees.digest import sha256_bytes
from twotrees.errors import UsageError
from twotrees.report.exports.protocol import QUANTILE, TERM, Exported, file_part, short, write_json
from twotrees.report.facts import Arm, ArmMetric, Campaign
from twotrees.report.host_facts import parsed_time

NAME = "asv"
WHAT = "airspeed velocity results for `asv compare`, `show` and `publish`"

RESULTS_VERSION, BENCHMARKS_VERSION, MACHINE_VERSION, CONFIG_VERSION = 2, 2, 1, 1
ENVIRONMENT = "existing-twotrees"
STATISTICS = ("ci_99_a", "ci_99_b", "q_25", "q_75", "number", "repeat")
COLUMNS = ("result", "params", "version", "started_at", "duration", *(f"stats_{s}" for s in STATISTICS), "samples")


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes ``asv.conf.json`` and ``results/``; `repo` in the configuration is for the reader to set.

    Raises:
        UsageError: an arm has no commit, or two arms have the same.
    """
    commits = [arm.commit for arm in campaign.arms]
    for arm in campaign.arms:
        if not arm.commit:
            raise UsageError(f"arm {arm.name} has no commit, by which asv keys its results", key="export=asv")
    if len(set(commits)) < len(commits):
        raise UsageError("two arms have the same commit; asv can keep one result for each", key="export=asv")
    host = {label: fact.value for label, fact in campaign.host.asked_first()} if campaign.host else {}
    machine = {
        "machine": file_part(f"{campaign.backend}-{campaign.device or 'host'}"),
        "os": host.get("system", ""),
        "arch": "",
        "cpu": host.get("cpu", ""),
        "num_cpu": host.get("threads", ""),
        "ram": host.get("memory (GiB)", ""),
    }
    results = out / "results"
    folder = results / machine["machine"]
    folder.mkdir(parents=True, exist_ok=True)
    configuration = {"version": CONFIG_VERSION, "project": campaign.study, "repo": ".", "results_dir": "results"}
    files = [
        write_json(out / "asv.conf.json", {**configuration, "html_dir": "html", "branches": ["HEAD"]}),
        write_json(folder / "machine.json", {**machine, "version": MACHINE_VERSION}),
        write_json(results / "benchmarks.json", {**benchmarks(campaign), "version": BENCHMARKS_VERSION}),
    ]
    for arm in campaign.arms:
        name = f"{file_part(arm.commit[:8])}-{ENVIRONMENT}.json"
        files.append(write_json(folder / name, result_of(campaign, arm, machine)))
    return Exported(tuple(files))


def name_of(metric: str) -> str:
    """``phase.update_state``, ``term.reward.motion_body_pos``, ``aggregate.four_body_rewards``: dots make the tree."""
    kind = "term" if metric.startswith(TERM) else "phase" if "_ms" in metric else "aggregate"
    return f"{kind}.{short(metric).replace('/', '.').replace(QUANTILE, '.')}"


def benchmarks(campaign: Campaign) -> dict[str, Any]:
    """What asv would have discovered."""
    made = {}
    for metric in campaign.metrics:
        name = name_of(metric.metric)
        made[name] = {
            "name": name,
            "pretty_name": name,
            "code": "",
            "type": "time",
            "unit": "seconds",
            "params": [],
            "param_names": [],
            "version": version_of(metric.metric),
            "number": 0,
            "repeat": 0,
            "rounds": 1,
            "sample_time": 0.01,
            "min_run_count": 1,
            "warmup_time": -1,
            "timeout": 60.0,
        }
    return made


def version_of(metric: str) -> str:
    """asv compares results of equal versions only; a metric's definition is its name."""
    return sha256_bytes(metric.encode())


def result_of(campaign: Campaign, arm: Arm, machine: dict[str, str]) -> dict[str, Any]:
    """One arm's result file."""
    begun = parsed_time(campaign.created)
    date_ms = int(begun.timestamp() * 1000) if begun else 0
    rows = {name_of(metric.metric): row_of(metric, date_ms) for metric in campaign.metrics if metric.arm == arm.name}
    return {
        "commit_hash": arm.commit,
        "env_name": ENVIRONMENT,
        "date": date_ms,
        "params": {**machine, "python": ""},
        "python": "",
        "requirements": {},
        "env_vars": {},
        "result_columns": list(COLUMNS),
        "results": rows,
        "durations": {},
        "version": RESULTS_VERSION,
    }


def row_of(metric: ArmMetric, date_ms: int) -> list[Any]:
    """One benchmark: the reported value and the runs' values behind it, in seconds."""
    values = [value / 1000.0 for value in metric.run_values_ms()]
    low, high = interval_99(values)
    quarters = quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    statistics = [[low], [high], [quarters[0]], [quarters[2]], [1], [len(values)]]
    result = [metric.value_ms / 1000.0]
    return [result, [], version_of(metric.metric), date_ms, None, *statistics, [values]]


def interval_99(values: list[float]) -> tuple[float | None, float | None]:
    """Student's 99 % interval around the median of the runs; none of one run."""
    if len(values) < 2:
        return None, None
    from scipy.stats import t

    reach = float(t.ppf(0.995, len(values) - 1)) * stdev(values) / math.sqrt(len(values))
    return median(values) - reach, median(values) + reach
