"""twotrees: two worktrees, one honest number.

The folders below stand in the order in which data flows; a module imports from rooms above it, never below:
study, pins, host, trees, runs, stats, bundle, audit, report; `campaign` walks through them.
"""

__version__ = "0.1.0"
