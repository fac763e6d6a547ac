"""Signs a bundle's root through ssh-keygen, so that keys in agents and on tokens work; each signer adds one file.

In comes an intact bundle, out goes one more file under `signatures/`. What is signed has been verified first.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from twotrees import digest, process
from twotrees.bundle import layout, sshsig
from twotrees.bundle.keys import Key, find_key
from twotrees.bundle.verify import check_content
from twotrees.errors import UsageError

TOUCH_TIMEOUT_S = 120.0


@dataclass(frozen=True)
class Signature:
    """What was added.

    Attributes:
        file: The signature file.
        fingerprint: Of the key, ``SHA256:…``.
        root: What was signed: SHA-256 of the tag manifest.
        key: The key.
    """

    file: Path
    fingerprint: str
    root: str
    key: Key


def sign(bundle: Path, key: Key | None = None) -> Signature:
    """Adds a signature to a bundle's folder; signing again with the same key replaces its file.

    Args:
        bundle: The folder.
        key: Who signs; by default git's user.signingkey when gpg.format is ssh, else a key of our own.

    Raises:
        BundleBroken: the bundle is not intact; nobody should put a name to it.
        UsageError: no key, or ssh-keygen could not sign with it.
    """
    check_content(bundle)
    key = key or find_key()
    message = (bundle / layout.TAG_MANIFEST).read_bytes()
    armored = sign_bytes(message, key, layout.NAMESPACE)
    file = bundle / layout.SIGNATURES / key.public.signature_name
    try:
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(armored)
    except OSError as fault:
        raise UsageError(f"the signature cannot be written: {fault.strerror}", file=file) from None
    return Signature(file, key.public.fingerprint, digest.sha256_bytes(message), key)


def sign_bytes(message: bytes, key: Key, namespace: str) -> bytes:
    """The signature file over *message*, checked before it is handed out.

    Raises:
        UsageError: ssh-keygen is missing, the key is locked, or the agent does not hold it.
    """
    with tempfile.TemporaryDirectory(prefix="twotrees-sign-") as scratch:
        path = key.path
        if path is None:
            path = Path(scratch) / "key.pub"
            path.write_text(key.public.line + "\n", encoding="ascii")
        argv = ["ssh-keygen", "-Y", "sign", "-q", "-n", namespace, "-f", str(path)]
        finished = process.run(argv, stdin=message, timeout_s=TOUCH_TIMEOUT_S)
    if not finished.ok:
        raise UsageError(
            f"ssh-keygen cannot sign: {finished.complaint}",
            file=key.path or key.public.fingerprint,
            mend="if the key has a passphrase, `ssh-add` it first",
        )
    try:
        signature = sshsig.read_signature(finished.stdout)
        sshsig.check(signature, message)
    except sshsig.SignatureRefused as fault:
        raise UsageError(f"ssh-keygen gave a signature that cannot be used: {fault}", file=key.path) from None
    if signature.key != key.public:
        raise UsageError(
            f"it signed as {signature.key.fingerprint}, not as {key.public.fingerprint}",
            file=key.path,
            mend="the .pub file beside the key belongs to another one",
        )
    return finished.stdout


def strangers_check(signature_name: str, principal: str) -> str:
    """The four lines by which a stranger checks a bundle with ssh-keygen and sha256sum alone, in a bare bash.

    Args:
        signature_name: File name under ``signatures/``, known before sealing as ``key.public.signature_name``.
        principal: Name under which the stranger's own allowed_signers lists the signer.
    """
    return (
        f"ssh-keygen -Y verify -f allowed_signers -I {principal} -n {layout.NAMESPACE}"
        f" -s {layout.SIGNATURES}/{signature_name} < {layout.TAG_MANIFEST}\n"
        f"sha256sum -c --strict --quiet {layout.TAG_MANIFEST} {layout.MANIFEST}\n"
        f"cut -c67- {layout.MANIFEST} | cmp - <(find {layout.PAYLOAD} -type f | LC_ALL=C sort)\n"
        f'grep -q "$(sha256sum < {layout.MANIFEST} | cut -c1-64)" {layout.STATEMENT}\n'
    )
