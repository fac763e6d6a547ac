"""The submodules of a commit: found in its listing, fetched into clones of their own, checked out inside the tree.

Git's own `submodule update` is not used: it would clone afresh for every arm and obey settings in the measured tree.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twotrees.errors import TwotreesError, UsageError
from twotrees.trees import clone, git, sources
from twotrees.trees.tree import commit_entries

MAX_DEPTH = 8
_SECTION = re.compile(r"submodule\.(.+)\.(path|url)", re.DOTALL)


@dataclass(frozen=True)
class Found:
    """A submodule whose commit is in a clone.

    Attributes:
        path: Its place in the outermost tree.
        clone: Its clone.
        commit: 40 digits.
    """

    path: str
    clone: clone.Clone
    commit: str


def of(parent: clone.Clone, commit: str, *, prefix: str = "", depth: int = 0) -> Iterator[Found]:
    """Fetches every submodule of *commit*, outer ones before those inside them.

    Raises:
        UsageError: one has no address, cannot be fetched, or lies too deep.
    """
    links = {
        path: entry.blob for path, entry in commit_entries(parent.git_dir, commit).items() if entry.mode == "160000"
    }
    if not links:
        return
    if depth >= MAX_DEPTH:
        raise UsageError(f"submodules of {parent.shown} are nested deeper than {MAX_DEPTH}", key=prefix)
    addresses = _addresses(parent, commit)
    for path, pinned in sorted(links.items()):
        place = f"{prefix}{path}"
        if path not in addresses:
            raise UsageError(f"submodule {place} at {pinned} has no address in .gitmodules of {parent.shown}")
        inner = _checked_out(parent, path, pinned, addresses[path]) or _clone(parent, addresses[path], place)
        try:
            clone.resolve(inner, pinned)
            clone.fetch_blobs(inner, pinned)
        except TwotreesError as fault:
            raise UsageError(f"submodule {place}: {fault}") from None
        yield Found(place, inner, pinned)
        yield from of(inner, pinned, prefix=f"{place}/", depth=depth + 1)


def _addresses(parent: clone.Clone, commit: str) -> dict[str, str]:
    done = git.call(["config", "--blob", f"{commit}:.gitmodules", "--list", "-z"], git_dir=parent.git_dir)
    sections: dict[str, dict[str, str]] = {}
    for row in done.stdout.decode("utf-8", "replace").split("\0"):
        key, _, value = row.partition("\n")
        if (match := _SECTION.fullmatch(key)) is not None:
            sections.setdefault(match[1], {})[match[2]] = value
    return {
        posixpath.normpath(item["path"]): item["url"] for item in sections.values() if {"path", "url"} <= item.keys()
    }


def _checked_out(parent: clone.Clone, path: str, pinned: str, address: str) -> clone.Clone | None:
    """A local repository's own checkout of the submodule, which saves the network, if it has the commit."""
    if not parent.local:
        return None
    here = clone.top_of(parent) / path
    if not (here / ".git").exists():
        return None
    if not git.call(["cat-file", "-e", f"{pinned}^{{commit}}"], cwd=here).ok:
        return None
    shown = sources.shown_path(git.redacted(address))
    return clone.opened(str(here), shown, True)


def _clone(parent: clone.Clone, address: str, place: str) -> clone.Clone:
    near = parent.local or parent.url.lower().startswith("file://")
    if address.startswith(("./", "../")):
        address = joined(_origin(parent), address)
    try:
        url, shown, local = sources.address(address, clone.top_of(parent) if parent.local else Path("/"))
    except UsageError as fault:
        raise UsageError(f"submodule {place}: {fault.what}") from None
    if (local or url.lower().startswith("file://")) and not near:
        raise UsageError(f"submodule {place} of {parent.shown} points at a path of this machine: {shown}")
    return clone.opened(url, shown, local)


def _origin(parent: clone.Clone) -> str:
    """What a relative address is relative to: for a local repository its own origin, as git has it."""
    if not parent.local:
        return parent.url
    done = git.call(["config", "--get", "remote.origin.url"], cwd=Path(parent.url))
    return done.text if done.ok and done.text else str(clone.top_of(parent))


def joined(parent: str, relative: str) -> str:
    """Resolves a submodule's relative address against its parent's, as gitmodules(5) says."""
    scheme, mark, rest = parent.rpartition("://") if "://" in parent else ("", "", parent)
    rest = rest.rstrip("/")
    while relative.startswith(("./", "../")):
        if relative.startswith("../"):
            cut = max(rest.rfind("/"), -1 if mark else rest.rfind(":"))
            if cut < 0:
                raise UsageError(f"the submodule address {relative} leaves {parent}")
            rest, relative = rest[:cut] + (":" if rest[cut] == ":" else ""), relative[3:]
        else:
            relative = relative[2:]
    return f"{scheme}{mark}{rest}{'' if rest.endswith(':') else '/'}{relative}"
