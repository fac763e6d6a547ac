"""One thing that differs from the pins: where, what, and how to mend it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """A difference.

    Attributes:
        kind: A word to filter by: lock, version, not-locked, missing, twice, edited, missing-file, unlisted, unhashed,
            record, changed, extra, malformed, link, commit, python.
        file: The file, distribution or source in which it is.
        what: What is wrong, in one sentence without a full stop.
        mend: What to do about it.
    """

    kind: str
    file: str
    what: str
    mend: str = ""

    @property
    def sentence(self) -> str:
        """One line for people."""
        line = f"{self.file}: {self.what}"
        return f"{line}; {self.mend}" if self.mend else line

    def data(self) -> dict[str, str]:
        """The JSON form."""
        return {"kind": self.kind, "file": self.file, "what": self.what, "mend": self.mend}
