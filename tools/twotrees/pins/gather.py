"""`twotrees check`: every pin looked at, everything that differs gathered. In: a toolkit root. Out: a `Report`.

Four parts: the lock, the installed files, CHECKSUMS, the commits. A part that cannot be looked at says so; it never
passes in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from twotrees.digest import sha256_file
from twotrees.errors import PinsDiffer, TwotreesError
from twotrees.pins import checksums, in_step, installed, lock, record
from twotrees.pins.environment import Environment, environment_digest, site_folders
from twotrees.pins.finding import Finding

LOCK_NAME = "uv.lock"
TRAVELLING = "twotrees runs from an installed wheel, which carries no"

Commit = tuple[str, Callable[[], str]]
"""What a commit is for, and a function that gives its 40 digits or raises a `TwotreesError`."""

Progress = Callable[[str, int, int], None]
"""Called with a part's name and how much of how much is done."""


@dataclass(frozen=True)
class Part:
    """One part of the check.

    Attributes:
        name: lock, installed, checksums, commits.
        state: `good`, `differs`, or `not checked`.
        detail: What was looked at, or why it could not be.
        findings: What differs.
    """

    name: str
    state: Literal["good", "differs", "not checked"]
    detail: str
    findings: tuple[Finding, ...] = ()

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "state": self.state,
            "detail": self.detail,
            "findings": [finding.data() for finding in self.findings],
        }


@dataclass(frozen=True)
class Report:
    """What `check` found.

    Attributes:
        parts: In the order in which they were looked at.
        environment: What is installed; None when it could not be listed.
        lock_identity: See :func:`lock.identity_of`; None without a lock.
        checksums_sha256: Hash of the CHECKSUMS file; None without one.
    """

    parts: tuple[Part, ...]
    environment: Environment | None
    lock_identity: str | None
    checksums_sha256: str | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All that differs."""
        return tuple(finding for part in self.parts for finding in part.findings)

    @property
    def ok(self) -> bool:
        """Whether nothing differs. A part that was not checked does not differ; its label says so."""
        return not self.findings

    @property
    def labels(self) -> tuple[str, ...]:
        """What a bundle made now has to carry on its front, in words: nothing when all parts are good."""
        return tuple(
            f"pins: {part.name} not checked ({part.detail})"
            if part.state == "not checked"
            else f"pins: {part.name} differs ({_count(len(part.findings))})"
            for part in self.parts
            if part.state != "good"
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """One line for each part and each finding, for people."""
        return tuple(
            line
            for part in self.parts
            for line in (f"{part.name}: {part.state}, {part.detail}", *(f"  {item.sentence}" for item in part.findings))
        )

    def data(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "schema": "twotrees-check-v1",
            "ok": self.ok,
            "lock_identity": self.lock_identity,
            "checksums_sha256": self.checksums_sha256,
            "environment_digest": None if self.environment is None else self.environment.digest,
            "parts": [part.data() for part in self.parts],
        }

    def demand(self) -> None:
        """Does nothing when all is well.

        Raises:
            PinsDiffer: names the first difference and counts the others.
        """
        if self.ok:
            return
        first, *others = self.findings
        what = f"{first.what} (and {len(others)} more)" if others else first.what
        raise PinsDiffer(what, file=first.file, mend=first.mend or "run `nox -s check` to see all")


def _count(number: int) -> str:
    return "1 difference" if number == 1 else f"{number} differences"


def check(
    root: Path,
    *,
    interpreter: Path | None = None,
    extras: Sequence[str] = (),
    groups: Sequence[str] = (),
    commits: Sequence[Commit] = (),
    files: bool = True,
    progress: Progress | None = None,
    run: in_step.Run | None = None,
) -> Report:
    """Looks at every pin.

    Args:
        root: The checkout, or the toolkit folder inside an installed wheel.
        interpreter: The Python that measures; the running one by default.
        extras: Extras that must be installed.
        groups: Dependency groups that must be installed.
        commits: What has to be resolvable.
        files: Whether to hash every installed file (about 1 s for each GB and two cores).
        progress: Told how far it is.
        run: Runs uv; the real one by default.
    """
    told = progress or (lambda part, done, total: None)
    environment, unlisted = _environment(interpreter)
    locked, lock_part = _lock_part(root, run)
    told("lock", 1, 1)
    if environment is None:
        installed_part = Part("installed", "differs", "could not be listed", (unlisted,) if unlisted else ())
    else:
        installed_part = _installed_part(locked, environment, interpreter, extras, groups, files, told)
    checksums_part = _checksums_part(root)
    told("checksums", 1, 1)
    parts = (lock_part, installed_part, checksums_part, _commits_part(commits))
    listing = root / checksums.NAME
    return Report(
        parts,
        environment,
        None if locked is None else lock.identity_of(locked),
        sha256_file(listing) if listing.is_file() else None,
    )


def _environment(interpreter: Path | None) -> tuple[Environment | None, Finding | None]:
    try:
        return environment_digest(site_folders(interpreter)), None
    except PinsDiffer as fault:
        return None, Finding("record", fault.file or "site-packages", fault.what, fault.mend or "")


def _part(name: str, detail: str, findings: Sequence[Finding]) -> Part:
    return Part(name, "differs" if findings else "good", detail, tuple(findings))


def _lock_part(root: Path, run: in_step.Run | None) -> tuple[lock.Lock | None, Part]:
    path = root / LOCK_NAME
    if not path.exists() and not (root / "pyproject.toml").exists():
        return None, Part("lock", "not checked", f"{TRAVELLING} {LOCK_NAME}")
    try:
        locked = lock.read(path)
        answer = in_step.in_step(root, locked, run=run)
    except PinsDiffer as fault:
        where = LOCK_NAME if fault.file is None else Path(fault.file).name
        return None, _part("lock", "could not be read", [Finding("lock", where, fault.what, fault.mend or "")])
    detail = f"{len(locked.packages)} packages; {answer.detail}"
    if answer.state == "out of step":
        finding = Finding("lock", LOCK_NAME, f"is out of step with pyproject.toml: {answer.detail}", "run `uv lock`")
        return locked, _part("lock", f"{len(locked.packages)} packages", [finding])
    return locked, _part("lock", detail, [])


def _installed_part(
    locked: lock.Lock | None,
    environment: Environment,
    interpreter: Path | None,
    extras: Sequence[str],
    groups: Sequence[str],
    files: bool,
    told: Progress,
) -> Part:
    def progress(done: int, total: int) -> None:
        told("installed", done, total)

    count = len(environment.distributions)
    hashed = "every file hashed" if files else "files not hashed"
    if locked is None:
        found = record.verify(environment, progress=progress) if files else []
        detail = f"{count} distributions, {hashed}; no lock to compare versions with"
        return _part("installed", detail, found)
    try:
        found = installed.against_lock(
            locked,
            environment,
            extras=extras,
            groups=groups,
            markers=installed.markers_of(interpreter),
            files=files,
            progress=progress,
        )
    except PinsDiffer as fault:
        found = [Finding("lock", LOCK_NAME, fault.what, fault.mend or "")]
    return _part("installed", f"{count} distributions, {hashed}", found)


def _checksums_part(root: Path) -> Part:
    if not (root / checksums.NAME).exists() and not (root / "pyproject.toml").exists():
        return Part(
            "checksums", "not checked", f"{TRAVELLING} {checksums.NAME}; the RECORD of twotrees covers the same files"
        )
    try:
        found = checksums.verify(root)
    except TwotreesError as fault:
        return _part(
            "checksums", "could not be read", [Finding("changed", checksums.NAME, fault.what, fault.mend or "")]
        )
    return _part("checksums", f"{len(checksums.covered(root))} files", found)


def _commits_part(commits: Sequence[Commit]) -> Part:
    found: list[Finding] = []
    resolved: list[str] = []
    for label, resolve in commits:
        try:
            resolved.append(f"{label} {resolve()[:12]}")
        except TwotreesError as fault:
            where = f"{label} ({fault.file})" if fault.file else label
            found.append(Finding("commit", where, fault.what, fault.mend or ""))
    return _part("commits", ", ".join(resolved) or "none to resolve", found)
