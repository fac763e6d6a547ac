"""The host: its fingerprint before and after a campaign, a light monitor during it, and why it is not quiet.

The names below are loaded when first used, because the monitor's process imports this package too and must stay small.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from twotrees.host.collect import fingerprint, fingerprint_of, rows
    from twotrees.host.differ import Difference, differences, sentences
    from twotrees.host.facets.usable import usable_cores
    from twotrees.host.facts import Kind, Unknown
    from twotrees.host.quiet import Finding, findings
    from twotrees.host.sources import Sources, here
    from twotrees.host.watch import Monitor, summary_of

_HOMES = {
    "fingerprint": "collect",
    "fingerprint_of": "collect",
    "rows": "collect",
    "Difference": "differ",
    "differences": "differ",
    "sentences": "differ",
    "usable_cores": "facets.usable",
    "Kind": "facts",
    "Unknown": "facts",
    "Finding": "quiet",
    "findings": "quiet",
    "Sources": "sources",
    "here": "sources",
    "Monitor": "watch",
    "summary_of": "watch",
}

__all__ = [
    "Difference",
    "Finding",
    "Kind",
    "Monitor",
    "Sources",
    "Unknown",
    "differences",
    "findings",
    "fingerprint",
    "fingerprint_of",
    "here",
    "rows",
    "sentences",
    "summary_of",
    "usable_cores",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
