"""Opens what a stranger sent: a folder, a tar, a zip or a pipe, and streams its files one by one.

In comes a path or a stream, out come members in the order in which they lie there. Nothing is unpacked, nothing is
followed, and nothing of a member is read before its name has been accepted.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from twotrees.bundle import layout, tar, zip
from twotrees.bundle.member import Buffer, Member, shown
from twotrees.digest import CHUNK_BYTES
from twotrees.errors import BundleBroken, UsageError

_PACKED = {b"\x1f\x8b": "gzip", b"BZ": "bzip2", b"\xfd7": "xz", b"(\xb5": "zstd"}


@contextmanager
def members(source: Path | Literal["-"], limits: layout.Limits) -> Iterator[Iterator[Member]]:
    """Opens a source.

    Args:
        source: Folder, ``.tar`` or ``.zip`` file, or ``-`` for standard input. What a file is, its bytes decide.
        limits: How much may be read.

    Yields:
        Its members.

    Raises:
        UsageError: there is no such file, or it is neither of these.
    """
    if source == "-":
        with _seekable_if_zip(sys.stdin.buffer, limits) as (head, stream):
            yield zip.members(stream, "-", limits) if head == b"PK" else tar.members(stream, "-", limits, head)
        return
    try:
        if Path(source).is_dir():
            yield folder_members(Path(source), limits)
            return
        with Path(source).open("rb") as stream:
            head = stream.read(2)
            _refuse_packed(head, str(source))
            if head == b"PK":
                yield zip.members(stream, str(source), limits)
            else:
                yield tar.members(stream, str(source), limits, head)
    except FileNotFoundError:
        raise UsageError("no such bundle", file=source) from None
    except PermissionError as fault:
        raise UsageError("cannot be read: permission denied", file=fault.filename or source) from None


def _refuse_packed(head: bytes, name: str) -> None:
    if packed := _PACKED.get(head):
        raise BundleBroken(f"a {packed} stream, not a bundle", file=name, mend="a bundle is a folder, a tar or a zip")


@contextmanager
def _seekable_if_zip(stream: BinaryIO, limits: layout.Limits) -> Iterator[tuple[bytes, BinaryIO]]:
    """A tar is read as it comes; a zip has its table at the end and is first copied to an unnamed temporary file."""
    head = stream.read(2)
    _refuse_packed(head, "-")
    if head != b"PK":
        yield head, stream
        return
    with tempfile.TemporaryFile() as copy:
        copy.write(head)
        room = limits.archive_bytes
        while piece := stream.read(CHUNK_BYTES):
            room -= len(piece)
            if room < 0:
                raise BundleBroken(f"a zip of more than {limits.archive_bytes} bytes", file="-")
            copy.write(piece)
        yield head, copy


def folder_members(folder: Path, limits: layout.Limits) -> Iterator[Member]:
    """The files of a bundle that lies in a folder, by name.

    Every folder is opened relative to its parent and no link is followed, so that a tree which changes under the
    verifier cannot lead it elsewhere.
    """
    top = folder.resolve().name
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield from _walk(descriptor, "", top, limits)
    finally:
        os.close(descriptor)


def _walk(descriptor: int, prefix: str, top: str, limits: layout.Limits) -> Iterator[Member]:
    entries = []
    with os.scandir(descriptor) as found:
        for entry in found:
            entries.append(entry)
            if len(entries) > limits.files:
                raise BundleBroken(f"more than {limits.files} files", file=prefix or top)
    if not entries:
        raise BundleBroken("an empty folder", file=prefix.rstrip("/") or top)
    for entry in sorted(entries, key=lambda entry: entry.name):
        path = prefix + entry.name
        if reason := layout.path_refusal(path, limits):
            raise BundleBroken(reason, file=shown(path))
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            child = os.open(entry.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            try:
                yield from _walk(child, f"{path}/", top, limits)
            finally:
                os.close(child)
        elif stat.S_ISREG(mode):
            # Non-blocking, so that a FIFO put there since the look above cannot hold the verifier.
            opened = os.open(entry.name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=descriptor)
            with os.fdopen(opened, "rb", buffering=0) as stream:
                facts = os.fstat(opened)
                if not stat.S_ISREG(facts.st_mode):
                    raise BundleBroken("it changed while it was read", file=path)
                if facts.st_nlink != 1:
                    raise BundleBroken("a hard link: the file has another name elsewhere", file=path)
                yield Member(top, path, facts.st_size, _pieces(stream))
        else:
            raise BundleBroken(f"{_kind(mode)} where only files may be", file=path)


def _kind(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "a symbolic link"
    if stat.S_ISFIFO(mode):
        return "a FIFO"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device"


def _pieces(stream: BinaryIO) -> Iterator[Buffer]:
    buffer = memoryview(bytearray(CHUNK_BYTES))
    while count := stream.readinto(buffer):  # type: ignore[attr-defined]
        yield buffer[:count]
