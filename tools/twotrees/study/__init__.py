"""What is measured and how: the typed study, composed by Hydra from `conf/` and validated before anything runs."""

from twotrees.study.compose import compose, toolkit_root, typed
from twotrees.study.model import (
    BUILT,
    Backend,
    Build,
    CampaignConfig,
    HostPolicy,
    Lockstep,
    Parity,
    Protocol,
    Scale,
    Scripts,
    Seeds,
    Study,
    Threads,
    Tolerance,
    TreeSource,
)

__all__ = [
    "BUILT",
    "Backend",
    "Build",
    "CampaignConfig",
    "HostPolicy",
    "Lockstep",
    "Parity",
    "Protocol",
    "Scale",
    "Scripts",
    "Seeds",
    "Study",
    "Threads",
    "Tolerance",
    "TreeSource",
    "compose",
    "toolkit_root",
    "typed",
]
