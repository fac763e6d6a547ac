"""Hostile signatures: on other bytes, for another purpose, by another key, in another spelling, or not in force."""

from __future__ import annotations

import base64
import shutil
import subprocess
from collections.abc import Callable

from synthetic.corpus import CASES, KEY, PRINCIPAL, SECOND_KEY, UNKNOWN, USAGE, Bench, Case, case, flip, several
from synthetic.forge import (
    TestKey,
    armored,
    ecdsa_key,
    hardware_key,
    mpint,
    reseal,
    retag,
    rsa_key,
    sign_bundle,
    signature_blob,
    string,
)

from twotrees.bundle import sshsig

several(
    {
        "a flipped byte in a run": ("data/runs/0001.json", "not those that", lambda b: flip(b.run(1))),
        "a flipped byte in the report": (
            "data/report.md",
            "not those that",
            lambda b: flip(b.bundle / "data/report.md"),
        ),
        "a flipped byte in bag-info": ("bag-info.txt", "not those that", lambda b: flip(b.bundle / "bag-info.txt")),
        "a flipped byte in the manifest": (
            "manifest-sha256.txt",
            "not those that",
            lambda b: flip(b.bundle / "manifest-sha256.txt", 3),
        ),
        "a flipped byte in the statement": ("statement.json", "not those", lambda b: flip(b.bundle / "statement.json")),
        "a flipped byte in bagit.txt": ("bagit.txt", "BagIt 1.0", lambda b: flip(b.bundle / "bagit.txt")),
        "a flipped byte in the tag manifest": (
            "bag-info.txt",
            "not those that",
            lambda b: flip(b.bundle / "tagmanifest-sha256.txt", 3),
        ),
        "no signature at all": ("signatures", "no signature", lambda b: shutil.rmtree(b.bundle / "signatures")),
        "an empty signature file": (".sshsig", "armor", lambda b: b.signature.write_bytes(b"") and None),
        "text before the armor": (
            ".sshsig",
            "begin with the armor",
            lambda b: b.signature.write_bytes(b"hello\n" + b.signature.read_bytes()) and None,
        ),
        "text after the armor": (
            ".sshsig",
            "text after the armor",
            lambda b: b.signature.write_bytes(b.signature.read_bytes() + b"hello\n") and None,
        ),
        "a second armor block": (
            ".sshsig",
            "second armor",
            lambda b: b.signature.write_bytes(2 * b.signature.read_bytes()) and None,
        ),
        "an armor without its end": (
            ".sshsig",
            "not closed",
            lambda b: b.signature.write_bytes(b.signature.read_bytes()[:-30]) and None,
        ),
        "an armor with CRLF": (
            ".sshsig",
            "armor",
            lambda b: b.signature.write_bytes(b.signature.read_bytes().replace(b"\n", b"\r\n")) and None,
        ),
        "an armor of letters that are not base64": (
            ".sshsig",
            "not base64",
            lambda b: b.signature.write_bytes(b.signature.read_bytes().replace(b"U1NI", b"U1N!")) and None,
        ),
        "base64 wrapped at another width": (
            ".sshsig",
            "non-canonical",
            lambda b: b.signature.write_bytes(rewrapped(b.signature.read_bytes(), 64)) and None,
        ),
        "base64 whose last bits are not zero": (
            ".sshsig",
            "non-canonical",
            lambda b: b.signature.write_bytes(loose_bits(b.signature.read_bytes())) and None,
        ),
        "a signature file that is far too large": (
            ".sshsig",
            "more than such a file may have",
            lambda b: b.signature.write_bytes(b.signature.read_bytes() * 300) and None,
        ),
        "a signature file named after nothing": (
            "signatures/alice.sshsig",
            "16 hex digits",
            lambda b: b.signature.rename(b.bundle / "signatures" / "alice.sshsig") and None,
        ),
        "the same signature under a second name": (
            "signatures/0000000000000000.sshsig",
            "the signature is of",
            lambda b: shutil.copy(b.signature, b.bundle / "signatures" / "0000000000000000.sshsig") and None,
        ),
    }
)


def rewrapped(data: bytes, width: int) -> bytes:
    """The same armor with lines of another width."""
    text = base64.b64encode(sshsig.unarmor(data))
    lines = b"".join(text[at : at + width] + b"\n" for at in range(0, len(text), width))
    return sshsig.BEGIN + lines + sshsig.END


def loose_bits(data: bytes) -> bytes:
    """The same blob in base64 whose unused last bits are set."""
    head, equals, tail = data.partition(b"=")
    assert equals, "the test key's signature ends in padding"
    alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = alphabet[alphabet.index(head[-1:]) + 1 :][:1]
    return head[:-1] + last + equals + tail


def resigned(bench: Bench, key: TestKey, data: bytes) -> None:
    """Replaces all signatures by one file of *key*."""
    bench.signature.unlink()
    bench.write(f"signatures/{key.file_name}", data)
    try:
        sshsig.read_public_key(key.blob)
    except sshsig.SignatureRefused:
        return  # such a key cannot stand in a list of signers either
    bench.allowed.write_text(key.allowed(PRINCIPAL))


@case("all manifests rewritten under the old signature", ".sshsig", "does not fit")
def manifests_rewritten(bench: Bench) -> None:
    bench.write("data/report.md", "# better numbers\n")
    reseal(bench.bundle)


@case("a key that the auditor does not list", KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def unknown_key(bench: Bench) -> None:
    bench.allowed.write_text(SECOND_KEY.allowed(PRINCIPAL))


@case("an empty list of signers", KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def nobody_allowed(bench: Bench) -> None:
    bench.allowed.write_text("# nobody yet\n\n")


@case("the right key, signed as git signs commits", ".sshsig", "signed for 'git'")
def other_namespace(bench: Bench) -> None:
    bench.signature.write_bytes(armored(KEY, bench.message(), "git"))


@case("the right key, listed for git alone", KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def listed_for_git(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, 'namespaces="git,file"'))


@case("the right key, listed as an authority for certificates", KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def listed_as_authority(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, "cert-authority"))


@case("the right key, listed for somebody else", KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def other_identity(bench: Bench) -> None:
    bench.options["identity"] = "bob@example.org"


@case("the right key, excluded by a pattern", KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def excluded_identity(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(f"!{PRINCIPAL},*@example.org"))
    bench.options["identity"] = PRINCIPAL


@case("one signer's signature under another's file name", SECOND_KEY.file_name, "the signature is of")
def other_file_name(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL) + SECOND_KEY.allowed("bob@example.org"))
    bench.write(f"signatures/{SECOND_KEY.file_name}", bench.signature.read_bytes())


@case("a second signature that does not fit", SECOND_KEY.file_name, "does not fit")
def second_does_not_fit(bench: Bench) -> None:
    bench.write(f"signatures/{SECOND_KEY.file_name}", armored(SECOND_KEY, b"something else"))


@case("a principal that vouches for every name", "allowed_signers", "vouches for every name", USAGE)
def wildcard(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed("*"))


@case("a wildcard among other principals", "allowed_signers", "vouches for every name", USAGE)
def wildcard_among_others(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(f"{PRINCIPAL},?*"))


@case("a list of signers that came in the bundle", "allowed_signers", "not one of the files")
def list_in_bundle(bench: Bench) -> None:
    shutil.copy(bench.allowed, bench.bundle / "allowed_signers")


@case("a list of signers read out of the bundle", "0001.out", "comes from the bundle itself", USAGE)
def list_read_from_bundle(bench: Bench) -> None:
    bench.allowed = bench.write("data/logs/0001.out", KEY.allowed(PRINCIPAL))
    reseal(bench.bundle, KEY)


@case("a list of signers that is missing", "allowed_signers", "cannot be read", USAGE)
def list_missing(bench: Bench) -> None:
    bench.allowed.unlink()


@case("a list of signers with a line that is none", "line 2", "expected", USAGE)
def list_malformed(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL) + "bob@example.org\n")


@case("a list of signers with an unknown option", "line 1", "unknown option", USAGE)
def list_unknown_option(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, 'trust-me="yes"'))


@case("a time of verification that came in the bundle", "bag-info.txt", "unknown field")
def time_in_bundle(bench: Bench) -> None:
    bench.edit("bag-info.txt", "Payload-Oxum", "Verify-Time: 20260826130000Z\nPayload-Oxum")
    retag(bench.bundle, KEY)


@case("a key that was valid when the bundle says it was sealed, and has expired", ".sshsig", "expired at")
def expired(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, 'valid-before="20260901Z"'))


@case("a key that is not valid yet", ".sshsig", "not valid before")
def not_yet_valid(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, 'valid-after="29990101"'))


@case("a revoked key", ".sshsig", "is revoked")
def revoked(bench: Bench) -> None:
    path = bench.folder / "revoked"
    path.write_text(f"# lost\n{KEY.line}\n")
    bench.options["revoked"] = path


def krl(bench: Bench, specification: str) -> None:
    """Has ssh-keygen make a key revocation list."""
    (bench.folder / "specification").write_text(specification)
    path = bench.folder / "krl"
    subprocess.run(["ssh-keygen", "-q", "-k", "-f", path, bench.folder / "specification"], check=True)
    bench.options["revoked"] = path


several(
    {
        "a key revoked by a KRL": (".sshsig", "is revoked", lambda b: krl(b, f"{KEY.line}\n")),
        "a key revoked by a KRL of SHA-256 fingerprints": (
            ".sshsig",
            "is revoked",
            lambda b: krl(b, f"hash: {KEY.fingerprint}\n"),
        ),
        "a key revoked by a KRL of SHA-1 digests": (".sshsig", "is revoked", lambda b: krl(b, f"sha1: {KEY.line}\n")),
    }
)


@case("a revocation list that is not one", "revoked", "not understood", USAGE)
def revocation_malformed(bench: Bench) -> None:
    bench.options["revoked"] = bench.folder / "revoked"
    bench.options["revoked"].write_text("this is no key\n")


@case("a KRL that is cut short", "krl", "not understood", USAGE)
def krl_cut(bench: Bench) -> None:
    krl(bench, f"{KEY.line}\n")
    path = bench.options["revoked"]
    path.write_bytes(path.read_bytes()[:-3])


@case("one signer where two are required", "signatures", "1 of 2 required")
def threshold(bench: Bench) -> None:
    bench.options["require_signers"] = 2


@case("one key listed under two names where two signers are required", "signatures", "1 of 2 required")
def threshold_two_names(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL) + KEY.allowed("bob@example.org"))
    bench.options["require_signers"] = 2


@case("a second signer whom nobody knows", SECOND_KEY.fingerprint, "intact, unknown signer", UNKNOWN)
def threshold_unknown(bench: Bench) -> None:
    sign_bundle(bench.bundle, SECOND_KEY)
    bench.options["require_signers"] = 2


@case("no signer required", "require", "at least 1", USAGE)
def threshold_zero(bench: Bench) -> None:
    bench.options["require_signers"] = 0


def blob_case(name: str, reason: str, make: Callable[[Bench], tuple[TestKey, bytes]]) -> None:
    """A signature file with a blob made by hand."""

    def change(bench: Bench) -> None:
        key, blob = make(bench)
        resigned(bench, key, sshsig.armor(blob))

    CASES.append(Case(name, change, ".sshsig", reason))


def altered(bench: Bench, old: bytes, new: bytes) -> tuple[TestKey, bytes]:
    """The sound blob with one piece exchanged."""
    blob = sshsig.unarmor(bench.signature.read_bytes())
    assert old in blob
    return KEY, blob.replace(old, new, 1)


def unreduced(bench: Bench) -> tuple[TestKey, bytes]:
    """The sound signature with the group order added to S: the same point, another spelling."""
    blob = sshsig.unarmor(bench.signature.read_bytes())
    s = int.from_bytes(blob[-32:], "little") + sshsig.ED25519_ORDER
    return KEY, blob[:-32] + s.to_bytes(32, "little")


def claimed(key: TestKey, blob: bytes) -> TestKey:
    """A key that claims to be another."""
    return TestKey(blob, key.sign)


CERTIFICATE = string("ssh-ed25519-cert-v01@openssh.com") + string(b"\1" * 32)
SHORT_RSA = rsa_key(2048)
SHA1_RSA = rsa_key(3072, "ssh-rsa")
TOKEN = hardware_key("ed25519")
ECDSA = ecdsa_key()
OFF_CURVE = string("ecdsa-sha2-nistp256") + string("nistp256") + string(b"\4" + b"\1" * 64)
COMPRESSED = string("ecdsa-sha2-nistp256") + string("nistp256") + string(b"\2" + b"\1" * 32)
OTHER_CURVE = string("ecdsa-sha2-nistp256") + string("nistp384") + string(b"\4" + b"\1" * 64)
EVEN_RSA = string("ssh-rsa") + mpint(2) + mpint(2**3072 + 1)
PADDED_RSA = string("ssh-rsa") + string(b"\0\0\1\0\1") + mpint(2**3072 + 1)

blob_case("another magic word", "no SSHSIG", lambda b: altered(b, b"SSHSIG", b"SSHSIX"))
blob_case("a later version of the format", "version 2", lambda b: (KEY, signature_blob(KEY, b.message(), version=2)))
blob_case("a reserved field in use", "reserved", lambda b: (KEY, signature_blob(KEY, b.message(), reserved=b"x")))
blob_case("a weak hash", "hash sha1", lambda b: (KEY, signature_blob(KEY, b.message(), hash_name="sha1")))
blob_case("bytes behind the signature", "too many", lambda b: (KEY, signature_blob(KEY, b.message()) + b"\0"))
blob_case("bytes inside the inner signature", "too many", lambda b: (KEY, longer_inner(b)))
blob_case("a signature cut short", "cut short", lambda b: (KEY, signature_blob(KEY, b.message())[:-1]))
blob_case("a key of 31 bytes", "32 bytes", lambda b: altered(b, string(KEY.blob[-32:]), string(KEY.blob[-31:])))
blob_case("an unreduced Ed25519 signature", "second spelling", unreduced)
blob_case("an RSA key of 2048 bits", "2048 bits", lambda b: (SHORT_RSA, signature_blob(SHORT_RSA, b.message())))
blob_case(
    "an RSA signature over SHA-1", "algorithm ssh-rsa", lambda b: (SHA1_RSA, signature_blob(SHA1_RSA, b.message()))
)
blob_case("a namespace of unprintable letters", "printable", lambda b: (KEY, signature_blob(KEY, b.message(), "a\nb")))
for what, words, fake in (
    ("a certificate", "are not accepted", CERTIFICATE),
    ("a DSA key", "are not accepted", string("ssh-dss") + mpint(5)),
    ("a point that is not on its curve", "not on its curve", OFF_CURVE),
    ("a compressed point", "uncompressed", COMPRESSED),
    ("a curve that is not the key's", "curve is not", OTHER_CURVE),
    ("an RSA key that is none", "not an RSA key", EVEN_RSA),
    ("an exponent with leading zeros", "shortest form", PADDED_RSA),
    ("bytes behind the key", "too many", KEY.blob + b"\0"),
):
    blob_case(what, words, lambda b, fake=fake: (claimed(KEY, fake), signature_blob(claimed(KEY, fake), b.message())))
blob_case(
    "bytes behind the numbers of an ECDSA signature",
    "too many",
    lambda b: (ECDSA, signature_blob(TestKey(ECDSA.blob, lambda d: longer_numbers(ECDSA.sign(d))), b.message())),
)
blob_case(
    "a number of an ECDSA signature with leading zeros",
    "shortest form",
    lambda b: (ECDSA, signature_blob(TestKey(ECDSA.blob, lambda d: padded_numbers(ECDSA.sign(d))), b.message())),
)
blob_case(
    "a hardware key without its counter",
    "cut short",
    lambda b: (TOKEN, signature_blob(TestKey(TOKEN.blob, lambda data: TOKEN.sign(data)[:-5]), b.message())),
)
blob_case(
    "a hardware key's counter turned back",
    "does not fit",
    lambda b: (TOKEN, signature_blob(TestKey(TOKEN.blob, lambda d: TOKEN.sign(d)[:-1] + b"\0"), b.message())),
)
blob_case(
    "one algorithm's signature in another's name",
    "does not belong",
    lambda b: (
        KEY,
        signature_blob(TestKey(KEY.blob, lambda d: string("rsa-sha2-512") + KEY.sign(d)[15:]), b.message()),
    ),
)


def numbers_of(blob: bytes) -> tuple[bytes, bytes]:
    """An ECDSA signature blob, parted into its algorithm and its two numbers."""
    name = len(string("ecdsa-sha2-nistp256"))
    return blob[:name], blob[name + 4 :]


def longer_numbers(blob: bytes) -> bytes:
    """The same signature with a third number of no bytes."""
    head, numbers = numbers_of(blob)
    return head + string(numbers + string(b""))


def padded_numbers(blob: bytes) -> bytes:
    """The same signature with its first number in a longer spelling."""
    head, numbers = numbers_of(blob)
    size = int.from_bytes(numbers[:4], "big")
    return head + string(string(b"\0\0" + numbers[4 : 4 + size]) + numbers[4 + size :])


def longer_inner(bench: Bench) -> bytes:
    """A signature blob whose inner part has a byte more."""
    return signature_blob(TestKey(KEY.blob, lambda data: KEY.sign(data) + b"\0"), bench.message())
