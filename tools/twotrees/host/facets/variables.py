"""Environment variables that numeric libraries obey."""

from __future__ import annotations

import re

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources

RELEVANT = re.compile(r"^(NUMBA|OMP|OPENBLAS|MKL|BLIS|VECLIB|NUMEXPR|CUDA|WARP|MUJOCO|PYTHON)")
SECRET = re.compile(r"TOKEN|SECRET|PASSW|CREDENTIAL|_KEY$|APIKEY", re.IGNORECASE)


def collect(sources: Sources) -> Facts:
    """Each under its name; `set` holds them all, so that an empty environment is a value and not an unknown."""
    return {
        "set": {
            name: Unknown("not recorded, its name looks like a secret's") if SECRET.search(name) else value
            for name, value in sorted(sources.environ.items())
            if RELEVANT.match(name)
        }
    }


FACET = Facet("variables", collect, {"set": Kind.SPEED})
