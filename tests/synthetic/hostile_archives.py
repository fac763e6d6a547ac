"""Hostile archives: a sound bundle in a tar or zip that two readers would unpack in two ways, or that never ends."""

from __future__ import annotations

import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from synthetic.corpus import Bench, Change, several

from twotrees.bundle.seal import write_tar
from twotrees.bundle.tar import header, padding

BLOCK = 512


# --- tar ------------------------------------------------------------------------------------------------------------


def packed(bench: Bench) -> bytes:
    """The deterministic tar of the bundle."""
    out = io.BytesIO()
    write_tar(bench.bundle, out)
    return out.getvalue()


def tar_bytes(edit: Callable[[Bench, bytes], bytes]) -> Change:
    """Hands over the tar with its bytes changed."""

    def change(bench: Bench) -> Path:
        path = bench.folder / "bundle.tar"
        path.write_bytes(edit(bench, packed(bench)))
        return path

    return change


def member(name: str, content: bytes) -> bytes:
    """A sound member."""
    return header(name, len(content)) + content + padding(len(content))


def with_members(make: Callable[[str], bytes]) -> Change:
    """Puts members ahead of the sound ones; *make* gets the name of the top folder."""
    return tar_bytes(lambda bench, raw: make(bench.bundle.name) + raw)


def special(name: str, kind: bytes, target: str = "", content: bytes = b"") -> bytes:
    """A member of any kind."""
    raw = bytearray(header(name, len(content)))
    raw[156:157] = kind
    raw[157 : 157 + len(target)] = target.encode()
    return checked(raw) + content + padding(len(content))


def checked(raw: bytearray) -> bytes:
    """A header with its checksum made again."""
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw)
    return bytes(raw)


def patched(at: int, new: bytes) -> Change:
    """Changes bytes of the first header and makes its checksum again."""

    def edit(bench: Bench, raw: bytes) -> bytes:
        first = bytearray(raw[:BLOCK])
        first[at : at + len(new)] = new
        return checked(first) + raw[BLOCK:]

    return tar_bytes(edit)


def pax(key: str, value: str) -> bytes:
    """A pax header with one record."""
    body = f" {key}={value}\n"
    size = len(body) + 2
    size = len(body) + len(str(size))
    return special("pax", b"x", content=f"{size}{body}".encode())


def end_of(raw: bytes) -> int:
    """Where the two blocks of zeros begin."""
    at = 0
    while raw[at : at + BLOCK].strip(b"\0"):
        size = int(raw[at + 124 : at + 135], 8)
        at += BLOCK + size + (-size % BLOCK)
    return at


def hidden_in_padding(bench: Bench, raw: bytes) -> bytes:
    """Puts a byte into the padding behind the first member."""
    size = int(raw[124:135], 8)
    assert size % BLOCK, "the first member has padding"
    return raw[: BLOCK + size] + b"x" + raw[BLOCK + size + 1 :]


several(
    {
        "a tar with a member twice": (
            "bagit.txt",
            "two members of one name",
            with_members(lambda top: member(f"{top}/bagit.txt", b"another\n")),
        ),
        "a tar with a member outside the bundle's folder": (
            "bundle.tar",
            "outside the bundle's folder",
            with_members(lambda top: member("elsewhere/bagit.txt", b"")),
        ),
        "a tar with a member in no folder": ("bundle.tar", "in no folder", with_members(lambda top: member("a", b""))),
        "a tar with an absolute name": ("bundle.tar", "absolute", with_members(lambda top: member("/etc/passwd", b""))),
        "a tar with a name that climbs": (
            "../../etc/passwd",
            "`..`",
            with_members(lambda top: member(f"{top}/../../etc/passwd", b"")),
        ),
        "a tar whose top folder climbs": ("..", "`..`", with_members(lambda top: member("../a", b""))),
        "a tar with a name that begins with ./": ("/a", "`.`", with_members(lambda top: member(f"./{top}/a", b""))),
        "a tar with a doubled slash": ("data", "empty", with_members(lambda top: member(f"{top}/data//a", b""))),
        "a tar with a symbolic link": (
            "data/a",
            "symbolic link",
            with_members(lambda top: special(f"{top}/data/a", b"2", "/etc/passwd")),
        ),
        "a tar with a hard link": (
            "data/a",
            "hard link",
            with_members(lambda top: special(f"{top}/data/a", b"1", f"{top}/bagit.txt")),
        ),
        "a tar with a device": ("data/a", "device", with_members(lambda top: special(f"{top}/data/a", b"3"))),
        "a tar with a block device": (
            "data/a",
            "block device",
            with_members(lambda top: special(f"{top}/data/a", b"4")),
        ),
        "a tar with a FIFO": ("data/a", "FIFO", with_members(lambda top: special(f"{top}/data/a", b"6"))),
        "a tar with a sparse file": ("data/a", "sparse", with_members(lambda top: special(f"{top}/data/a", b"S"))),
        "a tar with a member of unknown kind": (
            "data/a",
            "unknown kind",
            with_members(lambda t: special(f"{t}/data/a", b"Z")),
        ),
        "a tar with a file that names a target": (
            "data/a",
            "names a target",
            with_members(lambda top: special(f"{top}/data/a", b"0", "/etc/passwd")),
        ),
        "a tar with a long name of GNU's": (
            "bundle.tar",
            "long name",
            with_members(lambda top: special("././@LongLink", b"L", content=b"x/y\0")),
        ),
        "a tar with a global pax header": ("bundle.tar", "global pax", with_members(lambda top: special("g", b"g"))),
        "a tar whose pax header renames": ("bundle.tar", "'path'", with_members(lambda top: pax("path", "a/b"))),
        "a tar whose pax header resizes": ("bundle.tar", "'size'", with_members(lambda top: pax("size", "0"))),
        "a tar whose pax header is malformed": (
            "bundle.tar",
            "malformed pax",
            with_members(lambda top: special("pax", b"x", content=b"99 mtime=0\n")),
        ),
        "a tar whose pax header is huge": (
            "bundle.tar",
            "oversized pax",
            with_members(lambda top: special("pax", b"x", content=b" " * 9000)),
        ),
        "a tar with an empty folder": (
            "data/empty",
            "empty folder",
            with_members(lambda top: special(f"{top}/data/empty/", b"5")),
        ),
        "a tar with a folder twice": (
            "data",
            "two members of one name",
            with_members(lambda top: 2 * special(f"{top}/data/", b"5")),
        ),
        "a tar with a folder that has content": (
            "data",
            "folder member with content",
            with_members(lambda top: special(f"{top}/data/", b"5", content=b"x")),
        ),
        "a tar with a file that is also a folder": (
            "data/host",
            "both a file and a folder",
            with_members(lambda top: member(f"{top}/data/host", b"x")),
        ),
        "a tar with names equal but for case": (
            "data/REPORT.md",
            "equal but for case",
            lambda b: with_members(lambda top: member(f"{top}/data/REPORT.md", b""))(b),
        ),
        "a tar with folders equal but for case": (
            "data/",
            "equal but for case",
            with_members(lambda top: member(f"{top}/data/Host/x.json", b"")),
        ),
        "a tar with trailing data": ("bundle.tar", "trailing data", tar_bytes(lambda b, raw: raw + b"x" * BLOCK)),
        "a tar with another behind it": ("bundle.tar", "trailing data", tar_bytes(lambda b, raw: raw + raw)),
        "a tar with zeros without end": ("bundle.tar", "trailing data", tar_bytes(lambda b, raw: raw + b"\0" * 20480)),
        "a tar with a block ahead": ("bundle.tar", "not a ustar", tar_bytes(lambda b, raw: b"x" * BLOCK + raw)),
        "a tar without its end": ("bundle.tar", "cut short", tar_bytes(lambda b, raw: raw[: end_of(raw)])),
        "a tar cut inside a member": ("bundle.tar", "cut short", tar_bytes(lambda b, raw: raw[: BLOCK + 20])),
        "a tar cut inside a header": ("bundle.tar", "cut short", tar_bytes(lambda b, raw: raw[:100])),
        "a tar with one block of zeros among its members": (
            "bundle.tar",
            "block of zeros",
            tar_bytes(lambda b, raw: b"\0" * BLOCK + raw),
        ),
        "a tar with bytes hidden in the padding": ("bundle.tar", "hidden in the padding", tar_bytes(hidden_in_padding)),
        "a tar with a false checksum": ("bundle.tar", "checksum", tar_bytes(lambda b, raw: b"X" + raw[1:])),
        "a tar of another kind": ("bundle.tar", "not a ustar", patched(257, b"\0" * 8)),
        "a tar with a size that is no octal number": (
            "bundle.tar",
            "size",
            patched(124, b"\x80" + b"\0" * 10 + b"\x05"),
        ),
        "a tar with a name behind a NUL": ("bundle.tar", "behind a NUL", patched(90, b"\0\0\0\0/evil\0")),
        "an empty tar": ("bundle.tar", "without files", tar_bytes(lambda b, raw: b"\0" * 10240)),
        "an empty file": ("bundle.tar", "cut short", tar_bytes(lambda b, raw: b"")),
        "a compressed tar": ("bundle.tar", "gzip", tar_bytes(lambda b, raw: gzip.compress(raw, 1))),
        "a file that is no archive": ("bundle.tar", "not a ustar", tar_bytes(lambda b, raw: b"hello world\n" * 100)),
        "a tar with a flipped byte in a member": (
            "bag-info.txt",
            "not those that",
            tar_bytes(lambda b, raw: raw[: BLOCK + 5] + bytes([raw[BLOCK + 5] ^ 1]) + raw[BLOCK + 6 :]),
        ),
        "a tar that leaves a member out": (
            "bag-info.txt",
            "missing",
            tar_bytes(lambda b, raw: raw[BLOCK + int(raw[124:135], 8) + (-int(raw[124:135], 8) % BLOCK) :]),
        ),
    }
)


# --- zip ------------------------------------------------------------------------------------------------------------


def zipped(
    bench: Bench, method: int = zipfile.ZIP_DEFLATED, extra: Callable[[zipfile.ZipFile], None] | None = None
) -> bytes:
    """A zip of the bundle, with *extra* entries behind the sound ones."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method, strict_timestamps=False) as archive:
        for path in sorted(bench.bundle.rglob("*")):
            if path.is_file():
                archive.write(path, f"{bench.bundle.name}/{path.relative_to(bench.bundle).as_posix()}")
        if extra is not None:
            extra(archive)
    return out.getvalue()


def zip_bytes(edit: Callable[[bytes], bytes], method: int = zipfile.ZIP_DEFLATED) -> Change:
    """Hands over the zip with its bytes changed."""

    def change(bench: Bench) -> Path:
        path = bench.folder / "bundle.zip"
        path.write_bytes(edit(zipped(bench, method)))
        return path

    return change


def zip_entry(make: Callable[[str, zipfile.ZipFile], None]) -> Change:
    """Hands over the zip with more entries; *make* gets the name of the top folder."""

    def change(bench: Bench) -> Path:
        path = bench.folder / "bundle.zip"
        path.write_bytes(zipped(bench, extra=lambda archive: make(bench.bundle.name, archive)))
        return path

    return change


def entry(name: str, mode: int = 0o100644, **facts: int | bytes) -> zipfile.ZipInfo:
    """An entry's facts."""
    info = zipfile.ZipInfo(name)
    info.external_attr = mode << 16
    for key, value in facts.items():
        setattr(info, key, value)
    return info


def table_of(raw: bytes) -> int:
    """Where the central directory begins."""
    return int(struct.unpack_from("<L", raw, len(raw) - 6)[0])


def in_table(at: int, form: str, *values: int) -> Change:
    """Changes fields of the first entry of the table."""

    def edit(raw: bytes) -> bytes:
        changed = bytearray(raw)
        struct.pack_into(form, changed, table_of(raw) + at, *values)
        return bytes(changed)

    return zip_bytes(edit)


def in_header(at: int, form: str, *values: int) -> Change:
    """Changes fields of the first local header."""

    def edit(raw: bytes) -> bytes:
        changed = bytearray(raw)
        struct.pack_into(form, changed, at, *values)
        return bytes(changed)

    return zip_bytes(edit)


def in_end(at: int, form: str, *values: int) -> Change:
    """Changes fields of the end record."""

    def edit(raw: bytes) -> bytes:
        changed = bytearray(raw)
        struct.pack_into(form, changed, len(raw) - 22 + at, *values)
        return bytes(changed)

    return zip_bytes(edit)


def moved(raw: bytes, at: int, piece: bytes) -> bytes:
    """Puts *piece* before the table at *at* and corrects the end record, not the entries."""
    table = table_of(raw)
    changed = bytearray(raw[:at] + piece + raw[at:])
    struct.pack_into("<L", changed, len(changed) - 6, table + len(piece))
    return bytes(changed)


def overlapping(raw: bytes) -> bytes:
    """Makes the second entry of the table point into the first one's bytes."""
    table = table_of(raw)
    sizes = struct.unpack_from("<3H", raw, table + 28)
    second = table + 46 + sum(sizes)
    changed = bytearray(raw)
    struct.pack_into("<L", changed, second + 42, 0)
    return bytes(changed)


def bomb(top: str, archive: zipfile.ZipFile) -> None:
    """Four MiB of zeros in four KiB."""
    archive.writestr(entry(f"{top}/data/logs/0099.out", compress_type=zipfile.ZIP_DEFLATED), b"\0" * (4 << 20))


def lying_size(raw: bytes) -> bytes:
    """Makes the first entry unpack to more than both its headers say."""
    changed = bytearray(raw)
    size = struct.unpack_from("<L", raw, 22)[0]
    struct.pack_into("<L", changed, 22, size - 1)
    struct.pack_into("<L", changed, table_of(raw) + 24, size - 1)
    return bytes(changed)


def greater_size(raw: bytes) -> bytes:
    """Makes the first entry unpack to less than both its headers say."""
    changed = bytearray(raw)
    size = struct.unpack_from("<L", raw, 22)[0]
    struct.pack_into("<L", changed, 22, size + 1)
    struct.pack_into("<L", changed, table_of(raw) + 24, size + 1)
    return bytes(changed)


def other_crc(raw: bytes) -> bytes:
    """Gives the first entry another CRC in both its headers."""
    changed = bytearray(raw)
    struct.pack_into("<L", changed, 14, 7)
    struct.pack_into("<L", changed, table_of(raw) + 16, 7)
    return bytes(changed)


def behind_deflate(bench: Bench) -> Path:
    """One entry whose compressed bytes go on after their own end."""
    name = f"{bench.bundle.name}/bagit.txt".encode()
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    content = b"BagIt"
    packed_bytes = squeeze.compress(content) + squeeze.flush() + b"hidden"
    facts = (zlib.crc32(content), len(packed_bytes), len(content))
    local = struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 8, 0, 33, *facts, len(name), 0) + name + packed_bytes
    table = struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 8, 0, 33, *facts, len(name), 0, 0, 0, 0, 0, 0) + name
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 1, 1, len(table), len(local), 0)
    path = bench.folder / "bundle.zip"
    path.write_bytes(local + table + end)
    return path


def false_descriptor(bench: Bench) -> Path:
    """Entries with descriptors, as a writer to a pipe makes them; the first one lies about its CRC."""

    class Pipe(io.RawIOBase):
        def __init__(self) -> None:
            self.raw = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.raw += data
            return len(data)

    out = Pipe()
    with zipfile.ZipFile(out, "w") as archive:  # type: ignore[arg-type]
        archive.writestr(f"{bench.bundle.name}/bagit.txt", "hello")
    at = out.raw.index(b"PK\7\10")
    out.raw[at + 4] ^= 1
    path = bench.folder / "bundle.zip"
    path.write_bytes(out.raw)
    return path


several(
    {
        "a zip with an entry twice": (
            "bagit.txt",
            "two members",
            zip_entry(lambda top, z: z.writestr(entry(f"{top}/bagit.txt"), "x")),
        ),
        "a zip with an absolute name": (
            "bundle.zip",
            "absolute",
            zip_entry(lambda top, z: z.writestr(entry("/a/b"), "x")),
        ),
        "a zip with a name that climbs": (
            "../a",
            "`..`",
            zip_entry(lambda top, z: z.writestr(entry(f"{top}/../a"), "x")),
        ),
        "a zip with a backslash": (
            "a",
            "characters outside",
            zip_entry(lambda top, z: z.writestr(entry(f"{top}/data\\a"), "x")),
        ),
        "a zip with an entry elsewhere": (
            "bundle.zip",
            "outside",
            zip_entry(lambda top, z: z.writestr(entry("b/a"), "x")),
        ),
        "a zip with a link": (
            "data/a",
            "link",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", 0o120777), "/etc")),
        ),
        "a zip with a device": (
            "data/a",
            "special",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", 0o020666), "")),
        ),
        "a zip with a folder that has content": (
            "data/",
            "with content",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/", 0o040755), "x")),
        ),
        "a zip with a folder's name and a file's mode": (
            "data/",
            "special",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/", 0o100644), "")),
        ),
        "a zip with an empty folder": (
            "data/empty",
            "empty folder",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/empty/", 0o040755), "")),
        ),
        "a zip with a comment on an entry": (
            "data/a",
            "comment",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", comment=b"hi"), "x")),
        ),
        "a zip with a second name in an extra field": (
            "data/a",
            "extra field",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", extra=b"\x75\x70\x04\x00abcd"), "x")),
        ),
        "a zip with a malformed extra field": (
            "data/a",
            "extra field",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", extra=b"\x55\x54\x09\x00a"), "x")),
        ),
        "a zip with a stub of an extra field": (
            "data/a",
            "extra field",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", extra=b"\x55\x54"), "x")),
        ),
        "a zip with another compression": (
            "data/a",
            "method 12",
            zip_entry(lambda t, z: z.writestr(entry(f"{t}/data/a", compress_type=zipfile.ZIP_BZIP2), "x")),
        ),
        "a zip bomb": ("data/logs/0099.out", "packed more than 200 to 1", zip_entry(bomb)),
        "a zip with a prefix": ("bundle.zip", "prefix", zip_bytes(lambda raw: b"PK prefix" + raw)),
        "a zip with a prefix that its end record covers": (
            "bundle.zip",
            "belong to no entry",
            zip_bytes(lambda raw: shifted(raw, b"PK prefix")),
        ),
        "a zip with trailing data": ("bundle.zip", "trailing data", zip_bytes(lambda raw: raw + b"x")),
        "a zip with a comment": ("bundle.zip", "comment", in_end(20, "<H", 1)),
        "a zip of several disks": ("bundle.zip", "split", in_end(4, "<H", 1)),
        "a zip whose table is on another disk": ("bundle.zip", "split", in_end(6, "<H", 1)),
        "a zip of two counts": ("bundle.zip", "split", in_end(8, "<H", 1)),
        "a zip64": ("bundle.zip", "zip64", in_end(8, "<2H", 0xFFFF, 0xFFFF)),
        "a zip64 by its offset": ("bundle.zip", "zip64", in_end(16, "<L", 0xFFFFFFFF)),
        "a zip with a table of other size": ("bundle.zip", "prefix or trailing", in_end(12, "<L", 46)),
        "a zip with fewer entries than its table": ("bundle.zip", "hidden in the table", in_end(8, "<2H", 9, 9)),
        "a zip with more entries than its table": ("bundle.zip", "damaged", in_end(8, "<2H", 999, 999)),
        "a zip with a huge table for its count": ("bundle.zip", "a table of", in_end(8, "<2H", 1, 1)),
        "a zip with a damaged table": ("bundle.zip", "damaged", in_table(0, "<L", 7)),
        "a zip with an encrypted entry": ("bundle.zip", "encrypted", in_table(8, "<H", 1)),
        "a zip with an entry on another disk": ("bundle.zip", "another disk", in_table(34, "<H", 1)),
        "a zip whose table gives another method": ("bundle.zip", "differ", in_header(8, "<H", 0)),
        "a zip whose table gives other flags": ("bundle.zip", "differ", in_header(6, "<H", 2)),
        "a zip whose table gives another CRC": ("bundle.zip", "differ", in_header(14, "<L", 7)),
        "a zip whose table gives another name": ("bundle.zip", "differ", in_header(30, "<B", 0x68)),
        "a zip without a header where the table says": (
            "bundle.zip",
            "no header",
            zip_bytes(lambda raw: headless(raw)),
        ),
        "a zip with a stored entry of two sizes": ("bundle.zip", "two sizes", in_table(10, "<H", 0)),
        "a zip with overlapping entries": ("bundle.zip", "overlap", zip_bytes(overlapping)),
        "a zip with a gap between entries": ("bundle.zip", "belong to no entry", zip_bytes(lambda raw: gap(raw))),
        "a zip with bytes before its table": (
            "bundle.zip",
            "before the table",
            zip_bytes(lambda raw: moved(raw, table_of(raw), b"hidden")),
        ),
        "a zip that unpacks to more": ("bundle.zip", "more than the table says", zip_bytes(lying_size)),
        "a zip that unpacks to less": ("bundle.zip", "size or CRC", zip_bytes(greater_size)),
        "a zip with another CRC": ("bundle.zip", "size or CRC", zip_bytes(other_crc)),
        "a zip with damaged compression": ("bundle.zip", "damaged compression", zip_bytes(lambda raw: damaged(raw))),
        "a zip with bytes behind the compressed ones": ("bundle.zip", "behind the compressed", behind_deflate),
        "a zip with a lying descriptor": ("bundle.zip", "descriptor", false_descriptor),
        "an empty zip": ("bundle.zip", "without files", lambda b: empty_zip(b)),
        "a zip cut short": ("bundle.zip", "end record", zip_bytes(lambda raw: raw[:-30])),
        "a zip of four bytes": ("bundle.zip", "end record", zip_bytes(lambda raw: raw[:4])),
    }
)


def shifted(raw: bytes, prefix: bytes) -> bytes:
    """A prefix that the end record knows of, and the entries too: every reader would accept it."""
    changed = bytearray(moved(raw, 0, prefix))
    at = table_of(changed)
    while changed[at : at + 4] == b"PK\1\2":
        struct.pack_into("<L", changed, at + 42, struct.unpack_from("<L", changed, at + 42)[0] + len(prefix))
        at += 46 + sum(struct.unpack_from("<3H", changed, at + 28))
    return bytes(changed)


def gap(raw: bytes) -> bytes:
    """Bytes between the first and the second entry; all offsets are correct."""
    name, extra = struct.unpack_from("<2H", raw, 26)
    first = 30 + name + extra + struct.unpack_from("<L", raw, 18)[0]
    changed = bytearray(moved(raw, first, b"hidden"))
    at = table_of(changed)
    at += 46 + sum(struct.unpack_from("<3H", changed, at + 28))
    while changed[at : at + 4] == b"PK\1\2":
        struct.pack_into("<L", changed, at + 42, struct.unpack_from("<L", changed, at + 42)[0] + 6)
        at += 46 + sum(struct.unpack_from("<3H", changed, at + 28))
    return bytes(changed)


def damaged(raw: bytes) -> bytes:
    """A reserved block type at the beginning of the first entry's compressed bytes."""
    name, extra = struct.unpack_from("<2H", raw, 26)
    changed = bytearray(raw)
    changed[30 + name + extra] = 0x07
    return bytes(changed)


def headless(raw: bytes) -> bytes:
    """The second entry has no header where the table says that it has one."""
    name, extra = struct.unpack_from("<2H", raw, 26)
    second = 30 + name + extra + struct.unpack_from("<L", raw, 18)[0]
    return raw[:second] + b"PK00" + raw[second + 4 :]


def empty_zip(bench: Bench) -> Path:
    """An end record and nothing else."""
    path = bench.folder / "bundle.zip"
    path.write_bytes(b"PK\5\6" + b"\0" * 18)
    return path
