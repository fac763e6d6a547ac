"""What an exporter is: a module with a name, a line about itself, and one function."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from twotrees.report.facts import Attempt, Campaign
from twotrees.report.samples import phase_samples, term_samples

TERM = "term:"
QUANTILE = "@"


@dataclass(frozen=True)
class Exported:
    """What came of an export.

    Attributes:
        files: The files written.
        left_out: What the format cannot hold, each a sentence; nothing is left out silently.
    """

    files: tuple[Path, ...]
    left_out: tuple[str, ...] = ()


class Exporter(Protocol):
    """A module in this folder."""

    @property
    def NAME(self) -> str:  # noqa: N802
        """What the command line calls it."""

    @property
    def WHAT(self) -> str:  # noqa: N802
        """One line: which tool reads it."""

    @property
    def write(self) -> Write:
        """Writes the files of one campaign."""


class Write(Protocol):
    """The one function of an exporter."""

    def __call__(self, campaign: Campaign, out: Path, /) -> Exported:
        """Writes *campaign* into the folder *out*, which is there.

        Raises:
            UsageError: the campaign lacks what the format needs.
        """


@dataclass(frozen=True)
class Series:
    """The samples of one metric in one run, in ms; of a metric whose samples were not kept, its one summary value."""

    attempt: Attempt
    metric: str
    values_ms: tuple[float, ...]
    is_summary: bool


def timed(campaign: Campaign, arm: str) -> list[Attempt]:
    """The attempts of one arm whose times count: phase, lockstep and terms runs that ended well."""
    modes = ("phase", "lockstep", "terms")
    return [one for one in campaign.attempts if one.arm == arm and one.ok and one.mode in modes]


def series_of(campaign: Campaign, arm: str) -> Iterator[Series]:
    """Every reported quantity of one arm, run by run; phases from phase runs only, terms from terms runs.

    A quantile is left out: it is made of the samples of its phase, which are here.
    """
    attempts = {one.attempt: one for one in timed(campaign, arm)}
    for metric in (metric for metric in campaign.metrics if metric.arm == arm and QUANTILE not in metric.metric):
        is_term = metric.metric.startswith(TERM)
        for run, value in zip(metric.runs, metric.run_values_ms(), strict=True):
            attempt = attempts.get(run.attempt)
            if attempt is None:
                continue
            kept = (term_samples if is_term else phase_samples)(attempt).get(metric.metric.removeprefix(TERM))
            yield Series(attempt, metric.metric, tuple(kept or (value,)), is_summary=not kept)


def write_json(path: Path, value: Mapping[str, Any]) -> Path:
    """Writes a JSON file that a foreign tool reads and gives its path."""
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    return path


def short(metric: str) -> str:
    """A metric's name without our prefix and unit."""
    name, quantile, which = metric.removeprefix(TERM).partition(QUANTILE)
    return (name if metric.startswith(TERM) else name.removesuffix("_ms")) + quantile + which


def file_part(text: str) -> str:
    """*text* as part of a file name: letters, digits, dot, dash and underscore, never hidden, never a folder."""
    kept = "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text)
    return kept.lstrip(".-")[:80] or "unnamed"
