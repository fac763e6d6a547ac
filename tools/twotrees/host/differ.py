"""What differs between two fingerprints, and whether it can matter for speed. Unknown on both sides is not equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from twotrees.errors import UsageError
from twotrees.host.collect import SCHEMA, shown
from twotrees.host.facets import FACETS
from twotrees.host.facts import Kind, unknown_reason

# What most often explains a difference in speed is said first.
FIRST = ("packages", "variables", "python", "gpu", "processor", "usable")


@dataclass(frozen=True)
class Difference:
    """One fact that two hosts do not share, or are not known to share.

    Attributes:
        facet: Its facet.
        fact: Its dotted name within the facet.
        left: The first fingerprint's value as JSON; None when the entry is absent there.
        right: The second's.
        kind: Whether it can change speed, is a passing state, or only a label.
        verdict: `different`, or `unknown` when at least one side does not know.
    """

    facet: str
    fact: str
    left: Any
    right: Any
    kind: Kind
    verdict: Literal["different", "unknown"]

    @property
    def matters(self) -> bool:
        """Whether it can change how fast code runs."""
        return self.kind is Kind.SPEED

    @property
    def sentence(self) -> str:
        """One line for people."""
        if isinstance(self.left, list) and isinstance(self.right, list):
            return f"{self.facet} {self.fact}: {_list_difference(self.left, self.right)}"
        return f"{self.facet} {self.fact}: {_against(self.left, self.right)}"

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "facet": self.facet,
            "fact": self.fact,
            "left": self.left,
            "right": self.right,
            "kind": self.kind.value,
            "verdict": self.verdict,
        }


def differences(left: dict[str, Any], right: dict[str, Any]) -> list[Difference]:
    """Compares two fingerprints fact by fact.

    Returns:
        What can matter for speed first (packages before all else), then what could not be compared, then the rest.

    Raises:
        UsageError: one of the two is no fingerprint of this schema.
    """
    found = [difference for facet in _facet_names(left, right) for difference in _in_facet(facet, left, right)]
    return sorted(found, key=_rank)


def sentences(found: list[Difference]) -> list[str]:
    """One line for each difference; unknown facts of one facet with the same reasons share a line."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for difference in found:
        same = _against(difference.left, difference.right) if difference.verdict == "unknown" else difference.sentence
        grouped.setdefault((difference.facet, same), []).append(difference.fact)
    return [
        text if text.startswith(f"{facet} {facts[0]}: ") else f"{facet} {', '.join(facts)}: {text}"
        for (facet, text), facts in grouped.items()
    ]


def _against(left: Any, right: Any) -> str:
    if unknown_reason(left) is not None and left == right:
        return f"unknown on both sides ({unknown_reason(left)})"
    return f"{_side(left)} against {_side(right)}"


def _facet_names(left: dict[str, Any], right: dict[str, Any]) -> list[str]:
    for side in (left, right):
        if not isinstance(side, dict) or side.get("schema") != SCHEMA or not isinstance(side.get("facets"), dict):
            raise UsageError(f"not a host fingerprint of schema {SCHEMA}", key="schema")
    return list(dict.fromkeys([*left["facets"], *right["facets"]]))


def _in_facet(name: str, left: dict[str, Any], right: dict[str, Any]) -> Iterator[Difference]:
    facet = next((facet for facet in FACETS if facet.name == name), None)
    sides = [side["facets"].get(name, {}) for side in (left, right)]
    if facet is not None and facet.align is not None:
        sides = [facet.align(side) for side in sides]
    for fact in dict.fromkeys([*sides[0], *sides[1]]):
        kind = Kind.LABEL if facet is None else facet.kind(fact)
        missing = {"unknown": "this fingerprint does not record it"}
        values = [side.get(fact, missing) for side in sides]
        yield from _compare(name, fact, values[0], values[1], kind)


def _compare(facet: str, fact: str, left: Any, right: Any, kind: Kind) -> Iterator[Difference]:
    if unknown_reason(left) is not None or unknown_reason(right) is not None:
        yield Difference(facet, fact, left, right, kind, "unknown")
    elif isinstance(left, dict) and isinstance(right, dict):
        for key in dict.fromkeys([*left, *right]):
            yield from _compare(facet, f"{fact}.{key}", left.get(key), right.get(key), kind)
    elif left != right or isinstance(left, bool) is not isinstance(right, bool):
        yield Difference(facet, fact, left, right, kind, "different")


def _rank(difference: Difference) -> tuple[int, int, int]:
    kinds = (Kind.SPEED, Kind.LABEL, Kind.STATE)
    facet = FIRST.index(difference.facet) if difference.facet in FIRST else len(FIRST)
    return kinds.index(difference.kind), difference.verdict == "unknown", facet


def _side(value: Any) -> str:
    if value is None:
        return "absent"
    reason = unknown_reason(value)
    return shown(value) if reason is None else f"unknown ({reason})"


def _list_difference(left: list[Any], right: list[Any]) -> str:
    only_left = [item for item in left if item not in right]
    only_right = [item for item in right if item not in left]
    if not only_left and not only_right:
        return f"{shown(left)} against {shown(right)}"
    parts = [f"only the first has {shown(only_left)}"] if only_left else []
    parts += [f"only the second has {shown(only_right)}"] if only_right else []
    return "; ".join(parts)
