"""One campaign under way: what it measures, where it lies, and how it tells what it does."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from twotrees.errors import UsageError
from twotrees.runs import surroundings
from twotrees.runs.work import Work
from twotrees.study import CampaignConfig, toolkit_root

SCHEMA = "twotrees-campaign-v1"


@dataclass(frozen=True)
class Campaign:
    """One campaign under way.

    Attributes:
        config: What it measures.
        composed: The same as plain data, as Hydra composed it.
        base: Folder against which a study's relative paths stand: the toolkit, or the folder above the user's `conf`.
        work: Its work folder.
        python: The measured environment's interpreter.
        replicates: Root of the bundle that it replicates.
        console: Where it tells what it does.
    """

    config: CampaignConfig
    composed: Mapping[str, Any]
    base: Path
    work: Work
    python: Path
    replicates: str | None
    console: Console

    def python_of(self, arm: str) -> Path:
        """The interpreter that runs of *arm* are started with: the one of all arms, unless each has its own."""
        if self.config.measured_in != "per-arm":
            return self.python
        return self.python.parents[2] / arm / "bin" / "python"

    @property
    def toolkit(self) -> Path:
        """The folder with the pinned scripts."""
        return toolkit_root()

    def script(self, name: str) -> Path:
        """One of the study's two scripts: beside the study if it is there, else the toolkit's.

        Raises:
            UsageError: it is in neither place.
        """
        relative = str(getattr(self.config.study.scripts, name))
        for folder in (self.base, self.toolkit):
            if (folder / relative).is_file():
                return (folder / relative).resolve()
        raise UsageError("no such script", file=relative, key=f"study.scripts.{name}", mend="give its path")

    @property
    def roots(self) -> surroundings.Roots:
        """The symbols for this machine's folders in what is recorded."""
        return surroundings.roots(self.work.root, self.toolkit, self.python)

    def saved(self) -> dict[str, Any]:
        """What `resume` needs to know."""
        return {
            "schema": SCHEMA,
            "composed": self.composed,
            "base": str(self.base),
            "python": str(self.python),
            "replicates": self.replicates,
        }

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Tells that a step is over and how long it took."""
        begin = time.monotonic()
        yield
        self.console.print(f"{name:<14}{time.monotonic() - begin:5.1f} s", style="dim")
