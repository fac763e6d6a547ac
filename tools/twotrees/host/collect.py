"""The fingerprint: one loop over the table of facets, then the names of people and machines hashed away.

In: `Sources`. Out: ``{"schema": "twotrees-host-v1", "facets": {facet: {fact: value or {"unknown": reason}}}}``, in the
same form on every system.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twotrees.host.facet import Facet
from twotrees.host.facets import FACETS
from twotrees.host.facts import Facts, Unknown, jsonable
from twotrees.host.sources import Sources, here

SCHEMA = "twotrees-host-v1"

# Names that many hosts and containers share: they identify nobody, and occur as plain words in other facts.
COMMON_NAMES = frozenset(
    {"", "localhost", "root", "user", "vm", "runner", "ubuntu", "debian", "admin", "home", "python"}
)


def fingerprint(*, identify: bool = False, repo: Path | None = None, interpreter: Path | None = None) -> dict[str, Any]:
    """Takes the fingerprint of this host.

    Args:
        identify: Keep host name, user and home folder as they are instead of hashing them.
        repo: The git repository to describe.
        interpreter: The Python that will measure; the running one by default.

    Returns:
        JSON data. Nothing a host lacks makes this fail.
    """
    return fingerprint_of(here(repo=repo, interpreter=interpreter), identify=identify)


def fingerprint_of(sources: Sources, *, identify: bool = False, facets: tuple[Facet, ...] = FACETS) -> dict[str, Any]:
    """The same from given sources and a given table."""
    taken = {facet.name: jsonable(facts_of(facet, sources)) for facet in facets}
    return {"schema": SCHEMA, "facets": taken if identify else anonymous(taken, sources)}


def facts_of(facet: Facet, sources: Sources) -> Facts:
    """One facet's facts: all that it owes, in the order of its table, each known or unknown with a reason."""
    try:
        found = facet.collect(sources)
    except Exception as fault:
        # The one place where any exception is caught: a host that surprises a collector must not stop a campaign, and
        # the reason says which one it was.
        found = dict.fromkeys(facet.facts, Unknown(f"the collector failed: {type(fault).__name__}: {fault}"))
    owed = {name: found.get(name, Unknown("the collector gave no answer")) for name in facet.facts}
    return {**owed, **{name: value for name, value in found.items() if name not in owed}}


def anonymous(taken: dict[str, Any], sources: Sources) -> dict[str, Any]:
    """Replaces host name, user and home folder, wherever they occur, by pseudonyms.

    A pseudonym is keyed with the machine id where there is one, so that a stranger cannot confirm a guessed name, while
    two fingerprints of one machine still agree.
    """
    key = sources.text("/etc/machine-id")
    secret = b"twotrees-host-v1" if isinstance(key, Unknown) else key.encode()

    def pseudonym(what: str, name: str) -> str:
        return f"{what}-{hmac.new(secret, name.encode(), hashlib.sha256).hexdigest()[:12]}"

    replace = replacer(
        [
            (sources.home.rstrip("/"), pseudonym("home", sources.home), r"(?:(?<![\w/.-])|(?<=-[LI]))", r"(?![\w.-])"),
            (sources.host_name, pseudonym("host", sources.host_name), r"(?<![\w-])", r"(?![\w-])"),
            (sources.user, pseudonym("user", sources.user), r"(?<=/)", r"(?=/|$)"),
        ]
    )
    hidden = {name: _map_texts(facts, replace) for name, facts in taken.items()}
    for fact, name in (("host", sources.host_name), ("user", sources.user), ("home", sources.home)):
        if name and fact in hidden.get("identity", {}):
            hidden["identity"][fact] = pseudonym(fact, name)
    return hidden


def replacer(rules: list[tuple[str, str, str, str]]) -> Callable[[str], str]:
    """A function that replaces each name where the patterns before and after it match; common names are left alone."""
    compiled = [
        (re.compile(before + re.escape(name) + after), new)
        for name, new, before, after in rules
        if name not in COMMON_NAMES and len(name) > 1
    ]

    def replace(text: str) -> str:
        for pattern, new in compiled:
            text = pattern.sub(new, text)
        return text

    return replace


def _map_texts(value: Any, change: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {change(key): _map_texts(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_map_texts(item, change) for item in value]
    return value


def rows(taken: dict[str, Any]) -> list[tuple[str, str, str]]:
    """A fingerprint as a table: facet, fact, value as text; dicts are spread over one row for each entry."""
    return [
        (facet, fact, text)
        for facet, facts in taken["facets"].items()
        for name, value in facts.items()
        for fact, text in _spread(name, value)
    ]


def _spread(name: str, value: Any) -> list[tuple[str, str]]:
    if isinstance(value, dict) and set(value) == {"unknown"}:
        return [(name, f"unknown ({value['unknown']})")]
    if isinstance(value, dict):
        return [pair for key, item in value.items() for pair in _spread(f"{name}.{key}", item)] or [(name, "none")]
    return [(name, shown(value))]


SHOWN_ITEMS = 8


def shown(value: Any) -> str:
    """A value for people: lists cut short with their length, dicts in lists as `key value` pairs, booleans as words."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        texts = [shown(item) for item in value[:SHOWN_ITEMS]]
        rest = f", … ({len(value)} in all)" if len(value) > SHOWN_ITEMS else ""
        return ", ".join(texts) + rest if texts else "none"
    if isinstance(value, dict):
        return " ".join(f"{key} {shown(item)}" for key, item in value.items())
    return str(value)
