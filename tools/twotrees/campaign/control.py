"""A against A: the same tree as two arms, and what this host then shows although there is nothing to see.

The result is kept for this host, study, backend, scale and protocol, and printed beside every later claim.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import platformdirs
from rich.console import Console

from twotrees import strict_json
from twotrees.digest import sha256_file, sha256_json
from twotrees.errors import TwotreesError
from twotrees.runs.work import write_json
from twotrees.study import CampaignConfig, typed

LABEL = "A/A control: both arms are the same tree"
CONTROL = "control"
SCHEMA = "twotrees-control-v1"


def against_itself(composed: Mapping[str, Any]) -> tuple[CampaignConfig, dict[str, Any]]:
    """The same campaign with the baseline's tree as both arms."""
    data = copy.deepcopy(dict(composed))
    baseline = data["study"]["arms"][0]
    data["study"]["arms"] = [baseline, CONTROL]
    data["study"]["trees"][CONTROL] = data["study"]["trees"][baseline]
    return typed(data), data


def place(config: CampaignConfig, fingerprint: Mapping[str, Any]) -> Path:
    """Where the control for such a campaign on the host of *fingerprint* is kept."""
    facets = fingerprint["facets"]
    same = {
        "host": facets.get("identity", {}),
        "processor": facets.get("processor", {}).get("model_name"),
        "study": config.study.name,
        "backend": config.backend.name,
        "protocol": config.protocol.name,
        "scale": dataclasses.asdict(config.scale),
    }
    return platformdirs.user_state_path("twotrees") / "controls" / f"{sha256_json(same)[:32]}.json"


def kept(config: CampaignConfig, fingerprint: Mapping[str, Any]) -> dict[str, Any] | None:
    """The control that applies to a campaign, or None when this host was never calibrated for it."""
    try:
        control = strict_json.read(place(config, fingerprint))
    except TwotreesError:
        return None
    return control if isinstance(control, dict) and control.get("schema") == SCHEMA else None


def keep(bundle: Path, config: CampaignConfig, console: Console) -> None:
    """Keeps what an A/A bundle shows, and tells it."""
    aggregate = strict_json.read(bundle / "data" / "aggregate.json")
    plan = strict_json.read(bundle / "data" / "plan.json")
    effects = {
        effect["metric"]: {key: effect[key] for key in ("ratio", "ratio_low", "ratio_high", "n_before", "n_after")}
        for effect in aggregate["twotrees"]["effects"]
        if effect["kind"] == "phase" and effect["ratio"] is not None
    }
    path = place(config, strict_json.read(bundle / "data" / "host" / "before.json"))
    path.parent.mkdir(parents=True, exist_ok=True)
    root = sha256_file(bundle / "tagmanifest-sha256.txt")
    write_json(path, {"schema": SCHEMA, "root": root, "created": plan["created"], "metrics": effects})
    for metric, effect in effects.items():
        low, high = 100 * (effect["ratio_low"] - 1), 100 * (effect["ratio_high"] - 1)
        console.print(f"control {metric}: {100 * (effect['ratio'] - 1):+.2f} % (interval {low:+.2f} to {high:+.2f} %)")
