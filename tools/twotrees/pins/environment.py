"""What is installed where an interpreter looks: every distribution by name, version and the hash of its RECORD.

In: site-packages folders. Out: an `Environment` with one digest, cheap enough to be taken before and after every run.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from twotrees import process
from twotrees.digest import sha256_bytes, sha256_json
from twotrees.errors import PinsDiffer

SCHEMA = "twotrees-environment-v1"

# What an installer writes beside a wheel's own files: it differs with the installer, the day and the path.
INSTALLER_FILES = frozenset(
    {"RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", "uv_build.json", "provenance_url.json"}
)

# Modules that the interpreter runs at its start without being asked (site's documentation), beside *.pth files.
STARTUP_MODULES = ("sitecustomize.py", "usercustomize.py")

_SITE_PROBE = """
import json, sys
folders = [p for p in sys.path if p.replace('\\\\', '/').rstrip('/').endswith(('site-packages', 'dist-packages'))]
print(json.dumps(folders))
"""


@dataclass(frozen=True)
class Distribution:
    """One installed distribution.

    Attributes:
        name: Normalised (PEP 503).
        version: As in its metadata folder's name.
        record_sha256: Hash of its RECORD file; None when it has none.
        editable: Its files lie elsewhere, and RECORD does not cover them.
        source: Where it came from when that was not an index (PEP 610): `directory`, `archive <sha256>`,
            `git <commit>`; empty otherwise.
        folder: Its metadata folder.
    """

    name: str
    version: str
    record_sha256: str | None
    editable: bool
    source: str
    folder: Path

    def data(self) -> dict[str, Any]:
        """The JSON form; no path of this machine in it."""
        return {
            "name": self.name,
            "version": self.version,
            "record_sha256": self.record_sha256,
            "editable": self.editable,
            "source": self.source,
        }


@dataclass(frozen=True)
class Environment:
    """Everything that an interpreter would import from its site-packages.

    Attributes:
        folders: The site-packages folders, in search order.
        distributions: Sorted by name.
        startup: Name to SHA-256 of files that run at every start: *.pth, sitecustomize.
        digest: SHA-256 over all of that except the paths.
    """

    folders: tuple[Path, ...]
    distributions: tuple[Distribution, ...]
    startup: dict[str, str]
    digest: str

    @cached_property
    def content(self) -> dict[str, str | None]:
        """Name to the hash of what the wheel itself brought; None for editable ones and those without RECORD.

        Unlike RECORD, which also lists console scripts with their interpreter's path, it is the same on every host
        that installed the same wheel.
        """
        return {item.name: content_sha256(item) for item in self.distributions}

    @property
    def content_digest(self) -> str:
        """SHA-256 over names, versions and :attr:`content`: equal wherever equal wheels are installed."""
        return sha256_json([[item.name, item.version, self.content[item.name]] for item in self.distributions])

    def version(self, name: str) -> str | None:
        """The installed version of *name*, or None."""
        wanted = normalised(name)
        return next((item.version for item in self.distributions if item.name == wanted), None)

    def data(self) -> dict[str, Any]:
        """The JSON form, for `data/pins/installed.json`."""
        return {
            "schema": SCHEMA,
            "digest": self.digest,
            "content_digest": self.content_digest,
            "distributions": [
                {**item.data(), "content_sha256": self.content[item.name]} for item in self.distributions
            ],
            "startup": self.startup,
        }


def normalised(name: str) -> str:
    """The one spelling of a distribution's name (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def site_folders(interpreter: Path | None = None) -> tuple[Path, ...]:
    """The site-packages folders of an interpreter, the running one by default; each folder once, links resolved.

    Asking another interpreter starts it, so ask once and keep the answer. It is asked in isolation, without the user's
    own site-packages and PYTHONPATH, because a measured run has neither.

    Raises:
        PinsDiffer: the interpreter does not start.
    """
    if interpreter is None:
        listed = [part for part in sys.path if part.rstrip("/").endswith(("site-packages", "dist-packages"))]
    else:
        finished = process.run([str(interpreter), "-I", "-c", _SITE_PROBE], timeout_s=30)
        try:
            if not finished.ok:
                raise ValueError(finished.complaint)
            listed = [str(part) for part in json.loads(finished.text)]
        except ValueError as fault:
            raise PinsDiffer(f"the interpreter does not tell its site-packages: {fault}", file=interpreter) from None
    # On some systems lib64 is a link to lib.
    return tuple(dict.fromkeys(path.resolve() for path in map(Path, listed) if path.is_dir()))


def environment_digest(folders: Sequence[Path] | None = None) -> Environment:
    """Lists and hashes what is installed.

    Args:
        folders: From :func:`site_folders`; those of the running interpreter by default.

    Raises:
        PinsDiffer: a folder or a metadata file cannot be read.
    """
    searched = tuple(site_folders() if folders is None else folders)
    distributions: list[Distribution] = []
    startup: dict[str, str] = {}
    for folder in searched:
        try:
            for path in sorted(folder.iterdir()):
                if path.suffix in {".dist-info", ".egg-info"}:
                    distributions.append(_distribution(path))
                elif path.suffix == ".pth" or path.name in STARTUP_MODULES:
                    startup.setdefault(path.name, sha256_bytes(path.read_bytes()))
        except OSError as error:
            raise PinsDiffer(f"cannot be read: {error.strerror}", file=error.filename or folder) from None
    distributions.sort(key=lambda item: (item.name, item.version))
    content = {"distributions": [item.data() for item in distributions], "startup": startup}
    return Environment(searched, tuple(distributions), startup, sha256_json(content))


def _distribution(folder: Path) -> Distribution:
    # The folder's name is name-version by specification; reading METADATA for each one would double the time.
    name, _, version = folder.stem.partition("-")
    if folder.suffix == ".egg-info":
        version = re.sub(r"-py\d.*$", "", version)
    record = _bytes(folder / "RECORD")
    editable, source = _origin(folder)
    return Distribution(
        normalised(name), version, None if record is None else sha256_bytes(record), editable, source, folder
    )


def content_sha256(distribution: Distribution) -> str | None:
    """SHA-256 over the sorted RECORD lines of the files that the wheel itself put into site-packages."""
    record = None if distribution.editable else _bytes(distribution.folder / "RECORD")
    if record is None:
        return None
    own = f"{distribution.folder.name}/"
    kept: list[str] = []
    for line in csv.reader(record.decode("utf-8", "replace").splitlines()):
        path = line[0] if line else ""
        written = path.startswith(own) and path.removeprefix(own) in INSTALLER_FILES
        if not path or path.startswith(("../", "/")) or path.endswith((".pyc", ".pyo")) or written:
            continue
        kept.append(",".join(line[:2]))
    return sha256_bytes("\n".join(sorted(kept)).encode())


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _origin(folder: Path) -> tuple[bool, str]:
    """Whether the distribution is editable, and where it came from, out of PEP 610's `direct_url.json`."""
    text = _bytes(folder / "direct_url.json")
    if text is None:
        return False, ""
    try:
        data = json.loads(text)
        if "dir_info" in data:
            return bool(data["dir_info"].get("editable", False)), "directory"
        if "vcs_info" in data:
            return False, f"{data['vcs_info']['vcs']} {data['vcs_info']['commit_id']}"
        hashes = data["archive_info"].get("hashes") or {}
        digest = hashes.get("sha256") or data["archive_info"].get("hash", "").removeprefix("sha256=")
        kind = "archive" if urlsplit(data["url"]).scheme == "file" else "download"
        return False, f"{kind} {digest}".strip()
    except (ValueError, KeyError, TypeError, AttributeError):
        return False, "unreadable direct_url.json"


def changes(before: Environment, after: Environment) -> list[str]:
    """What differs between two environments, one clear sentence each; empty when the digests are equal."""
    old = {item.name: item for item in before.distributions}
    new = {item.name: item for item in after.distributions}
    said = [f"{name} {old[name].version} is gone" for name in old if name not in new]
    said += [f"{name} {new[name].version} is new" for name in new if name not in old]
    for name in old.keys() & new.keys():
        if old[name].version != new[name].version:
            said.append(f"{name} was {old[name].version} and is {new[name].version}")
        elif old[name].data() != new[name].data():
            said.append(f"{name} {new[name].version} was installed again with other files")
    for name in sorted(before.startup.keys() | after.startup.keys()):
        if before.startup.get(name) != after.startup.get(name):
            said.append(f"{name}, which runs at every start, changed")
    return sorted(said)
