"""Makes bundles and, for a liar's purposes, remakes them: seals, signs with any kind of key, rewrites what was sealed.

In: a bundle's folder. Out: the same folder with its manifests, journal, aggregate or signatures made again, so that a
test can lie in one place and be truthful everywhere else. Keys are drawn and used with `cryptography` alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from synthetic.campaign import AGGREGATOR, write_campaign

from twotrees import digest
from twotrees.bundle import sshsig
from twotrees.bundle.seal import seal

CREATED = datetime(2026, 8, 26, 13, 0, 0, tzinfo=UTC)
NAMESPACE = "twotrees-bundle-v1"
Json = dict[str, Any]


def string(data: bytes | str) -> bytes:
    """The SSH wire form of a string."""
    raw = data.encode() if isinstance(data, str) else data
    return struct.pack(">I", len(raw)) + raw


def mpint(value: int) -> bytes:
    """The SSH wire form of a positive integer."""
    return string(value.to_bytes(value.bit_length() // 8 + 1, "big"))


@dataclass(frozen=True)
class TestKey:
    """A key pair of any kind.

    Attributes:
        blob: The public key in wire form.
        sign: Gives the signature blob over the data that SSHSIG frames.
        private: The private half where ssh-keygen could read it, else None.
    """

    __test__ = False

    blob: bytes
    sign: Callable[[bytes], bytes]
    private: Any = None

    @property
    def line(self) -> str:
        """``type base64``."""
        size = struct.unpack(">I", self.blob[:4])[0]
        return f"{self.blob[4 : 4 + size].decode()} {base64.b64encode(self.blob).decode()}"

    @property
    def file_name(self) -> str:
        """What its signature file is called."""
        return f"{hashlib.sha256(self.blob).hexdigest()[:16]}.sshsig"

    @property
    def fingerprint(self) -> str:
        """``SHA256:…``."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    def allowed(self, principal: str, options: str = "") -> str:
        """A line for an allowed_signers file."""
        return " ".join(part for part in (principal, options, self.line) if part) + "\n"

    def write_private(self, path: Path) -> Path:
        """Writes the private half as ssh-keygen reads it."""
        pem = self.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
        )
        path.write_bytes(pem)
        path.chmod(0o600)
        path.with_name(path.name + ".pub").write_text(f"{self.line} test\n")
        return path


def ed25519_key(seed: int = 1) -> TestKey:
    """An Ed25519 key, the same for the same seed."""
    private = Ed25519PrivateKey.from_private_bytes(hashlib.sha256(b"key %d" % seed).digest())
    raw = private.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    blob = string("ssh-ed25519") + string(raw)
    return TestKey(blob, lambda data: string("ssh-ed25519") + string(private.sign(data)), private)


_CURVES: dict[int, tuple[ec.EllipticCurve, hashes.HashAlgorithm]] = {
    256: (ec.SECP256R1(), hashes.SHA256()),
    384: (ec.SECP384R1(), hashes.SHA384()),
    521: (ec.SECP521R1(), hashes.SHA512()),
}


def point(private: ec.EllipticCurvePrivateKey) -> bytes:
    """The public point, uncompressed."""
    public = private.public_key()
    return public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


def ecdsa_key(bits: int = 256) -> TestKey:
    """An ECDSA key on the NIST curve of that size."""
    curve, hash_algorithm = _CURVES[bits]
    private = ec.generate_private_key(curve)
    kind = f"ecdsa-sha2-nistp{bits}"

    def sign(data: bytes) -> bytes:
        r, s = decode_dss_signature(private.sign(data, ec.ECDSA(hash_algorithm)))
        return string(kind) + string(mpint(r) + mpint(s))

    return TestKey(string(kind) + string(f"nistp{bits}") + string(point(private)), sign, private)


def rsa_key(bits: int = 3072, algorithm: str = "rsa-sha2-512") -> TestKey:
    """An RSA key that signs with *algorithm*."""
    private = rsa.generate_private_key(65537, bits)
    numbers = private.public_key().public_numbers()
    made_with: hashes.HashAlgorithm = {
        "rsa-sha2-512": hashes.SHA512(),
        "rsa-sha2-256": hashes.SHA256(),
        "ssh-rsa": hashes.SHA1(),
    }[algorithm]

    def sign(data: bytes) -> bytes:
        return string(algorithm) + string(private.sign(data, padding.PKCS1v15(), made_with))

    return TestKey(string("ssh-rsa") + mpint(numbers.e) + mpint(numbers.n), sign, private)


def hardware_key(kind: str, application: str = "ssh:", flags: int = 1, counter: int = 7) -> TestKey:
    """A FIDO key as a token would hold it (PROTOCOL.u2f); *kind* is ``ed25519`` or ``ecdsa``."""

    def framed(data: bytes) -> bytes:
        trailer = struct.pack(">BI", flags, counter)
        return hashlib.sha256(application.encode()).digest() + trailer + hashlib.sha256(data).digest()

    trailer = struct.pack(">BI", flags, counter)
    if kind == "ed25519":
        edwards = Ed25519PrivateKey.generate()
        raw = edwards.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        name = "sk-ssh-ed25519@openssh.com"
        blob = string(name) + string(raw) + string(application)
        return TestKey(blob, lambda data: string(name) + string(edwards.sign(framed(data))) + trailer)
    name = "sk-ecdsa-sha2-nistp256@openssh.com"
    private = ec.generate_private_key(ec.SECP256R1())

    def sign(data: bytes) -> bytes:
        r, s = decode_dss_signature(private.sign(framed(data), ec.ECDSA(hashes.SHA256())))
        return string(name) + string(mpint(r) + mpint(s)) + trailer

    return TestKey(string(name) + string("nistp256") + string(point(private)) + string(application), sign)


def signature_blob(
    key: TestKey,
    message: bytes,
    namespace: str = NAMESPACE,
    hash_name: str = "sha512",
    *,
    version: int = 1,
    reserved: bytes = b"",
) -> bytes:
    """An SSHSIG blob, each field as the caller wants it."""
    hashed = hashlib.new(hash_name, message).digest()
    framed = b"SSHSIG" + string(namespace) + string(reserved) + string(hash_name) + string(hashed)
    head = b"SSHSIG" + struct.pack(">I", version) + string(key.blob) + string(namespace)
    return head + string(reserved) + string(hash_name) + string(key.sign(framed))


def armored(key: TestKey, message: bytes, namespace: str = NAMESPACE, hash_name: str = "sha512") -> bytes:
    """A signature file."""
    return sshsig.armor(signature_blob(key, message, namespace, hash_name))


def make_bundle(folder: Path, key: TestKey | None = None, **campaign: Any) -> Path:
    """Seals a synthetic campaign in *folder* and signs it with *key*."""
    options: Json = {"repeats": 2, "steps": 6, **campaign}
    data = write_campaign(folder / "campaign", **options)
    plan = json.loads((data / "plan.json").read_bytes())
    bundle = seal(data, folder / "results", study=plan["study"], backend=plan["backend"], created=CREATED)
    shutil.rmtree(folder / "campaign")
    if key is not None:
        sign_bundle(bundle, key)
    return bundle


def sign_bundle(bundle: Path, key: TestKey, namespace: str = NAMESPACE) -> Path:
    """Adds a signature; gives its file."""
    file = bundle / "signatures" / key.file_name
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(armored(key, (bundle / "tagmanifest-sha256.txt").read_bytes(), namespace))
    return file


def reseal(bundle: Path, key: TestKey | None = None) -> None:
    """Makes every tag file again after the data was changed, and signs: what a lying signer would do."""
    files = sorted(path.relative_to(bundle).as_posix() for path in (bundle / "data").rglob("*") if path.is_file())
    lines = {name: digest.sha256_file(bundle / name) for name in files}
    old_subject = digest.sha256_file(bundle / "manifest-sha256.txt")
    old_lines = dict(line.split("  ")[::-1] for line in (bundle / "manifest-sha256.txt").read_text().splitlines())
    (bundle / "manifest-sha256.txt").write_text("".join(f"{sha256}  {name}\n" for name, sha256 in lines.items()))
    statement = (bundle / "statement.json").read_text()
    statement = statement.replace(old_subject, digest.sha256_file(bundle / "manifest-sha256.txt"))
    for name in ("data/plan.json", "data/journal.jsonl", "data/aggregate.json"):
        if name in lines:
            statement = statement.replace(old_lines[name], lines[name])
    (bundle / "statement.json").write_text(statement)
    info = (bundle / "bag-info.txt").read_text().splitlines()
    oxum = f"Payload-Oxum: {sum((bundle / name).stat().st_size for name in files)}.{len(files)}"
    info = [oxum if line.startswith("Payload-Oxum") else line for line in info]
    (bundle / "bag-info.txt").write_text("\n".join(info) + "\n")
    retag(bundle, key)


def retag(bundle: Path, key: TestKey | None = None) -> None:
    """Makes the tag manifest again after a tag file was changed, and signs."""
    names = ("bag-info.txt", "bagit.txt", "manifest-sha256.txt", "statement.json")
    lines = [f"{digest.sha256_file(bundle / name)}  {name}\n" for name in names if (bundle / name).exists()]
    (bundle / "tagmanifest-sha256.txt").write_text("".join(lines))
    if key is not None:
        for old in (bundle / "signatures").iterdir():
            old.unlink()
        sign_bundle(bundle, key)


def edit_json(path: Path, change: Callable[[Any], Any]) -> None:
    """Changes a JSON file in place; *change* edits its argument or gives another value."""
    value = json.loads(path.read_bytes())
    changed = change(value)
    path.write_text(json.dumps(value if changed is None else changed, indent=1) + "\n", encoding="utf-8")


def rechain(bundle: Path, change: Callable[[list[Json]], list[Json] | None] = lambda lines: None) -> None:
    """Makes the journal's hashes again, of the plan, of the run files and of its lines, after *change* edited them."""
    path = bundle / "data" / "journal.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        if line["event"] == "plan":
            line["sha256"] = digest.sha256_file(bundle / "data" / "plan.json")
        elif line["event"] == "end" and (bundle / "data" / line["file"]).exists():
            line["sha256"] = digest.sha256_file(bundle / "data" / line["file"])
    lines = change(lines) or lines
    previous = "0" * 64
    for place, line in enumerate(lines):
        line.pop("hash", None)
        line |= {"seq": place, "prev": previous}
        line["hash"] = previous = digest.sha256_json(line)
    path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))


def reaggregate(bundle: Path) -> None:
    """Makes the aggregate again from whatever the runs now say."""
    data = bundle / "data"
    done = subprocess.run([sys.executable, str(AGGREGATOR), "--data", str(data)], capture_output=True, check=True)
    (data / "aggregate.json").write_bytes(done.stdout)
