"""Validity before speed: what must hold before any timing may be compared, each check able to void all of them.

In: a `Campaign`. Out: checks in the order in which they matter, with what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

from twotrees.digest import sha256_json
from twotrees.stats.campaign import TIMED, Campaign, MeasuredRun

Json = dict[str, Any]

# Arms whose last digits differ may end a few episodes at other steps; beyond this share of resets it is other work.
RESET_TOLERANCE = 0.01


@dataclass(frozen=True)
class Check:
    """One condition.

    Attributes:
        name: Stable name.
        ok: Whether it holds, or was not recorded by any run.
        checked: Whether there was anything to check.
        detail: What was found.
    """

    name: str
    ok: bool
    checked: bool
    detail: str


def checks(campaign: Campaign) -> tuple[Check, ...]:
    """All checks, in the order in which they can void a comparison."""
    runs = campaign.runs
    timed = [run for run in runs if run.mode in TIMED]
    return (
        Check("runs", not campaign.unusable, True, "; ".join(campaign.unusable) or f"all {len(runs)} count"),
        environment(campaign),
        instrumentation(runs),
        stated("scale", timed, campaign.plan, {"num_envs": "num_envs", "warmup": "warmup"}),
        stated("seeds", timed, campaign.plan, {"action": "action_seed", "env": "env_seed"}),
        provenance(runs),
        equal("variables", ((tell(run), without_arm(run.attempt_facts.get("env"), run.arm)) for run in runs)),
        configuration(runs, campaign.plan),
        equal("decisions", ((tell(run), decisions(run)) for run in timed)),
        workload(runs),
        warm(runs),
        parity(campaign.parity),
    )


def tell(run: MeasuredRun) -> str:
    """A run's name in a message."""
    return f"run {run.run} ({run.arm} {run.mode})"


def equal(name: str, facts: Iterable[tuple[str, Any]]) -> Check:
    """Whether a fact is the same in all runs; a fact that no run recorded is not held against them."""
    known = list(facts)
    if all(value is None for _, value in known):
        return Check(name, True, False, "not recorded by this profiler")
    odd = next((where for where, value in known if value != known[0][1]), None)
    return Check(name, odd is None, True, "equal in all runs" if odd is None else f"{odd} differs from {known[0][0]}")


def without_arm(value: Any, arm: str) -> Any:
    """Data with the arm's name taken out of its texts, keys included; None for nothing."""
    name = re.compile(rf"(?<![A-Za-z0-9]){re.escape(arm)}(?![A-Za-z0-9])")
    if isinstance(value, Mapping):
        return {name.sub("${ARM}", str(key)): without_arm(item, arm) for key, item in value.items()} or None
    if isinstance(value, list):
        return [without_arm(item, arm) for item in value] or None
    return name.sub("${ARM}", value) if isinstance(value, str) else value


def environment(campaign: Campaign) -> Check:
    """One digest of installed distributions before and after every attempt."""
    count = len(campaign.digests)
    return Check("environment", count == 1, count > 0, f"{count} different digests of installed distributions")


def instrumentation(runs: Sequence[MeasuredRun]) -> Check:
    """Probes in terms runs, and in no other."""
    odd = [tell(run) for run in runs if bool(run.result.get("instrument")) != (run.mode == "terms")]
    return Check("instrumentation", not odd, True, f"probes do not fit: {', '.join(odd)}" if odd else "as planned")


def stated(name: str, runs: Sequence[MeasuredRun], plan: Json, keys: Mapping[str, str]) -> Check:
    """Whether what a result states of itself is what the plan says."""
    wanted = plan.get(name, {})
    odd = [
        f"{tell(run)} {key}"
        for run in runs
        for plan_key, key in keys.items()
        if plan_key in wanted and key in run.result and run.result[key] != wanted[plan_key]
    ]
    return Check(name, not odd, True, f"not as planned: {', '.join(odd)}" if odd else "as planned")


def provenance(runs: Sequence[MeasuredRun]) -> Check:
    """Imported files lie inside the tree, and are the same bytes in all runs of an arm."""
    contents: dict[tuple[str, str], set[str]] = {}
    for run in runs:
        for file in run.evidence.get("provenance") or []:
            contents.setdefault((run.arm, file["path"]), set()).add(file["sha256"])
    outside = [path for _, path in contents if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts]
    changed = [path for (_, path), hashes in contents.items() if len(hashes) > 1]
    detail = f"outside: {outside}; changed: {changed}" if outside or changed else f"{len(contents)} files"
    return Check("provenance", not outside and not changed, bool(contents), detail)


def flattened(value: Any, at: str = "") -> Iterator[tuple[str, Any]]:
    """A nested configuration as (dotted key, value)."""
    if isinstance(value, Mapping) and value:
        for key, item in value.items():
            yield from flattened(item, f"{at}.{key}" if at else str(key))
    else:
        yield at, value


def configuration(runs: Sequence[MeasuredRun], plan: Json) -> Check:
    """The composed configuration, equal but for keys that the plan declares."""
    declared = [key for one in (plan, *plan["arms"]) for key in one.get("declared_differences", [])]
    composed = [without_arm(run.evidence.get("config"), run.arm) for run in runs]
    if all(config is None for config in composed):
        return equal("config", ((tell(run), run.evidence.get("config_sha256")) for run in runs))
    if any(config is None for config in composed):
        return Check("config", False, True, "some runs recorded none")
    bound = [
        {k: v for k, v in flattened(config) if not any(k == d or k.startswith(f"{d}.") for d in declared)}
        for config in composed
    ]
    return equal("config", zip(map(tell, runs), map(sha256_json, bound), strict=True))


def decisions(run: MeasuredRun) -> Json | None:
    """What start-up tuners decided; whether a decision came from their cache is not one."""
    made = run.evidence.get("decisions") or run.attempt_facts.get("decisions") or {}
    return {name: value for name, value in made.items() if not name.endswith("_cache")} or None


def workload(runs: Sequence[MeasuredRun]) -> Check:
    """Counters and action digest equal among runs of a mode, and as many resets but for a small share."""
    recorded = False
    for mode in dict.fromkeys(run.mode for run in runs):
        same = [run for run in runs if run.mode == mode]
        counted = [run.evidence.get("workload") or {} for run in same]
        counters = [{key: value for key, value in one.items() if key != "reset_counts"} or None for one in counted]
        found = equal("workload", zip(map(tell, same), counters, strict=True))
        recorded = recorded or found.checked
        if not found.ok:
            return found
        resets = [sum(one.get("reset_counts", [])) for one in counted]
        if max(resets) - min(resets) > RESET_TOLERANCE * max(resets):
            return Check("workload", False, True, f"{mode} runs reset from {min(resets)} to {max(resets)} environments")
    return Check("workload", True, recorded, "equal in all runs of a mode" if recorded else "not recorded")


def warm(runs: Sequence[MeasuredRun]) -> Check:
    """No compilation inside a measured window."""
    counts = [(tell(run), run.evidence.get("compiles_after_warmup")) for run in runs]
    cold = [f"{name}: {count}" for name, count in counts if count]
    checked = any(count is not None for _, count in counts)
    return Check("warm", not cold, checked, f"compiled after the warm-up: {', '.join(cold)}" if cold else "none cold")


def parity(record: Json | None) -> Check:
    """Whether the arms compute the same things within the backend's tolerance."""
    if record is None:
        return Check("parity", True, False, "no parity record")
    return Check("parity", bool(record.get("ok")), True, "holds" if record.get("ok") else "differs beyond tolerance")
