"""The journal: one line before and one after each run, each chained to the line before it and forced to disk.

What is in it has happened, whatever was killed since; what is not in it does not count.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from twotrees import strict_json
from twotrees.digest import sha256_json
from twotrees.errors import RunFailed

GENESIS = "0" * 64


def utc_now() -> str:
    """The time now as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class Journal:
    """An append-only, hash-chained file of events.

    Attributes:
        path: The file.
        seq: Number of lines so far.
        head: Hash of the last line, `GENESIS` for none.
    """

    path: Path
    seq: int = 0
    head: str = GENESIS

    def append(self, event: str, **facts: Any) -> None:
        """Adds one event; when this returns it is on the disk.

        Raises:
            OSError: it could not be written.
        """
        line: dict[str, Any] = {"seq": self.seq, "prev": self.head, "time": utc_now(), "event": event, **facts}
        line["hash"] = sha256_json(line)
        with self.path.open("a", encoding="utf-8") as stream:
            stream.write(strict_json.dumps_line(line) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        self.seq += 1
        self.head = line["hash"]


def read(path: Path) -> tuple[Journal, list[dict[str, Any]]]:
    """Reads a journal back and checks its chain. A last line that a crash cut short is taken off the file.

    Returns:
        The journal, ready to append, and its lines.

    Raises:
        RunFailed: a line is not chained to the one before it.
    """
    journal = Journal(path)
    lines: list[dict[str, Any]] = []
    raw = path.read_bytes() if path.exists() else b""
    whole, _, torn = raw.rpartition(b"\n")
    if torn:
        with path.open("r+b") as stream:
            stream.truncate(len(raw) - len(torn))
    for number, text in enumerate(whole.split(b"\n") if whole else [], start=1):
        try:
            line = strict_json.loads(text)
        except strict_json.JsonRefused as fault:
            raise broken(path, number, str(fault)) from None
        if not isinstance(line, dict):
            raise broken(path, number, "it is not an object")
        unsigned = {key: value for key, value in line.items() if key != "hash"}
        if line.get("prev") != journal.head or line.get("seq") != journal.seq:
            raise broken(path, number, "it is not chained to the line before it")
        if line.get("hash") != sha256_json(unsigned):
            raise broken(path, number, "its hash is not that of its content")
        lines.append(line)
        journal.seq += 1
        journal.head = line["hash"]
    return journal, lines


def broken(path: Path, number: int, what: str) -> RunFailed:
    """The error for a line that cannot be trusted."""
    return RunFailed(what, file=path, key=f"line {number}", mend="start a new campaign; this one was changed by hand")
