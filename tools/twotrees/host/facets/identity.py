"""Who and where: host name, user, home folder. `collect.fingerprint` hashes them everywhere unless told to identify."""

from __future__ import annotations

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources


def collect(sources: Sources) -> Facts:
    """The plain names."""
    return {
        "host": sources.host_name or Unknown("the host has no name"),
        "user": sources.user or Unknown("the user has no name"),
        "home": sources.home or Unknown("the user has no home folder"),
    }


FACET = Facet("identity", collect, dict.fromkeys(("host", "user", "home"), Kind.LABEL))
