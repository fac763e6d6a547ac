"""OpenSSH signatures (SSHSIG) read strictly and checked with the `cryptography` package, without ssh-keygen.

In come the bytes of a signature file and the message; out comes who signed, or why it is refused. The format is
OpenSSH's PROTOCOL.sshsig; only the one spelling that ssh-keygen writes is accepted, so that no second reader can see
another signature in the same file. Written from the specification; ssh-keygen is the other implementation.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature

MAGIC = b"SSHSIG"
VERSION = 1
BEGIN = b"-----BEGIN SSH SIGNATURE-----\n"
END = b"-----END SSH SIGNATURE-----\n"
LINE_CHARS = 70
MIN_RSA_BITS = 3072
MAX_RSA_BITS = 16384

# The order of Ed25519's base point (RFC 8032, 5.1). A signature whose S is not below it is a second spelling of one
# whose S is, and implementations disagree about it.
ED25519_ORDER = 2**252 + 27742317777372353535851937790883648493

_HASHES = {"sha256": hashlib.sha256, "sha512": hashlib.sha512}
_CURVES: dict[str, tuple[str, ec.EllipticCurve, hashes.HashAlgorithm]] = {
    "ecdsa-sha2-nistp256": ("nistp256", ec.SECP256R1(), hashes.SHA256()),
    "ecdsa-sha2-nistp384": ("nistp384", ec.SECP384R1(), hashes.SHA384()),
    "ecdsa-sha2-nistp521": ("nistp521", ec.SECP521R1(), hashes.SHA512()),
}
_RSA_HASHES: dict[str, hashes.HashAlgorithm] = {"rsa-sha2-256": hashes.SHA256(), "rsa-sha2-512": hashes.SHA512()}
SK_ED25519 = "sk-ssh-ed25519@openssh.com"
SK_ECDSA = "sk-ecdsa-sha2-nistp256@openssh.com"
KEY_TYPES = ("ssh-ed25519", *_CURVES, "ssh-rsa", SK_ED25519, SK_ECDSA)


class SignatureRefused(ValueError):
    """A signature that is malformed or does not fit; the message says why."""


class KeyNotAccepted(SignatureRefused):
    """A well-known kind of key that may not sign bundles, or one that is too short."""


class Wire:
    """Reads the SSH wire format (RFC 4251, section 5) off *data*, front to back."""

    def __init__(self, data: bytes, what: str) -> None:
        self.rest = data
        self.what = what

    def take(self, count: int) -> bytes:
        """The next *count* bytes.

        Raises:
            SignatureRefused: there are fewer.
        """
        if count > len(self.rest):
            raise SignatureRefused(f"{self.what} is cut short")
        piece, self.rest = self.rest[:count], self.rest[count:]
        return piece

    def number(self) -> int:
        """A uint32."""
        return int(struct.unpack(">I", self.take(4))[0])

    def string(self) -> bytes:
        """A string: length, then bytes."""
        return self.take(self.number())

    def name(self) -> str:
        """A string of printable ASCII."""
        raw = self.string()
        if not raw.isascii() or not raw.decode("ascii").isprintable():
            raise SignatureRefused(f"{self.what} holds a name that is not printable ASCII")
        return raw.decode("ascii")

    def natural(self) -> int:
        """An mpint that is positive and in its shortest form."""
        raw = self.string()
        if not raw or raw[0] & 0x80 or (raw[0] == 0 and (len(raw) == 1 or not raw[1] & 0x80)):
            raise SignatureRefused(f"{self.what} holds a number that is not positive or not in its shortest form")
        return int.from_bytes(raw, "big")

    def end(self) -> None:
        """Makes sure that nothing is left.

        Raises:
            SignatureRefused: bytes are left over.
        """
        if self.rest:
            raise SignatureRefused(f"{len(self.rest)} bytes too many in {self.what}")


def wire_string(data: bytes) -> bytes:
    """*data* as a string of the wire format."""
    return struct.pack(">I", len(data)) + data


@dataclass(frozen=True)
class PublicKey:
    """A public key as SSH writes it.

    Attributes:
        blob: The wire form.
        kind: Its type, for example ``ssh-ed25519``.
    """

    blob: bytes
    kind: str

    @property
    def fingerprint(self) -> str:
        """``SHA256:`` and unpadded base64, as ssh-keygen prints it."""
        return "SHA256:" + base64.b64encode(hashlib.sha256(self.blob).digest()).decode().rstrip("=")

    @property
    def signature_name(self) -> str:
        """Name of this key's signature file: the first 16 hex digits of the blob's SHA-256."""
        return f"{hashlib.sha256(self.blob).hexdigest()[:16]}.sshsig"

    @property
    def line(self) -> str:
        """``type base64``, as in ``.pub`` and allowed_signers files."""
        return f"{self.kind} {base64.b64encode(self.blob).decode()}"


@dataclass(frozen=True)
class Signature:
    """A parsed signature.

    Attributes:
        key: Who claims to have signed.
        namespace: What for.
        hash_name: How the message was hashed, ``sha256`` or ``sha512``.
        algorithm: Of the signature itself.
        value: The raw signature.
        trailer: Flags and counter of a hardware key, else empty.
    """

    key: PublicKey
    namespace: str
    hash_name: str
    algorithm: str
    value: bytes
    trailer: bytes


def read_public_key(blob: bytes) -> PublicKey:
    """Checks that *blob* is a key of a kind that may sign bundles, well-formed to the last byte.

    Raises:
        SignatureRefused: another kind (certificates and DSA among them), malformed, or RSA below 3072 bits.
    """
    _verifier(blob)
    return PublicKey(blob, Wire(blob, "the public key").name())


def read_public_line(line: str) -> PublicKey:
    """Reads ``type base64 [comment]``.

    Raises:
        SignatureRefused: not that, or not a key that may sign bundles.
    """
    fields = line.split(None, 2)
    if len(fields) < 2:
        raise SignatureRefused("not a public key: `type base64` expected")
    try:
        blob = base64.b64decode(fields[1], validate=True)
    except (binascii.Error, ValueError):
        raise SignatureRefused("the public key is not base64") from None
    key = read_public_key(blob)
    if key.kind != fields[0]:
        raise SignatureRefused(f"the public key says {key.kind} inside and {fields[0]} outside")
    return key


def unarmor(data: bytes) -> bytes:
    """The blob inside the armor of a signature file.

    Raises:
        SignatureRefused: any byte before, behind or inside the armor that ssh-keygen would not have written.
    """
    if not data.startswith(BEGIN):
        raise SignatureRefused("it does not begin with the armor of an SSH signature")
    if data.count(b"-----BEGIN") > 1:
        raise SignatureRefused("a second armor block")
    body, end, rest = data[len(BEGIN) :].partition(END)
    if not end:
        raise SignatureRefused("the armor is not closed")
    if rest:
        raise SignatureRefused("text after the armor")
    try:
        blob = base64.b64decode(body.replace(b"\n", b""), validate=True)
    except (binascii.Error, ValueError):
        raise SignatureRefused("not base64 inside the armor") from None
    if armor(blob) != data:
        raise SignatureRefused("non-canonical base64 or line breaks inside the armor")
    return blob


def armor(blob: bytes) -> bytes:
    """The armor that ssh-keygen puts around a signature."""
    text = base64.b64encode(blob)
    lines = b"".join(text[at : at + LINE_CHARS] + b"\n" for at in range(0, len(text), LINE_CHARS))
    return BEGIN + lines + END


def read_signature(data: bytes) -> Signature:
    """Reads a signature file.

    Raises:
        SignatureRefused: malformed in any way, or of a kind that is not accepted.
    """
    outer = Wire(unarmor(data), "the signature")
    if outer.take(len(MAGIC)) != MAGIC:
        raise SignatureRefused("no SSHSIG inside the armor")
    if (version := outer.number()) != VERSION:
        raise SignatureRefused(f"SSHSIG version {version} is not known")
    key = read_public_key(outer.string())
    namespace = outer.name()
    if outer.string():
        raise SignatureRefused("the reserved field is not empty")
    hash_name = outer.name()
    if hash_name not in _HASHES:
        raise SignatureRefused(f"the message hash {hash_name} is not accepted")
    inner = Wire(outer.string(), "the signature")
    outer.end()
    algorithm, value, trailer = inner.name(), inner.string(), b""
    if key.kind in (SK_ED25519, SK_ECDSA):
        trailer = inner.take(5)
    inner.end()
    accepted = tuple(_RSA_HASHES) if key.kind == "ssh-rsa" else (key.kind,)
    if algorithm not in accepted:
        raise SignatureRefused(f"algorithm {algorithm} does not belong to a key of kind {key.kind}")
    return Signature(key, namespace, hash_name, algorithm, value, trailer)


def signed_data(namespace: str, hash_name: str, message: bytes) -> bytes:
    """What is really signed: the namespace, the hash's name and the message's hash, framed."""
    parts = (namespace.encode(), b"", hash_name.encode(), _HASHES[hash_name](message).digest())
    return MAGIC + b"".join(wire_string(part) for part in parts)


def check(signature: Signature, message: bytes) -> None:
    """Checks the mathematics of *signature* over *message*; who the key is and what it may do is not asked here.

    Raises:
        SignatureRefused: it does not fit.
    """
    data = signed_data(signature.namespace, signature.hash_name, message)
    key, application = _verifier(signature.key.blob)
    if application is not None:
        # PROTOCOL.u2f: a hardware key signs the hash of what it was asked by, its flags and counter, and the hash.
        data = hashlib.sha256(application).digest() + signature.trailer + hashlib.sha256(data).digest()
    try:
        if isinstance(key, Ed25519PublicKey):
            if len(signature.value) == 64 and int.from_bytes(signature.value[32:], "little") >= ED25519_ORDER:
                raise SignatureRefused("an Ed25519 signature in a second spelling (S is not reduced)")
            key.verify(signature.value, data)
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature.value, data, padding.PKCS1v15(), _RSA_HASHES[signature.algorithm])
        else:
            pair = Wire(signature.value, "the ECDSA signature")
            r, s = pair.natural(), pair.natural()
            pair.end()
            curve_kind = "ecdsa-sha2-nistp256" if application is not None else signature.key.kind
            key.verify(encode_dss_signature(r, s), data, ec.ECDSA(_CURVES[curve_kind][2]))
    except InvalidSignature:
        raise SignatureRefused("the signature does not fit the signed bytes") from None


def _verifier(blob: bytes) -> tuple[Ed25519PublicKey | rsa.RSAPublicKey | ec.EllipticCurvePublicKey, bytes | None]:
    """A key to verify with, and for a hardware key the application that it was made for."""
    wire = Wire(blob, "the public key")
    kind = wire.name()
    if kind not in KEY_TYPES:
        raise KeyNotAccepted(f"keys of kind {kind} are not accepted")
    key: Ed25519PublicKey | rsa.RSAPublicKey | ec.EllipticCurvePublicKey
    if kind in ("ssh-ed25519", SK_ED25519):
        raw = wire.string()
        if len(raw) != 32:
            raise SignatureRefused("an Ed25519 key is 32 bytes long")
        key = Ed25519PublicKey.from_public_bytes(raw)
    elif kind == "ssh-rsa":
        exponent, modulus = wire.natural(), wire.natural()
        if not MIN_RSA_BITS <= modulus.bit_length() <= MAX_RSA_BITS:
            raise KeyNotAccepted(f"an RSA key of {modulus.bit_length()} bits; at least {MIN_RSA_BITS} are needed")
        key = _numbers(exponent, modulus)
    else:
        curve_name, curve, _ = _CURVES["ecdsa-sha2-nistp256" if kind == SK_ECDSA else kind]
        if wire.name() != curve_name:
            raise SignatureRefused("the key's curve is not that of its kind")
        key = _point(curve, wire.string())
    application = wire.string() if kind in (SK_ED25519, SK_ECDSA) else None
    wire.end()
    return key, application


def _numbers(exponent: int, modulus: int) -> rsa.RSAPublicKey:
    try:
        return rsa.RSAPublicNumbers(exponent, modulus).public_key()
    except ValueError:
        raise SignatureRefused("not an RSA key") from None


def _point(curve: ec.EllipticCurve, point: bytes) -> ec.EllipticCurvePublicKey:
    if not point.startswith(b"\x04"):
        raise SignatureRefused("the key's point is not in its uncompressed form")
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(curve, point)
    except ValueError:
        raise SignatureRefused("the key's point is not on its curve") from None
