"""The pins: lock, installed distributions with every file, CHECKSUMS; and the one check that gathers what differs."""

from twotrees.pins.environment import Distribution, Environment, environment_digest, site_folders
from twotrees.pins.finding import Finding
from twotrees.pins.gather import Part, Report, check

__all__ = [
    "Distribution",
    "Environment",
    "Finding",
    "Part",
    "Report",
    "check",
    "environment_digest",
    "site_folders",
]
