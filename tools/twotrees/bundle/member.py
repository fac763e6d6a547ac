"""The files that a stranger's container holds: what is known of each, and which names may stand beside each other.

In come the names as the container spells them, out come accepted ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from twotrees.bundle import layout
from twotrees.errors import BundleBroken

Buffer = bytes | memoryview


@dataclass(frozen=True)
class Member:
    """One file of a bundle.

    Attributes:
        top: Name of the folder that the bundle is in; None for a folder whose own name says nothing.
        path: Name relative to that folder, already accepted by `layout.path_refusal`.
        size: Bytes that its container says it has.
        chunks: Its bytes. A piece is valid until the next is asked for; all must be taken before the next member.
    """

    top: str | None
    path: str
    size: int
    chunks: Iterator[Buffer]


def shown(name: str) -> str:
    """*name* as it can be printed: anything but plain ASCII escaped, so that no message can be forged by a name."""
    return name if name.isascii() and name.isprintable() else ascii(name)


class Names:
    """The member names of an archive: one top folder, no name twice, no folder that holds nothing.

    RFC 8493, section 4: an archive holds one bag, in one folder, archived from the folder's parent.
    """

    def __init__(self, archive: str, limits: layout.Limits) -> None:
        self.archive = archive
        self.limits = limits
        self.top: str | None = None
        self.seen: set[str] = set()
        self.folders: set[str] = set()
        self.parents: set[str] = set()

    def _within_top(self, name: str) -> tuple[str, str]:
        if len(self.seen) + len(self.folders) > self.limits.files:
            raise BundleBroken(f"more than {self.limits.files} members", file=self.archive)
        if name.startswith("/"):
            raise BundleBroken("an absolute member name", file=self.archive, key=shown(name))
        top, _, path = name.partition("/")
        if reason := layout.part_refusal(top) or (path and layout.path_refusal(path, self.limits)):
            raise BundleBroken(reason, file=shown(path or name))
        if self.top not in (None, top):
            raise BundleBroken(f"a member outside the bundle's folder {self.top}", file=self.archive, key=shown(name))
        self.top = top
        if name in self.seen or name in self.folders:
            raise BundleBroken("two members of one name", file=path or name)
        return top, path

    def file(self, name: str) -> tuple[str, str]:
        """Takes in a file's name; gives the top folder and the name inside it.

        Raises:
            BundleBroken: the name is refused, stands there twice, or lies outside the top folder.
        """
        top, path = self._within_top(name)
        if not path:
            raise BundleBroken("a file that is in no folder", file=self.archive, key=shown(name))
        self.seen.add(name)
        parent = name
        while parent := parent.rpartition("/")[0]:
            self.parents.add(parent)
        return top, path

    def folder(self, name: str) -> None:
        """Takes in a folder's name.

        Raises:
            BundleBroken: as for a file.
        """
        self._within_top(name)
        self.folders.add(name)

    def end(self) -> None:
        """Checks what only all names together can tell.

        Raises:
            BundleBroken: no member at all, an empty folder, or a file that is also a folder.
        """
        if not self.seen:
            raise BundleBroken("an archive without files", file=self.archive)
        if empty := self.folders - self.parents:
            raise BundleBroken("an empty folder", file=min(empty).partition("/")[2] or min(empty))
        if both := self.seen & self.parents:
            raise BundleBroken("both a file and a folder", file=min(both).partition("/")[2])
