"""For every room: a property is true or false, not fast or slow; a loaded machine must not fail it."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("no deadline", deadline=None)
settings.load_profile("no deadline")
