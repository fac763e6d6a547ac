"""Signing: which key, from where, and that nobody puts a name to what is not intact."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from synthetic.corpus import KEY, PRINCIPAL, SECOND_KEY, Bench
from synthetic.forge import armored, hardware_key

from twotrees.bundle.keys import Key, find_key, own_key, principal
from twotrees.bundle.sign import sign, sign_bytes
from twotrees.bundle.sshsig import read_public_key
from twotrees.bundle.trust import Trust
from twotrees.bundle.verify import verify
from twotrees.errors import BundleBroken, UsageError


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without keys, agent or git configuration."""
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(folder))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(folder / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.delenv("SSH_ASKPASS", raising=False)
    monkeypatch.chdir(folder)
    return folder


def configure(home: Path, signing_key: str, form: str = "ssh") -> None:
    (home / "gitconfig").write_text(f'[gpg]\n\tformat = {form}\n[user]\n\tsigningkey = "{signing_key}"\n')


@pytest.fixture
def agent(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An ssh-agent that holds `KEY`."""
    path = home / "a"
    agent = subprocess.Popen(["ssh-agent", "-D", "-a", path], stdout=subprocess.DEVNULL)
    monkeypatch.setenv("SSH_AUTH_SOCK", str(path))
    private = KEY.write_private(home / "held")
    try:
        for _ in range(200):
            if subprocess.run(["ssh-add", "-q", private], capture_output=True).returncode == 0:
                break
        private.unlink()
        private.with_name("held.pub").unlink()
        yield
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()


def test_the_first_use_makes_a_key_that_only_its_owner_reads_and_says_so(home: Path, bench: Bench) -> None:
    key = find_key()
    assert key.made and key.origin == "own"
    assert "made an Ed25519 key SHA256:" in key.announcement
    assert key.path == home / "twotrees" / "signing_key"
    assert stat.S_IMODE(key.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.path.parent.stat().st_mode) == 0o700
    again = find_key()
    assert not again.made and again.public == key.public
    assert "made" not in again.announcement
    bench.unsign()
    signature = sign(bench.bundle)
    assert signature.fingerprint == key.public.fingerprint
    bench.allowed.write_text(key.allowed_signers_line(PRINCIPAL) + "\n")
    assert verify(bench.bundle, Trust(bench.allowed)).word == "trusted"


def test_two_first_uses_at_once_end_up_with_one_key(home: Path) -> None:
    script = "from twotrees.bundle.keys import own_key; print(own_key().public.fingerprint)"
    started = [subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) for _ in range(3)]
    told = {process.communicate()[0] for process in started}
    assert told == {own_key().public.fingerprint + "\n"}


def test_the_key_with_which_git_signs_is_used(home: Path, bench: Bench) -> None:
    KEY.write_private(home / "mine")
    configure(home, "~/mine")
    key = find_key()
    assert (key.origin, key.public.blob) == ("git", KEY.blob)
    assert "git's user.signingkey" in key.announcement
    bench.unsign()
    assert sign(bench.bundle).file == bench.signature
    assert verify(bench.bundle, Trust(bench.allowed)).word == "trusted"


def test_gits_key_is_left_alone_when_git_signs_otherwise(home: Path) -> None:
    KEY.write_private(home / "mine")
    configure(home, "~/mine", form="openpgp")
    assert find_key().origin == "own"


@pytest.mark.parametrize("spelling", ["key::{line}", "{line}", "~/mine.pub"])
def test_a_key_that_an_agent_holds_signs(spelling: str, home: Path, agent: None, bench: Bench) -> None:
    (home / "mine.pub").write_text(f"{KEY.line} me\n")
    configure(home, spelling.format(line=KEY.line))
    bench.unsign()
    assert sign(bench.bundle).file == bench.signature
    assert verify(bench.bundle, Trust(bench.allowed)).word == "trusted"


def test_a_key_that_the_agent_does_not_hold_is_told(home: Path, agent: None, bench: Bench) -> None:
    configure(home, f"key::{SECOND_KEY.line}")
    with pytest.raises(UsageError, match="ssh-keygen cannot sign"):
        sign(bench.bundle)


def test_a_key_given_by_hand_wins_over_gits(home: Path, bench: Bench) -> None:
    KEY.write_private(home / "mine")
    SECOND_KEY.write_private(home / "other")
    configure(home, "~/mine")
    key = find_key(home / "other")
    assert (key.origin, key.public.blob) == ("given", SECOND_KEY.blob)
    assert sign(bench.bundle, key).fingerprint == SECOND_KEY.fingerprint


def test_a_private_key_without_its_public_file_tells_its_public_half(home: Path) -> None:
    KEY.write_private(home / "mine").with_name("mine.pub").unlink()
    assert find_key(home / "mine").public.blob == KEY.blob


def test_a_key_with_a_passphrase_is_sent_to_the_agent(home: Path, bench: Bench) -> None:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "secret", "-f", home / "locked"], check=True)
    with pytest.raises(UsageError, match="`ssh-add` it first"):
        sign(bench.bundle, find_key(home / "locked"))
    (home / "locked.pub").unlink()
    with pytest.raises(UsageError, match="its public half is unknown"):
        find_key(home / "locked")


def test_a_public_file_of_another_key_is_noticed(home: Path, bench: Bench) -> None:
    KEY.write_private(home / "mine")
    (home / "mine.pub").write_text(SECOND_KEY.line)
    with pytest.raises(UsageError, match=r"ssh-keygen|belongs to another"):
        sign(bench.bundle, find_key(home / "mine"))


UNUSABLE = {
    "no file": (None, "cannot be read"),
    "a file that is no key": ("hello\n", "not a public key"),
    "a short RSA key": ("ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAAQEB\n", "RSA key of|cut short|bits"),
}


@pytest.mark.parametrize("what", UNUSABLE)
def test_a_key_that_cannot_be_used_is_named(what: str, home: Path) -> None:
    text, reason = UNUSABLE[what]
    if text is not None:
        (home / "mine.pub").write_text(text)
    with pytest.raises(UsageError, match=reason):
        find_key(home / "mine.pub")


def test_a_folder_in_which_no_key_can_be_made_is_told(home: Path) -> None:
    (home / "twotrees").write_text("")
    with pytest.raises(UsageError, match="no key can be made"):
        find_key()


def test_without_ssh_keygen_nobody_signs(home: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    KEY.write_private(home / "mine")
    key = find_key(home / "mine")
    monkeypatch.setenv("PATH", str(home))
    with pytest.raises(UsageError, match="ssh-keygen is not installed"):
        sign_bytes(b"x", key, "twotrees-bundle-v1")
    with pytest.raises(UsageError, match="no key can be made: ssh-keygen is not installed"):
        own_key()


ANSWERS = {
    "no signature": (b"hello", "cannot be used"),
    "a signature of something else": (armored(KEY, b"y"), "cannot be used: the signature does not fit"),
    "a signature of somebody else": (armored(SECOND_KEY, b"x"), "signed as"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_what_ssh_keygen_gives_back_is_checked(
    what: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, reason = ANSWERS[what]
    key = find_key(KEY.write_private(home / "mine"))
    (home / "answer").write_bytes(answer)
    fake = tmp_path / "bin" / "ssh-keygen"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n/bin/cat {home / 'answer'}\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    with pytest.raises(UsageError, match=reason):
        sign_bytes(b"x", key, "twotrees-bundle-v1")


def test_nobody_signs_what_is_not_intact(home: Path, bench: Bench) -> None:
    bench.edit("data/report.md", "Synthetic", "Measured")
    with pytest.raises(BundleBroken, match=r"data/report\.md"):
        sign(bench.bundle)
    assert not (home / "twotrees").exists()


def test_signing_twice_leaves_one_file_and_co_signing_two(home: Path, bench: Bench) -> None:
    first, second = (find_key(key.write_private(home / name)) for name, key in (("a", KEY), ("b", SECOND_KEY)))
    for key in (first, first, second):
        sign(bench.bundle, key)
    assert sorted(path.name for path in bench.signature.parent.iterdir()) == sorted(
        [KEY.file_name, SECOND_KEY.file_name]
    )


def test_a_bundle_that_cannot_be_written_to_is_told(home: Path, bench: Bench) -> None:
    key = find_key(KEY.write_private(home / "mine"))
    bench.unsign()
    bench.signature.mkdir(parents=True)
    (bench.signature / "x").write_text("")
    with pytest.raises((UsageError, BundleBroken)):
        sign(bench.bundle, key)


def test_a_disk_without_room_for_the_signature_is_told(
    home: Path, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = find_key(KEY.write_private(home / "mine"))
    bench.unsign()
    write = Path.write_bytes

    def full(path: Path, data: bytes) -> int:
        if path.parent.name == "signatures":
            raise OSError(28, "No space left on device")
        return write(path, data)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UsageError, match="the signature cannot be written: No space left"):
        sign(bench.bundle, key)


def test_the_name_to_be_listed_under_is_gits_email(home: Path) -> None:
    assert principal() == "signer"
    (home / "gitconfig").write_text("[user]\n\temail = alice@example.org\n")
    assert principal() == "alice@example.org"
    (home / "gitconfig").write_text('[user]\n\temail = "*"\n')
    assert principal() == "signer"


def test_a_hardware_keys_announcement_says_that_an_agent_holds_it() -> None:
    key = Key(read_public_key(hardware_key("ed25519").blob), None, "git")
    assert "(held by an agent)" in key.announcement
    assert key.allowed_signers_line("alice@example.org").startswith('alice@example.org namespaces="twotrees-bundle-v1,')
