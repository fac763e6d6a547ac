"""Seals a finished campaign: its data folder goes in, a bag named by its root comes out.

Every byte of the result is a function of the data and of the arguments, so that sealing twice gives one root. Nothing
is signed here, and nothing that the data claims is believed: that is `sign.py`'s and `verify.py`'s.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from twotrees import digest, strict_json
from twotrees.bundle import layout, tags
from twotrees.bundle.statement import statement_bytes
from twotrees.bundle.tar import END_OF_ARCHIVE, RECORD_BYTES, header, padding
from twotrees.errors import UsageError

FILE_MODE = 0o644


def seal(
    data: Path,
    results: Path,
    *,
    study: str,
    backend: str,
    created: datetime,
    bag_info: Mapping[str, str] | None = None,
) -> Path:
    """Makes a bundle of a campaign's data.

    Args:
        data: Folder that becomes the bundle's ``data/``; it is copied and left as it is.
        results: Folder in which the bundle is to lie.
        study: Name of the study.
        backend: Name of the backend.
        created: Moment of sealing; part of the bundle's name and of what is signed.
        bag_info: Optional fields of ``bag-info.txt``: Source-Organization, Contact-Name, Contact-Email,
            External-Description.

    Returns:
        The bundle's folder. One that lies there already with the same root is left alone and returned.

    Raises:
        UsageError: a file that a bundle may not hold, JSON that readers would disagree about, or *results* cannot be
            written.
    """
    for name, value in (("study", study), ("backend", backend)):
        if reason := layout.part_refusal(value):
            raise UsageError(f"{value!r} cannot be part of a bundle's name: {reason}", key=name)
    paths = payload_paths(data)
    try:
        results.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".sealing-", dir=results))
    except OSError as fault:
        raise UsageError(f"cannot be written: {fault.strerror}", file=results) from None
    try:
        root = _fill(draft, data, paths, study, backend, created, bag_info or {})
        bundle = results / layout.bundle_name(study, backend, tags.format_stamp(created), root)
        draft.chmod(0o755)
        return _settle(draft, bundle, root)
    except OSError as fault:
        raise UsageError(f"the bundle cannot be written: {fault.strerror}", file=fault.filename or results) from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def payload_paths(data: Path) -> list[str]:
    """Every file under *data* as ``data/…``, sorted; folders that hold no file are passed over.

    Raises:
        UsageError: a link, a special file, or a name that has no place in a bundle.
    """
    limits = layout.Limits()
    folded: dict[str, str] = {}
    for folder, folders, files in os.walk(data):
        for name in (*folders, *files):
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
                raise UsageError("a bundle holds regular files only: no links, no specials", file=path)
            if stat.S_ISREG(mode):
                inside = f"{layout.PAYLOAD}/{path.relative_to(data).as_posix()}"
                if reason := layout.path_refusal(inside, limits) or layout.place_refusal(inside):
                    raise UsageError(f"cannot be in a bundle: {reason}", file=path)
                if twin := folded.get(inside.lower()):
                    raise UsageError(f"equal but for case to {twin}", file=path)
                folded[inside.lower()] = inside
    paths = sorted(folded.values())
    for required in layout.REQUIRED:
        if required not in paths:
            raise UsageError("missing: the campaign is not finished", file=data / required.partition("/")[2])
    return paths


def _fill(
    draft: Path,
    data: Path,
    paths: list[str],
    study: str,
    backend: str,
    created: datetime,
    bag_info: Mapping[str, str],
) -> str:
    """Writes everything but signatures into *draft*; gives the root."""
    octets = 0
    digests: dict[str, str] = {}
    for path in paths:
        target = draft / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(data / path.partition("/")[2], target)
        target.chmod(FILE_MODE)
        octets += target.stat().st_size
        # Hashed from the copy: what is listed is what lies in the bundle, whatever still writes to the source.
        digests[path] = digest.sha256_file(target)
    plan: dict[str, Any] = strict_json.read(draft / layout.PLAN)
    manifest = tags.manifest_bytes(digests)
    try:
        statement = statement_bytes(manifest, digests, plan, tags.format_created(created))
    except (KeyError, TypeError) as fault:
        raise UsageError(f"not a plan: {fault}", file=data / "plan.json") from None
    contents = {
        layout.BAGIT: tags.BAGIT_BYTES,
        layout.BAG_INFO: tags.bag_info_bytes(
            study=study, backend=backend, created=created, octets=octets, streams=len(paths), extra=bag_info
        ),
        layout.MANIFEST: manifest,
        layout.STATEMENT: statement,
    }
    contents[layout.TAG_MANIFEST] = tags.manifest_bytes(
        {name: digest.sha256_bytes(contents[name]) for name in layout.TAG_FILES}
    )
    for name, content in contents.items():
        (draft / name).write_bytes(content)
        (draft / name).chmod(FILE_MODE)
    return digest.sha256_bytes(contents[layout.TAG_MANIFEST])


def _settle(draft: Path, bundle: Path, root: str) -> Path:
    """Moves *draft* to its name in one step, unless the same bundle lies there already."""
    if bundle.exists():
        if digest.sha256_file(bundle / layout.TAG_MANIFEST) != root:
            raise UsageError("another folder lies where the bundle has to go", file=bundle)
        return bundle
    draft.rename(bundle)
    return bundle


def write_tar(bundle: Path, out: BinaryIO) -> None:
    """Writes the deterministic tar of a bundle: ustar, names sorted, mtime 0, uid and gid 0, no folder members.

    Args:
        bundle: The bundle's folder, with or without signatures; its name becomes the top folder.
        out: Where the bytes go; only ever written to, so a pipe will do.

    Raises:
        UsageError: a file in the folder cannot be part of a bundle, or changes while it is read.
    """
    files = sorted(path.relative_to(bundle).as_posix() for path in bundle.rglob("*") if not path.is_dir())
    written = 0
    for name in files:
        path = bundle / name
        if reason := layout.path_refusal(name, layout.Limits()) or layout.place_refusal(name):
            raise UsageError(f"cannot be in a bundle: {reason}", file=path)
        if path.is_symlink():
            raise UsageError("a link cannot be in a bundle", file=path)
        size = path.stat().st_size
        out.write(header(f"{bundle.name}/{name}", size))
        with path.open("rb") as stream:
            left = size
            while left and (piece := stream.read(min(left, digest.CHUNK_BYTES))):
                out.write(piece)
                left -= len(piece)
            if left or stream.read(1):
                raise UsageError("it changed while it was read", file=path)
        out.write(padding(size))
        written += 512 + size + len(padding(size))
    out.write(END_OF_ARCHIVE)
    written += len(END_OF_ARCHIVE)
    out.write(b"\0" * (-written % RECORD_BYTES))
