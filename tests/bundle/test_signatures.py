"""Two implementations of the signature check, ours and ssh-keygen's, agree on every kind of key, sound and spoilt."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from synthetic.corpus import KEY, PRINCIPAL, SECOND_KEY, Bench
from synthetic.forge import (
    NAMESPACE,
    TestKey,
    armored,
    ecdsa_key,
    ed25519_key,
    hardware_key,
    rsa_key,
    sign_bundle,
)

from twotrees.bundle import signers, sshsig
from twotrees.bundle.trust import Trust
from twotrees.bundle.verify import verify
from twotrees.errors import UsageError

MESSAGE = b"the root's bytes\n"
KINDS: dict[str, Callable[[], TestKey]] = {
    "Ed25519": ed25519_key,
    "ECDSA P-256": lambda: ecdsa_key(256),
    "ECDSA P-384": lambda: ecdsa_key(384),
    "ECDSA P-521": lambda: ecdsa_key(521),
    "RSA 3072 with SHA-512": rsa_key,
    "RSA 3072 with SHA-256": lambda: rsa_key(3072, "rsa-sha2-256"),
    "FIDO Ed25519": lambda: hardware_key("ed25519"),
    "FIDO ECDSA": lambda: hardware_key("ecdsa"),
    "FIDO for another application": lambda: hardware_key("ed25519", "ssh:work"),
    "FIDO, user verified": lambda: hardware_key("ecdsa", flags=5, counter=4711),
}


@pytest.fixture(scope="module", params=KINDS)
def key(request: pytest.FixtureRequest) -> TestKey:
    return KINDS[request.param]()


def ours(data: bytes, message: bytes = MESSAGE) -> bool:
    """What our implementation says."""
    try:
        signature = sshsig.read_signature(data)
        sshsig.check(signature, message)
    except sshsig.SignatureRefused:
        return False
    return signature.namespace == NAMESPACE


def ssh_keygens(data: bytes, folder: Path, message: bytes = MESSAGE) -> bool:
    """What ssh-keygen says."""
    (folder / "signature").write_bytes(data)
    argv = ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", folder / "signature"]
    return subprocess.run(argv, input=message, capture_output=True).returncode == 0


def test_both_accept_a_sound_signature(key: TestKey, tmp_path: Path) -> None:
    for hash_name in ("sha512", "sha256"):
        data = armored(key, MESSAGE, hash_name=hash_name)
        assert ours(data)
        assert ssh_keygens(data, tmp_path)


def test_both_refuse_another_message_and_another_purpose(key: TestKey, tmp_path: Path) -> None:
    data = armored(key, MESSAGE)
    assert not ours(data, b"another")
    assert not ssh_keygens(data, tmp_path, b"another")
    data = armored(key, MESSAGE, "git")
    assert not ours(data)
    assert not ssh_keygens(data, tmp_path)


def test_both_refuse_a_flipped_bit_anywhere_in_the_blob(key: TestKey, tmp_path: Path) -> None:
    blob = sshsig.unarmor(armored(key, MESSAGE))
    for at in range(0, len(blob), 7):
        spoilt = sshsig.armor(blob[:at] + bytes([blob[at] ^ 1]) + blob[at + 1 :])
        assert not ours(spoilt), at
        if at % 5 == 0:
            assert not ssh_keygens(spoilt, tmp_path), at


def test_ours_reads_what_ssh_keygen_says_of_a_key(key: TestKey, tmp_path: Path) -> None:
    (tmp_path / "key.pub").write_text(f"{key.line} somebody\n")
    told = subprocess.run(["ssh-keygen", "-lf", tmp_path / "key.pub"], capture_output=True, text=True, check=True)
    public = sshsig.read_public_line(f"{key.line} somebody")
    assert public.fingerprint == told.stdout.split()[1] == key.fingerprint
    assert public.line == key.line
    assert public.signature_name == key.file_name


def test_a_bundle_signed_with_any_kind_of_key_is_trusted(key: TestKey, bench: Bench) -> None:
    bench.signature.unlink()
    sign_bundle(bench.bundle, key)
    bench.allowed.write_text(key.allowed(PRINCIPAL))
    assert verify(bench.bundle, Trust(bench.allowed)).word == "trusted"


@pytest.mark.parametrize(
    "options",
    [["-t", "ed25519"], ["-t", "ecdsa", "-b", "256"], ["-t", "ecdsa", "-b", "521"], ["-t", "rsa", "-b", "3072"]],
    ids=" ".join,
)
def test_what_ssh_keygen_signs_is_accepted_by_ours(options: list[str], tmp_path: Path) -> None:
    path = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", *options, "-N", "", "-f", path], check=True)
    argv = ["ssh-keygen", "-Y", "sign", "-q", "-n", NAMESPACE, "-f", path]
    done = subprocess.run(argv, input=MESSAGE, capture_output=True, check=True)
    assert ours(done.stdout)
    assert not ours(done.stdout, b"another")


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_no_mutant_of_a_signature_passes_or_breaks_ours(data: st.DataObject) -> None:
    sound = armored(KEY, MESSAGE)
    at = data.draw(st.integers(0, len(sound) - 1))
    spoilt = sound[:at] + data.draw(st.binary(max_size=4)) + sound[at + data.draw(st.integers(0, 4)) :]
    assert ours(spoilt) == (spoilt == sound)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=400))
def test_no_bytes_in_the_armor_break_ours(blob: bytes) -> None:
    assert not ours(sshsig.armor(blob))
    assert not ours(sshsig.armor(b"SSHSIG\0\0\0\1" + blob))


@pytest.fixture
def without_ssh_keygen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A PATH on which only what is put there is found."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    yield folder


def test_where_ssh_keygen_is_missing_ours_decides_alone(bench: Bench, without_ssh_keygen: Path) -> None:
    assert verify(bench.bundle, Trust(bench.allowed)).word == "trusted"
    bench.signature.write_bytes(armored(KEY, b"another"))
    assert verify(bench.bundle, Trust(bench.allowed)).word == "broken"


def test_where_the_two_disagree_nobody_is_trusted(bench: Bench, without_ssh_keygen: Path) -> None:
    fake = without_ssh_keygen / "ssh-keygen"
    fake.write_text("#!/bin/sh\necho 'I do not like it' >&2\nexit 1\n")
    fake.chmod(0o755)
    verdict = verify(bench.bundle, Trust(bench.allowed))
    assert verdict.exit_code == 5
    assert "ssh-keygen does not accept it (I do not like it)" in verdict.line
    verdict = verify(bench.bundle, Trust())
    assert "ssh-keygen does not accept it" in verdict.line


def test_ssh_keygen_is_asked_with_the_auditors_demands(bench: Bench, without_ssh_keygen: Path) -> None:
    log = bench.folder / "log"
    fake = without_ssh_keygen / "ssh-keygen"
    fake.write_text(f'#!/bin/sh\nfor word in "$@"; do printf "%s\\n" "$word"; done >> {log}\n')
    fake.chmod(0o755)
    bench.options["revoked"] = bench.folder / "revoked"
    bench.options["revoked"].write_text("")
    assert verify(bench.bundle, Trust(bench.allowed, **bench.options)).word == "trusted"
    words = log.read_text().split("\n")
    assert words[words.index("-Y") + 1] == "verify"
    assert words[words.index("-n") + 1] == NAMESPACE
    assert words[words.index("-I") + 1] == PRINCIPAL
    assert words[words.index("-f") + 1] == str(bench.allowed)
    assert words[words.index("-r") + 1] == str(bench.options["revoked"])
    assert any(word.startswith("verify-time=") for word in words)


LISTS: dict[str, tuple[str, str | None, bool]] = {
    "one name": ("alice@example.org", None, True),
    "several names": ("bob@example.org,alice@example.org", "alice@example.org", True),
    "names in quotes": ('"alice@example.org"', "alice@example.org", True),
    "a pattern": ("*@example.org", "alice@example.org", True),
    "a pattern of one letter": ("alic?@example.org", "alice@example.org", True),
    "a pattern of another house": ("*@example.com", "alice@example.org", False),
    "a name excluded": ("!alice@example.org,*@example.org", "alice@example.org", False),
    "another name excluded": ("!bob@example.org,*@example.org", "alice@example.org", True),
    "a name in other case": ("Alice@example.org", "alice@example.org", False),
    "a dot that is no pattern": ("alice@exampleXorg", "alice@example.org", False),
}


@pytest.mark.parametrize("what", LISTS)
def test_names_in_the_list_are_read_as_ssh_keygen_reads_them(what: str, bench: Bench) -> None:
    names, identity, listed = LISTS[what]
    bench.allowed.write_text(KEY.allowed(names))
    argv = ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-s", bench.signature, "-f", bench.allowed]
    argv += ["-I", identity or PRINCIPAL]
    assert (subprocess.run(argv, input=bench.message(), capture_output=True).returncode == 0) is listed
    assert (verify(bench.bundle, Trust(bench.allowed, identity=identity)).word == "trusted") is listed


OPTIONS: dict[str, tuple[str, bool]] = {
    "our namespace": ('namespaces="twotrees-bundle-v1"', True),
    "a pattern of namespaces": ('namespaces="git,twotrees-*"', True),
    "other namespaces": ('namespaces="git"', False),
    "our namespace excluded": ('namespaces="!twotrees-bundle-v1,*"', False),
    "in force since a day": ('valid-after="20200101"', True),
    "in force since a minute": ('valid-after="202001011200"', True),
    "in force since a second, in UTC": ('valid-after="20200101120000Z"', True),
    "no longer in force": ('valid-before="20200101"', False),
    "not in force yet": ('valid-after="29990101Z"', False),
    "two options": ('namespaces="twotrees-bundle-v1",valid-before="29990101"', True),
    "capitals": ('NAMESPACES="twotrees-bundle-v1"', True),
    "an authority for certificates": ("cert-authority", False),
}


@pytest.mark.parametrize("what", OPTIONS)
def test_options_in_the_list_are_read_as_ssh_keygen_reads_them(what: str, bench: Bench) -> None:
    options, good = OPTIONS[what]
    bench.allowed.write_text("# friends\n\n" + SECOND_KEY.allowed("bob@example.org") + KEY.allowed(PRINCIPAL, options))
    argv = ["ssh-keygen", "-Y", "verify", "-n", NAMESPACE, "-s", bench.signature, "-f", bench.allowed, "-I", PRINCIPAL]
    assert (subprocess.run(argv, input=bench.message(), capture_output=True).returncode == 0) is good
    assert (verify(bench.bundle, Trust(bench.allowed)).word == "trusted") is good


def test_a_second_line_can_put_a_key_in_force_again(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, 'valid-before="20200101"') + KEY.allowed(PRINCIPAL))
    assert verify(bench.bundle, Trust(bench.allowed)).word == "trusted"


LINES: dict[str, tuple[str, str]] = {
    "a quote left open": ('"alice@example.org ssh-ed25519 AAAA\n', "expected"),
    "a key that is not base64": ("alice@example.org ssh-ed25519 A!\n", "not base64"),
    "a key of another kind inside": (KEY.allowed("a@b").replace("ssh-ed25519", "ssh-rsa", 1), "inside and"),
    "a time that is none": (KEY.allowed("a@b", 'valid-after="2020"'), "not a time"),
    "a day that is none": (KEY.allowed("a@b", 'valid-after="20201341"'), "not a time"),
    "an option twice": (KEY.allowed("a@b", 'namespaces="a",namespaces="b"'), "stands twice"),
    "an option run into the next": (KEY.allowed("a@b", "cert-authorityx"), "unknown option"),
    "a wildcard": (KEY.allowed("*"), "vouches for every name"),
}


@pytest.mark.parametrize("what", LINES)
def test_a_list_that_is_not_understood_is_named_with_its_line(what: str, tmp_path: Path) -> None:
    text, reason = LINES[what]
    (tmp_path / "allowed").write_text(f"# a comment\n{text}")
    with pytest.raises(UsageError, match=reason) as refused:
        signers.read_allowed(tmp_path / "allowed")
    assert refused.value.key == "line 2"


def test_a_list_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "allowed").write_bytes(b"\xff\xfe")
    with pytest.raises(UsageError, match="not text"):
        signers.read_allowed(tmp_path / "allowed")


def test_keys_that_sign_no_bundles_may_stand_in_the_list(tmp_path: Path) -> None:
    short = rsa_key(2048)
    text = "carol@example.org ssh-dss AAAAB3NzaC1kc3M=\n" + short.allowed("dave@example.org") + KEY.allowed(PRINCIPAL)
    (tmp_path / "allowed").write_text(text)
    assert [one.key.blob for one in signers.read_allowed(tmp_path / "allowed")] == [KEY.blob]


REVOCATIONS: dict[str, tuple[bytes, str]] = {
    "a KRL of another version": (signers.KRL_MAGIC + b"\0\0\0\2", "format 2"),
    "a KRL with an unknown section": (signers.KRL_MAGIC + b"\0\0\0\1" + b"\0" * 32 + b"\x09\0\0\0\0", "kind 9"),
    "a KRL cut short": (signers.KRL_MAGIC + b"\0\0\0\1" + b"\0" * 10, "cut short"),
    "a line that is no key": (b"# lost\nhello\n", "line 2"),
    "no text": (b"\xff\xfe\n", "codec"),
}


@pytest.mark.parametrize("what", REVOCATIONS)
def test_a_revocation_list_that_is_not_understood_is_an_error(what: str, tmp_path: Path) -> None:
    data, reason = REVOCATIONS[what]
    (tmp_path / "revoked").write_bytes(data)
    with pytest.raises(UsageError, match=reason):
        signers.read_revoked(tmp_path / "revoked")


def test_a_revocation_list_may_name_keys_that_sign_no_bundles(tmp_path: Path, bench: Bench) -> None:
    (tmp_path / "revoked").write_text(f"{rsa_key(2048).line}\n\n{SECOND_KEY.line} lost\n")
    revoked = signers.read_revoked(tmp_path / "revoked")
    assert revoked.holds(sshsig.read_public_key(SECOND_KEY.blob))
    assert not revoked.holds(sshsig.read_public_key(KEY.blob))
    assert verify(bench.bundle, Trust(bench.allowed, tmp_path / "revoked")).word == "trusted"


def test_a_krl_with_certificates_and_a_signature_is_read_past_them(tmp_path: Path) -> None:
    (tmp_path / "specification").write_text(f"serial: 7\n{SECOND_KEY.line}\n")
    KEY.write_private(tmp_path / "authority")
    argv = ["ssh-keygen", "-q", "-k", "-f", "krl", "-s", "authority.pub", "specification"]
    subprocess.run(argv, cwd=tmp_path, check=True)
    revoked = signers.read_revoked(tmp_path / "krl")
    assert revoked.holds(sshsig.read_public_key(SECOND_KEY.blob))
    assert not revoked.holds(sshsig.read_public_key(KEY.blob))


def test_a_revocation_list_that_is_missing_is_told(bench: Bench) -> None:
    with pytest.raises(UsageError, match="revocation list cannot be read"):
        verify(bench.bundle, Trust(bench.allowed, bench.folder / "gone"))


def test_gits_own_lists_are_the_default_and_a_repositorys_are_not(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = bench.folder / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(config))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("HOME", str(bench.folder))
    monkeypatch.chdir(bench.folder)
    subprocess.run(["git", "init", "-q", "."], check=True)
    subprocess.run(["git", "config", "gpg.ssh.allowedSignersFile", str(bench.allowed)], check=True)
    assert verify(bench.bundle).exit_code == 6
    config.write_text("[gpg.ssh]\n\tallowedSignersFile = ~/allowed_signers\n")
    assert verify(bench.bundle).word == "trusted"
    (bench.folder / "revoked").write_text(KEY.line)
    config.write_text("[gpg.ssh]\n\tallowedSignersFile = ~/allowed_signers\n\trevocationFile = ~/revoked\n")
    assert "is revoked" in verify(bench.bundle).line
