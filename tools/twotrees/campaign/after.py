"""After the last run: outputs are compared, trees and pins written down, and every number is computed from the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from twotrees import process, trees
from twotrees.campaign.before import pinned_copies
from twotrees.campaign.model import Campaign
from twotrees.errors import RunFailed
from twotrees.pins.environment import environment_digest, site_folders
from twotrees.runs import journal, parity
from twotrees.runs.work import write_json

AGGREGATE_LIMIT_S = 300.0


def compare_outputs(campaign: Campaign, records: Sequence[Mapping[str, Any]]) -> None:
    """Compares what the arms computed, where every arm's parity run gave a trace."""
    traced = {record["arm"] for record in records if record["mode"] == "parity" and record["status"] == "ok"}
    arms = campaign.config.study.arms
    if not set(arms) <= traced:
        return
    traces = {arm: campaign.work.trace(arm) for arm in arms}
    write_json(campaign.work.data / "parity.json", parity.compare(traces, campaign.config.backend.tolerance))


def describe_trees(campaign: Campaign, made: Mapping[str, trees.Tree], records: Sequence[Mapping[str, Any]]) -> None:
    """Writes each arm's tree and composed configuration as its runs reported them."""
    data = campaign.work.data
    for arm, tree in made.items():
        results = [r["result"] for r in records if r["arm"] == arm and r["status"] == "ok"]
        evidence: dict[str, Any] = next((result["twotrees"] for result in results if "twotrees" in result), {})
        write_json(data / "trees" / f"{arm}.json", trees.describe(tree, evidence.get("provenance", [])))
        if evidence.get("config") is not None:
            text = yaml.safe_dump(evidence["config"], sort_keys=True, allow_unicode=True)
            header = f"# composed by the subject; SHA-256 of its canonical JSON: {evidence['config_sha256']}\n"
            (data / "config" / f"{arm}.yaml").write_text(header + text, encoding="utf-8")
        if difference := trees.diff(tree):
            (data / "trees" / f"{arm}.diff").write_text(difference, encoding="utf-8")


def close_journal(campaign: Campaign, attempts: int) -> None:
    """Ends the journal: no run can be added to what is being sealed. Once is enough, however often this is resumed."""
    log, lines = journal.read(campaign.work.journal)
    if lines[-1]["event"] != "close":
        log.append("close", runs=attempts)


def keep_installed(campaign: Campaign) -> None:
    """Lists what is installed in the measured environment; where each arm has one, the baseline's and each other's."""
    folder = campaign.work.data / "pins"
    write_json(folder / "installed.json", environment_digest(site_folders(campaign.python)).data())
    if campaign.config.measured_in == "per-arm":
        for arm in campaign.config.study.arms[1:]:
            environment = environment_digest(site_folders(campaign.python_of(arm)))
            write_json(folder / f"installed-{arm}.json", environment.data())


def aggregate(campaign: Campaign) -> None:
    """Runs the pinned aggregator over the finished data, as anyone can.

    Raises:
        RunFailed: it could not make an aggregate.
    """
    _, aggregator = pinned_copies(campaign)
    data = campaign.work.data
    done = process.run([str(campaign.python), "-I", str(aggregator), "--data", str(data)], timeout_s=AGGREGATE_LIMIT_S)
    if not done.ok:
        raise RunFailed(done.complaint, file=aggregator.name, mend="the runs are kept in " + str(campaign.work.root))
    (data / "aggregate.json").write_bytes(done.stdout)
