"""Why a bundle's numbers may differ from published ones: another host, scale or subject, each in one phrase.

In: the claims' own facts, a plan and a fingerprint. Out: reasons; none at all means the same kind of host.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twotrees.audit.claims import ClaimSet

# A claims file's host key -> where a fingerprint keeps it. Any other key is the name of an installed package.
_FACTS: Mapping[str, tuple[str, ...]] = {
    "cpu": ("processor", "model_name"),
    "cores": ("processor", "cores"),
    "threads": ("processor", "threads"),
    "gpu": ("gpu", "models"),
    "kernel": ("kernel", "release"),
    "python": ("python", "version"),
}
# The GPU cannot change what a CPU backend takes, and a kernel's build number says too little to set hosts apart.
_CPU_BACKENDS = ("mujoco",)
_LABELS = ("kernel",)


def reasons_to_differ(
    claims: ClaimSet, plan: Mapping[str, Any], fingerprint: Mapping[str, Any] | None
) -> tuple[str, ...]:
    """Lists what is not the same as in the publication.

    Args:
        claims: With their published commits, scale and host.
        plan: The bundle's plan.
        fingerprint: The bundle's host before the campaign; None is an unknown host.
    """
    return (*_subject(claims, plan), *_scale(claims, plan), *_host(claims, plan, fingerprint))


def _subject(claims: ClaimSet, plan: Mapping[str, Any]) -> list[str]:
    measured = {str(arm.get("name")): str(arm.get("commit", "")) for arm in plan.get("arms", ())}
    reasons = []
    for arm, commit in claims.commits.items():
        if arm in measured and measured[arm] != commit:
            reasons.append(f"arm {arm} is commit {measured[arm][:12] or 'unknown'} here, {commit[:12]} as published")
    return reasons


def _scale(claims: ClaimSet, plan: Mapping[str, Any]) -> list[str]:
    here = plan.get("scale", {})
    return [
        f"{key} is {here[key]} here, {published} as published"
        for key, published in claims.scale.items()
        if key in here and str(here[key]) != published
    ]


def _host(claims: ClaimSet, plan: Mapping[str, Any], fingerprint: Mapping[str, Any] | None) -> list[str]:
    if fingerprint is None:
        return ["the bundle's host is not known"]
    if not claims.host:
        return ["the published host is not known"]
    facets = fingerprint.get("facets", {})
    reasons = []
    for key, published in claims.host.items():
        if key in _LABELS or (key == "gpu" and plan.get("backend") in _CPU_BACKENDS):
            continue
        here = _fact(facets, key)
        if here is None:
            reasons.append(f"{key} is not known here, {published} as published")
        elif published.lower() not in here.lower():
            reasons.append(f"{key} is {here} here, {published} as published")
    return reasons


def _fact(facets: Mapping[str, Any], key: str) -> str | None:
    """A fact of the fingerprint as text; None where it is unknown."""
    path = _FACTS.get(key, ("packages", "installed", key))
    value: Any = facets
    for step in path:
        value = value.get(step) if isinstance(value, Mapping) else None
    if value is None or isinstance(value, Mapping):
        return None
    return ", ".join(str(one) for one in value) if isinstance(value, list) else str(value)
