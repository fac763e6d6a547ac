"""The ustar format, just as much of it as a bundle needs: headers written, headers strictly read.

In comes a header block, out comes a name, a kind and a size, or a refusal. No file of the archive is created here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from twotrees.bundle import layout
from twotrees.bundle.member import Member, Names
from twotrees.digest import CHUNK_BYTES
from twotrees.errors import BundleBroken, UsageError

BLOCK_BYTES = 512
RECORD_BYTES = 20 * BLOCK_BYTES
MAX_PAX_BYTES = 8 << 10
END_OF_ARCHIVE = b"\0" * (2 * BLOCK_BYTES)
_ZERO_BLOCK = b"\0" * BLOCK_BYTES
_OCTAL = re.compile(rb" *[0-7]+[ \0]*")
_USTAR = b"ustar\x0000"
# GNU tar writes its own magic into archives that are otherwise ustar.
_GNU = b"ustar  \x00"
_REFUSED_KINDS = {
    b"1": "a hard link",
    b"2": "a symbolic link",
    b"3": "a character device",
    b"4": "a block device",
    b"6": "a FIFO",
    b"g": "a global pax header",
    b"K": "a GNU long link",
    b"L": "a GNU long name",
    b"S": "a sparse file",
}


@dataclass(frozen=True)
class Header:
    """One header block.

    Attributes:
        name: As written, nothing stripped.
        kind: ``file``, ``folder`` or ``pax``.
        size: Bytes that follow, before padding.
    """

    name: str
    kind: str
    size: int


def header(name: str, size: int) -> bytes:
    """The header block of a regular file: mode 0644, mtime 0, uid and gid 0, no owner's name.

    Raises:
        UsageError: the name or the size does not fit ustar.
    """
    prefix, short = "", name
    if len(name) > 100:
        cut = name.rfind("/", 0, 156)
        prefix, short = name[:cut], name[cut + 1 :]
        if cut <= 0 or len(short) > 100:
            raise UsageError("the name is too long for a tar", file=name)
    if size >= 8**11:
        raise UsageError("larger than the 8 GiB that a ustar member can hold", file=name)
    fields = b"".join(
        (
            short.encode("ascii").ljust(100, b"\0"),
            b"0000644\0",
            b"0000000\0",
            b"0000000\0",
            b"%011o\0" % size,
            b"00000000000\0",
            b" " * 8,
            b"0",
            b"\0" * 100,
            _USTAR,
            b"\0" * 32,
            b"\0" * 32,
            b"0000000\0",
            b"0000000\0",
            prefix.encode("ascii").ljust(155, b"\0"),
            b"\0" * 12,
        )
    )
    return fields[:148] + b"%06o\0 " % sum(fields) + fields[156:]


def padding(size: int) -> bytes:
    """The zero bytes that fill a member of *size* bytes up to whole blocks."""
    return b"\0" * (-size % BLOCK_BYTES)


def read_header(block: bytes, archive: str) -> Header | None:
    """Reads one header block.

    Args:
        block: 512 bytes.
        archive: Name of the archive, for the messages.

    Returns:
        The header, or None for a block of zeros (the end).

    Raises:
        BundleBroken: damaged, not ustar, or a member that is neither a file nor a folder.
    """
    if block == _ZERO_BLOCK:
        return None
    name = _text(block[:100], archive)
    if block[257:265] not in (_USTAR, _GNU):
        raise BundleBroken("not a ustar header", file=archive, key=ascii(name))
    if _octal(block[148:156], archive, "checksum") != sum(block[:148]) + 8 * 32 + sum(block[156:]):
        raise BundleBroken("a header does not have the checksum that it states", file=archive, key=ascii(name))
    # The GNU variant keeps times where ustar keeps a prefix; its long names are members of their own, refused below.
    if block[257:265] == _USTAR and (prefix := _text(block[345:500], archive)):
        name = f"{prefix}/{name}"
    kind = block[156:157]
    if kind in _REFUSED_KINDS:
        raise BundleBroken(f"{_REFUSED_KINDS[kind]} among the members", file=archive, key=ascii(name))
    if _text(block[157:257], archive):
        raise BundleBroken("a member that is no link names a target", file=archive, key=ascii(name))
    size = _octal(block[124:136], archive, "size")
    if kind in (b"0", b"\0"):
        return Header(name, "file", size)
    if kind == b"5":
        if size:
            raise BundleBroken("a folder member with content", file=archive, key=ascii(name))
        return Header(name, "folder", 0)
    if kind == b"x":
        return Header(name, "pax", size)
    raise BundleBroken(f"a member of unknown kind {kind!r}", file=archive, key=ascii(name))


def _text(field: bytes, archive: str) -> str:
    """A NUL-terminated field; what stands behind the NUL must be NULs, so that no reader sees another name."""
    text, _, rest = field.partition(b"\0")
    if rest.strip(b"\0"):
        raise BundleBroken("a header hides bytes behind a NUL", file=archive, key=ascii(text.decode("latin-1")))
    return text.decode("latin-1")


def _octal(field: bytes, archive: str, what: str) -> int:
    if not _OCTAL.fullmatch(field):
        raise BundleBroken(f"a header's {what} is not an octal number: {field!r}", file=archive)
    return int(field.strip(b" \0"), 8)


def check_pax(records: bytes, archive: str) -> None:
    """Checks that a pax header says nothing but times and owners, so that leaving it unread changes nothing.

    Raises:
        BundleBroken: malformed, or it would change a name, a size or a kind.
    """
    rest = records
    while rest:
        match = re.match(rb"([1-9][0-9]{0,4}) ", rest)
        length = int(match[1]) if match else 0
        record = rest[:length]
        if match is None or len(record) != length or not record.endswith(b"\n"):
            raise BundleBroken("malformed pax header", file=archive)
        key = record[match.end() :].partition(b"=")[0]
        if key not in (b"mtime", b"atime", b"ctime", b"uid", b"gid", b"uname", b"gname"):
            raise BundleBroken(f"a pax header sets {key.decode('latin-1')!a}", file=archive)
        rest = rest[length:]


def members(stream: BinaryIO, archive: str, limits: layout.Limits, head: bytes) -> Iterator[Member]:
    """The files of a tar, in the order in which they lie in it; the stream is read once, front to back.

    Args:
        stream: The archive behind its first bytes.
        archive: Its name, for the messages.
        limits: How much may be read.
        head: Those first bytes.
    """
    reader = Reader(stream, archive, head)
    names = Names(archive, limits)
    while (found := read_header(reader.exactly(BLOCK_BYTES), archive)) is not None:
        if found.kind == "pax":
            if found.size > MAX_PAX_BYTES:
                raise BundleBroken("an oversized pax header", file=archive)
            check_pax(reader.exactly(found.size), archive)
            reader.zeros(-found.size % BLOCK_BYTES)
            continue
        if found.kind == "folder":
            names.folder(found.name.removesuffix("/"))
            continue
        top, path = names.file(found.name)
        rest = _Rest(reader, found.size)
        yield Member(top, path, found.size, rest.pieces())
        if rest.left:
            raise BundleBroken("the member was not read to its end", file=path)
        reader.zeros(-found.size % BLOCK_BYTES)
    reader.end()
    names.end()


class Reader:
    """Reads an archive front to back in exact pieces."""

    def __init__(self, stream: BinaryIO, archive: str, head: bytes) -> None:
        self.stream = stream
        self.archive = archive
        self.head = head

    def some(self, count: int) -> bytes:
        """At most *count* bytes; none only at the end."""
        if self.head:
            piece, self.head = self.head[:count], self.head[count:]
            return piece
        return self.stream.read(count)

    def exactly(self, count: int) -> bytes:
        """*count* bytes.

        Raises:
            BundleBroken: the archive ends before.
        """
        pieces = []
        while count:
            piece = self.some(count)
            if not piece:
                raise BundleBroken("the archive is cut short", file=self.archive)
            pieces.append(piece)
            count -= len(piece)
        return b"".join(pieces)

    def zeros(self, count: int) -> None:
        """Padding of *count* bytes.

        Raises:
            BundleBroken: something is hidden in it.
        """
        if self.exactly(count).strip(b"\0"):
            raise BundleBroken("bytes hidden in the padding between members", file=self.archive)

    def end(self) -> None:
        """A second block of zeros and no more than a record's worth of them behind it.

        Raises:
            BundleBroken: anything else stands there.
        """
        if self.exactly(BLOCK_BYTES).strip(b"\0"):
            raise BundleBroken("one block of zeros among the members", file=self.archive)
        count = 0
        while piece := self.some(RECORD_BYTES):
            count += len(piece)
            if piece.strip(b"\0") or count >= RECORD_BYTES:
                raise BundleBroken("trailing data behind the end of the archive", file=self.archive)


class _Rest:
    """The bytes of one member that have not been handed out yet."""

    def __init__(self, reader: Reader, size: int) -> None:
        self.reader = reader
        self.left = size

    def pieces(self) -> Iterator[bytes]:
        while self.left:
            piece = self.reader.some(min(self.left, CHUNK_BYTES))
            if not piece:
                raise BundleBroken("the archive is cut short", file=self.reader.archive)
            self.left -= len(piece)
            yield piece
