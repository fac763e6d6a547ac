"""Cuts a published script out of a saved post by its SHA-256. The script is never run here, nor parsed.

In: the post's bytes and a hash. Out: the bytes that hash to it: a fenced block, or any run of lines of a page whose
fences are lost, with or without a final newline.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from twotrees.audit.post.blocks import split
from twotrees.errors import UsageError

MAX_BYTES = 16 * 2**20
# Bounds on the search where there are no fences: every start is tried against every end.
MAX_TRIES = 3_000_000
MAX_HASHED = 512 * 2**20
_HEX = re.compile(r"[0-9a-f]{64}")
_OPENING = re.compile(rb"^([ \t>]{0,24})(`{3,}|~{3,})[^`]*$")


@dataclass(frozen=True, slots=True)
class Script:
    """A code block of a post: its lines, from 1, its size in bytes, and its SHA-256 with one final newline."""

    first: int
    last: int
    size: int
    sha256: str


def extract_script(post: bytes, sha256: str) -> bytes:
    """Finds the script with this hash.

    Args:
        post: The saved post.
        sha256: 64 hexadecimal digits.

    Returns:
        Its exact bytes.

    Raises:
        UsageError: not a hash; no such script; or the post is too large to search.
    """
    wanted = sha256.strip().lower()
    if not _HEX.fullmatch(wanted):
        raise UsageError(f"{sha256!r} is not a SHA-256", key="--sha256", mend="64 hexadecimal digits")
    if len(post) > MAX_BYTES:
        raise UsageError(f"the post is larger than {MAX_BYTES // 2**20} MiB")
    post = post.removeprefix(b"\xef\xbb\xbf")
    forms = [post, post.replace(b"\r\n", b"\n")] if b"\r" in post else [post]
    for form in forms:
        lines = form.split(b"\n")
        for block in _fenced(lines):
            if (found := _matching(block, wanted)) is not None:
                return found
    exhausted = False
    for form in forms:
        found, complete = _anywhere(form.split(b"\n"), bytes.fromhex(wanted))
        exhausted |= not complete
        if found is not None:
            return found
    if exhausted:
        raise UsageError("the post is too large to search without fences", mend="keep the code blocks fenced with ```")
    known = "; ".join(f"lines {one.first}–{one.last}: {one.sha256[:12]}…" for one in scripts_in(post)[:8])
    raise UsageError(f"no code in this post has SHA-256 {wanted}", mend=f"code that is there: {known or 'none'}")


def scripts_in(post: bytes) -> list[Script]:
    """The code blocks that reading the post skips, each with its hash as a file of its own.

    A block whose fences are lost is only as exact as its look; `extract_script` finds by hash what this cuts wrongly.
    """
    text = post.decode("utf-8-sig", errors="replace")
    lines = text.split("\n")
    found = []
    for passage in split(text).skipped:
        if passage.what != "code":
            continue
        block = lines[passage.first - 1 : passage.last]
        if block and block[0].lstrip(" >").startswith(("```", "~~~")):
            block = block[1:-1]
        data = ("\n".join(block) + "\n").encode()
        found.append(Script(passage.first, passage.last, len(data), hashlib.sha256(data).hexdigest()))
    return found


def _fenced(lines: Sequence[bytes]) -> Iterator[list[bytes]]:
    """The insides of fenced blocks, without the indentation or quote marks that their fence has."""
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at].rstrip(b"\r"))
        at += 1
        if opening is None:
            continue
        prefix, fence = opening[1], opening[2]
        inside: list[bytes] = []
        while at < len(lines):
            bare = lines[at].strip(b" \t>\r")
            at += 1
            if bare.startswith(fence) and not bare.strip(fence[:1]):
                break
            inside.append(lines[at - 1].removeprefix(prefix))
        yield inside


def _matching(block: Sequence[bytes], wanted: str) -> bytes | None:
    body = b"\n".join(block)
    for form in (body + b"\n", body):
        if hashlib.sha256(form).hexdigest() == wanted:
            return form
    return None


def _anywhere(lines: Sequence[bytes], wanted: bytes) -> tuple[bytes | None, bool]:
    """Tries every run of lines that begins after a blank line; says whether all could be tried."""
    tries = hashed = 0
    for start in _starts(lines):
        running = hashlib.sha256()
        for end in range(start, len(lines)):
            running.update(lines[end])
            if running.digest() == wanted:
                return b"\n".join(lines[start : end + 1]), True
            running.update(b"\n")
            if running.digest() == wanted:
                return b"\n".join(lines[start : end + 1]) + b"\n", True
            tries += 1
            hashed += len(lines[end])
            if tries > MAX_TRIES or hashed > MAX_HASHED:
                return None, False
    return None, True


def _starts(lines: Sequence[bytes]) -> list[int]:
    """Where a script may begin, the likeliest first: a shebang, an import, then any line after a blank one."""
    after_blank = [i for i, line in enumerate(lines) if line.strip() and (i == 0 or not lines[i - 1].strip())]
    likely = [i for i, line in enumerate(lines) if line.startswith((b"#!", b"from __future__", b"import ", b'"""'))]
    return list(dict.fromkeys([*likely, *after_blank]))
