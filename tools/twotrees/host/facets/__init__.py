"""The table of collectors, in the order of a fingerprint. A new facet is one file and one line here."""

from twotrees.host.facet import Facet
from twotrees.host.facets import (
    clock,
    frequency,
    git,
    gpu,
    identity,
    kernel,
    load,
    lscpu,
    memory,
    packages,
    power,
    processor,
    python,
    security,
    usable,
    variables,
    virtualization,
)

FACETS: tuple[Facet, ...] = (
    processor.FACET,
    frequency.FACET,
    usable.FACET,
    virtualization.FACET,
    kernel.FACET,
    security.FACET,
    memory.FACET,
    clock.FACET,
    power.FACET,
    load.FACET,
    gpu.FACET,
    python.FACET,
    packages.FACET,
    variables.FACET,
    git.FACET,
    identity.FACET,
    lscpu.FACET,
)
