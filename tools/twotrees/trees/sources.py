"""Where an arm's tree comes from, as typed data: the study's loosely typed source in, one frozen dataclass out.

Everything that can be wrong with a source by its text alone is refused here, before git or the network is asked.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from twotrees.errors import UsageError

KINDS = ("overlay", "git", "wheel", "path")
FULL_COMMIT = re.compile(r"[0-9a-f]{40}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_SCP = re.compile(r"(?:([^@/:\s]+)@)?(\[[^\]]+\]|[^@/:\s]+):(?!//)(.+)", re.DOTALL)
_ALLOWED_SCHEMES = ("https", "http", "ssh", "git", "file")


class SourceLike(Protocol):
    """What the study's configuration says about one arm's tree; fields that its kind does not use are empty."""

    @property
    def kind(self) -> str: ...  # noqa: D102
    @property
    def url(self) -> str | None: ...  # noqa: D102
    @property
    def commit(self) -> str | None: ...  # noqa: D102
    @property
    def base(self) -> str | None: ...  # noqa: D102
    @property
    def overlays(self) -> tuple[str, ...]: ...  # noqa: D102
    @property
    def requirement(self) -> str | None: ...  # noqa: D102
    @property
    def sha256(self) -> str | None: ...  # noqa: D102
    @property
    def path(self) -> str | None: ...  # noqa: D102


@dataclass(frozen=True)
class OverlaySource:
    """A folder with overlays laid over it.

    Attributes:
        folders: The base first, then each overlay; a later file replaces an earlier one of the same name.
        shown: The same, as the study wrote them.
        commit: The pinned commit, 40 digits, or None.
    """

    folders: tuple[Path, ...]
    shown: tuple[str, ...]
    commit: str | None


@dataclass(frozen=True)
class GitSource:
    """A commit of a repository.

    Attributes:
        url: What git is given: a URL, or the absolute path of a local repository.
        shown: What may be printed and stored: never a user's part, never an absolute path of this machine.
        local: Whether *url* is a path on this machine.
        commit: 40 digits, an abbreviation, or a branch or tag name.
    """

    url: str
    shown: str
    local: bool
    commit: str


@dataclass(frozen=True)
class WheelSource:
    """A release from the package registry, or from a folder of wheels.

    Attributes:
        name: Normalised distribution name.
        version: The exact version.
        sha256: The wheel's pinned SHA-256, or None.
        wheels: A folder of wheels (or one wheel) that stands in for the registry, or None.
        commit: The pinned commit of the unpacked tree, or None.
    """

    name: str
    version: str
    sha256: str | None
    wheels: Path | None
    commit: str | None


@dataclass(frozen=True)
class PathSource:
    """A local folder, measured in place.

    Attributes:
        path: The folder, absolute.
        shown: What may be printed in a bundle.
    """

    path: Path
    shown: str


Source = OverlaySource | GitSource | WheelSource | PathSource


def typed(source: SourceLike, base: Path) -> Source:
    """Reads the study's source strictly.

    Args:
        source: The configuration.
        base: The folder against which relative paths stand.

    Raises:
        UsageError: an unknown kind, a field missing or malformed, a URL with a user or password in it.
    """
    if source.kind == "overlay":
        return _overlay(source, base)
    if source.kind == "git":
        return _git(source, base)
    if source.kind == "wheel":
        return _wheel(source, base)
    if source.kind == "path":
        return _path(source, base)
    raise UsageError(f"unknown kind of tree {source.kind!r}", key="kind", mend=f"use one of {', '.join(KINDS)}")


def _absolute(text: str, base: Path) -> Path:
    return (base / Path(text).expanduser()).absolute()


def shown_path(text: str) -> str:
    """A path as a bundle may hold it: relative as the study wrote it, or only the name of an absolute one."""
    path = Path(text)
    return f"…/{path.name}" if path.is_absolute() or text.startswith("~") else text


def _pinned(commit: str | None) -> str | None:
    if not commit:
        return None
    lowered = commit.strip().lower()
    if not FULL_COMMIT.fullmatch(lowered):
        raise UsageError(f"{commit!r} is not a commit of 40 hex digits", key="commit")
    return lowered


def _overlay(source: SourceLike, base: Path) -> OverlaySource:
    if not source.base:
        raise UsageError("an overlay tree needs its base folder", key="base")
    shown = (source.base, *source.overlays)
    folders = tuple(_absolute(text, base) for text in shown)
    for text, folder in zip(shown, folders, strict=True):
        if not folder.is_dir():
            raise UsageError(f"there is no folder {text}", key="base" if text == source.base else "overlays")
    return OverlaySource(folders, tuple(shown_path(text) for text in shown), _pinned(source.commit))


def _git(source: SourceLike, base: Path) -> GitSource:
    text = source.url or source.path
    if not text:
        raise UsageError("a git tree needs a URL or a path", key="url")
    if not source.commit or not source.commit.strip():
        raise UsageError("a git tree needs a commit", key="commit", mend="give its 40 digits")
    commit = source.commit.strip()
    if commit.startswith("-") or any(char.isspace() or ord(char) < 32 for char in commit):
        raise UsageError(f"{commit!r} cannot name a commit", key="commit")
    url, shown, local = address(text, base)
    return GitSource(url, shown, local, commit.lower() if FULL_COMMIT.fullmatch(commit.lower()) else commit)


def address(text: str, base: Path) -> tuple[str, str, bool]:
    """Tells a local path from a URL.

    Returns:
        What git is given, what may be shown, and whether it is a path.

    Raises:
        UsageError: a scheme that is not fetched from, or a secret in the address.
    """
    if text.startswith("-") or any(ord(char) < 32 for char in text):
        raise UsageError("this cannot be the address of a repository", key="url")
    if (match := _SCHEME.fullmatch(text)) is not None:
        scheme, rest = match[1].lower(), match[2]
        if scheme not in _ALLOWED_SCHEMES:
            raise UsageError(
                f"repositories are not fetched by {scheme}://",
                key="url",
                mend=f"use {', '.join(_ALLOWED_SCHEMES)} or a path",
            )
        user, found, _ = rest.partition("/")[0].rpartition("@")
        if found and (scheme != "ssh" or ":" in user):
            raise UsageError(
                "the URL holds a user or a password, which would be written into the bundle",
                key="url",
                mend="leave it out: git's credential helper or an ssh key is used where one is set up",
            )
        return text, f"file://…/{Path(rest).name}" if scheme == "file" else text, False
    folder = _absolute(text, base)
    if "::" in text.partition("/")[0]:
        raise UsageError("repositories are not fetched through remote helpers (x::y)", key="url")
    if _SCP.fullmatch(text) is not None and not folder.exists():
        return text, text, False
    if not folder.exists():
        raise UsageError(f"there is no repository {text}", key="url")
    return str(folder), shown_path(text), True


def _wheel(source: SourceLike, base: Path) -> WheelSource:
    try:
        requirement = Requirement(source.requirement or "")
    except InvalidRequirement:
        raise UsageError(f"{source.requirement!r} is not NAME==VERSION", key="requirement") from None
    exact = [part for part in requirement.specifier if part.operator in ("==", "===") and "*" not in part.version]
    if (
        len(exact) != 1
        or len(requirement.specifier) != 1
        or requirement.url
        or requirement.extras
        or requirement.marker
    ):
        raise UsageError(
            f"{source.requirement!r} is not NAME==VERSION", key="requirement", mend="name one exact version"
        )
    digest = source.sha256.strip().lower() if source.sha256 else None
    if digest is not None and not _SHA256.fullmatch(digest):
        raise UsageError(f"{source.sha256!r} is not a SHA-256 of 64 hex digits", key="sha256")
    wheels = _absolute(source.path, base) if source.path else None
    if wheels is not None and not wheels.exists():
        raise UsageError(f"there is no {source.path}", key="path")
    return WheelSource(canonicalize_name(requirement.name), exact[0].version, digest, wheels, _pinned(source.commit))


def _path(source: SourceLike, base: Path) -> PathSource:
    text = source.path or source.url
    if not text:
        raise UsageError("a path tree needs its folder", key="path")
    folder = _absolute(text, base)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {text}", key="path")
    return PathSource(folder.resolve(), shown_path(text))
