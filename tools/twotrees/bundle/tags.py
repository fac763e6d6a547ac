"""The tag files of the bag (RFC 8493): their bytes written and, strictly, read back.

In come facts, out come bytes, and the other way; a reader here accepts only the bytes that the writer would write.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NoReturn

from twotrees.bundle import layout
from twotrees.errors import BundleBroken, UsageError

BAGIT_BYTES = b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"

OPTIONAL_FIELDS = ("Source-Organization", "Contact-Name", "Contact-Email", "External-Description")
REQUIRED_FIELDS = (
    "Bagging-Date",
    "External-Identifier",
    "Payload-Oxum",
    "Twotrees-Format",
    "Twotrees-Study",
    "Twotrees-Backend",
    "Twotrees-Created",
)
_ORDER = {key: place for place, key in enumerate((*OPTIONAL_FIELDS, *REQUIRED_FIELDS))}

_MANIFEST_LINE = re.compile(r"([0-9a-f]{64})  ([^\n\r]+)")
_CREATED = "%Y-%m-%dT%H:%M:%SZ"
_STAMP = "%Y%m%dT%H%M%SZ"


def broken(file: str, what: str, key: str | None = None) -> NoReturn:
    """Refuses the bundle.

    Raises:
        BundleBroken: always, naming *file* and the reason.
    """
    raise BundleBroken(what, file=file, key=key)


def manifest_bytes(digests: Mapping[str, str]) -> bytes:
    """``<64 hex>  <path>`` lines, byte-sorted by path, LF."""
    return "".join(f"{digests[path]}  {path}\n" for path in sorted(digests)).encode("ascii")


def read_manifest(file: str, data: bytes) -> dict[str, str]:
    """Reads one manifest.

    Args:
        file: Its name in the bundle, for the messages.
        data: Its bytes.

    Returns:
        Path to SHA-256, in the order of the lines.

    Raises:
        BundleBroken: empty, not ASCII, CRLF, a malformed, duplicate or unsorted line, or no final newline.
    """
    if not data:
        broken(file, "empty manifest")
    if b"\r" in data:
        broken(file, "carriage return: lines must end with LF alone")
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as fault:
        broken(file, f"not ASCII at byte {fault.start}")
    if not text.endswith("\n"):
        broken(file, "no newline at the end")
    digests: dict[str, str] = {}
    last = ""
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        match = _MANIFEST_LINE.fullmatch(line)
        if match is None:
            broken(file, "malformed line: `<64 hex digits>  <path>` expected", f"line {number}")
        digest, path = match.groups()
        if path in digests:
            broken(file, f"duplicate line for {path}", f"line {number}")
        if path < last:
            broken(file, f"unsorted: {path} after {last}", f"line {number}")
        digests[path] = digest
        last = path
    return digests


def format_created(moment: datetime) -> str:
    """``YYYY-MM-DDTHH:MM:SSZ``, whole seconds."""
    return moment.astimezone(UTC).strftime(_CREATED)


def format_stamp(moment: datetime) -> str:
    """``YYYYMMDDTHHMMSSZ``, the form inside a bundle's name."""
    return moment.astimezone(UTC).strftime(_STAMP)


def bag_info_bytes(
    *, study: str, backend: str, created: datetime, octets: int, streams: int, extra: Mapping[str, str]
) -> bytes:
    """The bytes of ``bag-info.txt``: fixed key order, no stamp of the software, nothing of the clock but *created*.

    Raises:
        UsageError: a field in *extra* that is not optional, or a value that would not stay on its line.
    """
    fields = {
        "Bagging-Date": format_created(created)[:10],
        "External-Identifier": f"{study}-{backend}-{format_stamp(created)}",
        "Payload-Oxum": f"{octets}.{streams}",
        "Twotrees-Format": layout.FORMAT,
        "Twotrees-Study": study,
        "Twotrees-Backend": backend,
        "Twotrees-Created": format_created(created),
    }
    for key, value in extra.items():
        if key not in OPTIONAL_FIELDS:
            raise UsageError(f"not a field that bag-info takes; one of {', '.join(OPTIONAL_FIELDS)}", key=key)
        if not _plain(value):
            raise UsageError("must be one line of printable text", key=key)
        fields[key] = value
    return "".join(f"{key}: {fields[key]}\n" for key in sorted(fields, key=_ORDER.__getitem__)).encode()


def _plain(value: str) -> bool:
    return bool(value) and value == value.strip() and value.isprintable()


def read_bag_info(data: bytes) -> dict[str, str]:
    """Reads ``bag-info.txt``.

    Returns:
        Its fields.

    Raises:
        BundleBroken: not the form that :func:`bag_info_bytes` writes.
    """
    file = layout.BAG_INFO
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as fault:
        broken(file, f"not UTF-8 at byte {fault.start}")
    if not text.endswith("\n"):
        broken(file, "no newline at the end")
    fields: dict[str, str] = {}
    last = -1
    for number, line in enumerate(text[:-1].split("\n"), start=1):
        key, colon, value = line.partition(": ")
        if not colon or not _plain(value):
            broken(file, "malformed line: `Key: value` expected", f"line {number}")
        if key not in _ORDER:
            broken(file, f"unknown field {key!r}", f"line {number}")
        if _ORDER[key] <= last:
            broken(file, f"field {key} stands twice or out of order", f"line {number}")
        last = _ORDER[key]
        fields[key] = value
    for key in REQUIRED_FIELDS:
        if key not in fields:
            broken(file, f"field {key} is missing")
    return fields


def created_of(fields: Mapping[str, str]) -> datetime:
    """The moment of sealing that ``bag-info.txt`` names.

    Raises:
        BundleBroken: not a UTC time in the one form that is written.
    """
    text = fields["Twotrees-Created"]
    try:
        moment = datetime.strptime(text, _CREATED).replace(tzinfo=UTC)
    except ValueError:
        broken(layout.BAG_INFO, f"not a time: {text!r}", "Twotrees-Created")
    if format_created(moment) != text:
        broken(layout.BAG_INFO, f"not a time: {text!r}", "Twotrees-Created")
    return moment
