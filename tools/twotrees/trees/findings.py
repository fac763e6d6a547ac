"""What was found in or about a tree, as data: a finding either refuses the run or is written down beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from twotrees.errors import PinsDiffer

REFUSE = "refuse"
NOTE = "note"


@dataclass(frozen=True)
class Finding:
    """One thing found.

    Attributes:
        kind: What sort of thing, e.g. ``outside``, ``changed``, ``untracked``, ``lfs``, ``numba-cache``.
        path: Where: relative to the tree, or as reported when it is outside.
        line: The sentence that a user reads.
        weight: ``refuse`` when measuring would give a number that does not belong to the commit, else ``note``.
    """

    kind: str
    path: str
    line: str
    weight: str

    @property
    def refuses(self) -> bool:
        """Whether the run must not count."""
        return self.weight == REFUSE


def refuse(arm: str, findings: Iterable[Finding]) -> None:
    """Stops at findings that refuse the run.

    Raises:
        PinsDiffer: there is at least one; the line tells the first and how many more.
    """
    refusing = [finding for finding in findings if finding.refuses]
    if refusing:
        more = f" (and {len(refusing) - 1} more)" if len(refusing) > 1 else ""
        raise PinsDiffer(f"{refusing[0].line}{more}", file=f"arm {arm}")
