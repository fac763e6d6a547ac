"""The verdict on a bundle: bytes, names and archive first, then what the data means, then who signed it.

In comes a bundle from a stranger and the auditor's own demands, out comes one of three words with its exit code.
Nothing that the bundle says can change what is checked.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from twotrees.bundle import layout, meaning, tags
from twotrees.bundle import read as reading
from twotrees.bundle.statement import statement_bytes
from twotrees.bundle.tags import broken
from twotrees.bundle.trust import Lists, Signer, Trust, check_signature, read_lists
from twotrees.errors import EXIT_BUNDLE_BROKEN, EXIT_GOOD, BundleBroken

WORD_TRUSTED = "trusted"
WORD_UNKNOWN = "intact, unknown signer"
WORD_BROKEN = "broken"
EXIT_UNKNOWN_SIGNER = 6
"""Intact, but signed by nobody whom the auditor lists: neither good (0) nor broken (5)."""


@dataclass(frozen=True)
class Verdict:
    """What was found.

    Attributes:
        word: ``trusted``, ``intact, unknown signer SHA256:…`` or ``broken``.
        exit_code: 0, 6 or 5.
        root: SHA-256 of the tag manifest; None when reading did not get that far.
        name: The name that the bundle's content gives it; None likewise.
        file: The file at fault, for a broken one.
        what: What is wrong with it.
        signers: Every valid signature.
        notes: What is allowed but worth telling.
    """

    word: str
    exit_code: int
    root: str | None = None
    name: str | None = None
    file: str | None = None
    what: str | None = None
    signers: tuple[Signer, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The verdict in one line."""
        where = ": ".join(part for part in (self.word, self.file, self.what) if part)
        return f"{where} (root {self.root})" if self.root and not self.what else where

    def data(self) -> dict[str, Any]:
        """The verdict as JSON data."""
        return {
            "verdict": self.word,
            "exit": self.exit_code,
            "root": self.root,
            "name": self.name,
            "file": self.file,
            "what": self.what,
            "signers": [
                {"file": one.file, "fingerprint": one.fingerprint, "kind": one.kind, "principal": one.principal}
                for one in self.signers
            ],
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class Content:
    """A bundle whose content is as it must be, whoever signed it.

    Attributes:
        root: SHA-256 of the tag manifest.
        name: The name that its content gives it.
        notes: What is allowed but worth telling.
        replicates: Root of the bundle that it says it replicates.
    """

    root: str
    name: str
    notes: tuple[str, ...]
    replicates: str | None


def verify(source: Path | Literal["-"], trust: Trust | None = None, limits: layout.Limits | None = None) -> Verdict:
    """Verifies a bundle.

    Args:
        source: Folder, ``.tar``, ``.zip``, or ``-`` for one of the two on standard input.
        trust: What the auditor demands; by default whom the user's git trusts.
        limits: How much may be read.

    Raises:
        UsageError: the auditor's own lists cannot be used, or there is no such bundle.
    """
    trust = trust or Trust.of_user()
    limits = limits or layout.Limits()
    lists = read_lists(trust, source if isinstance(source, Path) and source.is_dir() else None)
    root = name = None
    try:
        with reading.read(source, limits) as contents:
            root = reading.check_hashes(contents)
            signers = _check_signatures(contents, lists, trust)
            content = _check_meaning(contents, root, limits)
            name = content.name
            return _judged(content, signers, trust)
    except BundleBroken as fault:
        where = fault.file if fault.key is None else f"{fault.file}: {fault.key}"
        return Verdict(WORD_BROKEN, EXIT_BUNDLE_BROKEN, root, name, where, fault.what)


def check_content(source: Path | Literal["-"], limits: layout.Limits | None = None) -> Content:
    """Checks everything but the signatures: what a signer should know before signing.

    Raises:
        BundleBroken: naming the file and the reason.
    """
    limits = limits or layout.Limits()
    with reading.read(source, limits) as contents:
        return _check_meaning(contents, reading.check_hashes(contents), limits)


def _check_signatures(contents: reading.Contents, lists: Lists, trust: Trust) -> tuple[Signer, ...]:
    files = contents.matching(layout.SIGNATURES)
    if not files:
        broken(layout.SIGNATURES, "no signature")
    message = contents.content(layout.TAG_MANIFEST)
    return tuple(
        check_signature(file, contents.content(file), message, lists, trust, layout.NAMESPACE) for file in files
    )


def _check_meaning(contents: reading.Contents, root: str, limits: layout.Limits) -> Content:
    fields = tags.read_bag_info(contents.content(layout.BAG_INFO))
    created = tags.created_of(fields)
    payload = {path: contents.files[path] for path in contents.matching(layout.PAYLOAD)}
    oxum = f"{sum(facts.size for facts in payload.values())}.{len(payload)}"
    expected = {
        "Bagging-Date": tags.format_created(created)[:10],
        "External-Identifier": f"{fields['Twotrees-Study']}-{fields['Twotrees-Backend']}-{tags.format_stamp(created)}",
        "Payload-Oxum": oxum,
        "Twotrees-Format": layout.FORMAT,
    }
    for key, value in expected.items():
        if fields[key] != value:
            broken(layout.BAG_INFO, f"{fields[key]!r}, but the bundle gives {value!r}", key)
    plan, notes = meaning.check(contents, root, limits)
    for key, value in (("Twotrees-Study", plan["study"]), ("Twotrees-Backend", plan["backend"])):
        if fields[key] != value:
            broken(layout.BAG_INFO, f"{fields[key]!r}, but the plan says {value!r}", key)
    digests = {path: facts.sha256 for path, facts in payload.items()}
    manifest = contents.content(layout.MANIFEST)
    if contents.content(layout.STATEMENT) != statement_bytes(manifest, digests, plan, fields["Twotrees-Created"]):
        broken(layout.STATEMENT, "not the statement that the manifest, the plan and bag-info give")
    name = layout.bundle_name(plan["study"], plan["backend"], tags.format_stamp(created), root)
    if contents.top is not None and contents.top != name and layout.looks_like_a_name(contents.top):
        broken(contents.top, f"the folder's name is not the bundle's, {name}")
    return Content(root, name, notes, plan["replicates"])


def _judged(content: Content, signers: tuple[Signer, ...], trust: Trust) -> Verdict:
    """Counts distinct trusted keys; a file name holds the key's digest, so no key can stand there twice."""
    trusted = {signer.fingerprint for signer in signers if signer.trusted}
    unknown = [signer.fingerprint for signer in signers if not signer.trusted]
    file = what = None
    if len(trusted) >= trust.require_signers:
        word, code = WORD_TRUSTED, EXIT_GOOD
    elif unknown:
        word, code = f"{WORD_UNKNOWN} {unknown[0]}", EXIT_UNKNOWN_SIGNER
    else:
        word, code = WORD_BROKEN, EXIT_BUNDLE_BROKEN
        file, what = layout.SIGNATURES, f"{len(trusted)} of {trust.require_signers} required signers"
    return Verdict(word, code, content.root, content.name, file, what, signers, content.notes)
