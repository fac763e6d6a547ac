"""Which key signs: the one that git signs with, else one of our own that the first use makes.

In comes the user's git configuration, out comes a key that `ssh-keygen -Y sign -f` takes. Private halves are never
read here: they stay in their file, in an agent or on a token.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from platformdirs import user_config_path

from twotrees import process
from twotrees.bundle import sshsig
from twotrees.errors import UsageError

OWN_KEY = "signing_key"


@dataclass(frozen=True)
class Key:
    """A key to sign with.

    Attributes:
        public: Its public half.
        path: Private key file, or public key file whose private half an agent holds; None when only `public` is known
            and an agent holds the rest.
        origin: ``git`` (user.signingkey), ``own`` (made by twotrees) or ``given`` (named by the caller).
        made: Whether it was made just now.
    """

    public: sshsig.PublicKey
    path: Path | None
    origin: Literal["git", "own", "given"]
    made: bool = False

    def allowed_signers_line(self, principal: str) -> str:
        """The line by which an auditor comes to trust this key for bundles, and for nothing else."""
        return f'{principal} namespaces="twotrees-bundle-v1,twotrees-ledger-v1" {self.public.line}'

    @property
    def announcement(self) -> str:
        """One sentence for the person who signs."""
        where = f" ({self.path})" if self.path else " (held by an agent)"
        if self.made:
            return f"made an Ed25519 key {self.public.fingerprint}{where}; keep it: it is now who signs your bundles"
        if self.origin == "git":
            return f"signing with git's user.signingkey {self.public.fingerprint}{where}"
        return f"signing with {self.public.fingerprint}{where}"


def find_key(given: Path | None = None) -> Key:
    """The key to sign with.

    Args:
        given: A key file that the user names; it wins over git's.

    Raises:
        UsageError: the key cannot be read or may not sign bundles, or none can be made.
    """
    if given is not None:
        return _from_file(given, "given")
    if _git("gpg.format") == "ssh" and (configured := _git("user.signingkey")):
        literal = configured.removeprefix("key::")
        if literal != configured or configured.startswith(("ssh-", "ecdsa-", "sk-")):
            return Key(_public(literal, "user.signingkey"), None, "git")
        return _from_file(Path(_git("user.signingkey", "--type=path")), "git")
    return own_key()


def own_key(folder: Path | None = None) -> Key:
    """The key under the user's configuration folder, made on first use.

    Args:
        folder: Where it lies; by default the user's configuration folder.

    Raises:
        UsageError: it cannot be made or read.
    """
    folder = folder or user_config_path("twotrees")
    path = folder / OWN_KEY
    made = not path.exists()
    if made:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _make(path)
        except OSError as fault:
            raise UsageError(f"no key can be made here: {fault.strerror}", file=folder) from None
    key = _from_file(path, "own")
    return Key(key.public, key.path, "own", made)


def _make(path: Path) -> None:
    """Makes the key aside and links it into place, so that two first runs at once end up with one key."""
    with tempfile.TemporaryDirectory(prefix=".making-", dir=path.parent) as scratch:
        draft = Path(scratch) / OWN_KEY
        argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "twotrees", "-f", str(draft)]
        finished = process.run(argv)
        if not finished.ok:
            raise UsageError(f"no key can be made: {finished.complaint}", file=path, mend="install OpenSSH")
        draft.chmod(0o600)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
            Path(f"{draft}.pub").replace(f"{path}.pub")


def principal() -> str:
    """The name under which an auditor would list the signer: git's user.email, else ``signer``."""
    email = _git("user.email")
    return email if email and not any(char in email for char in ' \t",*?!') else "signer"


def _git(name: str, *options: str) -> str:
    finished = process.run(["git", "config", *options, "--get", name])
    return finished.text if finished.ok else ""


def _from_file(path: Path, origin: Literal["git", "own", "given"]) -> Key:
    """Reads the public half of a private or public key file; for a private one without `.pub`, ssh-keygen tells it."""
    public = path if path.suffix == ".pub" else path.with_name(path.name + ".pub")
    try:
        if public.exists():
            return Key(_public(public.read_text(encoding="utf-8"), public), path, origin)
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "not a key"
        raise UsageError(f"the signing key cannot be read: {reason}", file=path) from None
    if not text.startswith("-----BEGIN"):
        return Key(_public(text, path), path, origin)
    finished = process.run(["ssh-keygen", "-y", "-P", "", "-f", str(path)])
    if not finished.ok:
        raise UsageError(
            f"its public half is unknown: {finished.complaint}", file=path, mend="put it beside as a .pub file"
        )
    return Key(_public(finished.text, path), path, origin)


def _public(line: str, file: object) -> sshsig.PublicKey:
    try:
        return sshsig.read_public_line(line.strip())
    except sshsig.SignatureRefused as fault:
        raise UsageError(str(fault), file=file) from None
