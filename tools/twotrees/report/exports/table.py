"""CSV: every sample as one line, and every effect as one line, for whatever reads tables.

Text that a spreadsheet would take for a formula gets an apostrophe before it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from twotrees.report.exports.protocol import Exported, series_of
from twotrees.report.facts import Campaign, Effect

NAME = "csv"
WHAT = "CSV: samples.csv and effects.csv"

SAMPLE_COLUMNS = ("study", "backend", "arm", "commit", "attempt", "run", "mode", "repeat", "metric", "index", "ms")
EFFECT_COLUMNS = (
    *("metric", "kind", "arm", "baseline", "before_ms", "after_ms", "saved_ms", "ratio", "ratio_low", "ratio_high"),
    *("confidence", "n_before", "n_after", "verdict", "reason", "method"),
)
FORMULA = ("=", "+", "-", "@", "\t", "\r")

Cell = str | int | float | None


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes both tables."""
    return Exported(
        (
            write_table(out / "samples.csv", SAMPLE_COLUMNS, sample_rows(campaign)),
            write_table(out / "effects.csv", EFFECT_COLUMNS, (effect_row(effect) for effect in campaign.effects)),
        )
    )


def sample_rows(campaign: Campaign) -> Iterator[tuple[Cell, ...]]:
    """One row for each sample; `index` counts from 0 within its run, and is empty for a value that is a summary."""
    for arm in campaign.arms:
        for series in series_of(campaign, arm.name):
            one = series.attempt
            common = (campaign.study, campaign.backend, arm.name, arm.commit)
            common_of_run = (*common, one.attempt, one.run, one.mode, one.repeat, series.metric)
            for index, value in enumerate(series.values_ms):
                yield (*common_of_run, None if series.is_summary else index, value)


def effect_row(effect: Effect) -> tuple[Cell, ...]:
    """One effect, as the aggregator printed it."""
    low, high = (None, None) if effect.ratio_range is None else (effect.ratio_range.low, effect.ratio_range.high)
    return (
        *(effect.metric, effect.kind, effect.arm, effect.baseline, effect.before_ms, effect.after_ms, effect.saved_ms),
        *(effect.ratio, low, high, effect.confidence, effect.n_before, effect.n_after),
        *(effect.verdict, effect.reason, effect.method),
    )


def write_table(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Path:
    """Writes one CSV file: UTF-8, a header, floats with all their digits."""
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        for row in rows:
            writer.writerow([harmless(cell) for cell in row])
    return path


def harmless(cell: Cell) -> Cell:
    """A cell that no spreadsheet runs."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(FORMULA) else cell
