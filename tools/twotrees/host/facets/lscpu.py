"""What `lscpu -J` says, kept whole: the record that a reader can check the `processor` facet against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from twotrees import strict_json
from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources

# Both are long and are facts of their own (processor.instruction_sets, security.mitigations).
ELSEWHERE = ("Flags", "Vulnerability ")


def fields(sources: Sources) -> dict[str, str] | Unknown:
    """The flat field → value table, whichever of util-linux's two JSON shapes it came in."""
    text = sources.answer("lscpu", "-J")
    if isinstance(text, Unknown):
        return text
    try:
        data = strict_json.loads(text)
        found = dict(_walk(data["lscpu"]))
    except (strict_json.JsonRefused, KeyError, TypeError, AttributeError):
        return Unknown(f"lscpu -J printed no table of fields: {text.splitlines()[0][:60]}")
    return found or Unknown("lscpu -J printed an empty table")


def _walk(rows: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for row in rows:
        value = row.get("data")
        if value is not None:
            yield row["field"].rstrip(":"), str(value)
        yield from _walk(row.get("children", []))


def collect(sources: Sources) -> Facts:
    """Each field under its own name."""
    found = fields(sources)
    if isinstance(found, Unknown):
        return {"fields": found}
    return {"fields": {key: value for key, value in found.items() if not key.startswith(ELSEWHERE)}}


FACET = Facet("lscpu", collect, {"fields": Kind.LABEL})
