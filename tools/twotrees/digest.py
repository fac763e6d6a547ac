"""The one place that hashes: files by SHA-256, data by the SHA-256 of its canonical JSON, blobs as git names them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import rfc8785

CHUNK_BYTES = 1 << 20


def sha256_bytes(data: bytes) -> str:
    """The SHA-256 of *data* as 64 lower-case hex digits."""
    return hashlib.sha256(data).hexdigest()


def sha256_file(path: Path) -> str:
    """The SHA-256 of a file's bytes, read in constant memory.

    Raises:
        OSError: the file cannot be read.
    """
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def canonical_json(data: Any) -> bytes:
    """RFC 8785 (JCS) bytes of *data*: the form in which data is hashed, whoever wrote it.

    Raises:
        rfc8785.CanonicalizationError: NaN, an infinity, an integer beyond 2^53, or a type that JSON lacks.
    """
    return rfc8785.dumps(data)


def sha256_json(data: Any) -> str:
    """The SHA-256 of :func:`canonical_json`."""
    return sha256_bytes(canonical_json(data))


def git_blob_id(data: bytes) -> str:
    """The SHA-1 object id that git gives a blob holding *data* (``git hash-object``, without filters)."""
    header = f"blob {len(data)}\0".encode()
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()
