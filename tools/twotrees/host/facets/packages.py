"""Versions of every distribution that the measuring interpreter can import."""

from __future__ import annotations

from typing import Any

from twotrees.errors import TwotreesError
from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources
from twotrees.pins import environment


def collect(sources: Sources) -> Facts:
    """Normalised name to version."""
    try:
        found = environment.environment_digest(environment.site_folders(sources.interpreter))
    except TwotreesError as fault:
        return {"installed": Unknown(fault.what)}
    versions: dict[str, Any] = {item.name: item.version for item in found.distributions}
    return {"installed": versions or Unknown("nothing is installed")}


FACET = Facet("packages", collect, {"installed": Kind.SPEED})
