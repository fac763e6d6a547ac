"""Whom this user trusts when git names nobody: a list in the user's own configuration folder.

Signing a bundle here adds the user's own key to it, so that what one has just measured is not "unknown" to oneself.
Nobody else's key is ever added without being asked for, and no bundle can write to it.
"""

from __future__ import annotations

from pathlib import Path

import platformdirs

from twotrees.bundle.keys import Key, principal
from twotrees.bundle.trust import Trust
from twotrees.errors import UsageError


def own_list() -> Path:
    """The file, in OpenSSH's allowed_signers format."""
    return platformdirs.user_config_path("twotrees") / "allowed_signers"


def own(key: Key) -> Trust:
    """Trust in the user's own list, after making sure that *key*, the user's own, is on it.

    Raises:
        UsageError: the list cannot be written.
    """
    path = own_list()
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        if not any(key.public.line in line for line in lines):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as stream:
                stream.write(key.allowed_signers_line(principal()) + "\n")
    except OSError as error:
        raise UsageError(f"cannot be kept: {error.strerror}", file=path) from None
    return Trust(allowed_signers=path)


def demanded(allowed_signers: Path | None, revoked: Path | None, identity: str | None, signers: int) -> Trust:
    """What the auditor asks for: the list named, else git's, else the own one if there is one."""
    users = Trust.of_user()
    listed = allowed_signers or users.allowed_signers
    if listed is None and own_list().is_file():
        listed = own_list()
    return Trust(listed, revoked or users.revoked, signers, identity)
