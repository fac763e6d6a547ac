"""The auditor's own lists: who may sign (allowed_signers) and whose keys no longer count (revoked keys, KRL).

In come files of OpenSSH's formats, out come decisions about one key. Nothing here ever reads from a bundle.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from twotrees.bundle import sshsig
from twotrees.errors import UsageError

KRL_MAGIC = b"SSHKRL\n\0"
_KRL_CERTIFICATES, _KRL_KEYS, _KRL_SHA1, _KRL_SIGNATURE, _KRL_SHA256 = 1, 2, 3, 4, 5

_LINE = re.compile(
    r'(?:"([^"]*)"|([^ \t"]+))[ \t]+'  # principals
    r'(?:((?:[^ \t"]|"[^"]*")+)[ \t]+)??'  # options
    r"((?:ssh-|ecdsa-|sk-)[A-Za-z0-9@.-]+[ \t]+[^ \t]+)(?:[ \t].*)?"  # key, comment
)
_OPTION = re.compile(r'(cert-authority)|(namespaces|valid-after|valid-before)="([^"]*)"', re.IGNORECASE)
_TIME = re.compile(r"\d{8}(\d{4}(\d{2})?)?Z?")


@dataclass(frozen=True)
class Allowed:
    """One line of an allowed_signers file.

    Attributes:
        line: Its number, from 1.
        patterns: Principals, as patterns.
        key: The key.
        namespaces: Patterns of what the key may sign; empty for everything.
        after: Moment from which it counts, or None.
        before: Moment until which it counts, or None.
    """

    line: int
    patterns: tuple[str, ...]
    key: sshsig.PublicKey
    namespaces: tuple[str, ...]
    after: datetime | None
    before: datetime | None


def matches(name: str, patterns: tuple[str, ...]) -> bool:
    """Whether *name* matches an OpenSSH pattern list: ``*``, ``?``, and ``!`` to exclude."""
    found = False
    for pattern in patterns:
        expression = re.escape(pattern.removeprefix("!")).replace(r"\*", ".*").replace(r"\?", ".")
        if re.fullmatch(expression, name, re.DOTALL):
            if pattern.startswith("!"):
                return False
            found = True
    return found


def read_allowed(path: Path) -> list[Allowed]:
    """Reads an allowed_signers file.

    Raises:
        UsageError: it cannot be read, a line is malformed, or a principal is a wildcard that vouches for every name.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "not text"
        raise UsageError(f"the allowed signers cannot be read: {reason}", file=path) from None
    allowed = []
    for number, line in enumerate(text.split("\n"), start=1):
        stripped = line.strip(" \t\r")
        if stripped and not stripped.startswith("#"):
            try:
                entry = _read_line(number, stripped)
            except ValueError as fault:
                raise UsageError(str(fault), file=path, key=f"line {number}") from None
            if entry is not None:
                allowed.append(entry)
    return allowed


def _read_line(number: int, line: str) -> Allowed | None:
    """Reads a line; None for a key that signs no bundles (certificate authorities, DSA, short RSA)."""
    match = _LINE.fullmatch(line)
    if match is None:
        raise ValueError("`principals [options] key-type base64` expected")
    quoted, bare, options_text, key_text = match.groups()
    patterns = tuple((quoted if bare is None else bare).split(","))
    for pattern in patterns:
        if not pattern.strip("*?"):
            raise ValueError(
                f"the principal {pattern!r} vouches for every name; name the person, for example `alice@example.org`"
            )
    options = _options(options_text or "")
    if "cert-authority" in options:
        return None
    try:
        key = sshsig.read_public_line(key_text)
    except sshsig.KeyNotAccepted:
        return None
    namespaces = options.get("namespaces")
    return Allowed(
        number,
        patterns,
        key,
        () if namespaces is None else tuple(namespaces.split(",")),
        _moment(options.get("valid-after")),
        _moment(options.get("valid-before")),
    )


def _options(text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    while text:
        match = _OPTION.match(text)
        if match is None or text[match.end() :][:1] not in ("", ","):
            raise ValueError(f"unknown option {text!r}")
        name = (match[1] or match[2]).lower()
        if name in options:
            raise ValueError(f"option {name} stands twice")
        options[name] = match[3] or ""
        text = text[match.end() + 1 :]
    return options


def _moment(text: str | None) -> datetime | None:
    """``YYYYMMDD[HHMM[SS]][Z]``; without Z in the time zone of this host, as OpenSSH reads it."""
    if text is None:
        return None
    if not _TIME.fullmatch(text):
        raise ValueError(f"not a time: {text!r}")
    try:
        naive = datetime.strptime(text.removesuffix("Z").ljust(14, "0"), "%Y%m%d%H%M%S")
    except ValueError:
        raise ValueError(f"not a time: {text!r}") from None
    return naive.replace(tzinfo=UTC) if text.endswith("Z") else naive.astimezone()


@dataclass(frozen=True)
class Revoked:
    """Keys that no longer count.

    Attributes:
        blobs: Whole keys.
        sha1: SHA-1 digests of keys.
        sha256: SHA-256 digests of keys.
    """

    blobs: frozenset[bytes] = frozenset()
    sha1: frozenset[bytes] = frozenset()
    sha256: frozenset[bytes] = frozenset()

    def holds(self, key: sshsig.PublicKey) -> bool:
        """Whether *key* is among them."""
        return (
            key.blob in self.blobs
            or hashlib.sha1(key.blob, usedforsecurity=False).digest() in self.sha1
            or hashlib.sha256(key.blob).digest() in self.sha256
        )


def read_revoked(path: Path) -> Revoked:
    """Reads a revocation list: one public key a line, or a KRL made by ``ssh-keygen -k``.

    Raises:
        UsageError: it cannot be read or understood; a list that is not understood revokes nothing, so it is an error.
    """
    try:
        data = path.read_bytes()
        return _read_krl(data) if data.startswith(KRL_MAGIC) else _read_list(data)
    except OSError as fault:
        raise UsageError(f"the revocation list cannot be read: {fault.strerror}", file=path) from None
    except ValueError as fault:
        raise UsageError(f"the revocation list is not understood: {fault}", file=path) from None


def _read_list(data: bytes) -> Revoked:
    blobs = set()
    for number, line in enumerate(data.decode("utf-8").split("\n"), start=1):
        stripped = line.strip()
        if stripped and not stripped.startswith("#"):
            try:
                blobs.add(sshsig.read_public_line(stripped).blob)
            except sshsig.KeyNotAccepted:
                continue  # it could not have signed a bundle anyhow
            except sshsig.SignatureRefused as fault:
                raise ValueError(f"line {number}: {fault}") from None
    return Revoked(frozenset(blobs))


def _read_krl(data: bytes) -> Revoked:
    """Reads a key revocation list (OpenSSH's PROTOCOL.krl)."""
    wire = sshsig.Wire(data[len(KRL_MAGIC) :], "the KRL")
    if (version := wire.number()) != 1:
        raise ValueError(f"KRL format {version} is not known")
    wire.take(3 * 8)  # the list's own version, its date and its flags
    wire.string()  # reserved
    wire.string()  # comment
    found: dict[int, set[bytes]] = {_KRL_KEYS: set(), _KRL_SHA1: set(), _KRL_SHA256: set()}
    while wire.rest:
        kind = wire.take(1)[0]
        section = sshsig.Wire(wire.string(), "a KRL section")
        if kind in (_KRL_CERTIFICATES, _KRL_SIGNATURE):
            continue  # certificates sign no bundles; a KRL's own signature is for distributing it
        if kind not in found:
            raise ValueError(f"KRL section of kind {kind} is not known")
        while section.rest:
            found[kind].add(section.string())
    return Revoked(frozenset(found[_KRL_KEYS]), frozenset(found[_KRL_SHA1]), frozenset(found[_KRL_SHA256]))
