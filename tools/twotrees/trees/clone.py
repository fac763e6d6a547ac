"""A repository by path or URL in, a commit of 40 digits in a bare clone in the user's cache out.

The clone is blobless where the server allows it, used again, and fetched only when the commit is not in it or when a
name (which may have moved) has to be looked up. What was once measured is kept, even if a branch is forced away later.
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twotrees import digest
from twotrees.errors import TwotreesError, UsageError
from twotrees.process import Finished
from twotrees.trees import cache, git, throwaway
from twotrees.trees.sources import FULL_COMMIT, GitSource

_ABBREVIATION = re.compile(r"[0-9a-fA-F]{4,39}")
_REFUSED_BY_ID = re.compile(
    r"not our ref|unadvertised object|couldn't find remote ref|could not parse commit|did not send all necessary",
    re.IGNORECASE,
)
_QUIETLY = (
    "--no-tags",
    "--no-auto-maintenance",
    "--no-write-fetch-head",
    "--update-shallow",
    "-q",
)
_HEADS = "refs/origin/heads/"
_TAGS = "refs/origin/tags/"


@dataclass(frozen=True)
class Clone:
    """A bare clone in the cache.

    Attributes:
        git_dir: Where it lies.
        url: What it is fetched from.
        shown: The same, as it may be printed and stored.
        local: Whether it is fetched from a path on this machine.
    """

    git_dir: Path
    url: str
    shown: str
    local: bool

    @property
    def environment(self) -> dict[str, str]:
        """The environment to fetch in."""
        near = self.local or self.url.lower().startswith("file://")
        return git.local_environment() if near else git.remote_environment()


@dataclass(frozen=True)
class Resolved:
    """A commit that is in the clone.

    Attributes:
        commit: 40 digits.
        labels: What every report has to say about it, e.g. that it was named by a branch.
        notes: What a reader may want to know.
    """

    commit: str
    labels: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def opened(url: str, shown: str, local: bool) -> Clone:
    """The clone of *url* in the cache, made empty if there is none yet; nothing is fetched.

    Raises:
        UsageError: the cache cannot be written.
    """
    stem = (
        re.sub(r"[^A-Za-z0-9._-]+", "-", url.rstrip("/").removesuffix(".git").rpartition("/")[2])[-40:].lstrip("-.")
        or "repository"
    )
    place = cache.cache_folder("clones") / f"{stem}-{digest.sha256_bytes(url.encode())[:16]}.git"
    clone = Clone(place, url, shown, local)
    remote = str(_common_folder(clone)) if local else url
    with cache.locked(place):
        if place.exists() and not git.call(["rev-parse", "--is-bare-repository"], git_dir=place).ok:
            shutil.rmtree(place)  # cut short while it was made: nothing in it can be trusted
        if not place.exists():
            _initialise(clone, remote)
    return clone


def _initialise(clone: Clone, remote: str) -> None:
    scratch = clone.git_dir.with_name(f"{clone.git_dir.name}.new")
    shutil.rmtree(scratch, ignore_errors=True)
    throwaway.initialise(scratch)
    settings = {"remote.origin.url": remote}
    blobless = {
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
    }
    for key, value in (settings | (blobless if git.can_be_blobless() else {})).items():
        git.ask(["config", key, value], what="the clone cannot be set up", git_dir=scratch)
    scratch.rename(clone.git_dir)


def commit_in(git_dir: Path, name: str) -> str | None:
    """The commit that *name* means in the repository, or None; the network is never asked."""
    done = git.call(["rev-parse", "--verify", "-q", "--end-of-options", f"{name}^{{commit}}"], git_dir=git_dir)
    return done.text if done.ok and FULL_COMMIT.fullmatch(done.text) else None


def resolve(clone: Clone, wanted: str) -> Resolved:
    """Brings the commit that *wanted* names into the clone.

    Raises:
        UsageError: there is no such commit, or it cannot be fetched; the line says how to get it.
    """
    with cache.locked(clone.git_dir):
        throwaway.break_stale_locks(clone.git_dir)
        if clone.local:
            resolved = _resolve_local(clone, wanted)
        elif FULL_COMMIT.fullmatch(wanted):
            resolved = _resolve_id(clone, wanted)
        else:
            resolved = _resolve_name(clone, wanted)
        throwaway.keep(clone.git_dir, resolved.commit)
    return resolved


def _fetch(clone: Clone, *what: str, stdin: bytes = b"") -> Finished:
    sparing = ["--filter=blob:none"] if git.can_be_blobless() else []
    return git.call(
        ["fetch", *_QUIETLY, *sparing, *what],
        git_dir=clone.git_dir,
        env=clone.environment,
        stdin=stdin,
        timeout_s=git.TRANSPORT_S,
    )


def _fetch_id(clone: Clone, commit: str) -> bool:
    """Fetches one commit by its id; False when the repository does not have it or does not serve it by id."""
    done = _fetch(clone, "origin", commit)
    if done.ok:
        return commit_in(clone.git_dir, commit) is not None
    if _REFUSED_BY_ID.search(done.stderr.decode("utf-8", "replace")):
        return False
    raise git.transport_fault(done, clone.shown)


def _fetch_names(clone: Clone) -> None:
    done = _fetch(clone, "--force", "--prune", "origin", f"+refs/heads/*:{_HEADS}*", f"+refs/tags/*:{_TAGS}*")
    if not done.ok:
        raise git.transport_fault(done, clone.shown)


# A repository on this machine is asked directly, so that everything its owner can name can be measured.


def _resolve_local(clone: Clone, wanted: str) -> Resolved:
    source = Path(clone.url)
    found = git.call(["rev-parse", "--verify", "-q", "--end-of-options", f"{wanted}^{{commit}}"], cwd=source)
    commit = found.text if found.ok and FULL_COMMIT.fullmatch(found.text) else None
    if commit is None:
        if FULL_COMMIT.fullmatch(wanted) and commit_in(clone.git_dir, wanted):
            return Resolved(
                wanted, notes=(f"commit {wanted} is no longer in {clone.shown}; the copy in the cache was used",)
            )
        raise _not_found_locally(clone, source, wanted)
    if commit_in(clone.git_dir, commit) is None and not _fetch_id(clone, commit):
        raise UsageError(f"commit {commit} of {clone.shown} cannot be copied into the cache", mend="run git fsck there")
    return Resolved(commit, *_remarks_on_local_name(source, wanted, commit))


def _common_folder(clone: Clone) -> Path:
    """The folder that a local repository can be fetched from: its path may be a folder inside it, or a worktree."""
    folder = Path(clone.url)
    arguments = ["rev-parse", "--path-format=absolute", "--git-common-dir"]
    found = git.call(arguments, cwd=folder) if folder.is_dir() else None
    if found is None or not found.ok:
        raise UsageError(f"there is no git repository at {clone.shown}", mend="give a repository, or use kind path")
    if git.call(["rev-parse", "--show-object-format"], cwd=folder).text == "sha256":
        raise UsageError(f"{clone.shown} uses git's SHA-256 object format; twotrees compares ids of 40 digits")
    return Path(found.text)


def top_of(clone: Clone) -> Path:
    """The top folder of a local repository; of a bare one its own folder."""
    found = git.call(["rev-parse", "--show-toplevel"], cwd=Path(clone.url))
    return Path(found.text) if found.ok and found.text else Path(clone.url)


def _remarks_on_local_name(source: Path, wanted: str, commit: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if FULL_COMMIT.fullmatch(wanted):
        return (), (() if wanted == commit else (f"{wanted} is a tag object; it points at commit {commit}",))
    exists = git.call(["rev-parse", "--symbolic-full-name", "--verify", "-q", "--end-of-options", wanted], cwd=source)
    if _ABBREVIATION.fullmatch(wanted) and not exists.text:
        return (), (f"{wanted} is short for {commit}",)
    return (f"named by {wanted!r}, which can move: it was {commit}",), ()


def _not_found_locally(clone: Clone, source: Path, wanted: str) -> UsageError:
    shallow = git.call(["rev-parse", "--is-shallow-repository"], cwd=source).text == "true"
    if shallow:
        by_id = f" or git fetch origin {wanted}" if FULL_COMMIT.fullmatch(wanted) else ""
        return UsageError(
            f"commit {wanted} is not in {clone.shown}, which is a shallow clone",
            mend=f"fetch it there: git fetch --unshallow{by_id}",
        )
    listing = git.call(["for-each-ref", "--format=%(refname)"], cwd=source).text.splitlines()
    names = [_short(name) for name in listing]
    by_id = f"git fetch origin {wanted}" if FULL_COMMIT.fullmatch(wanted) else "git fetch --all --tags"
    return UsageError(
        f"commit {wanted} is not in {clone.shown}{_nearest(wanted, names)}", mend=f"fetch it there: {by_id}"
    )


def _short(ref: str) -> str:
    for prefix in (_HEADS, _TAGS, "refs/heads/", "refs/tags/", "refs/remotes/"):
        if ref.startswith(prefix):
            return ref.removeprefix(prefix)
    return ref


def _nearest(wanted: str, names: list[str]) -> str:
    near = difflib.get_close_matches(wanted, names, n=1)
    return f" (did you mean {near[0]}?)" if near else ""


# A repository behind a URL is asked for the commit by its id first: that costs the least.


def _resolve_id(clone: Clone, wanted: str) -> Resolved:
    commit = commit_in(clone.git_dir, wanted)
    if commit is None and _fetch_id(clone, wanted):
        commit = commit_in(clone.git_dir, wanted)
    if commit is None:
        _fetch_names(clone)
        commit = commit_in(clone.git_dir, wanted)
    if commit is None:
        raise UsageError(
            f"commit {wanted} is not in {clone.shown}, on no branch and no tag",
            mend="if it was forced away, push it to a branch or tag there; if it lies in a fork, name the fork",
        )
    return Resolved(
        commit, notes=() if commit == wanted else (f"{wanted} is a tag object; it points at commit {commit}",)
    )


def _names(clone: Clone) -> dict[str, str]:
    """The fetched branches and tags -> the commits they stand at."""
    listing = git.ask(
        ["for-each-ref", "--format=%(refname) %(objectname) %(*objectname)", _HEADS, _TAGS],
        what="the cached branches cannot be read",
        git_dir=clone.git_dir,
    )
    rows = [line.split() for line in listing.decode("utf-8", "replace").splitlines()]
    return {row[0]: row[-1] for row in rows}


def _resolve_name(clone: Clone, wanted: str) -> Resolved:
    name = re.sub(r"^(refs/)?(heads|tags|remotes/origin)/|^origin/", "", wanted)
    before = _names(clone)
    last = next((before[ref] for ref in (_HEADS + name, _TAGS + name) if ref in before), None)
    try:
        _fetch_names(clone)
    except TwotreesError as fault:
        mend = fault.mend if last is None else f"or pin {last}, which {name} was when last seen here"
        raise UsageError(fault.what, key="commit", mend=mend) from None
    after = _names(clone)
    holders = [ref for ref in (_HEADS + name, _TAGS + name) if ref in after]
    if len(holders) == 2 and after[holders[0]] != after[holders[1]]:
        raise UsageError(
            f"{name} is both a branch and a tag of {clone.shown}",
            key="commit",
            mend=f"give 40 digits: {after[holders[0]]} is the branch, {after[holders[1]]} the tag",
        )
    if holders:
        return Resolved(after[holders[-1]], _remarks_on_name(clone, holders[-1], before, after))
    if _ABBREVIATION.fullmatch(wanted):
        return _resolve_abbreviation(clone, wanted)
    if last is not None:
        raise UsageError(
            f"{name} is gone from {clone.shown} (renamed or deleted)",
            key="commit",
            mend=f"it was {last} when last seen here: give that",
        )
    raise UsageError(
        f"{clone.shown} has no branch, tag or commit {wanted}{_nearest(name, [_short(ref) for ref in after])}",
        key="commit",
        mend="give the commit's 40 digits",
    )


def _remarks_on_name(clone: Clone, ref: str, before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    kind = "branch" if ref.startswith(_HEADS) else "tag"
    labels = [f"named by {kind} {_short(ref)!r}, which can move: it was {after[ref]}"]
    old = before.get(ref)
    if old is not None and old != after[ref]:
        forward = git.call(["merge-base", "--is-ancestor", old, after[ref]], git_dir=clone.git_dir).ok
        how = "was moved" if kind == "tag" else "went forward" if forward else "was force-pushed"
        labels.append(f"{kind} {_short(ref)!r} {how} since its last use here: from {old}")
    return tuple(labels)


def _resolve_abbreviation(clone: Clone, wanted: str) -> Resolved:
    done = git.call(["rev-parse", f"--disambiguate={wanted.lower()}"], git_dir=clone.git_dir)
    commits = sorted({commit for name in done.text.split() if (commit := commit_in(clone.git_dir, name)) == name})
    if len(commits) == 1:
        return Resolved(commits[0], notes=(f"{wanted} is short for {commits[0]}",))
    if commits:
        raise UsageError(
            f"{wanted} is short for {len(commits)} commits: {', '.join(commits[:4])}",
            key="commit",
            mend="give 40 digits",
        )
    raise UsageError(
        f"no commit of {clone.shown} begins with {wanted}", key="commit", mend="give the commit's 40 digits"
    )


def fetch_blobs(clone: Clone, commit: str) -> None:
    """Brings every file of *commit* into a blobless clone, in one request, so that checking it out needs no network.

    Raises:
        UsageError: they cannot be fetched.
    """
    with cache.locked(clone.git_dir):
        missing = _missing(clone, commit)
        if not missing:
            return
        done = git.call(
            ["-c", "fetch.negotiationAlgorithm=noop", "fetch", *_QUIETLY, "--filter=blob:none", "--stdin", "origin"],
            git_dir=clone.git_dir,
            env=clone.environment,
            stdin="".join(f"{name}\n" for name in missing).encode(),
            timeout_s=git.TRANSPORT_S,
        )
        if not done.ok:
            raise git.transport_fault(done, f"commit {commit} of {clone.shown}")
        if left := _missing(clone, commit):
            raise UsageError(
                f"{clone.shown} does not give object {left[0]} of commit {commit}", mend="run git fsck there"
            )


def _missing(clone: Clone, commit: str) -> list[str]:
    listing = git.ask(
        ["rev-list", "--objects", "--no-walk", "--missing=print", commit],
        what=f"commit {commit} cannot be read from the cache",
        git_dir=clone.git_dir,
        timeout_s=git.CHECKOUT_S,
    )
    return [line[1:].decode() for line in listing.splitlines() if line.startswith(b"?")]


def clone_of(source: GitSource) -> Clone:
    """The clone that serves a typed source."""
    return opened(source.url, source.shown, source.local)
