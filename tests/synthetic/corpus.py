"""A bench on which a sound bundle is mistreated, and the list to which each way of doing it is added.

In: a bench with a sound, signed bundle. Out: what to hand to a verifier, its exit code, the file that it must name and
words of the reason. `hostile.py` gathers the whole corpus; both verifiers are held to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from synthetic.forge import ed25519_key

BROKEN, UNKNOWN, USAGE = 5, 6, 2
PRINCIPAL = "alice@example.org"
KEY = ed25519_key(1)
SECOND_KEY = ed25519_key(2)


@dataclass
class Bench:
    """Where a bundle is mistreated.

    Attributes:
        folder: A private folder.
        bundle: A sound bundle in it, signed by `KEY`.
        allowed: The auditor's allowed_signers, which lists `KEY`.
        options: Further demands of the auditor: revoked, require_signers, identity.
    """

    folder: Path
    bundle: Path
    allowed: Path
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def signature(self) -> Path:
        """The one signature file."""
        return self.bundle / "signatures" / KEY.file_name

    def unsign(self) -> None:
        """Takes all signatures away."""
        self.signature.unlink()
        self.signature.parent.rmdir()

    def message(self) -> bytes:
        """What is signed."""
        return (self.bundle / "tagmanifest-sha256.txt").read_bytes()

    def write(self, name: str, content: bytes | str) -> Path:
        """Writes a file of the bundle."""
        path = self.bundle / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def edit(self, name: str, old: str, new: str, count: int = 1) -> None:
        """Replaces text in a file of the bundle."""
        path = self.bundle / name
        text = path.read_bytes().decode()
        assert old in text, f"{name} does not hold {old!r}"
        path.write_bytes(text.replace(old, new, count).encode())

    def run(self, attempt: int) -> Path:
        """A run file."""
        return self.bundle / "data" / "runs" / f"{attempt:04d}.json"


Change = Callable[[Bench], Path | None]


@dataclass(frozen=True)
class Case:
    """One way to mistreat a bundle.

    Attributes:
        name: As a sentence.
        change: Does it; gives what to verify when that is not the bundle's folder.
        file: What the message must name.
        reason: Words that the message must hold.
        exit: The exit code.
    """

    name: str
    change: Change
    file: str
    reason: str
    exit: int = BROKEN


CASES: list[Case] = []


def case(name: str, file: str, reason: str, exit: int = BROKEN) -> Callable[[Change], Change]:
    """Adds a function to the corpus."""

    def add(change: Change) -> Change:
        CASES.append(Case(name, change, file, reason, exit))
        return change

    return add


def several(rows: dict[str, tuple[str, str, Change]], exit: int = BROKEN) -> None:
    """Adds many short ones: name to (file, reason, change)."""
    for name, (file, reason, change) in rows.items():
        CASES.append(Case(name, change, file, reason, exit))


def flip(path: Path, at: int = -2) -> None:
    """Changes one byte."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= 1
    path.write_bytes(raw)
