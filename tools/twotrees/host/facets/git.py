"""The git repository that twotrees or the study lies in: commit, branch, whether it is clean, where it came from."""

from __future__ import annotations

import re
from typing import Any

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources


def collect(sources: Sources) -> Facts:
    """From git itself; nothing is written, not even the index."""
    version = sources.answer("git", "--version")

    def ask(*argv: str) -> Any:
        if sources.repo is None:
            return Unknown("no repository was named")
        return sources.answer("git", "-C", str(sources.repo), *argv)

    return {
        "version": version,
        "commit": ask("rev-parse", "--verify", "HEAD^{commit}"),
        "branch": ask("symbolic-ref", "--short", "HEAD"),
        "clean": clean(sources),
        "remote": without_credentials(ask("remote", "get-url", "origin")),
    }


def clean(sources: Sources) -> bool | Unknown:
    """Whether git sees neither changes nor untracked files; empty output is the good answer here."""
    if sources.repo is None:
        return Unknown("no repository was named")
    finished = sources.run("git", "-C", str(sources.repo), "status", "--porcelain")
    return not finished.text if finished.ok else Unknown(finished.complaint)


def without_credentials(url: str | Unknown) -> str | Unknown:
    """The URL without the user name and the token that some people keep in it."""
    return url if isinstance(url, Unknown) else re.sub(r"^([a-z][a-z0-9+.-]*://)[^/@]*@", r"\1", url)


FACET = Facet("git", collect, dict.fromkeys(("version", "commit", "branch", "clean", "remote"), Kind.LABEL))
