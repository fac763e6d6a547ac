"""trees: an arm's source in, a checked-out tree whose content is known out.

`resolve` finds the commit, `make` checks it out, `scan` looks it over, `provenance` judges what a measured child
imported, `describe` is what the bundle keeps, `remove` takes it away, `clean` finds what a crash left behind.
"""

from twotrees.trees.compare import changed
from twotrees.trees.findings import Finding, refuse
from twotrees.trees.imports import provenance
from twotrees.trees.record import describe, diff, labels
from twotrees.trees.registry import clean, leftovers
from twotrees.trees.scanning import scan
from twotrees.trees.sources import SourceLike
from twotrees.trees.tree import Submodule, Tree
from twotrees.trees.worktree import Commitment, as_dirty, make, prepared, remove, resolve

__all__ = [
    "Commitment",
    "Finding",
    "SourceLike",
    "Submodule",
    "Tree",
    "as_dirty",
    "changed",
    "clean",
    "describe",
    "diff",
    "labels",
    "leftovers",
    "make",
    "prepared",
    "provenance",
    "refuse",
    "remove",
    "resolve",
    "scan",
]
