"""The ledger: an append-only text file that strings bundles together, each line chained to the one before it.

In comes a bundle and what it is (an original, a replication, a retraction), out comes one more line and the head
to publish. Whoever signs it signs a prefix: its first lines. A ledger that was cut short looks whole by itself; only a
head that was published elsewhere shows it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from twotrees.bundle.keys import Key, find_key
from twotrees.bundle.layout import Limits
from twotrees.bundle.sign import sign_bytes
from twotrees.bundle.tags import broken
from twotrees.bundle.trust import Signer, Trust, check_signature, read_lists
from twotrees.bundle.verify import EXIT_UNKNOWN_SIGNER, WORD_BROKEN, WORD_TRUSTED, WORD_UNKNOWN, check_content
from twotrees.digest import sha256_bytes
from twotrees.errors import EXIT_BUNDLE_BROKEN, EXIT_GOOD, BundleBroken, UsageError

NAMESPACE = "twotrees-ledger-v1"
GENESIS = "0" * 64
MAX_BYTES = 16 << 20
Kind = Literal["original", "replicates", "retracts"]

_LINE = re.compile(r"([0-9]{4,}) ([0-9a-f]{64}) ([0-9a-f]{64}) (original|replicates|retracts) ([A-Za-z0-9._-]{1,200})")
_SIGNATURE = re.compile(r"([0-9]{4,})-[0-9a-f]{16}\.sshsig")


@dataclass(frozen=True)
class Entry:
    """One line.

    Attributes:
        number: From 1.
        previous: SHA-256 of the line before it with its newline; zeros for the first.
        root: Of the bundle; for a retraction, of the bundle that is taken back.
        kind: ``original``, ``replicates`` or ``retracts``.
        name: The bundle's name.
    """

    number: int
    previous: str
    root: str
    kind: str
    name: str

    @property
    def line(self) -> str:
        """The line without its newline."""
        return f"{self.number:04d} {self.previous} {self.root} {self.kind} {self.name}"

    @property
    def hash(self) -> str:
        """What the next line is chained to; of the last line it is the ledger's head."""
        return sha256_bytes(f"{self.line}\n".encode())


@dataclass(frozen=True)
class LedgerVerdict:
    """What was found.

    Attributes:
        word: ``trusted``, ``intact, trusted to line N of M``, ``intact, unknown signer SHA256:…``, ``intact, unsigned``
            or ``broken``.
        exit_code: 0, 6, 6, 6 or 5.
        head: Hash of the last line: what to publish, and to compare with what was published.
        entries: Its lines.
        signers: Every valid signature.
        file: What is at fault, for a broken one.
        what: And why.
    """

    word: str
    exit_code: int
    head: str = GENESIS
    entries: tuple[Entry, ...] = ()
    signers: tuple[Signer, ...] = ()
    file: str | None = None
    what: str | None = None

    @property
    def line(self) -> str:
        """The verdict in one line."""
        told = ": ".join(part for part in (self.word, self.file, self.what) if part)
        return told if self.what else f"{told} ({len(self.entries)} lines, head {self.head})"


def signatures_of(ledger: Path) -> Path:
    """The folder in which a ledger's signatures lie, ``NNNN-<key>.sshsig`` over its first NNNN lines."""
    return ledger.with_name(f"{ledger.name}.signatures")


def read_ledger(ledger: Path) -> tuple[bytes, tuple[Entry, ...]]:
    """Reads a ledger and checks its chain.

    Returns:
        Its bytes and its lines; none for a file that does not exist yet.

    Raises:
        BundleBroken: a line is malformed, out of order, not chained, or says what cannot be.
        UsageError: it cannot be read.
    """
    try:
        data = ledger.read_bytes() if ledger.exists() else b""
    except OSError as fault:
        raise UsageError(f"cannot be read: {fault.strerror}", file=ledger) from None
    if len(data) > MAX_BYTES:
        broken(str(ledger), f"more than {MAX_BYTES} bytes")
    if data and not data.endswith(b"\n"):
        broken(str(ledger), "no newline at the end")
    entries: list[Entry] = []
    for number, raw in enumerate(data.split(b"\n")[:-1], start=1):
        where = f"line {number}"
        match = _LINE.fullmatch(raw.decode("latin-1"))
        if match is None:
            broken(str(ledger), "malformed: `NNNN prevhash root kind name` expected", where)
        digits, previous, root, kind, name = match.groups()
        entry = Entry(number, previous, root, kind, name)
        if digits != f"{number:04d}":
            broken(str(ledger), f"numbered {digits}: lines are missing or reordered", where)
        if previous != (entries[-1].hash if entries else GENESIS):
            broken(str(ledger), "not chained to the line before it: reordered or edited", where)
        if reason := refusal(entry, entries):
            broken(str(ledger), reason, where)
        entries.append(entry)
    return data, tuple(entries)


def refusal(entry: Entry, before: list[Entry] | tuple[Entry, ...]) -> str | None:
    """Why *entry* cannot follow the lines *before* it, or None."""
    known = {one.root for one in before if one.kind != "retracts"}
    retracted = {one.root for one in before if one.kind == "retracts"}
    if entry.kind == "retracts":
        if entry.root not in known:
            return "it retracts what was never entered"
        return "it was retracted before" if entry.root in retracted else None
    if entry.root in known:
        if entry.kind == "replicates":
            return "a replication whose root is that of an earlier bundle is no replication"
        return "it was entered before"
    if entry.kind == "replicates" and not known:
        return "there is nothing yet that it could replicate"
    return None


def append(ledger: Path, bundle: Path, kind: Kind) -> Entry:
    """Adds a line for a bundle.

    Args:
        ledger: The file; made when it does not exist.
        bundle: The bundle's folder, tar or zip.
        kind: ``retracts`` takes back the bundle's own earlier line.

    Returns:
        The new line; its hash is the new head.

    Raises:
        BundleBroken: the ledger or the bundle is broken.
        UsageError: the line cannot follow what is there, or the ledger cannot be written.
    """
    _, entries = read_ledger(ledger)
    content = check_content(bundle)
    entry = Entry(len(entries) + 1, entries[-1].hash if entries else GENESIS, content.root, kind, content.name)
    if kind == "replicates" and content.replicates not in {one.root for one in entries}:
        raise UsageError(
            "the bundle it replicates is not in this ledger", file=bundle, key="data/plan.json: replicates"
        )
    if kind == "original" and content.replicates is not None:
        raise UsageError("it replicates another bundle and so is no original", file=bundle)
    if reason := refusal(entry, entries):
        raise UsageError(reason, file=bundle)
    try:
        with ledger.open("a", encoding="ascii") as stream:
            stream.write(f"{entry.line}\n")
    except OSError as fault:
        raise UsageError(f"cannot be written: {fault.strerror}", file=ledger) from None
    return entry


def sign_ledger(ledger: Path, key: Key | None = None) -> Path:
    """Signs all lines that are there now.

    Returns:
        The signature file.

    Raises:
        BundleBroken: the ledger is broken.
        UsageError: it is empty, or there is no key to sign with.
    """
    data, entries = read_ledger(ledger)
    if not entries:
        raise UsageError("an empty ledger cannot be signed", file=ledger)
    key = key or find_key()
    armored = sign_bytes(data, key, NAMESPACE)
    file = signatures_of(ledger) / f"{len(entries):04d}-{key.public.signature_name}"
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(armored)
    except OSError as fault:
        raise UsageError(f"the signature cannot be written: {fault.strerror}", file=file) from None
    return file


def verify_ledger(ledger: Path, trust: Trust | None = None) -> LedgerVerdict:
    """Checks a ledger's chain and every signed prefix of it.

    Args:
        ledger: The file.
        trust: What the auditor demands; by default whom the user's git trusts.

    Raises:
        UsageError: there is no ledger, or the auditor's own lists cannot be used.
    """
    if not ledger.is_file():
        raise UsageError("no such ledger", file=ledger)
    trust = trust or Trust.of_user()
    lists = read_lists(trust, None)
    try:
        data, entries = read_ledger(ledger)
        lines = data.splitlines(keepends=True)
        signers: list[Signer] = []
        keys_of: dict[int, set[str]] = {}
        folder = signatures_of(ledger)
        for path in sorted(folder.iterdir()) if folder.is_dir() else []:
            file = f"{folder.name}/{path.name}"
            match = _SIGNATURE.fullmatch(path.name)
            if match is None or path.is_symlink() or not path.is_file():
                broken(file, "not a signature: NNNN-<16 hex digits>.sshsig expected")
            if path.stat().st_size > Limits().signature_bytes:
                broken(file, "too large for a signature")
            count = int(match[1])
            if not 0 < count <= len(lines):
                broken(file, f"it signs {count} lines of a ledger that has {len(lines)}: lines were cut off")
            signer = check_signature(file, path.read_bytes(), b"".join(lines[:count]), lists, trust, NAMESPACE)
            signers.append(signer)
            if signer.trusted:
                keys_of.setdefault(count, set()).add(signer.fingerprint)
    except BundleBroken as fault:
        where = fault.file if fault.key is None else f"{fault.file}: {fault.key}"
        return LedgerVerdict(WORD_BROKEN, EXIT_BUNDLE_BROKEN, file=where, what=fault.what)
    word, code = _judged(keys_of, signers, len(entries), trust)
    return LedgerVerdict(word, code, entries[-1].hash if entries else GENESIS, entries, tuple(signers))


def _judged(keys_of: dict[int, set[str]], signers: list[Signer], lines: int, trust: Trust) -> tuple[str, int]:
    """How far enough trusted keys reach; who signed more lines has signed the fewer too."""
    reached, keys = 0, set[str]()
    for count in sorted(keys_of, reverse=True):
        keys |= keys_of[count]
        if len(keys) >= trust.require_signers:
            reached = count
            break
    unknown = [signer.fingerprint for signer in signers if not signer.trusted]
    if reached and reached == lines:
        return WORD_TRUSTED, EXIT_GOOD
    if reached:
        return f"intact, trusted to line {reached} of {lines}", EXIT_UNKNOWN_SIGNER
    if unknown:
        return f"{WORD_UNKNOWN} {unknown[0]}", EXIT_UNKNOWN_SIGNER
    return "intact, unsigned", EXIT_UNKNOWN_SIGNER
