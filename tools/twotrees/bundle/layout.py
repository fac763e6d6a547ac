"""The shape of a bundle: which names may stand where, and how much a stranger may make us read.

In comes a name or a count, out goes a reason why it is refused. Nothing here opens a file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

FORMAT = "twotrees-bundle-v1"
NAMESPACE = "twotrees-bundle-v1"

BAGIT = "bagit.txt"
BAG_INFO = "bag-info.txt"
STATEMENT = "statement.json"
MANIFEST = "manifest-sha256.txt"
TAG_MANIFEST = "tagmanifest-sha256.txt"
TAG_FILES = (BAG_INFO, BAGIT, MANIFEST, STATEMENT)
"""What the tag manifest lists, byte-sorted."""
ROOT_FILES = frozenset({*TAG_FILES, TAG_MANIFEST})
PAYLOAD = "data"
SIGNATURES = "signatures"

PLAN = "data/plan.json"
JOURNAL = "data/journal.jsonl"
AGGREGATE = "data/aggregate.json"
PARITY = "data/parity.json"
CHECKSUMS = "data/pins/CHECKSUMS"
REQUIRED = (PLAN, JOURNAL, AGGREGATE)

_PART = re.compile(r"[A-Za-z0-9._][A-Za-z0-9._-]*")
# Names that Windows gives to devices whatever the extension; a bundle must unpack alike everywhere.
_DEVICE = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_RUN = re.compile(r"data/runs/([0-9]{4,6})\.json")
_LOG = re.compile(r"data/logs/([0-9]{4,6})\.(out|err)")
_NAME = re.compile(r"[A-Za-z0-9._-]+-[0-9]{8}T[0-9]{6}Z-[0-9a-f]{8}")
_SIGNATURE = re.compile(r"signatures/[0-9a-f]{16}\.sshsig")


@dataclass(frozen=True)
class Limits:
    """What a verifier is willing to read of one bundle; each is far above what a campaign writes.

    Attributes:
        files: Number of files.
        archive_bytes: Bytes of a zip that comes through a pipe and has to be set down first.
        total_bytes: Bytes of all files together, as unpacked.
        ratio: Unpacked bytes for each packed byte of a zip member, once a member exceeds `ratio_from_bytes`.
        ratio_from_bytes: Size below which the ratio of a member is not looked at.
        depth: Path parts of one name below the bundle's own folder.
        name_chars: Characters of one such name.
        tag_bytes: Bytes of one tag file (the manifests, bag-info, the statement).
        signature_bytes: Bytes of one signature file.
        signatures: Number of signature files.
        json_bytes: Bytes of one JSON file.
        stream_bytes: Bytes of one JSON Lines file.
        line_bytes: Bytes of one of its lines.
        kept_bytes: Bytes of all files that are kept in the private folder for the checks of meaning.
    """

    files: int = 20_000
    archive_bytes: int = 4 << 30
    total_bytes: int = 64 << 30
    ratio: int = 200
    ratio_from_bytes: int = 1 << 20
    depth: int = 8
    name_chars: int = 200
    tag_bytes: int = 8 << 20
    signature_bytes: int = 64 << 10
    signatures: int = 64
    json_bytes: int = 16 << 20
    stream_bytes: int = 64 << 20
    line_bytes: int = 1 << 20
    kept_bytes: int = 2 << 30


def part_refusal(part: str) -> str | None:
    """Why one path part may not stand in a bundle, or None."""
    if part in {"", ".", ".."}:
        return "empty, `.` or `..` path part"
    if part.startswith("-"):
        return "a part begins with `-`"
    if not _PART.fullmatch(part):
        return "characters outside A-Z a-z 0-9 . _ -"
    if part.endswith("."):
        return "a part ends with a dot"
    if _DEVICE.fullmatch(part):
        return "a device name on Windows"
    return None


def path_refusal(path: str, limits: Limits) -> str | None:
    """Why *path*, relative to the bundle's own folder, is not a name that a bundle may hold, or None."""
    if len(path) > limits.name_chars:
        return f"name longer than {limits.name_chars} characters"
    parts = path.split("/")
    if len(parts) > limits.depth:
        return f"nested deeper than {limits.depth} folders"
    for part in parts:
        if reason := part_refusal(part):
            return reason
    return None


def place_refusal(path: str) -> str | None:
    """Why a well-formed *path* has no place in the layout, or None."""
    top, slash, _ = path.partition("/")
    if not slash:
        return None if path in ROOT_FILES else "not one of the files that a bundle has at its root"
    if top == SIGNATURES:
        return None if _SIGNATURE.fullmatch(path) else "not named <16 hex digits of the key's SHA-256>.sshsig"
    if top != PAYLOAD:
        return "not one of the folders that a bundle has at its root"
    if path.startswith("data/runs/") and attempt_of_run(path) is None:
        return "not a run file: NNNN.json"
    if path.startswith("data/logs/") and attempt_of_log(path) is None:
        return "not a log file: NNNN.out or NNNN.err"
    return None


def _attempt(digits: str) -> int | None:
    number = int(digits)
    return number if number > 0 and digits == f"{number:04d}" else None


def attempt_of_run(path: str) -> int | None:
    """The attempt number of ``data/runs/NNNN.json``, or None for another name."""
    match = _RUN.fullmatch(path)
    return _attempt(match[1]) if match else None


def attempt_of_log(path: str) -> int | None:
    """The attempt number of ``data/logs/NNNN.out`` or ``.err``, or None for another name."""
    match = _LOG.fullmatch(path)
    return _attempt(match[1]) if match else None


def run_path(attempt: int) -> str:
    """``data/runs/NNNN.json`` of an attempt."""
    return f"data/runs/{attempt:04d}.json"


def log_paths(attempt: int) -> tuple[str, str]:
    """``data/logs/NNNN.out`` and ``data/logs/NNNN.err`` of an attempt."""
    return f"data/logs/{attempt:04d}.out", f"data/logs/{attempt:04d}.err"


def bundle_name(study: str, backend: str, stamp: str, root: str) -> str:
    """``<study>-<backend>-<utc>-<root8>``, *stamp* being ``YYYYMMDDTHHMMSSZ``."""
    return f"{study}-{backend}-{stamp}-{root[:8]}"


def looks_like_a_name(folder: str) -> bool:
    """Whether a folder's name has the shape of a bundle's; people may call their copy what they like."""
    return _NAME.fullmatch(folder) is not None
