"""Whom the auditor trusts: the signatures of one bundle against the auditor's own lists.

In come signature files and the signed bytes, out comes who signed and whether that counts. Two implementations decide:
`sshsig` and ssh-keygen. Where ssh-keygen is missing the first decides alone; where they disagree, nobody is trusted.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from twotrees import process
from twotrees.bundle import signers, sshsig
from twotrees.bundle.tags import broken
from twotrees.errors import UsageError


@dataclass(frozen=True)
class Trust:
    """What the auditor demands. Every value comes from the auditor; a bundle can set none of them.

    Attributes:
        allowed_signers: File in OpenSSH's allowed_signers format; None trusts nobody.
        revoked: Revocation list or KRL.
        require_signers: How many distinct trusted keys must have signed.
        identity: Principal that must be among the signers; None takes any listed one.
        at: Moment at which keys must be valid; None is now.
    """

    allowed_signers: Path | None = None
    revoked: Path | None = None
    require_signers: int = 1
    identity: str | None = None
    at: datetime | None = None

    @staticmethod
    def of_user() -> Trust:
        """The lists that the user's own git trusts: gpg.ssh.allowedSignersFile and gpg.ssh.revocationFile.

        Only the user's and the machine's configuration count. A repository's own is not asked: it may have come with
        the bundle.
        """
        return Trust(_git_path("gpg.ssh.allowedSignersFile"), _git_path("gpg.ssh.revocationFile"))


def _git_path(name: str) -> Path | None:
    for scope in ("--global", "--system"):
        finished = process.run(["git", "config", scope, "--type=path", "--get", name])
        if finished.ok and finished.text:
            return Path(finished.text)
    return None


@dataclass(frozen=True)
class Signer:
    """Who made one valid signature.

    Attributes:
        file: The signature file in the bundle.
        fingerprint: ``SHA256:…`` of the key.
        kind: Type of the key.
        principal: Name under which the auditor lists the key; None for an unknown one.
    """

    file: str
    fingerprint: str
    kind: str
    principal: str | None

    @property
    def trusted(self) -> bool:
        """Whether the auditor lists the key."""
        return self.principal is not None


@dataclass(frozen=True)
class Lists:
    """The auditor's lists, read."""

    allowed: list[signers.Allowed]
    revoked: signers.Revoked


def read_lists(trust: Trust, bundle: Path | None) -> Lists:
    """Reads the auditor's lists.

    Args:
        trust: Where they are.
        bundle: The bundle's folder, if it is one: no list may come from inside it.

    Raises:
        UsageError: a list is missing or malformed, or lies in the bundle itself.
    """
    if trust.require_signers < 1:
        raise UsageError("at least 1 signer must be required", key="require-signers")
    for path in (trust.allowed_signers, trust.revoked):
        if path is not None and bundle is not None and path.resolve().is_relative_to(bundle.resolve()):
            raise UsageError(
                "it comes from the bundle itself", file=path, mend="name a list that you keep, not one that was sent"
            )
    allowed = [] if trust.allowed_signers is None else signers.read_allowed(trust.allowed_signers)
    revoked = signers.Revoked() if trust.revoked is None else signers.read_revoked(trust.revoked)
    return Lists(allowed, revoked)


def check_signature(file: str, data: bytes, message: bytes, lists: Lists, trust: Trust, namespace: str) -> Signer:
    """Checks one signature file.

    Args:
        file: Its name, for the messages; the name must be that of the key.
        data: Its bytes.
        message: The bytes that it must be over.
        lists: The auditor's lists.
        trust: What the auditor demands.
        namespace: What it must have been made for.

    Returns:
        Who signed.

    Raises:
        BundleBroken: malformed, over other bytes, for another purpose, under another key's name, revoked or expired.
    """
    try:
        signature = sshsig.read_signature(data)
        sshsig.check(signature, message)
    except sshsig.SignatureRefused as fault:
        broken(file, str(fault))
    key = signature.key
    if signature.namespace != namespace:
        broken(file, f"signed for {signature.namespace!r}, not for {namespace!r}")
    if not file.endswith(key.signature_name):
        broken(file, f"the signature is of {key.fingerprint}, whose file is {key.signature_name}")
    if lists.revoked.holds(key):
        broken(file, f"the key {key.fingerprint} is revoked")
    moment = trust.at or datetime.now(UTC)
    principal = _principal(file, key, lists, trust, namespace, moment)
    _ask_ssh_keygen(file, data, message, trust, namespace, moment, principal)
    return Signer(file, key.fingerprint, key.kind, principal)


def _principal(
    file: str, key: sshsig.PublicKey, lists: Lists, trust: Trust, namespace: str, moment: datetime
) -> str | None:
    """The name under which the auditor lists *key* for *namespace*."""
    late: str | None = None
    for entry in lists.allowed:
        if entry.key != key or (entry.namespaces and not signers.matches(namespace, entry.namespaces)):
            continue
        name = trust.identity or next((name for name in entry.patterns if not name.startswith("!")), "")
        if not signers.matches(name, entry.patterns):
            continue
        if entry.after is not None and moment < entry.after:
            late = f"the key {key.fingerprint} of {name} is not valid before {entry.after:%Y-%m-%d %H:%M:%S %Z}"
        elif entry.before is not None and moment > entry.before:
            late = f"the key {key.fingerprint} of {name} expired at {entry.before:%Y-%m-%d %H:%M:%S %Z}"
        else:
            return name
    if late is not None:
        broken(file, late)
    return None


def _ask_ssh_keygen(
    file: str, data: bytes, message: bytes, trust: Trust, namespace: str, moment: datetime, principal: str | None
) -> None:
    """Has ssh-keygen decide the same; its answer can only take trust away.

    Raises:
        BundleBroken: it does not agree.
    """
    if shutil.which("ssh-keygen") is None:
        return
    with tempfile.TemporaryDirectory(prefix="twotrees-verify-") as private:
        copy = Path(private) / "signature"
        copy.write_bytes(data)
        argv = ["ssh-keygen", "-Y", "check-novalidate", "-n", namespace, "-s", str(copy)]
        if principal is not None:
            at = moment.astimezone().strftime("%Y%m%d%H%M%S")
            argv = ["ssh-keygen", "-Y", "verify", "-n", namespace, "-s", str(copy)]
            argv += ["-f", str(trust.allowed_signers), "-I", principal, "-O", f"verify-time={at}"]
            argv += [] if trust.revoked is None else ["-r", str(trust.revoked)]
        finished = process.run(argv, stdin=message)
    if not finished.ok:
        broken(file, f"ssh-keygen does not accept it ({finished.complaint}), though it is well-formed")
