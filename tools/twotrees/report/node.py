"""A value inside a JSON file that knows where it stands, so that what is missing or of the wrong kind can be named."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twotrees import strict_json
from twotrees.errors import BundleBroken
from twotrees.report.text import clean


@dataclass(frozen=True)
class Node:
    """One JSON value.

    Attributes:
        value: As read.
        file: The file that it is in.
        key: Dotted path inside the file.
    """

    value: Any
    file: Path
    key: str = ""

    def at(self, name: str) -> Node:
        """The member *name*; a node of None when this is an object without it.

        Raises:
            BundleBroken: this is no object.
        """
        if not isinstance(self.value, dict):
            raise self.refused("an object")
        return Node(self.value.get(name), self.file, f"{self.key}.{name}" if self.key else name)

    def items(self) -> Iterator[Node]:
        """The elements of an array; none for null.

        Raises:
            BundleBroken: this is something else.
        """
        if self.value is None:
            return
        if not isinstance(self.value, list):
            raise self.refused("an array")
        for index, value in enumerate(self.value):
            yield Node(value, self.file, f"{self.key}[{index}]")

    def members(self) -> Iterator[tuple[str, Node]]:
        """The members of an object, their names made harmless; none for null.

        Raises:
            BundleBroken: this is something else.
        """
        if self.value is None:
            return
        if not isinstance(self.value, dict):
            raise self.refused("an object")
        for name, value in self.value.items():
            yield clean(name), Node(value, self.file, f"{self.key}.{clean(name, 80)}")

    def text(self, otherwise: str = "") -> str:
        """A string (or a plain scalar as text), made harmless; *otherwise* for null.

        Raises:
            BundleBroken: this is an array or an object.
        """
        if self.value is None:
            return otherwise
        if isinstance(self.value, dict | list):
            raise self.refused("text")
        return clean(str(self.value))

    def number(self) -> float:
        """A number.

        Raises:
            BundleBroken: this is no number.
        """
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.refused("a number")
        return float(self.value)

    def maybe(self) -> float | None:
        """A number, or None for null."""
        return None if self.value is None else self.number()

    def count(self) -> int:
        """A whole number.

        Raises:
            BundleBroken: this is none.
        """
        if isinstance(self.value, bool) or not isinstance(self.value, int):
            raise self.refused("a whole number")
        return self.value

    def truth(self, otherwise: bool = False) -> bool:
        """True or false; *otherwise* for null.

        Raises:
            BundleBroken: this is neither.
        """
        if self.value is None:
            return otherwise
        if not isinstance(self.value, bool):
            raise self.refused("true or false")
        return self.value

    def refused(self, wanted: str) -> BundleBroken:
        """The error for a value that is not *wanted*."""
        found = "nothing" if self.value is None else clean(repr(self.value), 60)
        return BundleBroken(f"{wanted} is needed here, and it is {found}", file=self.file, key=self.key)


def read(path: Path) -> Node:
    """The whole of a JSON file.

    Raises:
        BundleBroken: it cannot be read or is not strict JSON.
    """
    return Node(strict_json.read(path, error=BundleBroken), path)


def read_lines(path: Path) -> list[Node]:
    """The lines of a JSON Lines file that is there; a last line without its end (a crash) is left out.

    Raises:
        BundleBroken: a whole line is not strict JSON.
    """
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    nodes = []
    for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
        if not line.strip():
            continue
        try:
            nodes.append(Node(strict_json.loads(line), path, f"line {number}"))
        except strict_json.JsonRefused as fault:
            raise BundleBroken(str(fault), file=path, key=f"line {number}") from None
    return nodes
