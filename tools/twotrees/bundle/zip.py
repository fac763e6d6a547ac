"""The zip format, read so strictly that every byte of the file belongs to exactly one thing.

In comes a seekable stream, out come members. Readers of zip files disagree where entries overlap, where the two headers
of an entry differ, and about bytes before, between and behind; here each of these is a refusal.
"""

from __future__ import annotations

import stat
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NoReturn, Protocol

from twotrees.bundle import layout
from twotrees.bundle.member import Member, Names, shown
from twotrees.errors import BundleBroken

_END = struct.Struct("<4s4H2LH")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_LOCAL = struct.Struct("<4s5H3L2H")
_DESCRIPTOR = struct.Struct("<4s3L")
_STORED, _DEFLATED = 0, 8
_FLAG_DESCRIPTOR = 0x0008
# Deflate's level hints, the descriptor and UTF-8 names; encryption, patches and masked headers are not among them.
_FLAGS = 0x0006 | _FLAG_DESCRIPTOR | 0x0800
# Extra fields that hold only times and owners. Others can rename an entry or move its sizes elsewhere.
_EXTRAS = {0x5455: "times", 0x7875: "owner", 0x5855: "times and owner", 0x000A: "NTFS times"}
_UNIX = 3
_PIECE = 256 << 10


class Refuse(Protocol):
    """A function that refuses the archive, naming the entry where there is one."""

    def __call__(self, what: str, name: str | None = None) -> NoReturn:
        """Raises `BundleBroken`."""


@dataclass(frozen=True)
class Entry:
    """One entry of the central directory."""

    name: str
    flags: int
    method: int
    crc: int
    packed: int
    size: int
    offset: int


def members(stream: BinaryIO, archive: str, limits: layout.Limits) -> Iterator[Member]:
    """The files of a zip, in the order in which their bytes lie in it.

    Args:
        stream: The archive, seekable.
        archive: Its name, for the messages.
        limits: How much may be read.
    """

    def refuse(what: str, name: str | None = None) -> NoReturn:
        raise BundleBroken(what, file=archive, key=None if name is None else shown(name))

    entries, table = _entries(stream, limits, refuse)
    names = Names(archive, limits)
    at = 0
    for entry in sorted(entries, key=lambda entry: entry.offset):
        if entry.offset != at:
            what = "entries overlap" if entry.offset < at else "bytes that belong to no entry stand before this one"
            refuse(what, entry.name)
        at = _check_local(stream, entry, at, refuse) + entry.packed
        if entry.name.endswith("/"):
            names.folder(entry.name[:-1])
            if entry.size or entry.packed:
                refuse("a folder member with content", entry.name)
        else:
            top, path = names.file(entry.name)
            if entry.size > limits.ratio_from_bytes and entry.size > limits.ratio * entry.packed:
                refuse(f"packed more than {limits.ratio} to 1", entry.name)
            yield Member(top, path, entry.size, _unpacked(stream, entry, at - entry.packed, refuse))
        at = _check_descriptor(stream, entry, at, refuse)
    if at != table:
        refuse("bytes that belong to no entry stand before the table")
    names.end()


def _entries(stream: BinaryIO, limits: layout.Limits, refuse: Refuse) -> tuple[list[Entry], int]:
    """The central directory, and where it begins."""
    total = stream.seek(0, 2)
    stream.seek(max(0, total - _END.size))
    end = stream.read()
    if len(end) != _END.size or not end.startswith(b"PK\5\6"):
        refuse("it does not end with a zip's end record: trailing data, a comment, or cut short")
    _, disk, table_disk, here, count, size, offset, comment = _END.unpack(end)
    if disk or table_disk or here != count or comment:
        refuse("a comment or a part of a split zip")
    if count == 0xFFFF or 0xFFFFFFFF in (size, offset):
        refuse("a zip64 archive; send a tar")
    if offset + size + _END.size != total:
        refuse("the table does not end where the end record begins: prefix or trailing data")
    if count > 2 * limits.files:
        refuse(f"more than {limits.files} files, and a folder for each")
    if size > count * (_CENTRAL.size + 1024):
        refuse(f"a table of {count} entries in {size} bytes")
    stream.seek(offset)
    table = stream.read(size)
    entries = []
    at = 0
    for _ in range(count):
        entry, at = _central(table, at, refuse)
        entries.append(entry)
    if at != len(table):
        refuse("bytes hidden in the table")
    return entries, offset


def _central(table: bytes, at: int, refuse: Refuse) -> tuple[Entry, int]:
    """One entry of the table, and where the next begins."""
    if at + _CENTRAL.size > len(table) or table[at : at + 4] != b"PK\1\2":
        refuse("the table is damaged")
    fields = _CENTRAL.unpack_from(table, at)
    made_by, flags, method = fields[1], fields[3], fields[4]
    crc, packed, size, name_size, extra_size, comment_size, disk = fields[7:14]
    mode, offset = fields[15], fields[16]
    at += _CENTRAL.size
    name = table[at : at + name_size].decode("latin-1")
    at += name_size
    extra = table[at : at + extra_size]
    at += extra_size
    if comment_size or disk:
        refuse("an entry with a comment or on another disk", name)
    if flags & ~_FLAGS:
        refuse("an entry that is encrypted or of an unknown kind", name)
    if method not in (_STORED, _DEFLATED):
        refuse(f"compression method {method}", name)
    if method == _STORED and packed != size:
        refuse("a stored entry of two sizes", name)
    _check_extra(extra, name, refuse)
    kind = stat.S_IFMT(mode >> 16) if made_by >> 8 == _UNIX else 0
    if kind not in (0, stat.S_IFDIR if name.endswith("/") else stat.S_IFREG):
        refuse("a link or special file among the entries", name)
    return Entry(name, flags, method, crc, packed, size, offset), at


def _check_extra(extra: bytes, name: str, refuse: Refuse) -> None:
    while extra:
        kind, size = struct.unpack_from("<2H", extra) if len(extra) >= 4 else (-1, 0)
        if kind not in _EXTRAS or 4 + size > len(extra):
            refuse("an extra field that could give the entry another name or size", name)
        extra = extra[4 + size :]


def _check_local(stream: BinaryIO, entry: Entry, at: int, refuse: Refuse) -> int:
    """Compares the header in front of an entry's bytes with the table's; gives where the bytes begin."""
    stream.seek(at)
    raw = stream.read(_LOCAL.size)
    if len(raw) != _LOCAL.size or raw[:4] != b"PK\3\4":
        refuse("no header where the table says there is one", entry.name)
    _, _, flags, method, _, _, crc, packed, size, name_size, extra_size = _LOCAL.unpack(raw)
    name = stream.read(name_size).decode("latin-1")
    extra = stream.read(extra_size)
    stated = (crc, packed, size)
    later = entry.flags & _FLAG_DESCRIPTOR and stated == (0, 0, 0)
    if (name, flags, method) != (entry.name, entry.flags, entry.method) or not (
        later or stated == (entry.crc, entry.packed, entry.size)
    ):
        refuse("an entry's header and the table differ", entry.name)
    if len(extra) != extra_size:
        refuse("the archive is cut short", entry.name)
    _check_extra(extra, entry.name, refuse)
    return at + _LOCAL.size + len(name) + len(extra)


def _check_descriptor(stream: BinaryIO, entry: Entry, at: int, refuse: Refuse) -> int:
    if not entry.flags & _FLAG_DESCRIPTOR:
        return at
    stream.seek(at)
    raw = stream.read(_DESCRIPTOR.size)
    if len(raw) != _DESCRIPTOR.size or _DESCRIPTOR.unpack(raw) != (b"PK\7\10", entry.crc, entry.packed, entry.size):
        refuse("an entry's descriptor and the table differ", entry.name)
    return at + _DESCRIPTOR.size


def _unpacked(stream: BinaryIO, entry: Entry, at: int, refuse: Refuse) -> Iterator[bytes]:
    """An entry's bytes; never more of them than the table announced."""
    stream.seek(at)
    left, given, crc = entry.packed, 0, 0
    inflate = zlib.decompressobj(-zlib.MAX_WBITS) if entry.method == _DEFLATED else None
    while left:
        raw = stream.read(min(left, _PIECE))
        if not raw:
            refuse("the archive is cut short", entry.name)
        left -= len(raw)
        while raw:
            if inflate is None:
                piece, raw = raw, b""
            else:
                try:
                    piece = inflate.decompress(raw, _PIECE)
                except zlib.error:
                    refuse("damaged compression", entry.name)
                raw = inflate.unconsumed_tail
                if inflate.unused_data:
                    refuse("bytes hidden behind the compressed data", entry.name)
            given += len(piece)
            if given > entry.size:
                refuse("an entry unpacks to more than the table says", entry.name)
            crc = zlib.crc32(piece, crc)
            yield piece
    while inflate is not None and not inflate.eof:
        piece = inflate.decompress(b"", _PIECE)
        given += len(piece)
        if not piece or given > entry.size:
            refuse("an entry unpacks to another size than the table says", entry.name)
        crc = zlib.crc32(piece, crc)
        yield piece
    if given != entry.size or crc != entry.crc:
        refuse("an entry's size or CRC is not that of the table", entry.name)
