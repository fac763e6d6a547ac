"""The environment that is measured in: the toolkit's, a given one, or one that is made once for the campaign.

In: the arms' trees. Out: an interpreter for each arm, and a record of what was run to make it. A campaign never syncs
it again. What releases need is read from their own metadata; uv resolves and installs, with the user's settings.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

from twotrees import process, trees
from twotrees.campaign.model import Campaign
from twotrees.digest import sha256_json
from twotrees.errors import PinsDiffer, RunFailed, UsageError
from twotrees.pins.environment import environment_digest, site_folders
from twotrees.runs import journal
from twotrees.study import BUILT, Build, CampaignConfig

FOLDER = "environments"
COMPLETE = "complete"
LABEL_PER_ARM = "environments differ: each arm was measured in one of its own"
RESOLVE_S = 600.0
INSTALL_S = 3600.0

# What a session around us may have set for its own environment, and must not reach the one that is made here.
NOT_OURS = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "UV_PROJECT", "PYTHONPATH", "PYTHONHOME", "CONDA_PREFIX")


@dataclass(frozen=True)
class Needs:
    """What one arm's release says that it needs on this machine.

    Attributes:
        arm: The arm.
        release: Name and version, for messages.
        requirements: Those whose markers hold, those of the backend's extra among them.
        left_out: Those that the study says nothing measured imports.
        replaced: Those that the study replaces.
    """

    arm: str
    release: str
    requirements: tuple[Requirement, ...]
    left_out: tuple[Requirement, ...]
    replaced: tuple[Requirement, ...]


def baseline_python(config: CampaignConfig, base: Path, work: Path) -> Path:
    """The interpreter of the baseline's environment, which may have yet to be made.

    Never resolved through links, or it would leave its environment.

    Raises:
        UsageError: the study names an interpreter that is not there.
    """
    return python_of(config, base, work, config.study.arms[0])


def python_of(config: CampaignConfig, base: Path, work: Path, arm: str) -> Path:
    """The interpreter that runs of *arm* are started with.

    Args:
        config: The campaign.
        base: Folder against which a study's relative paths stand.
        work: The campaign's work folder.
        arm: Whose.

    Raises:
        UsageError: the study names an interpreter that is not there.
    """
    wanted = config.measured_in
    if wanted == "toolkit":
        return Path(sys.executable)
    if wanted == "tree" and config.study.build is not None:
        return work / "trees" / str(config.study.build.arm) / config.study.build.python
    if wanted in BUILT:
        return work / FOLDER / name_for(wanted, arm) / "bin" / "python"
    path = base / wanted
    if not path.is_file():
        raise UsageError(
            "no such interpreter",
            file=path,
            key="study.environment",
            mend="build the environment first, then give the path of its python",
        )
    return path


def name_for(wanted: str, arm: str) -> str:
    """The folder of an arm's environment below the work folder's `environments`."""
    return arm if wanted == "per-arm" else wanted


def labels(config: CampaignConfig) -> list[str]:
    """What a reader must know about the environment."""
    wanted = config.measured_in
    if wanted == "toolkit":
        return []
    if wanted == "per-arm":
        return [LABEL_PER_ARM]
    if wanted in BUILT:
        return ["environment made for this campaign by the study's build, not pinned by this toolkit's lock"]
    return ["the study's own environment, which this toolkit does not pin"]


def digest_of(campaign: Campaign) -> Callable[[], str]:
    """Takes the digest of what is installed where runs look: of one environment, or of all of them together."""
    if campaign.config.measured_in != "per-arm":
        folders = site_folders(campaign.python)
        return lambda: environment_digest(folders).digest
    every = {arm: site_folders(campaign.python_of(arm)) for arm in campaign.config.study.arms}
    return lambda: sha256_json({arm: environment_digest(folders).digest for arm, folders in every.items()})


def made(campaign: Campaign, arms: Mapping[str, trees.Tree]) -> list[dict[str, Any]]:
    """Makes what the study's `build` asks for, unless this campaign has made it already.

    Returns:
        A record of each command that was run, in the form of a preparing command's.

    Raises:
        PinsDiffer: the arms cannot share one environment, the conflicting requirements named.
        RunFailed: a command failed.
        UsageError: uv is missing, or a tree tells no requirements.
    """
    config = campaign.config
    build, wanted = config.study.build, config.measured_in
    if build is None or wanted not in BUILT:
        return []
    if wanted == "tree":
        return in_tree(campaign, arms, build)
    needs = {arm: needs_of(tree, config.backend.name, build) for arm, tree in arms.items()}
    groups = {arm: [needs[arm]] for arm in arms} if wanted == "per-arm" else {wanted: list(needs.values())}
    for group in groups.values():
        if (clash := direct_conflict(group)) is not None:
            raise not_together(clash)
    return [record for name, group in groups.items() for record in installed(campaign, name, group, build)]


# --- in a tree ------------------------------------------------------------------------------------------------------


def in_tree(campaign: Campaign, arms: Mapping[str, trees.Tree], build: Build) -> list[dict[str, Any]]:
    """Runs the study's command in the tree of the arm that it names."""
    arm = str(build.arm)
    tree = arms[arm]
    with campaign.step(f"environment of {arm}"):
        records = [ran(campaign, arm, build.command, tree.path)]
    python = tree.path / build.python
    if not python.is_file():
        what = f"left no interpreter at {build.python}"
        raise RunFailed(what, file=" ".join(build.command), key="study.build.python", mend="give its place in the tree")
    return records


def ran(campaign: Campaign, arm: str, argv: Sequence[str], cwd: Path) -> dict[str, Any]:
    """Runs one command that makes an environment, in the user's own variables, and records it.

    Raises:
        RunFailed: it failed.
    """
    start = journal.utc_now()
    done = process.run(argv, cwd=cwd, env=variables(), timeout_s=INSTALL_S)
    if not done.ok:
        raise RunFailed(told(done), file=" ".join(argv[:3]), key=f"study.build ({arm})", mend="mend it and start again")
    roots = campaign.roots
    symbolic = [roots.symbolic(str(word).replace(sys.executable, "${TWOTREES}")) for word in argv]
    return {"arm": arm, "argv": symbolic, "start": start, "end": journal.utc_now(), "exit": done.exit}


def variables() -> dict[str, str]:
    """The user's variables without those of the session around us; where pip looks for wheels, uv may look too."""
    env = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
    places = env.get("PIP_FIND_LINKS", "").split() or pip_find_links()
    if places and "UV_FIND_LINKS" not in env:
        env["UV_FIND_LINKS"] = ",".join(places)
    return env


def pip_find_links() -> list[str]:
    """Folders of wheels that the user's pip is configured to look into; none where there is no pip."""
    if shutil.which("pip") is None:
        return []
    done = process.run(["pip", "config", "get", "global.find-links"], timeout_s=30)
    return done.text.split() if done.ok else []


def told(done: process.Finished) -> str:
    """Why uv failed: the last of its causes, else its first line."""
    text = done.stderr.decode("utf-8", "replace")
    _, found, cause = text.rpartition("cause: ")
    return " ".join(cause.split()) if found else done.complaint


# --- of releases ----------------------------------------------------------------------------------------------------


def needs_of(tree: trees.Tree, backend: str, build: Build) -> Needs:
    """Reads an unpacked release's own metadata.

    Raises:
        UsageError: there is none, or more than one.
        PinsDiffer: the release does not run on this Python.
    """
    found = sorted((tree.path / "src").glob("*.dist-info/METADATA"))
    if len(found) != 1:
        raise UsageError(f"{len(found)} releases in one tree", file=tree.arm, mend="give a wheel of one distribution")
    metadata = BytesParser().parsebytes(found[0].read_bytes())
    release = f"{metadata['Name']} {metadata['Version']}"
    here = ".".join(map(str, sys.version_info[:3]))
    if here not in SpecifierSet(metadata["Requires-Python"] or ""):
        raise PinsDiffer(f"{release} needs Python {metadata['Requires-Python']}, this is {here}", file=tree.arm)
    unused = {canonicalize_name(name) for name in build.unused}
    instead = {canonicalize_name(Requirement(text).name) for text in build.instead}
    here_and_now = [
        requirement
        for requirement in map(Requirement, metadata.get_all("Requires-Dist", []))
        if requirement.marker is None or requirement.marker.evaluate({"extra": backend})
    ]
    named = [(canonicalize_name(requirement.name), requirement) for requirement in here_and_now]
    return Needs(
        tree.arm,
        release,
        requirements=tuple(requirement for name, requirement in named if name not in unused | instead),
        left_out=tuple(requirement for name, requirement in named if name in unused),
        replaced=tuple(requirement for name, requirement in named if name in instead),
    )


def direct_conflict(group: Sequence[Needs]) -> str | None:
    """One exact version that an arm demands and another excludes, by name; None when there is no such pair.

    Ranges that do not meet, and what the requirements themselves require, are for the resolver to find.
    """
    for one in group:
        for wanted in one.requirements:
            exact = exact_version(wanted)
            for other in group:
                for met in other.requirements:
                    if exact is None or canonicalize_name(met.name) != canonicalize_name(wanted.name):
                        continue
                    if not met.specifier.contains(exact, prereleases=True):
                        return f"{of(one, wanted)}, and {of(other, met)}"
    return None


def exact_version(requirement: Requirement) -> str | None:
    """The one version that it admits, or None."""
    exact = [part for part in requirement.specifier if part.operator in ("==", "===") and "*" not in part.version]
    return exact[0].version if exact else None


def of(needs: Needs, requirement: Requirement) -> str:
    """A requirement with whose it is."""
    return f"{needs.arm} ({needs.release}) needs {requirement.name}{requirement.specifier}"


def not_together(why: str) -> PinsDiffer:
    """The refusal of arms that cannot share one environment."""
    return PinsDiffer(
        f"the arms cannot share one environment: {why}",
        key="study.environment",
        mend="choose releases that can, or environment=per-arm, which labels every number",
    )


def admitted_pins(group: Sequence[Needs], pins: Sequence[str]) -> list[str]:
    """Of each name the first pin that every arm of the group admits."""
    chosen: dict[str, str] = {}
    for text in pins:
        pin = Requirement(text)
        name, version = canonicalize_name(pin.name), exact_version(pin)
        demands = [met.specifier for one in group for met in one.requirements if canonicalize_name(met.name) == name]
        if version is not None and all(demand.contains(version, prereleases=True) for demand in demands):
            chosen.setdefault(name, text)
    return list(chosen.values())


def installed(campaign: Campaign, name: str, group: Sequence[Needs], build: Build) -> list[dict[str, Any]]:
    """Resolves what a group of arms needs together, and installs exactly that, each file by its hash."""
    folder = campaign.work.root / FOLDER / name
    marker = folder / COMPLETE
    if marker.is_file():
        return []  # an interrupted campaign's: what is installed is compared with its runs' digest
    shutil.rmtree(folder, ignore_errors=True)
    scratch = campaign.work.root / FOLDER / f"{name}.in"
    scratch.mkdir(parents=True, exist_ok=True)
    wanted = [str(bare(requirement)) for one in group for requirement in one.requirements]
    (scratch / "requirements.in").write_text("\n".join([*wanted, *build.also, *build.instead, ""]), encoding="utf-8")
    (scratch / "pins.txt").write_text("\n".join([*admitted_pins(group, build.pins), ""]), encoding="utf-8")
    with campaign.step(f"environment {name}"):
        lock = resolved(group, scratch)
        records = [
            ran(campaign, name, ["uv", "venv", "--quiet", "--python", sys.executable, str(folder)], scratch),
            ran(
                campaign,
                name,
                ["uv", "pip", "sync", "--quiet", "--require-hashes", "--python", str(folder / "bin" / "python"), lock],
                scratch,
            ),
        ]
    kept = campaign.work.data / "pins" / f"environment-{name}.txt"
    header = "".join(f"# {line}\n" for line in notes(group))
    kept.write_text(header + (scratch / lock).read_text(encoding="utf-8"), encoding="utf-8")
    marker.touch()
    return records


def bare(requirement: Requirement) -> Requirement:
    """The requirement without its marker, which was found to hold."""
    plain = Requirement(str(requirement))
    plain.marker = None
    return plain


def resolved(group: Sequence[Needs], scratch: Path) -> str:
    """Writes the exact versions and hashes, and gives the file's name.

    Raises:
        PinsDiffer: nothing satisfies all of them; the arms whose requirements clash are named with them.
        UsageError: there is no uv.
    """
    argv = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--generate-hashes"]
    argv += ["--python", sys.executable, "--constraints", "pins.txt", "requirements.in", "--output-file", "lock.txt"]
    done = process.run(argv, cwd=scratch, env=variables(), timeout_s=RESOLVE_S)
    if done.exit is None and done.fault.endswith("is not installed"):
        raise UsageError("uv is not installed", mend="python -m pip install uv")
    if not done.ok:
        why = told(done)
        if "unsatisfiable" not in why:
            raise RunFailed(why, file="uv pip compile", key="study.build", mend="mend it and start again")
        clashing = [of(one, met) for one in group for met in one.requirements if mentions(why, met.name)]
        raise not_together("; ".join([*dict.fromkeys(clashing), why.rstrip(".")]))
    return "lock.txt"


def mentions(text: str, name: str) -> bool:
    """Whether uv's words name a distribution, and not only a longer name that begins or ends with it."""
    words = {canonicalize_name(word.strip(".,;()").partition("[")[0]) for word in separated(text)}
    return canonicalize_name(name) in words


def separated(text: str) -> list[str]:
    """The words of a text, names parted from the version bounds behind them."""
    for sign in "<>=!~,":
        text = text.replace(sign, " ")
    return text.split()


def notes(group: Sequence[Needs]) -> list[str]:
    """What of the releases' own requirements the environment does not honour, one line for each arm."""
    lines = []
    for one in group:
        if one.left_out:
            names = ", ".join(sorted({requirement.name for requirement in one.left_out}))
            lines.append(f"{one.arm} ({one.release}): not installed, because nothing measured imports it: {names}")
        if one.replaced:
            lines.append(f"{one.arm} ({one.release}): replaced: {', '.join(map(str, map(bare, one.replaced)))}")
    return lines
