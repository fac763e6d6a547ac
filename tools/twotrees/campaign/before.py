"""Before the first run: pins, host, trees, device, and the plan. Everything that can refuse a campaign is here."""

from __future__ import annotations

import dataclasses
import functools
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twotrees import host, pins, process, trees
from twotrees.campaign import environments
from twotrees.campaign.model import Campaign
from twotrees.digest import sha256_file
from twotrees.errors import PinsDiffer, RunFailed, UsageError
from twotrees.pins import checksums
from twotrees.pins.lock import identity as lock_identity
from twotrees.runs import devices, journal, matrix, surroundings
from twotrees.runs.command import Command
from twotrees.runs.plan import matrix as planned_matrix
from twotrees.runs.plan import plan_data
from twotrees.runs.work import write_json
from twotrees.study import CampaignConfig, TreeSource, toolkit_root
from twotrees.trees import sources, wheel

FINDINGS_TOLD = 20


def checked(campaign: Campaign) -> list[str]:
    """Checks the pins; a difference refuses the campaign, or with ``allow_drift`` becomes its label.

    Raises:
        PinsDiffer: the first difference, and how many there are.
    """
    config = campaign.config
    with campaign.step("check"):
        profiler, pinned = campaign.script("profiler"), config.study.scripts.profiler_sha256
        if pinned is not None and sha256_file(profiler) != pinned:
            mend = "take the published file, or pin this one: study.scripts.profiler_sha256"
            raise PinsDiffer(f"its SHA-256 is not the pinned {pinned}", file=profiler, mend=mend)
        if config.measured_in != "toolkit":
            return environments.labels(config)
        report = pins_report(config, campaign.base)
    if not report.ok:
        for finding in report.findings[:FINDINGS_TOLD]:
            campaign.console.print(f"check: {finding.sentence}", style="yellow")
        if not config.allow_drift:
            try:
                report.demand()
            except PinsDiffer as fault:
                fault.add_note("--allow-drift runs all the same and labels the bundle")
                raise
    return list(report.labels)


def pins_report(config: CampaignConfig, base: Path) -> pins.Report:
    """Lock, installed files, CHECKSUMS and the commits of the study's arms."""

    def resolver(arm: str) -> Callable[[], str]:
        return lambda: trees.resolve(config.study.trees[arm], base=base).commit

    commits = [(arm, resolver(arm)) for arm in config.study.arms]
    return pins.check(toolkit_root(), extras=("subject",), commits=commits)


def fingerprinted(campaign: Campaign, when: str) -> dict[str, Any]:
    """Records the host; a host that is not quiet is told, or with ``host=strict`` refused.

    Raises:
        PinsDiffer: the host is not quiet and the policy is strict.
    """
    policy = campaign.config.host
    with campaign.step(f"host {when}"):
        fingerprint = host.fingerprint(identify=policy.identify, repo=campaign.base, interpreter=campaign.python)
        write_json(campaign.work.data / "host" / f"{when}.json", fingerprint)
    if when == "before":
        findings = host.findings(fingerprint)
        for finding in findings:
            campaign.console.print(f"host: {finding.sentence}", style="yellow", highlight=False)
        if findings and policy.strict:
            raise PinsDiffer(findings[0].sentence, file="host", mend="quieten the host, or run with host=default")
    return fingerprint


@dataclass(frozen=True)
class Ground:
    """What the runs stand on.

    Attributes:
        trees: Each arm's tree, checked out, looked through and prepared.
        variables: Each arm's environment variables.
        device: What ``backend.device`` came to.
        threads: What the thread counts came to.
        prepared: The preparing commands that were run, in order.
    """

    trees: Mapping[str, trees.Tree]
    variables: Mapping[str, Mapping[str, str]]
    device: str
    threads: Mapping[str, Any]
    prepared: Sequence[Mapping[str, Any]]


def refuse_missing_device(config: CampaignConfig) -> None:
    """Refuses a subject whose device is plainly not here, before a tree is made or a package is fetched.

    Raises:
        PinsDiffer: it is missing.
    """
    devices.refuse_hopeless(config.backend, config.study.demands.get(config.backend.name))


def host_and_ground(campaign: Campaign, cleanup: ExitStack) -> tuple[dict[str, Any], Ground]:
    """The host's facts and what the runs stand on; an environment that has yet to be made is no fact of the host."""
    if campaign.python.is_file():
        return fingerprinted(campaign, "before"), grounded(campaign, cleanup)
    ground = grounded(campaign, cleanup)
    return fingerprinted(campaign, "before"), ground


def grounded(campaign: Campaign, cleanup: ExitStack) -> Ground:
    """Makes, looks through and prepares every arm's tree, and settles what its runs may see.

    Raises:
        PinsDiffer: a tree is not what its commit says, or holds what would falsify a run; the device is missing.
        RunFailed: a preparing command failed.
    """
    config = campaign.config
    threads = surroundings.resolved_threads(config.backend.threads, host.usable_cores())
    made = checked_out(campaign, cleanup)
    variables: dict[str, dict[str, str]] = {}
    for arm, tree in made.items():
        private = private_of(campaign, arm)
        private.make()
        python = campaign.python_of(arm)
        variables[arm] = surroundings.variables(tree.path, private, python, threads, config.study.pass_env)
    told = [*environments.made(campaign, made), *prepare(campaign, made, variables)]
    demanded = config.study.demands.get(config.backend.name)
    device = devices.settled(config.backend, campaign.python, variables[config.study.arms[0]], demanded)
    if told:
        made = {arm: trees.prepared(tree) for arm, tree in made.items()}
    return Ground(made, variables, device, threads, told)


def checked_out(campaign: Campaign, cleanup: ExitStack) -> dict[str, trees.Tree]:
    """Makes every arm's tree and looks through it."""
    made: dict[str, trees.Tree] = {}
    with campaign.step("trees"):
        for arm in campaign.config.study.arms:
            source = campaign.config.study.trees[arm]
            if campaign.config.allow_drift and source.kind == "overlay":
                source = dataclasses.replace(source, commit=None)  # the check has made the difference a label
            tree = trees.make(
                source,
                arm,
                campaign.work.root,
                base=campaign.base,
                allow_dirty=campaign.config.allow_dirty,
                say=campaign.console.print,
            )
            cleanup.callback(trees.remove, tree)
            trees.refuse(arm, trees.scan(tree))
            made[arm] = tree
    return made


def prepare(
    campaign: Campaign, made: Mapping[str, trees.Tree], variables: Mapping[str, Mapping[str, str]]
) -> list[dict[str, Any]]:
    """Runs the study's preparing commands once in each tree and tells what was run.

    Raises:
        RunFailed: one of them failed.
    """
    told = []
    wheels = {name: fetched(source, campaign.base) for name, source in campaign.config.study.wheels.items()}
    shown = {name: f"${{WHEELS}}/{path.name}" for name, path in wheels.items()}
    for words in campaign.config.study.prepare:
        for arm, tree in made.items():
            names = {"python": campaign.python_of(arm), "tree": tree.path, "arm": arm}
            argv = [word.format(**names, twotrees=sys.executable, **wheels) for word in words]
            start, limit = journal.utc_now(), float(campaign.config.protocol.timeout_s)
            with campaign.step(f"prepare {arm}"):
                done = process.run(argv, cwd=tree.path, env=variables[arm], timeout_s=limit)
            if not done.ok:
                key = f"study.prepare ({arm})"
                raise RunFailed(done.complaint, file=argv[0], key=key, mend="mend it and start again")
            recorded = [word.format(**names, twotrees="${TWOTREES}", **shown) for word in words]
            symbolic = roots_of(campaign, arm, tree).symbolic(recorded)
            told.append({"arm": arm, "argv": symbolic, "start": start, "end": journal.utc_now(), "exit": done.exit})
    return told


def fetched(source: TreeSource, base: Path) -> Path:
    """The file of a wheel that a preparing command takes something out of, in the cache, its hash checked.

    Raises:
        UsageError: it is no wheel, or cannot be had.
        PinsDiffer: it does not have the pinned hash.
    """
    typed = sources.typed(source, base)
    if not isinstance(typed, sources.WheelSource):
        raise UsageError("only a wheel can be given to `prepare`", key="study.wheels", mend="use kind: wheel")
    return wheel.obtain(typed).path


def roots_of(campaign: Campaign, arm: str, tree: trees.Tree) -> surroundings.Roots:
    """The symbols that stand in an arm's records for folders of this machine."""
    return surroundings.roots(campaign.work.root, campaign.toolkit, campaign.python_of(arm), tree.path)


def arms_on(campaign: Campaign, ground: Ground) -> dict[str, matrix.Arm]:
    """What each arm's runs are given."""
    profiler, _ = pinned_copies(campaign)
    arms = {}
    for arm, tree in ground.trees.items():
        python = campaign.python_of(arm)
        command = Command(campaign.config, python, profiler, tree.path, ground.device, ground.threads)
        arms[arm] = matrix.Arm(
            name=arm,
            env=ground.variables[arm],
            scrubbed=surroundings.scrubbed(ground.variables[arm]),
            private=private_of(campaign, arm),
            roots=roots_of(campaign, arm, tree),
            argv=command.argv,
            imported_wrong=functools.partial(imported_wrong, tree),
            cwd=tree.path if campaign.config.study.cwd == "tree" else None,
            decisions=campaign.config.study.decisions,
        )
    return arms


def planned(
    campaign: Campaign, ground: Ground, labels: Sequence[str], control: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The plan as data; what pins it is put beside it."""
    config = campaign.config
    with_parity = config.study.compares_outputs
    runs = planned_matrix(config.study.arms, config.protocol, config.seeds.order, with_parity=with_parity)
    return plan_data(
        config,
        runs,
        arms=[
            {"name": arm, "commit": tree.commit, "tree": tree.tree_id, "source": dict(tree.source)}
            for arm, tree in ground.trees.items()
        ],
        scripts={path.name: sha256_file(path) for path in pinned_copies(campaign)},
        pins=keep_pins(campaign),
        device=ground.device,
        threads=ground.threads,
        prepared=ground.prepared,
        labels=labels,
        control=control,
        replicates=campaign.replicates,
        created=journal.utc_now(),
    )


def private_of(campaign: Campaign, arm: str) -> surroundings.Private:
    """An arm's private folders; with ``host_cache=shared`` the tuner's cache is one folder for all arms."""
    private = campaign.work.private(arm)
    if campaign.config.backend.host_cache != "shared":
        return private
    return surroundings.Private(private.root, cache_root=campaign.work.root / "private" / "shared")


def pinned_copies(campaign: Campaign) -> tuple[Path, Path]:
    """Copies of the two scripts in the work folder: an edit during the campaign cannot reach a run."""
    copies = []
    for name in ("profiler", "aggregator"):
        source = campaign.script(name)
        copy = campaign.work.root / "scripts" / source.name
        if not copy.exists():
            shutil.copyfile(source, copy)
        copies.append(copy)
    return copies[0], copies[1]


def keep_pins(campaign: Campaign) -> dict[str, Any]:
    """Puts what pins the campaign beside its runs, and tells its hashes."""
    folder, toolkit = campaign.work.data / "pins", campaign.toolkit
    listing, lock = toolkit / checksums.NAME, toolkit / "uv.lock"
    # An installed wheel carries no CHECKSUMS of a checkout; it can say what its own files hash to.
    text = listing.read_text(encoding="utf-8") if listing.is_file() else checksums.render(toolkit)
    (folder / checksums.NAME).write_text(text, encoding="utf-8", newline="\n")
    if lock.is_file():
        shutil.copyfile(lock, folder / lock.name)
    return {
        "lock_identity": lock_identity(lock) if lock.is_file() else None,
        "checksums_sha256": sha256_file(folder / checksums.NAME),
    }


def imported_wrong(tree: trees.Tree, imported: Sequence[Mapping[str, Any]]) -> list[str]:
    """Tells of each imported file that a run of *tree* must not have imported."""
    return [finding.line for finding in trees.provenance(tree, imported) if finding.refuses]


def same_scripts(campaign: Campaign, plan: Mapping[str, Any]) -> None:
    """Refuses to go on with other scripts than those of the plan.

    Raises:
        PinsDiffer: a script's SHA-256 is another.
    """
    for path in pinned_copies(campaign):
        if plan["scripts"].get(path.name) != sha256_file(path):
            raise PinsDiffer("is not the script that the plan pins", file=path, mend="start a new campaign")


def same_trees(plan: Mapping[str, Any], made: Mapping[str, trees.Tree]) -> None:
    """Refuses to go on with other trees than those of the plan.

    Raises:
        PinsDiffer: an arm's tree is another.
    """
    for arm in plan["arms"]:
        if made[arm["name"]].tree_id != arm["tree"]:
            raise PinsDiffer(
                f"its tree is now {made[arm['name']].tree_id}, the plan says {arm['tree']}",
                file=arm["name"],
                mend="start a new campaign",
            )
