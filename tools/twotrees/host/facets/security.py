"""Protections that cost time or move addresses: address-space randomisation and the mitigations of processor faults."""

from __future__ import annotations

from typing import Any

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources

RANDOMISATION = {"0": "off", "1": "stack and libraries", "2": "stack, libraries and heap"}


def collect(sources: Sources) -> Facts:
    """From `/proc/sys` and sysfs."""
    state = sources.text("/proc/sys/kernel/randomize_va_space")
    return {
        "aslr": state if isinstance(state, Unknown) else RANDOMISATION.get(state, f"level {state}"),
        "mitigations": mitigations(sources),
    }


def mitigations(sources: Sources) -> Any:
    """Each processor fault that the kernel knows, and what it does about it."""
    folder = "/sys/devices/system/cpu/vulnerabilities"
    found = {path.rsplit("/", 1)[-1]: sources.text(path) for path in sources.glob(f"{folder}/*")}
    return found or Unknown(f"{sources.system} lists no mitigations")


FACET = Facet("security", collect, {"aslr": Kind.SPEED, "mitigations": Kind.SPEED})
