"""Doors to other tools: one file for each foreign format, each with the three names of `protocol.Exporter`."""

from __future__ import annotations

from pathlib import Path

from twotrees.errors import UsageError
from twotrees.report.exports import (
    asv,
    bencher,
    chrome_trace,
    google_benchmark,
    parquet,
    published_layout,
    pyperf,
    table,
)
from twotrees.report.exports.protocol import Exported, Exporter
from twotrees.report.facts import read_campaign

_EXPORTERS: tuple[Exporter, ...] = (
    pyperf,
    asv,
    google_benchmark,
    bencher,
    table,
    parquet,
    chrome_trace,
    published_layout,
)
EXPORTERS: dict[str, Exporter] = {exporter.NAME: exporter for exporter in _EXPORTERS}

__all__ = ["EXPORTERS", "Exported", "Exporter", "export"]


def export(data: Path, name: str, out: Path) -> Exported:
    """Writes a campaign in a foreign format.

    Args:
        data: A campaign's data folder.
        name: A key of `EXPORTERS`.
        out: Folder that receives the files; made if it is not there.

    Returns:
        What was written, and what the format could not take.

    Raises:
        UsageError: no such format, the campaign lacks what it needs, or *out* cannot be written.
        BundleBroken: the data cannot be read.
    """
    if name not in EXPORTERS:
        raise UsageError(f"there is no export named {name!r}", key="export", mend=f"use one of: {', '.join(EXPORTERS)}")
    campaign = read_campaign(data)
    try:
        out.mkdir(parents=True, exist_ok=True)
        return EXPORTERS[name].write(campaign, out)
    except OSError as fault:
        raise UsageError(f"cannot be written: {fault.strerror}", file=fault.filename or out) from None
