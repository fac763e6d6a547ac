"""Parquet: every sample as one row with typed columns, for data frames and databases. Needs the extra `parquet`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from twotrees.errors import UsageError
from twotrees.report.exports.protocol import Exported
from twotrees.report.exports.table import SAMPLE_COLUMNS, sample_rows
from twotrees.report.facts import Campaign

NAME = "parquet"
WHAT = "Parquet: samples.parquet, through pyarrow"


def write(campaign: Campaign, out: Path) -> Exported:
    """Writes ``samples.parquet``; the file's metadata holds the study root.

    Raises:
        UsageError: pyarrow is not installed.
    """
    try:
        pyarrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise UsageError(
            "Parquet needs pyarrow, which is not installed",
            key="export=parquet",
            mend="install `twotrees[parquet]`, or take the csv export",
        ) from None
    types: dict[str, Any] = dict.fromkeys(("attempt", "run", "repeat", "index"), pyarrow.int32())
    types["ms"] = pyarrow.float64()
    rows = list(sample_rows(campaign))
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(SAMPLE_COLUMNS)
    text = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    arrays = {
        name: pyarrow.array(list(values), type=types.get(name, text))
        for name, values in zip(SAMPLE_COLUMNS, columns, strict=True)
    }
    table = pyarrow.table(arrays).replace_schema_metadata({"twotrees.study_root": campaign.study_root})
    path = out / "samples.parquet"
    parquet.write_table(table, path, compression="zstd")
    return Exported((path,))
