"""Managers: each owns the terms of one kind and runs them in their configured order."""
