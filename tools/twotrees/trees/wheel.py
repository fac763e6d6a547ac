"""NAME==VERSION in, a wheel whose SHA-256 is known in the cache out, and from it a commit with the packages under src/.

uv resolves the requirement, with the index and the settings that the user has for uv; the file that it names is then
fetched and unpacked here, member by member, because what is measured must be exactly the bytes that were hashed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import shutil
import ssl
import sys
import tempfile
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from twotrees import digest, process
from twotrees.errors import PinsDiffer, UsageError
from twotrees.trees import cache, git, throwaway
from twotrees.trees.sources import WheelSource

RESOLVE_S = 300.0
FETCH_S = 120.0
MAX_WHEEL_BYTES = 2 << 30
MAX_UNPACKED_BYTES = 8 << 30
MAX_MEMBERS = 200_000
MAX_RATIO = 400  # of a large member: deflate reaches 1032, a file of zeros that somebody ships is small
LARGE_BYTES = 256 << 20
CHUNK_BYTES = 1 << 20
_NETWORK = re.compile(
    r"network was disabled|dns error|client error \(connect\)|timed out|gave no answer in", re.IGNORECASE
)
_LINK = 0o120000
_TYPE = 0o170000


@dataclass(frozen=True)
class WheelFile:
    """A wheel in the cache.

    Attributes:
        path: Where it lies.
        filename: Its name in the registry.
        sha256: Its SHA-256, computed here.
    """

    path: Path
    filename: str
    sha256: str


@dataclass(frozen=True)
class _Offer:
    """A wheel that could be fetched: its name, where from, and the SHA-256 that the registry states."""

    filename: str
    url: str
    sha256: str


def obtain(source: WheelSource) -> WheelFile:
    """Brings the wheel into the cache; a pinned one that is there already needs no network.

    Raises:
        UsageError: no such release, no wheel for this machine, no uv, no network.
        PinsDiffer: the registry's wheels, or the fetched bytes, do not have the pinned SHA-256.
    """
    store = cache.cache_folder("wheels")
    if source.sha256 is not None and (known := _cached(store, source.sha256)) is not None:
        return known
    offers = _in_folder(source) if source.wheels is not None else _in_registry(source)
    offer = _chosen(source, offers)
    known = _cached(store, offer.sha256)
    return known if known is not None else _fetched(store, offer)


def _cached(store: Path, sha256: str) -> WheelFile | None:
    for path in sorted((store / sha256).glob("*.whl")):
        if digest.sha256_file(path) == sha256:
            return WheelFile(path, path.name, sha256)
        path.unlink()  # damaged since: fetch it again
    return None


def _is_release(filename: str, source: WheelSource) -> bool:
    try:
        name, version, _, _ = parse_wheel_filename(filename)
        return canonicalize_name(name) == source.name and version == Version(source.version)
    except (InvalidWheelFilename, InvalidVersion):
        return False


def _in_folder(source: WheelSource) -> list[_Offer]:
    assert source.wheels is not None
    files = [source.wheels] if source.wheels.is_file() else sorted(source.wheels.glob("*.whl"))
    return [
        _Offer(file.name, file.as_uri(), digest.sha256_file(file)) for file in files if _is_release(file.name, source)
    ]


def _in_registry(source: WheelSource) -> list[_Offer]:
    requirement = f"{source.name}=={source.version}"
    with tempfile.TemporaryDirectory(prefix="twotrees-uv-") as folder:
        (Path(folder) / "requirements.in").write_text(f"{requirement}\n", encoding="utf-8")
        arguments = [
            "pip",
            "compile",
            "-q",
            "--no-deps",
            "--no-header",
            "--only-binary",
            ":all:",
            "--format",
            "pylock.toml",
        ]
        done = process.run(
            ["uv", *arguments, "--python", sys.executable, "requirements.in"], cwd=Path(folder), timeout_s=RESOLVE_S
        )
    if done.exit is None and done.fault.endswith("is not installed"):
        raise UsageError("uv is not installed", mend="python -m pip install uv")
    if not done.ok:
        raise _registry_fault(done, requirement)
    try:
        return list(_offers(tomllib.loads(done.stdout.decode("utf-8"))))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, KeyError, TypeError) as fault:
        raise UsageError(
            f"uv's answer about {requirement} cannot be read: {fault}", mend="use uv 0.8 or newer"
        ) from None


def _registry_fault(done: process.Finished, requirement: str) -> UsageError:
    """uv tells a cause, then the cause of that cause, each on a line; the last one is where it started."""
    text = git.redacted(f"{done.stderr.decode('utf-8', 'replace')}\n{done.fault}")
    causes = [line.partition("cause:")[2].strip() for line in text.splitlines() if "cause:" in line]
    reason = causes[-1] if causes else git.redacted(done.complaint)
    if _NETWORK.search(text):
        mend = "connect, or give a folder of wheels as path"
        return UsageError(f"the package registry cannot be reached for {requirement} ({reason})", mend=mend)
    return UsageError(f"{requirement} cannot be had from the package registry ({reason})", key="requirement")


def _offers(lock: Mapping[str, Any]) -> Iterator[_Offer]:
    for package in lock["packages"]:
        for wheel in package.get("wheels", ()):
            url = wheel.get("url") or Path(wheel["path"]).absolute().as_uri()
            filename = wheel.get("name") or urllib.parse.unquote(urllib.parse.urlsplit(url).path.rpartition("/")[2])
            yield _Offer(filename, url, wheel["hashes"]["sha256"])


def _chosen(source: WheelSource, offers: list[_Offer]) -> _Offer:
    release = f"{source.name}=={source.version}"
    if not offers:
        raise UsageError(f"there is no wheel of {release}", key="requirement")
    if source.sha256 is not None:
        for offer in offers:
            if offer.sha256 == source.sha256:
                return offer
        served = ", ".join(f"{offer.filename} {offer.sha256}" for offer in offers[:3])
        raise PinsDiffer(
            f"no wheel of {release} has the pinned SHA-256 {source.sha256}; offered: {served}",
            key="sha256",
            mend="if the change is meant, pin the one you want",
        )
    ranks = {tag: rank for rank, tag in enumerate(sys_tags())}
    fitting = [
        (min(ranks[tag] for tag in tags if tag in ranks), offer.filename, offer)
        for offer in offers
        if (tags := parse_wheel_filename(offer.filename)[3]) and any(tag in ranks for tag in tags)
    ]
    if not fitting:
        raise UsageError(f"no wheel of {release} fits this Python on this machine", key="requirement")
    return min(fitting)[2]


def _fetched(store: Path, offer: _Offer) -> WheelFile:
    target = store / offer.sha256 / offer.filename
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, suffix=".part") as scratch:
        try:
            _copy(offer.url, Path(scratch.name))
        except (OSError, ValueError) as fault:
            raise _fetch_fault(offer, fault) from None
        found = digest.sha256_file(Path(scratch.name))
        if found != offer.sha256:
            raise PinsDiffer(f"{offer.filename} as fetched has SHA-256 {found}, not {offer.sha256}", key="sha256")
        os.link(scratch.name, target)
    return WheelFile(target, offer.filename, offer.sha256)


def _copy(url: str, target: Path) -> None:
    if urllib.parse.urlsplit(url).scheme not in ("https", "http", "file"):
        raise ValueError(f"a wheel is not fetched from {git.redacted(url)}")
    with urllib.request.urlopen(url, timeout=FETCH_S, context=_context(url)) as answer, target.open("wb") as stream:
        size = 0
        while chunk := answer.read(CHUNK_BYTES):
            size += len(chunk)
            if size > MAX_WHEEL_BYTES:
                raise ValueError(f"more than {MAX_WHEEL_BYTES >> 30} GiB")
            stream.write(chunk)


def _context(url: str) -> ssl.SSLContext | None:
    return ssl.create_default_context() if url.startswith("https:") else None


def _fetch_fault(offer: _Offer, fault: Exception) -> UsageError:
    reason = getattr(fault, "reason", None) or getattr(fault, "strerror", None) or fault
    if isinstance(fault, urllib.error.HTTPError) and fault.code in (401, 403):
        mend = "put the wheel into a folder and give it as path"
        return UsageError(
            f"{offer.filename} needs credentials, and twotrees never asks for any (HTTP {fault.code})", mend=mend
        )
    if isinstance(reason, ssl.SSLError):
        return UsageError(
            f"{offer.filename} cannot be fetched: {reason.reason}", mend="set SSL_CERT_FILE to your CA bundle"
        )
    return UsageError(f"{offer.filename} cannot be fetched: {git.redacted(str(reason))}", mend="connect, and try again")


def commit(file: WheelFile, repository: Path) -> tuple[str, tuple[str, ...]]:
    """Unpacks a wheel into ``src/`` and commits it.

    Args:
        file: The wheel.
        repository: A repository of :func:`twotrees.trees.throwaway.repository`.

    Returns:
        The commit, and notes about what of the wheel is not part of the tree.

    Raises:
        UsageError: it is no wheel, or holds members that are not safe to unpack.
    """
    with tempfile.TemporaryDirectory(prefix="twotrees-wheel-") as folder:
        notes = unpack(file.path, Path(folder) / "src")
        files = {f"src/{name}": path for name, path in throwaway.files_of(Path(folder) / "src").items()}
        return throwaway.commit_files(repository, files), notes


def unpack(wheel: Path, target: Path) -> tuple[str, ...]:
    """Unpacks a wheel's packages, each member checked against the wheel's own RECORD.

    Args:
        wheel: The file.
        target: The folder for the packages; made.

    Returns:
        Notes about members that belong to an environment, not to a tree (scripts, headers, data).

    Raises:
        UsageError: it is no wheel, a member's name leaves the folder or comes twice, is a link, is too large, or
            differs from RECORD.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            members = _checked_members(archive, wheel)
            record = _record(archive, members, wheel)
            left_out: set[str] = set()
            for name, member in members.items():
                place = _place(name)
                if place is None:
                    left_out.add(name.split("/")[1])
                    continue
                _extract(archive, member, target / place, record.get(name), wheel)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as fault:
        raise UsageError(f"is not a wheel that can be unpacked: {fault or 'cut short'}", file=wheel.name) from None
    return tuple(f"the wheel's {part} belong to an environment and are not in the tree" for part in sorted(left_out))


def _checked_members(archive: zipfile.ZipFile, wheel: Path) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    folded: set[str] = set()
    total = 0
    for member in archive.infolist():
        name = member.filename
        parts = PurePosixPath(name).parts
        unsafe = (
            name.startswith("/")
            or "\\" in name
            or ":" in name
            or ".." in parts
            or ".git" in (part.lower() for part in parts)
        )
        if unsafe or any(ord(char) < 32 for char in name):
            raise UsageError(f"member {name!r} is not safe to unpack", file=wheel.name)
        if member.is_dir():
            continue
        kind = (member.external_attr >> 16) & _TYPE
        if kind == _LINK or member.flag_bits & 0x1:
            raise UsageError(f"member {name!r} is a link or encrypted", file=wheel.name)
        if name.casefold() in folded:
            raise UsageError(f"member {name!r} comes twice", file=wheel.name)
        total += member.file_size
        bomb = member.file_size > LARGE_BYTES and member.file_size > MAX_RATIO * max(member.compress_size, 1)
        if total > MAX_UNPACKED_BYTES or len(members) >= MAX_MEMBERS or bomb:
            raise UsageError(f"member {name!r} makes it unpack to more than is believable", file=wheel.name)
        folded.add(name.casefold())
        members[name] = member
    return members


def _record(archive: zipfile.ZipFile, members: Mapping[str, zipfile.ZipInfo], wheel: Path) -> dict[str, str]:
    names = [name for name in members if name.count("/") == 1 and name.endswith(".dist-info/RECORD")]
    if len(names) != 1:
        raise UsageError("is not a wheel: it has no RECORD", file=wheel.name)
    text = archive.read(members[names[0]]).decode("utf-8", "replace")
    return {row[0]: row[1] for row in csv.reader(io.StringIO(text)) if len(row) == 3 and row[1]}


def _place(name: str) -> PurePosixPath | None:
    """Where a member goes below src/, None if it belongs elsewhere (the wheel's .data scheme)."""
    parts = PurePosixPath(name).parts
    if not parts[0].endswith(".data"):
        return PurePosixPath(name)
    if len(parts) > 2 and parts[1] in ("purelib", "platlib"):
        return PurePosixPath(*parts[2:])
    return None


def _extract(archive: zipfile.ZipFile, member: zipfile.ZipInfo, target: Path, stated: str | None, wheel: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with archive.open(member) as source, target.open("xb") as stream:
        shutil.copyfileobj(source, stream, CHUNK_BYTES)
    if stated is None:
        if not member.filename.endswith((".dist-info/RECORD", ".dist-info/RECORD.jws", ".dist-info/RECORD.p7s")):
            raise UsageError(f"member {member.filename!r} is not in its RECORD", file=wheel.name)
        return
    algorithm, _, wanted = stated.partition("=")
    if algorithm not in ("sha256", "sha384", "sha512"):
        raise UsageError(f"RECORD has {algorithm!r} for {member.filename!r}, which is no safe hash", file=wheel.name)
    with target.open("rb") as stream:
        found = base64.urlsafe_b64encode(hashlib.file_digest(stream, algorithm).digest()).rstrip(b"=").decode()
    if found != wanted:
        raise UsageError(f"member {member.filename!r} differs from its RECORD", file=wheel.name)
