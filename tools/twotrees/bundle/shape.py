"""JSON from a stranger, taken apart with its file and key at hand, so that every wrong shape is one clear refusal."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NoReturn

from twotrees.bundle.tags import broken

HEX_64 = re.compile(r"[0-9a-f]{64}")
HEX_40 = re.compile(r"[0-9a-f]{40}")
OBJECT_ID = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?(Z|\+00:00)")


@dataclass(frozen=True)
class Node:
    """A value, and where it stands.

    Attributes:
        value: Anything that JSON can hold.
        file: The file, for the messages.
        key: The dotted way to it within the file, empty for the whole.
    """

    value: Any
    file: str
    key: str = ""

    def refuse(self, what: str) -> NoReturn:
        """Refuses the bundle for this value.

        Raises:
            BundleBroken: always.
        """
        broken(self.file, what, self.key or None)

    def __getitem__(self, name: str) -> Node:
        found = self.get(name)
        if found is None:
            self.refuse(f"{name} is missing")
        return found

    def get(self, name: str) -> Node | None:
        """A member of an object, or None where there is no such member."""
        if not isinstance(self.value, dict):
            self.refuse("an object is expected here")
        if name not in self.value:
            return None
        return Node(self.value[name], self.file, f"{self.key}.{name}" if self.key else name)

    def members(self) -> Iterator[tuple[str, Node]]:
        """All members of an object."""
        if not isinstance(self.value, dict):
            self.refuse("an object is expected here")
        for name in self.value:
            yield name, self[name]

    def items(self) -> list[Node]:
        """All items of a list."""
        if not isinstance(self.value, list):
            self.refuse("a list is expected here")
        return [Node(item, self.file, f"{self.key}[{place}]") for place, item in enumerate(self.value)]

    def text(self, pattern: re.Pattern[str] | None = None) -> str:
        """A string, all of which matches *pattern*."""
        if not isinstance(self.value, str):
            self.refuse("a string is expected here")
        if pattern is not None and not pattern.fullmatch(self.value):
            self.refuse(f"{self.value[:80]!a} is not of the form expected here")
        return self.value

    def integer(self, least: int = 0) -> int:
        """An integer not below *least*."""
        if not isinstance(self.value, int) or isinstance(self.value, bool) or self.value < least:
            self.refuse(f"an integer of at least {least} is expected here")
        return self.value

    def number(self) -> float:
        """A number."""
        if not isinstance(self.value, (int, float)) or isinstance(self.value, bool):
            self.refuse("a number is expected here")
        return float(self.value)

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            self.refuse("true or false is expected here")
        return self.value

    def moment(self) -> datetime:
        """A UTC time in ISO 8601."""
        text = self.text(_UTC)
        try:
            return datetime.fromisoformat(text).astimezone(UTC)
        except ValueError:
            self.refuse(f"{text!r} is not a time")

    def equals(self, expected: object, who: str) -> None:
        """Makes sure of a value that *who* has already told."""
        if self.value != expected or type(self.value) is not type(expected):
            self.refuse(f"{str(self.value)[:80]!a}, but {who} says {str(expected)[:80]!a}")
