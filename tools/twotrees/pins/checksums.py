"""CHECKSUMS: the toolkit's own files in `sha256sum -c` form; what changed, is missing, extra or malformed is named.

In: a root folder. Out: findings, or the file's text in one order for one content.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from twotrees.digest import sha256_file
from twotrees.errors import PinsDiffer, UsageError
from twotrees.pins.finding import Finding

NAME = "CHECKSUMS"
FOLDERS = ("tools/twotrees", "conf", "subject")
FILES = ("noxfile.py", "pyproject.toml", "uv.lock")
SCRIPTS = "tools/*.py"

# What editors, interpreters and file managers leave behind; git ignores it too, and nothing imports it.
JUNK_FOLDERS = frozenset(
    {"__pycache__", ".ipynb_checkpoints", ".mypy_cache", ".ruff_cache", ".pytest_cache", ".hypothesis", ".git", ".idea"}
)
JUNK_FILES = re.compile(r"(\.py[co]|~|\.sw[a-p]|\.orig|\.rej|\.bak|\.nb[ci])$|^(\.DS_Store|Thumbs\.db|\.#.*|#.*#)$")

MEND = "restore it from git, or if the change is meant: twotrees pins"
MEND_EXTRA = "remove it, or if it is meant: twotrees pins"

# coreutils: "HASH", a space, a space or "*", the name; a leading backslash says that the name is escaped.
_GNU = re.compile(r"^(?P<escaped>\\?)(?P<digest>[0-9A-Fa-f]{64}) [ *](?P<name>.+)$", re.DOTALL)
_BSD = re.compile(r"^(?P<escaped>\\?)SHA256 ?\((?P<name>.+)\) ?= (?P<digest>[0-9A-Fa-f]{64})$", re.DOTALL)
_ESCAPES = {"\\\\": "\\", "\\n": "\n", "\\r": "\r"}


@dataclass(frozen=True)
class Line:
    """One entry: a relative path and 64 lower-case hex digits."""

    name: str
    digest: str


def parse(text: str) -> tuple[list[Line], list[tuple[int, str]]]:
    """Reads the text of a checksum file as `sha256sum -c` does: comments and empty lines are skipped.

    Returns:
        The entries, and (line number, text) of each malformed line.
    """
    lines: list[Line] = []
    malformed: list[tuple[int, str]] = []
    for number, raw in enumerate(text.split("\n"), 1):
        line = raw.removesuffix("\r")
        if not line or line.startswith("#"):
            continue
        found = _GNU.match(line) or _BSD.match(line)
        name = None if found is None else _unescaped(found["name"]) if found["escaped"] else found["name"]
        if found is None or name is None:
            malformed.append((number, line))
        else:
            lines.append(Line(name, found["digest"].lower()))
    return lines, malformed


def _unescaped(name: str) -> str | None:
    """The name with its escapes undone; None when one of them means nothing."""
    rest = re.sub(r"\\[\\nr]", "", name)
    return None if "\\" in rest else re.sub(r"\\[\\nr]", lambda match: _ESCAPES[match.group()], name)


def covered(root: Path) -> list[str]:
    """The relative paths that CHECKSUMS has to list, sorted by their bytes.

    Links count: what they point to can change without them.
    """
    names = {path.name for path in root.iterdir() if path.name in FILES}
    names |= {path.relative_to(root).as_posix() for path in root.glob(SCRIPTS) if not JUNK_FILES.search(path.name)}
    for folder in FOLDERS:
        names |= set(_below(root / folder, root))
    return sorted(names, key=str.encode)


def _below(folder: Path, root: Path) -> Iterator[str]:
    if not folder.is_dir():
        return
    for path in folder.iterdir():
        if path.is_symlink() or path.is_file():
            if not JUNK_FILES.search(path.name):
                yield path.relative_to(root).as_posix()
        elif path.is_dir() and path.name not in JUNK_FOLDERS:
            yield from _below(path, root)


def render(root: Path) -> str:
    """The text of CHECKSUMS for the files as they are.

    Raises:
        UsageError: a file is a link, or its name would need escaping.
        PinsDiffer: a file cannot be read.
    """
    lines = []
    for name in covered(root):
        path = root / name
        if path.is_symlink():
            raise UsageError("is a link, and its target could change unseen", file=name, mend="make it a file")
        if re.search(r"[\\\n\r]", name):
            raise UsageError(f"the name {name!r} cannot stand in a checksum file", file=name, mend="rename it")
        try:
            lines.append(f"{sha256_file(path)}  {name}\n")
        except OSError as error:
            raise PinsDiffer(f"cannot be read: {error.strerror}", file=name) from None
    return "".join(lines)


def write(root: Path) -> Path:
    """Writes CHECKSUMS; equal files give equal bytes.

    Raises:
        UsageError, PinsDiffer: as :func:`render`; PinsDiffer also when the file cannot be written.
    """
    path = root / NAME
    text = render(root)
    try:
        path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise PinsDiffer(f"cannot be written: {error.strerror}", file=path) from None
    return path


def verify(root: Path) -> list[Finding]:
    """Compares the files with CHECKSUMS.

    Raises:
        PinsDiffer: there is no CHECKSUMS, or it cannot be read.
    """
    path = root / NAME
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise PinsDiffer("there is no such file", file=path, mend="restore it from git") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PinsDiffer(f"cannot be read: {error}", file=path) from None
    lines, malformed = parse(text)
    found = [
        Finding("malformed", NAME, f"line {number} is no checksum line: {line[:80]!r}", "restore it from git")
        for number, line in malformed
    ]
    if not lines:
        found.append(Finding("malformed", NAME, "holds no checksum line", "restore it from git"))
    listed: dict[str, str] = {}
    for line in lines:
        if listed.setdefault(line.name, line.digest) != line.digest:
            found.append(Finding("malformed", NAME, f"lists {line.name} twice with two hashes", "restore it from git"))
    for name, digest in listed.items():
        fault = _fault(root, name, digest)
        if fault is not None:
            found.append(fault)
    extra = [name for name in covered(root) if name not in listed]
    found += [Finding("extra", name, f"is covered by {NAME} and not listed in it", MEND_EXTRA) for name in extra]
    return found


def _fault(root: Path, name: str, digest: str) -> Finding | None:
    path = root / name
    if Path(name).is_absolute() or ".." in Path(name).parts:
        return Finding("malformed", NAME, f"lists {name!r}, which lies outside the toolkit", "restore it from git")
    if path.is_symlink():
        return Finding("link", name, "is a link, and its target could change unseen", "restore it from git")
    try:
        actual = sha256_file(path)
    except FileNotFoundError:
        return Finding("missing-file", name, f"is listed in {NAME} and missing", "restore it from git")
    except OSError as error:
        return Finding("missing-file", name, f"cannot be read: {error.strerror}")
    return None if actual == digest else Finding("changed", name, f"differs from {NAME}", MEND)
