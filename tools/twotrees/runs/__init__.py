"""Runs: the plan, each process of it, and the journal that survives a crash.

In: a typed campaign, checked-out trees. Out: a work folder whose `data/` holds the plan, every attempt and its logs.
"""
