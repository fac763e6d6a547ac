"""The types of a campaign's configuration: what `conf/` may say, and nothing else.

In: plain data composed by Hydra. Out: frozen dataclasses. Types, ranges and unknown keys are pydantic's work; what only
this project can know (a study's arms have trees, a command's placeholders exist) is checked in `faults`.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

# Every number ends up in canonical JSON, which holds no integer beyond this (RFC 8785).
LARGEST = 2**53 - 1
MOST_REPEATS = 1000  # attempts are numbered with four digits

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
Repeats = Annotated[int, Field(ge=0, le=MOST_REPEATS)]
Threadcount = Literal["auto"] | Count
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

# What a study's command line may be made of. Two stand for several tokens: `{options}` for as many as there are
# options, `{mode}` for what the run's mode adds, which without it comes last.
PLACEHOLDERS = frozenset(
    {"python", "profiler", "tree", "arm", "backend", "num_envs", "warmup", "measure"}
    | {"action_seed", "env_seed", "options", "mode", "out"}
)
SEVERAL_TOKENS = ("options", "mode")
OPTION_PLACEHOLDERS = frozenset({"device", "physics_threads"})
PREPARE_PLACEHOLDERS = frozenset({"python", "tree", "arm", "twotrees"})

# Dictionaries in which a study may have keys of its own; an override adds one with a leading plus.
OPEN_KEYS = (
    *("study.trees", "study.options", "study.options.mujoco", "study.options.mjwarp"),
    *("study.releases", "study.wheels", "study.decisions", "backend.options", "scale.envs_of"),
)

# The profiler of the published report (docs/real-unilab.md), and all that it knows.
PUBLISHED_PROFILER = "7de572e10c83af040b4bb08f2824ce95dfc48124cf890192b2b9fdc143233386"
PUBLISHED_FLAGS = frozenset(
    {"--repo", "--backend", "--num-envs", "--warmup", "--measure", "--action-seed", "--instrument", "--out"}
)
PUBLISHED_ENV_SEED = 123

# The environments that a campaign makes by `study.build`; any other is the toolkit's or an interpreter's path.
BUILT = ("tree", "shared", "per-arm")


@dataclass(frozen=True, config=STRICT)
class TreeSource:
    """Where an arm's source comes from; `trees/` turns it into a checked-out tree.

    Attributes:
        kind: Which of the other fields count: overlay (base, overlays, commit), git (url, commit),
            wheel (requirement, sha256), path (path).
        base: Folder that holds a whole tree, relative to the toolkit or the study's folder.
        overlays: Folders laid over it in this order; they hold only the files that change.
        url: Repository URL or local path.
        commit: 40 hex digits; for git also a branch or tag, which is resolved and recorded.
        requirement: NAME==VERSION of a release.
        sha256: The wheel's hash.
        path: A local tree, measured as it stands and labelled unpinned.
    """

    kind: Literal["overlay", "git", "wheel", "path"]
    base: str | None = None
    overlays: tuple[str, ...] = ()
    url: str | None = None
    commit: str | None = None
    requirement: str | None = None
    sha256: str | None = None
    path: str | None = None


@dataclass(frozen=True, config=STRICT)
class Scripts:
    """The two pinned files: the measured child, and the one that recomputes every reported number.

    Attributes:
        profiler: Path relative to the study's folder, else to the toolkit.
        aggregator: Likewise.
        profiler_sha256: What the profiler must hash to, where the study pins another script than the toolkit's.
    """

    profiler: str
    aggregator: str
    profiler_sha256: Sha256 | None = None

    @property
    def published(self) -> bool:
        """Whether the measured child is the published profiler, which knows nothing that ours adds."""
        return self.profiler_sha256 == PUBLISHED_PROFILER


@dataclass(frozen=True, config=STRICT)
class Build:
    """How the environment is made that `environment` says is `tree`, `shared` or `per-arm`.

    Attributes:
        arm: For `tree`: the arm in whose tree `command` is run, once, before the first run.
        command: Its argv. It sees the user's own variables, because it may need the network.
        python: The interpreter that it leaves, relative to that tree.
        pins: For `shared` and `per-arm`, NAME==VERSION; of several pins of one name the first that every arm in the
            environment admits is used.
        also: Requirements beside those that the releases declare.
        unused: Names that releases declare and nothing that is measured imports; they are not installed.
        instead: Requirements that take the place of the declared ones of the same name.
    """

    arm: Name | None = None
    command: tuple[str, ...] = ()
    python: str = ".venv/bin/python"
    pins: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()


@dataclass(frozen=True, config=STRICT)
class Study:
    """What is compared.

    Attributes:
        name: Short name, part of the bundle's folder name.
        title: One line for people.
        arms: Names in order; the first is the baseline.
        trees: Each arm's source.
        environment: `toolkit` (the locked environment of this session), the path of an interpreter, or one that is made
            by `build`: in an arm's `tree`, `shared` by all arms, or `per-arm`.
        build: How.
        scripts: The measured child and the aggregator.
        command: The argv of one run, with placeholders.
        instrument: What a terms run adds to it.
        parity: What a parity run adds to it, `{trace}` being the file it writes; empty when the script cannot.
        serve: What makes it a lockstep worker.
        prepare: Commands run once in each tree before the first run, recorded like runs.
        options: For each backend, what the subject is told as ``--option KEY=VALUE``; `{device}` and
            `{physics_threads}` are filled in.
        pass_env: Names of environment variables that a run may see; all others are scrubbed and listed.
        cwd: Where a run stands: in a private empty folder, or in its arm's `tree`, where a subject reads files.
        demands: For a backend, the kind of device without which the subject does not run.
        backends: The backends that a dry run shows where none is named.
        before: For studies of releases: the baseline's version.
        after: The other one's.
        releases: Version to the SHA-256 of its wheel.
        wheels: Wheels that `prepare` is given the paths of, by `{name}`.
        decisions: What a start-up tuner prints: a name, and the pattern whose group 1 is the value. Read from the logs
            where the profiler does not report it.
        declared_differences: Keys of the composed configuration in which the arms are meant to differ.
    """

    name: Name
    title: str
    arms: Annotated[tuple[Name, ...], Field(min_length=2)]
    trees: dict[Name, TreeSource]
    environment: str
    scripts: Scripts
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    instrument: tuple[str, ...] = ("--instrument",)
    parity: tuple[str, ...] = ("--parity", "{trace}")
    serve: tuple[str, ...] = ("--serve",)
    prepare: tuple[tuple[str, ...], ...] = ()
    options: dict[str, dict[str, str]] = Field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    build: Build | None = None
    cwd: Literal["private", "tree"] = "private"
    demands: dict[str, Literal["cuda"]] = Field(default_factory=dict)
    backends: tuple[str, ...] = ()
    before: str | None = None
    after: str | None = None
    releases: dict[str, Sha256] = Field(default_factory=dict)
    wheels: dict[Name, TreeSource] = Field(default_factory=dict)
    decisions: dict[Name, str] = Field(default_factory=dict)
    declared_differences: tuple[str, ...] = ()

    @property
    def compares_outputs(self) -> bool:
        """Whether there are parity runs: the study asks for them, and the profiler can record outputs."""
        return bool(self.parity) and not self.scripts.published


@dataclass(frozen=True, config=STRICT)
class Threads:
    """Thread counts that the backend sets explicitly; `auto` is min(8, usable cores) for Numba, usable cores else."""

    numba: Threadcount
    numba_layer: Literal["workqueue", "omp", "tbb"]
    blas: Threadcount
    physics: Threadcount


@dataclass(frozen=True, config=STRICT)
class Backend:
    """The simulator.

    Attributes:
        name: `mujoco` or `mjwarp`.
        device: `cpu`, `auto`, or `cuda:N`.
        threads: Thread counts.
        host_cache: What a start-up tuner finds in its on-disk cache: in every run of every arm the state that the
            baseline's first run left (`frozen`), a folder for each arm that starts empty (`private`), or one folder
            for all arms (`shared`).
        tolerance: What parity allows on this backend.
        options: Passed to the subject as ``--option KEY=VALUE``, beside the study's own.
    """

    name: Literal["mujoco", "mjwarp"]
    device: Annotated[str, Field(pattern=r"^(auto|cpu|cuda:\d+)$")]
    threads: Threads
    host_cache: Literal["frozen", "private", "shared"]
    tolerance: Tolerance
    options: dict[str, str | int | float | bool]


@dataclass(frozen=True, config=STRICT)
class Tolerance:
    """How far one output of two arms may lie apart: ``|a - b| <= absolute + relative * |a|``."""

    absolute: Annotated[float, Field(ge=0)]
    relative: Annotated[float, Field(ge=0)]


@dataclass(frozen=True, config=STRICT)
class Parity:
    """The runs that compare what the arms compute: one for each arm, over this many steps from equal seeds."""

    steps: Count


@dataclass(frozen=True, config=STRICT)
class Lockstep:
    """Rounds of live workers that take turns (docs/lockstep.md).

    Attributes:
        rounds: Sets of worker processes, one for each arm.
        cycles: Cycles of one round; in each cycle every arm has two blocks.
        steps: Steps of one block; the first is discarded in analysis.
        style: `mirrored` cycles (ABBA), or `random` ones for subjects with a rhythm of their own.
    """

    rounds: Annotated[int, Field(ge=2, le=MOST_REPEATS)]
    cycles: Annotated[int, Field(ge=1, le=MOST_REPEATS)]
    steps: Annotated[int, Field(ge=2, le=MOST_REPEATS)]
    style: Literal["mirrored", "random"]


@dataclass(frozen=True, config=STRICT)
class Protocol:
    """Order, repeats, statistics.

    Attributes:
        name: `documented`, `interleaved`, …
        order: All runs of one arm after those of the other, or balanced and randomised.
        phase_runs: Probe-free runs of each arm; none where rounds take their place.
        terms_runs: Instrumented runs of each arm.
        parity: The parity runs.
        confidence: Level of every interval.
        delta: Smallest effect worth naming, as a fraction.
        timeout_s: Limit of one run, in seconds.
        on_failure: Whether a failed run stops the matrix, or what there is gets sealed.
        lockstep: The rounds, where the protocol has them.
    """

    name: Name
    order: Literal["by-arm", "balanced"]
    phase_runs: Repeats
    terms_runs: Repeats
    parity: Parity
    confidence: Annotated[float, Field(gt=0.5, lt=1)]
    delta: Annotated[float, Field(gt=0, lt=1)]
    timeout_s: Annotated[float, Field(gt=0)] | Count
    on_failure: Literal["stop", "seal"]
    lockstep: Lockstep | None = None


@dataclass(frozen=True, config=STRICT)
class Scale:
    """Environments, warm-up and measured steps.

    Attributes:
        name: `quick`, `paper`, …
        envs_of: The number of environments for each backend.
        num_envs: The one that applies.
        warmup: Steps before the window.
        measure: Steps in the window.
        guess_s: A first guess of one run's seconds, for the progress estimate until a run has been seen.
    """

    name: Name
    envs_of: dict[str, Count]
    num_envs: Count
    warmup: Annotated[int, Field(ge=0, le=LARGEST)]
    measure: Count
    guess_s: Count


@dataclass(frozen=True, config=STRICT)
class Seeds:
    """Seeds of the random actions, of the environment, and of the order of runs."""

    action: Seed
    env: Seed
    order: Seed


@dataclass(frozen=True, config=STRICT)
class HostPolicy:
    """What the host must be like, and whether it may be named."""

    name: Name
    strict: bool
    identify: bool
    monitor_hz: Annotated[float, Field(gt=0, le=1)]


@dataclass(frozen=True, config=STRICT)
class CampaignConfig:
    """Everything that one campaign is made from; `environment`, where it is given, replaces the study's."""

    study: Study
    backend: Backend
    protocol: Protocol
    scale: Scale
    host: HostPolicy
    seeds: Seeds
    results: Annotated[str, Field(min_length=1)]
    allow_drift: bool
    allow_dirty: bool
    environment: str | None

    @property
    def measured_in(self) -> str:
        """The environment that counts: this campaign's, else the study's."""
        return self.environment or self.study.environment


def faults(config: CampaignConfig) -> Iterator[tuple[str, str, str]]:
    """What types cannot say: yields (key, what is wrong, the mend) for each contradiction within *config*."""
    study = config.study
    if config.protocol.phase_runs == 0 and config.protocol.lockstep is None:
        yield "protocol.phase_runs", "nothing would be timed", "set it to 3, or choose protocol=lockstep"
    for arm in study.arms:
        if arm not in study.trees:
            known = ", ".join(study.trees)
            yield "study.arms", f"arm {arm!r} has no entry under study.trees", f"use one of: {known}"
    if len(set(study.arms)) != len(study.arms):
        yield "study.arms", "an arm is named twice", "for A against A use `nox -s calibrate`"
    for name, source in (*study.trees.items(), *study.wheels.items()):
        missing = missing_field(source)
        if missing:
            group = "trees" if name in study.trees else "wheels"
            yield f"study.{group}.{name}.{missing}", f"a tree of kind {source.kind!r} needs it", "set it"
    yield from build_faults(config)
    yield from placeholder_faults(study)
    if study.scripts.published:
        yield from published_faults(config)
    if not any("{out}" in token for token in study.command):
        yield "study.command", "no token holds {out}, so that no result could be read", "add the flag that takes it"
    if study.parity and not any("{trace}" in token for token in study.parity):
        yield (
            "study.parity",
            "no token holds {trace}, so that no outputs could be compared",
            "add it, or leave it empty",
        )


def build_faults(config: CampaignConfig) -> Iterator[tuple[str, str, str]]:
    """What is missing for the environment that is asked for."""
    study, wanted = config.study, config.measured_in
    if wanted in BUILT and study.build is None:
        yield "study.build", f"environment {wanted!r} needs it", "say how it is made, or give an interpreter's path"
    if wanted == "tree" and study.build is not None:
        if study.build.arm not in study.arms:
            yield "study.build.arm", "must be one of the arms: its tree is where the command runs", "set it"
        if not study.build.command:
            yield "study.build.command", "environment 'tree' needs it", "set it"
    if wanted in ("shared", "per-arm"):
        for arm in study.arms:
            if arm in study.trees and study.trees[arm].kind != "wheel":
                mend = "use environment=tree, or the path of an interpreter"
                yield f"study.trees.{arm}", "only a release tells its requirements (kind: wheel)", mend
    for name, pattern in study.decisions.items():
        if (fault := pattern_fault(pattern)) is not None:
            yield f"study.decisions.{name}", fault, "write a regular expression whose group 1 is the value"


def pattern_fault(pattern: str) -> str | None:
    """Why *pattern* cannot find a decision in a log, or None."""
    try:
        return None if re.compile(pattern.encode()).groups else "has no group"
    except re.error as error:
        return f"is no regular expression: {error}"


def published_faults(config: CampaignConfig) -> Iterator[tuple[str, str, str]]:
    """What the published profiler cannot do; it would end on a flag that it does not know, or ignore what is asked."""
    study, mend = config.study, "use the toolkit's profiler"
    for token in (*study.command, *study.instrument):
        if token.startswith("--") and token not in PUBLISHED_FLAGS:
            yield "study.command", f"the published profiler does not know {token}", "leave it out"
    if study.options.get(config.backend.name) or config.backend.options:
        yield "study.options", "the published profiler takes no options", mend
    if config.protocol.lockstep is not None:
        yield "protocol.lockstep", "the published profiler cannot be a lockstep worker", mend
    if config.seeds.env != PUBLISHED_ENV_SEED:
        yield "seeds.env", f"the published profiler knows no other seed than {PUBLISHED_ENV_SEED}", mend


def placeholder_faults(study: Study) -> Iterator[tuple[str, str, str]]:
    """Every placeholder that nothing fills in, in every list of tokens of *study*."""
    checked = [
        *(("study.command", token, PLACEHOLDERS | {"trace"}) for token in study.command),
        *(("study.instrument", token, PLACEHOLDERS | {"trace"}) for token in study.instrument),
        *(("study.parity", token, PLACEHOLDERS | {"trace"}) for token in study.parity),
        *(("study.serve", token, PLACEHOLDERS) for token in study.serve),
        *(
            (f"study.options.{backend}.{name}", value, OPTION_PLACEHOLDERS)
            for backend, options in study.options.items()
            for name, value in options.items()
        ),
        *(
            ("study.prepare", token, PREPARE_PLACEHOLDERS | study.wheels.keys())
            for tokens in study.prepare
            for token in tokens
        ),
    ]
    for key, token, known in checked:
        try:
            parts = [(field, spec) for _, field, spec, _ in string.Formatter().parse(token) if field is not None]
        except ValueError:
            yield key, f"{token!r} has a brace that is neither opened nor closed", "write {{ or }} for a plain brace"
            continue
        for field, spec in parts:
            if field not in known or spec:
                yield key, f"unknown placeholder {{{field}{':' if spec else ''}{spec}}}", f"use one of: {listed(known)}"
            elif field in SEVERAL_TOKENS and token != f"{{{field}}}":
                yield key, f"{{{field}}} must be a token of its own: it stands for several", "write it alone"


def listed(names: frozenset[str]) -> str:
    """Names in order, for a message."""
    return ", ".join(sorted(names))


def missing_field(source: TreeSource) -> str | None:
    """The first field that a source of this kind cannot do without and that is empty."""
    needed = {"overlay": ("base",), "git": ("url", "commit"), "wheel": ("requirement",), "path": ("path",)}
    return next((name for name in needed[source.kind] if not getattr(source, name)), None)


def field_names(data: Any, prefix: str = "") -> Iterator[str]:
    """Every dotted key of composed plain data, for naming the nearest one to a mistyped key."""
    if isinstance(data, dict):
        for key, value in data.items():
            yield f"{prefix}{key}"
            yield from field_names(value, f"{prefix}{key}.")
