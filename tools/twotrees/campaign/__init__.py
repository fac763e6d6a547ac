"""The main job, room by room: check, fingerprint, trees, matrix, parity, aggregate, report, seal, sign, verify.

`begin` starts a campaign from a composed configuration; `resume` finishes one that was interrupted. Both walk the same
steps, and each step leaves on the disk what the next one needs.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console

from twotrees import host, report, strict_json, trees
from twotrees.bundle.keys import find_key, principal
from twotrees.bundle.seal import seal
from twotrees.bundle.sign import sign
from twotrees.bundle.verify import verify
from twotrees.campaign import after, before, control, environments, trust
from twotrees.campaign.model import Campaign
from twotrees.digest import sha256_file
from twotrees.errors import EXIT_GOOD, RunFailed
from twotrees.report import html
from twotrees.runs import journal, matrix, surroundings
from twotrees.runs.command import expected
from twotrees.runs.plan import PlannedRun, rounds
from twotrees.runs.work import UNFINISHED, Work, host_lock, results_folder, write_json
from twotrees.study import CampaignConfig, typed

__all__ = ["Sealed", "begin", "resume"]


@dataclass(frozen=True)
class Sealed:
    """What a campaign ended in.

    Attributes:
        bundle: The bundle's folder.
        void: Why the arms are not comparable; empty when they are.
    """

    bundle: Path
    void: str


def begin(
    config: CampaignConfig,
    composed: Mapping[str, Any],
    console: Console,
    *,
    base: Path,
    replicates: str | None = None,
    extra_labels: Sequence[str] = (),
) -> Sealed:
    """Runs a campaign from its start to a signed, verified bundle.

    Raises:
        TwotreesError: each foreseeable fault, with what is needed to mend it.
        KeyboardInterrupt: stopped; what was measured is kept and `resume` finishes it.
    """
    results = results_folder(Path(config.results))
    name = f"{config.study.name}-{config.backend.name}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
    work = Work((results / UNFINISHED / name).resolve())
    python = environments.baseline_python(config, base, work.root)
    campaign = Campaign(config, composed, base, work, python, replicates, console)
    with host_lock(name), ExitStack() as cleanup:
        labels = [*extra_labels, *before.checked(campaign)]
        work.make()
        cleanup.callback(discard_unplanned, work)
        before.refuse_missing_device(config)
        fingerprint, ground = before.host_and_ground(campaign, cleanup)
        labels += [f"{arm}: {label}" for arm, tree in ground.trees.items() for label in trees.labels(tree)]
        plan = before.planned(campaign, ground, labels, control.kept(config, fingerprint))
        write_json(work.config, campaign.saved())
        write_json(work.plan, plan)
        log, _ = journal.read(work.journal)
        log.append("plan", sha256=sha256_file(work.plan))
        return finish(campaign, plan, ground, fingerprint, results)


def resume(work: Work, console: Console) -> Sealed:
    """Finishes an interrupted campaign.

    Raises:
        PinsDiffer: scripts, packages or trees are no longer those of the plan.
        RunFailed: its journal or plan was changed.
    """
    state = strict_json.read(work.config)
    config = typed(state["composed"])
    campaign = Campaign(
        config=config,
        composed=state["composed"],
        base=Path(state["base"]),
        work=work,
        python=Path(state["python"]),
        replicates=state["replicates"],
        console=console,
    )
    plan = strict_json.read(work.plan, error=RunFailed)
    with host_lock(work.root.name), ExitStack() as cleanup:
        log, lines = journal.read(work.journal)
        if not lines or lines[0].get("sha256") != sha256_file(work.plan):
            raise RunFailed("is not the plan that the journal began with", file=work.plan, mend="start a new campaign")
        before.same_scripts(campaign, plan)
        before.checked(campaign)
        fingerprint = strict_json.read(work.data / "host" / "before.json")
        ground = before.grounded(campaign, cleanup)
        before.same_trees(plan, ground.trees)
        before.fingerprinted(campaign, "resumed")
        if lines[-1]["event"] != "close":
            log.append("resume", sha256=sha256_file(work.data / "host" / "resumed.json"))
        return finish(campaign, plan, ground, fingerprint, work.root.parents[1])


def finish(
    campaign: Campaign,
    plan: Mapping[str, Any],
    ground: before.Ground,
    fingerprint: dict[str, Any],
    results: Path,
) -> Sealed:
    """From a written plan to a verified bundle: what beginning and resuming have in common."""
    work, console = campaign.work, campaign.console
    runs = [PlannedRun(**run) for run in plan["matrix"]]
    with host.Monitor(work.data / "host" / "monitor.jsonl", hz=campaign.config.host.monitor_hz) as monitor:
        measured(campaign, runs, before.arms_on(campaign, ground), surroundings.shared_cores(ground.threads))
    fingerprint_after = before.fingerprinted(campaign, "after")
    records = matrix.recorded(work)
    for finding in host.findings(fingerprint, fingerprint_after, monitor.summary()):
        console.print(f"host: {finding.sentence}", style="yellow")
    with campaign.step("parity"):
        after.compare_outputs(campaign, records)
    with campaign.step("aggregate"):
        after.describe_trees(campaign, ground.trees, records)
        after.keep_installed(campaign)
        after.close_journal(campaign, len(records))
        after.aggregate(campaign)
    key = find_key()
    with campaign.step("report"):
        signer = {"signature": key.public.signature_name, "principal": principal()}
        (work.data / "report.md").write_text(report.markdown.render(work.data, **signer), encoding="utf-8")
        (work.data / "report.html").write_text(html.render(work.data, **signer), encoding="utf-8")
    with campaign.step("seal"):
        sealed = seal(
            work.data,
            results,
            study=campaign.config.study.name,
            backend=campaign.config.backend.name,
            created=datetime.now(UTC).replace(microsecond=0),
        )
    with campaign.step("sign"):
        console.print(key.announcement)
        sign(sealed, key)
    with campaign.step("verify"):
        verdict = verify(sealed, trust.own(key))
    if verdict.exit_code != EXIT_GOOD:
        raise RunFailed(f"the bundle just sealed does not verify: {verdict.line}", file=sealed, mend="report this")
    report.terminal.show(work.data, console)
    aggregate = strict_json.read(work.data / "aggregate.json", error=RunFailed)
    void = [line for line in aggregate["twotrees"]["validity"] if not line["ok"]]
    work.remove()
    return Sealed(sealed, "; ".join(f"{line['check']}: {line['detail']}" for line in void))


def discard_unplanned(work: Work) -> None:
    """Removes a work folder in which nothing was planned yet: there is nothing in it to resume."""
    if not work.plan.exists():
        work.remove()


def measured(
    campaign: Campaign, runs: Sequence[PlannedRun], arms: Mapping[str, matrix.Arm], cores: frozenset[int] | None
) -> None:
    """Drives the matrix under a progress display."""
    config = campaign.config
    whole = matrix.Matrix(
        work=campaign.work,
        runs=runs,
        arms=arms,
        backend=config.backend.name,
        expected=functools.partial(expected, config),
        timeout_s=float(config.protocol.timeout_s),
        stop_on_failure=config.protocol.on_failure == "stop",
        environment_digest=environments.digest_of(campaign),
        frozen_cache=config.backend.host_cache == "frozen",
        rounds={one.number: one for one in rounds(config.study.arms, config.protocol, config.seeds.order)},
        cores=cores,
    )
    with report.Progress(campaign.console, runs, guess_s=config.scale.guess_s) as progress:
        matrix.drive(whole, progress)
