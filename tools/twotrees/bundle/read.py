"""Reads a stranger's bundle: names accepted, bytes counted and hashed, nothing believed and nothing written beside it.

In comes a source, out come the digests of everything in it and a private copy of the few files whose meaning is
checked later, so that what is judged is what was hashed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Literal

from twotrees import digest, strict_json
from twotrees.bundle import layout, source, tags
from twotrees.bundle.member import Member, shown
from twotrees.bundle.tags import broken


@dataclass(frozen=True)
class FileFacts:
    """What is known of one file.

    Attributes:
        size: Bytes.
        sha256: Their digest.
    """

    size: int
    sha256: str


@dataclass(frozen=True)
class Contents:
    """A bundle that has been read once, to its end.

    Attributes:
        top: Name of the folder it was in.
        files: Everything in it.
        kept: Private folder with copies of its tag files, signatures and JSON; gone when reading is over.
    """

    top: str | None
    files: dict[str, FileFacts]
    kept: Path

    def content(self, path: str) -> bytes:
        """The bytes of a kept file.

        Raises:
            BundleBroken: the bundle does not hold it.
        """
        if path not in self.files:
            broken(path, "missing")
        return (self.kept / path).read_bytes()

    def json(self, path: str) -> Any:
        """A kept file as JSON.

        Raises:
            BundleBroken: missing, or JSON that readers could disagree about.
        """
        try:
            return strict_json.loads(self.content(path))
        except strict_json.JsonRefused as fault:
            broken(path, str(fault))

    def json_lines(self, path: str, limits: layout.Limits) -> Iterator[tuple[int, Any]]:
        """The lines of a kept JSON Lines file, each with its number from 1.

        Raises:
            BundleBroken: missing, a line too long, not JSON, or without its newline.
        """
        if path not in self.files:
            broken(path, "missing")
        with (self.kept / path).open("rb") as stream:
            number = 0
            while line := stream.readline(limits.line_bytes + 1):
                number += 1
                if len(line) > limits.line_bytes:
                    broken(path, f"longer than {limits.line_bytes} bytes", f"line {number}")
                if not line.endswith(b"\n"):
                    broken(path, "no newline at the end", f"line {number}")
                try:
                    yield number, strict_json.loads(line[:-1])
                except strict_json.JsonRefused as fault:
                    broken(path, str(fault), f"line {number}")

    def matching(self, folder: str, suffix: str = "") -> list[str]:
        """The files below *folder* that end in *suffix*, sorted."""
        return sorted(path for path in self.files if path.startswith(f"{folder}/") and path.endswith(suffix))


@contextmanager
def read(bundle: Path | Literal["-"], limits: layout.Limits) -> Iterator[Contents]:
    """Reads a bundle whole.

    Args:
        bundle: Folder, tar, zip, or ``-``.
        limits: How much may be read.

    Yields:
        Its contents, while the private folder exists.

    Raises:
        BundleBroken: a name, a kind, a size or a container that is refused.
        UsageError: there is nothing of the kind to read.
    """
    with TemporaryDirectory(prefix="twotrees-verify-") as private:
        kept = Path(private)
        files: dict[str, FileFacts] = {}
        folded: dict[str, str] = {}
        room, kept_room, signatures = limits.total_bytes, limits.kept_bytes, 0
        top = None
        with source.members(bundle, limits) as members:
            for member in members:
                top = member.top
                _accept(member, folded, limits)
                signatures += member.path.startswith(f"{layout.SIGNATURES}/")
                if len(files) == limits.files:
                    broken(member.path, f"more than {limits.files} files")
                if signatures > limits.signatures:
                    broken(member.path, f"more than {limits.signatures} signatures")
                room -= member.size
                if room < 0:
                    broken(member.path, f"more than {limits.total_bytes} bytes in all")
                cap = _keep_cap(member.path, limits)
                if cap is None:
                    files[member.path] = _hash(member, None)
                    continue
                kept_room -= member.size
                if member.size > cap or kept_room < 0:
                    broken(member.path, f"{member.size} bytes are more than such a file may have")
                copy = kept / member.path
                copy.parent.mkdir(parents=True, exist_ok=True)
                with copy.open("xb") as out:
                    files[member.path] = _hash(member, out)
        yield Contents(top, files, kept)


def _accept(member: Member, folded: dict[str, str], limits: layout.Limits) -> None:
    """Accepts a member's place, and its name beside the names before it on a file system that ignores case."""
    if reason := layout.place_refusal(member.path):
        broken(member.path, reason)
    parts = member.path.split("/")
    for depth in range(1, len(parts) + 1):
        spelled = "/".join(parts[:depth])
        if folded.setdefault(spelled.lower(), spelled) != spelled:
            broken(member.path, f"equal but for case to {folded[spelled.lower()]}")


def _keep_cap(path: str, limits: layout.Limits) -> int | None:
    """How large a file may be whose content is looked at; None for one that is only hashed."""
    top = path.partition("/")[0]
    if top in layout.ROOT_FILES:
        return limits.tag_bytes
    if top == layout.SIGNATURES:
        return limits.signature_bytes
    if path.endswith(".json"):
        return limits.json_bytes
    if path.endswith(".jsonl"):
        return limits.stream_bytes
    return limits.json_bytes if path == layout.CHECKSUMS or path.endswith(".yaml") else None


def _hash(member: Member, out: BinaryIO | None) -> FileFacts:
    """Hashes a member while it streams by, and copies it where *out* is given."""
    sha256 = hashlib.sha256()
    size = 0
    for piece in member.chunks:
        size += len(piece)
        if size > member.size:
            break
        sha256.update(piece)
        if out is not None:
            out.write(piece)
    if size != member.size:
        broken(member.path, "it changed while it was read")
    return FileFacts(size, sha256.hexdigest())


def check_hashes(contents: Contents) -> str:
    """Checks the bag: tag files, both manifests, nothing missing and nothing extra.

    Returns:
        The root: SHA-256 of the tag manifest.

    Raises:
        BundleBroken: naming the first file that is not as the manifests say.
    """
    if contents.content(layout.BAGIT) != tags.BAGIT_BYTES:
        broken(layout.BAGIT, "not the declaration of BagIt 1.0 in UTF-8")
    tag_manifest = contents.content(layout.TAG_MANIFEST)
    listed = tags.read_manifest(layout.TAG_MANIFEST, tag_manifest)
    if tuple(listed) != layout.TAG_FILES:
        broken(layout.TAG_MANIFEST, f"it must list {', '.join(layout.TAG_FILES)}, and nothing else")
    _compare(contents, listed, layout.TAG_MANIFEST)
    payload = tags.read_manifest(layout.MANIFEST, contents.content(layout.MANIFEST))
    for path in payload:
        if not path.startswith(f"{layout.PAYLOAD}/"):
            broken(layout.MANIFEST, f"it lists a file outside {layout.PAYLOAD}/: {shown(path)}")
    _compare(contents, payload, layout.MANIFEST)
    for path in contents.matching(layout.PAYLOAD):
        if path not in payload:
            broken(path, f"not listed in {layout.MANIFEST}")
    return digest.sha256_bytes(tag_manifest)


def _compare(contents: Contents, listed: dict[str, str], manifest: str) -> None:
    for path, sha256 in listed.items():
        if path not in contents.files:
            broken(shown(path), f"listed in {manifest}, but missing")
        if contents.files[path].sha256 != sha256:
            broken(path, f"its bytes are not those that {manifest} lists")
