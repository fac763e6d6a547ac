"""NVIDIA GPUs, each under its UUID. The question is put in a process of its own: a broken driver may hang or crash."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from twotrees import strict_json
from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown, unknown_reason
from twotrees.host.sources import Sources

STATE = (
    *("memory_used_mib", "sm_clock_mhz", "memory_clock_mhz", "performance_state", "power_w", "temperature_c"),
    *("throttle_reasons", "compute_processes"),
)
LABELS = ("pci_bus_id", "mig_devices")


def collect(sources: Sources) -> Facts:
    """What NVML says, or why it says nothing."""
    answer = ask(sources)
    module = sources.text("/proc/driver/nvidia/version")
    found = re.search(r"NVRM version:.*?(\d+\.\d+(?:\.\d+)?)", "" if isinstance(module, Unknown) else module)
    kernel_module = found.group(1) if found else Unknown("no NVIDIA kernel module is loaded")
    if isinstance(answer, Unknown):
        return {**dict.fromkeys(FACET.facts, answer), "kernel_module": kernel_module}
    gpus: dict[str, dict[str, Any]] = answer["gpus"]
    lost = answer.get("lost") or []
    return {
        "driver_version": answer["driver_version"],
        "cuda_driver": answer["cuda_driver"],
        "nvml_version": answer["nvml_version"],
        "kernel_module": kernel_module,
        "count": len(gpus) if not lost else Unknown(f"{len(gpus)} answer, {len(lost)} do not: {lost[0]}"),
        "models": sorted(str(gpu["name"]) for gpu in gpus.values()),
        "gpus": {uuid: {key: gpu[key] for key in gpu if key not in (*STATE, *LABELS)} for uuid, gpu in gpus.items()},
        "addresses": {uuid: {key: gpu[key] for key in gpu if key in LABELS} for uuid, gpu in gpus.items()},
        "state": {uuid: {key: gpu[key] for key in gpu if key in STATE} for uuid, gpu in gpus.items()},
        "visible": visible(sources.environ, gpus),
    }


def ask(sources: Sources) -> dict[str, Any] | Unknown:
    """Runs the NVML process and reads its one line."""
    finished = sources.run(*sources.nvml)
    if not finished.ok:
        traceback = finished.complaint.startswith("Traceback")
        last = finished.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return Unknown(f"unavailable: {last if traceback else finished.complaint}")
    try:
        answer = strict_json.loads(finished.text)
        if "unavailable" in answer:
            return Unknown(f"unavailable: {answer['unavailable']}")
        if not isinstance(answer["gpus"], dict) or not answer["gpus"]:
            return Unknown("unavailable: " + (str(answer["lost"][0]) if answer.get("lost") else "no GPU is there"))
        return dict(answer)
    except (strict_json.JsonRefused, KeyError, TypeError):
        first = (finished.text.splitlines() or ["nothing printed"])[0]
        return Unknown(f"unavailable: {first[:120]}")


def visible(environ: Mapping[str, str], gpus: Mapping[str, Mapping[str, Any]]) -> list[str] | Unknown:
    """UUIDs that CUDA programs started from here see, in CUDA's order (CUDA C programming guide).

    An index counts in CUDA's order, fastest first, which NVML does not know; it is resolved only where there is no
    choice or the order is pinned to the PCI address.
    """
    asked = environ.get("CUDA_VISIBLE_DEVICES")
    by_bus = environ.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
    order = sorted(gpus, key=lambda uuid: str(gpus[uuid].get("pci_bus_id")))
    bus_known = all(unknown_reason(gpu.get("pci_bus_id")) is None for gpu in gpus.values())
    ordered = len(gpus) == 1 or (by_bus and bus_known)
    if asked is None:
        return order
    chosen: list[str] = []
    for part in (piece.strip() for piece in asked.split(",")):
        if part.isdecimal():
            if not ordered:
                return Unknown(
                    f"CUDA_VISIBLE_DEVICES={asked} gives indexes, and CUDA's order is not NVML's; "
                    "set CUDA_DEVICE_ORDER=PCI_BUS_ID or use UUIDs"
                )
            matches = order[int(part) : int(part) + 1]
        elif part.startswith("MIG-"):
            matches = [part]
        else:
            matches = [uuid for uuid in gpus if part and uuid.startswith(part)]
        if len(matches) != 1 or matches[0] in chosen:
            # CUDA stops at the first entry that names nothing: those before it stay visible, those after do not.
            break
        chosen.append(matches[0])
    return chosen


def by_model(facts: Facts) -> Facts:
    """The facts with each UUID replaced by its model and a number, since two hosts never share a UUID."""
    gpus = facts.get("gpus")
    if not isinstance(gpus, dict) or unknown_reason(gpus) is not None:
        return facts
    names: dict[str, str] = {}
    seen: dict[str, int] = {}
    for uuid in sorted(gpus):
        model = str(gpus[uuid].get("name"))
        seen[model] = seen.get(model, 0) + 1
        names[uuid] = f"{model} #{seen[model]}"
    renamed = {
        fact: {names.get(uuid, uuid): value for uuid, value in facts[fact].items()}
        for fact in ("gpus", "addresses", "state")
        if isinstance(facts.get(fact), dict)
    }
    return {**facts, **renamed}


FACET = Facet(
    "gpu",
    collect,
    {
        "driver_version": Kind.SPEED,
        "cuda_driver": Kind.SPEED,
        "nvml_version": Kind.LABEL,
        "kernel_module": Kind.SPEED,
        "count": Kind.SPEED,
        "models": Kind.SPEED,
        "gpus": Kind.SPEED,
        "addresses": Kind.LABEL,
        "state": Kind.STATE,
        "visible": Kind.LABEL,
    },
    align=by_model,
)
