"""The types of a campaign's configuration: what `conf/` may say, and nothing else.

In: plain data composed by Hydra. Out: frozen dataclasses. Types, ranges and unknown keys are pydantic's work; what only
this project can know (a study's arms have trees, a command's placeholders exist) is checked in `faults`.
"""

from __future__ import annotations

import string
from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

# Every number ends up in canonical JSON, which holds no integer beyond this (RFC 8785).
LARGEST = 2**53 - 1

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Count = Annotated[int, Field(ge=1, le=LARGEST)]
Seed = Annotated[int, Field(ge=0, le=LARGEST)]
Threadcount = Literal["auto"] | Count

# What a study's command line may be made of; `{options}` stands for as many tokens as there are options.
PLACEHOLDERS = frozenset(
    {"python", "profiler", "tree", "arm", "backend", "num_envs", "warmup", "measure"}
    | {"action_seed", "env_seed", "options", "out"}
)
OPTION_PLACEHOLDERS = frozenset({"device", "physics_threads"})
PREPARE_PLACEHOLDERS = frozenset({"python", "tree", "arm"})

# Dictionaries in which a study may have keys of its own; an override adds one with a leading plus.
OPEN_KEYS = (
    *("study.trees", "study.options", "study.options.mujoco", "study.options.mjwarp"),
    *("backend.options", "scale.envs_of"),
)


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
    profiler_sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")] | None = None


@dataclass(frozen=True, config=STRICT)
class Study:
    """What is compared.

    Attributes:
        name: Short name, part of the bundle's folder name.
        title: One line for people.
        arms: Names in order; the first is the baseline.
        trees: Each arm's source.
        environment: `toolkit` (the locked environment of this session) or the path of an interpreter.
        scripts: The measured child and the aggregator.
        command: The argv of one run, with placeholders.
        instrument: What a terms run adds to it.
        parity: What a parity run adds to it, `{trace}` being the file it writes; empty when the script cannot.
        serve: What makes it a lockstep worker.
        prepare: Commands run once in each tree before the first run, recorded like runs.
        options: For each backend, what the subject is told as ``--option KEY=VALUE``; `{device}` and
            `{physics_threads}` are filled in.
        pass_env: Names of environment variables that a run may see; all others are scrubbed and listed.
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

    rounds: Annotated[int, Field(ge=2)]
    cycles: Count
    steps: Annotated[int, Field(ge=2)]
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
    phase_runs: Annotated[int, Field(ge=0)]
    terms_runs: Annotated[int, Field(ge=0, le=LARGEST)]
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
    """Everything that one campaign is made from."""

    study: Study
    backend: Backend
    protocol: Protocol
    scale: Scale
    host: HostPolicy
    seeds: Seeds
    results: Annotated[str, Field(min_length=1)]
    allow_drift: bool
    allow_dirty: bool


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
    for arm, source in study.trees.items():
        missing = missing_field(source)
        if missing:
            yield f"study.trees.{arm}.{missing}", f"a tree of kind {source.kind!r} needs it", "set it"
    yield from placeholder_faults(study)
    if not any("{out}" in token for token in study.command):
        yield "study.command", "no token holds {out}, so that no result could be read", "add the flag that takes it"
    if study.parity and not any("{trace}" in token for token in study.parity):
        yield (
            "study.parity",
            "no token holds {trace}, so that no outputs could be compared",
            "add it, or leave it empty",
        )


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
        *(("study.prepare", token, PREPARE_PLACEHOLDERS) for tokens in study.prepare for token in tokens),
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
            elif field == "options" and token != "{options}":
                yield key, "{options} must be a token of its own: it stands for several", "write it alone"


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
