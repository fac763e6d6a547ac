"""Statistics: from run files to effects with intervals, attribution, diagnostics and plans. Pure functions of data.

In: a bundle's data folder, or arrays. Out: frozen data. Nothing here starts a process, asks a clock or prints.
"""

from twotrees.stats.agreement import differences
from twotrees.stats.campaign import read
from twotrees.stats.findings import findings
from twotrees.stats.recompute import aggregate

__all__ = ["aggregate", "differences", "findings", "read"]
