"""The ledger: lines only ever added, chained, signed as prefixes, refused when reordered or cut below a signature."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from synthetic.corpus import KEY, PRINCIPAL, SECOND_KEY
from synthetic.forge import armored, make_bundle

from twotrees.bundle.keys import Key, find_key
from twotrees.bundle.ledger import append, read_ledger, sign_ledger, signatures_of, verify_ledger
from twotrees.bundle.trust import Trust
from twotrees.errors import BundleBroken, UsageError


def root_of(bundle: Path) -> str:
    return hashlib.sha256((bundle / "tagmanifest-sha256.txt").read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """An original, a replication of it, and another original."""
    folder = tmp_path_factory.mktemp("bundles")
    original = make_bundle(folder / "a", KEY, repeats=1, steps=3)
    replication = make_bundle(folder / "b", KEY, repeats=1, steps=3, seed=2, replicates=root_of(original))
    return original, replication, make_bundle(folder / "c", KEY, repeats=1, steps=3, seed=3)


@pytest.fixture(scope="module")
def three_lines(bundles: tuple[Path, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An original, its replication, and the original taken back."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.txt"
    append(path, bundles[0], "original")
    append(path, bundles[1], "replicates")
    append(path, bundles[0], "retracts")
    return path


@pytest.fixture
def ledger(three_lines: Path, tmp_path: Path) -> Path:
    """A copy of them."""
    return Path(shutil.copy(three_lines, tmp_path))


@pytest.fixture
def key(tmp_path: Path) -> Key:
    return find_key(KEY.write_private(tmp_path / "mine"))


@pytest.fixture
def allowed(tmp_path: Path) -> Path:
    path = tmp_path / "allowed_signers"
    path.write_text(KEY.allowed(PRINCIPAL))
    return path


def test_each_line_holds_the_hash_of_the_line_before_it(ledger: Path, bundles: tuple[Path, Path, Path]) -> None:
    lines = ledger.read_text().splitlines()
    fields = [line.split(" ") for line in lines]
    assert [one[0] for one in fields] == ["0001", "0002", "0003"]
    assert [one[1] for one in fields] == [
        "0" * 64,
        *(hashlib.sha256(f"{line}\n".encode()).hexdigest() for line in lines[:-1]),
    ]
    assert [one[2] for one in fields] == [root_of(bundles[0]), root_of(bundles[1]), root_of(bundles[0])]
    assert [one[3] for one in fields] == ["original", "replicates", "retracts"]
    assert [one[4] for one in fields] == [bundles[0].name, bundles[1].name, bundles[0].name]


def test_the_head_to_publish_is_the_hash_of_the_last_line(ledger: Path) -> None:
    verdict = verify_ledger(ledger, Trust())
    last = ledger.read_bytes().splitlines(keepends=True)[-1]
    assert verdict.head == hashlib.sha256(last).hexdigest()
    assert verdict.line == f"intact, unsigned (3 lines, head {verdict.head})"
    assert verdict.exit_code == 6


def test_a_whole_signed_ledger_is_trusted(ledger: Path, key: Key, allowed: Path) -> None:
    file = sign_ledger(ledger, key)
    assert file.name == f"0003-{KEY.file_name}"
    verdict = verify_ledger(ledger, Trust(allowed))
    assert (verdict.word, verdict.exit_code) == ("trusted", 0)
    assert [one.principal for one in verdict.signers] == [PRINCIPAL]


def test_a_signed_prefix_is_trusted_as_far_as_it_reaches(
    ledger: Path, key: Key, allowed: Path, bundles: tuple[Path, Path, Path]
) -> None:
    sign_ledger(ledger, key)
    append(ledger, bundles[2], "original")
    verdict = verify_ledger(ledger, Trust(allowed))
    assert (verdict.word, verdict.exit_code) == ("intact, trusted to line 3 of 4", 6)
    sign_ledger(ledger, key)
    assert verify_ledger(ledger, Trust(allowed)).word == "trusted"


def test_two_signers_reach_as_far_as_the_shorter_of_them(
    ledger: Path, key: Key, allowed: Path, bundles: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    other = find_key(SECOND_KEY.write_private(tmp_path / "other"))
    allowed.write_text(KEY.allowed(PRINCIPAL) + SECOND_KEY.allowed("bob@example.org"))
    sign_ledger(ledger, other)
    append(ledger, bundles[2], "original")
    sign_ledger(ledger, key)
    trust = Trust(allowed, require_signers=2)
    assert verify_ledger(ledger, trust).word == "intact, trusted to line 3 of 4"
    sign_ledger(ledger, other)
    assert verify_ledger(ledger, trust).word == "trusted"


def test_a_signer_whom_nobody_lists_is_unknown(ledger: Path, key: Key) -> None:
    sign_ledger(ledger, key)
    verdict = verify_ledger(ledger, Trust())
    assert verdict.word == f"intact, unknown signer {KEY.fingerprint}"
    assert verdict.exit_code == 6


def test_a_ledger_cut_below_a_signature_is_noticed_and_one_cut_above_it_is_not(
    ledger: Path, key: Key, allowed: Path, bundles: tuple[Path, Path, Path]
) -> None:
    head = verify_ledger(ledger, Trust(allowed)).head
    sign_ledger(ledger, key)
    append(ledger, bundles[2], "original")
    lines = ledger.read_bytes().splitlines(keepends=True)
    ledger.write_bytes(b"".join(lines[:3]))
    assert verify_ledger(ledger, Trust(allowed)).word == "trusted"  # only a published head can tell
    assert verify_ledger(ledger, Trust(allowed)).head == head
    ledger.write_bytes(b"".join(lines[:2]))
    verdict = verify_ledger(ledger, Trust(allowed))
    assert verdict.exit_code == 5
    assert "lines were cut off" in verdict.line


def swap(lines: list[bytes]) -> list[bytes]:
    return [lines[1], lines[0], lines[2]]


def swap_and_number(lines: list[bytes]) -> list[bytes]:
    return [b"0001" + lines[1][4:], b"0002" + lines[0][4:], lines[2]]


CHANGES: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "reordered": (swap, "line 1: numbered 0002"),
    "reordered and numbered again": (swap_and_number, "line 1: not chained"),
    "a line left out": (lambda lines: [lines[0], lines[2]], "line 2: numbered 0003"),
    "a line edited": (lambda lines: [lines[0][:-2] + b"x\n", *lines[1:]], "line 2: not chained"),
    "a line repeated": (lambda lines: [*lines, lines[2]], "line 4: numbered 0003"),
    "CRLF": (lambda lines: [line.replace(b"\n", b"\r\n") for line in lines], "line 1: malformed"),
    "a blank line": (lambda lines: [*lines, b"\n"], "line 4: malformed"),
    "an unknown kind": (lambda lines: [lines[0].replace(b"original", b"approves"), *lines[1:]], "line 1: malformed"),
    "no newline at the end": (lambda lines: [*lines[:2], lines[2][:-1]], "no newline"),
    "a name with a space": (lambda lines: [lines[0][:-1] + b" x\n", *lines[1:]], "line 1: malformed"),
    "bytes that are no text": (lambda lines: [lines[0][:-1] + b"\xff\n", *lines[1:]], "line 1: malformed"),
    "a number in other digits": (lambda lines: [b"00001" + lines[0][4:], *lines[1:]], "line 1: numbered 00001"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_changed_ledger_is_refused_by_line_and_reason(what: str, ledger: Path, key: Key, allowed: Path) -> None:
    sign_ledger(ledger, key)
    change, reason = CHANGES[what]
    ledger.write_bytes(b"".join(change(ledger.read_bytes().splitlines(keepends=True))))
    verdict = verify_ledger(ledger, Trust(allowed))
    assert (verdict.word, verdict.exit_code) == ("broken", 5)
    assert "ledger.txt" in verdict.line
    assert reason in verdict.line


def rewritten(ledger: Path, rows: list[tuple[str, str]]) -> None:
    """A ledger of (root, kind), numbered and chained as it must be: only its sense is wrong."""
    previous, lines = "0" * 64, []
    for number, (root, kind) in enumerate(rows, start=1):
        lines.append(f"{number:04d} {previous} {root} {kind} name\n")
        previous = hashlib.sha256(lines[-1].encode()).hexdigest()
    ledger.write_text("".join(lines))


A, B = "a" * 64, "b" * 64
SENSELESS = {
    "a replication of its own root": ([(A, "original"), (A, "replicates")], "line 2: a replication whose root"),
    "an original twice": ([(A, "original"), (A, "original")], "line 2: it was entered before"),
    "a replication of nothing": ([(A, "replicates")], "line 1: there is nothing yet"),
    "a retraction of nothing": ([(A, "original"), (B, "retracts")], "line 2: it retracts what was never entered"),
    "a retraction twice": ([(A, "original"), (A, "retracts"), (A, "retracts")], "line 3: it was retracted before"),
}


@pytest.mark.parametrize("what", SENSELESS)
def test_a_ledger_whose_lines_cannot_follow_each_other_is_refused(what: str, tmp_path: Path) -> None:
    rows, reason = SENSELESS[what]
    rewritten(tmp_path / "ledger.txt", rows)
    verdict = verify_ledger(tmp_path / "ledger.txt", Trust())
    assert verdict.exit_code == 5
    assert reason in verdict.line


def test_what_cannot_follow_is_not_appended(ledger: Path, bundles: tuple[Path, Path, Path], tmp_path: Path) -> None:
    before = ledger.read_bytes()
    with pytest.raises(UsageError, match="it was entered before"):
        append(ledger, bundles[0], "original")
    with pytest.raises(UsageError, match="so is no original"):
        append(ledger, bundles[1], "original")
    with pytest.raises(UsageError, match="is not in this ledger"):
        append(ledger, bundles[2], "replicates")
    with pytest.raises(UsageError, match="is not in this ledger"):
        append(tmp_path / "another.txt", bundles[1], "replicates")
    with pytest.raises(UsageError, match="it was retracted before"):
        append(ledger, bundles[0], "retracts")
    assert ledger.read_bytes() == before


def test_a_broken_bundle_or_ledger_is_not_appended_to(
    ledger: Path, bundles: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(bundles[2], tmp_path / bundles[2].name))
    (copy / "data" / "report.md").write_text("better")
    with pytest.raises(BundleBroken, match=r"data/report\.md"):
        append(ledger, copy, "original")
    ledger.write_bytes(ledger.read_bytes()[:-1])
    with pytest.raises(BundleBroken, match="no newline"):
        append(ledger, bundles[2], "original")
    with pytest.raises(BundleBroken, match="no newline"):
        sign_ledger(ledger)


SIGNATURES: dict[str, tuple[str, Callable[[bytes], bytes], str]] = {
    "over other lines": (
        f"0002-{KEY.file_name}",
        lambda data: armored(KEY, data, "twotrees-ledger-v1"),
        "does not fit",
    ),
    "for bundles": (f"0003-{KEY.file_name}", lambda data: armored(KEY, data), "signed for 'twotrees-bundle-v1'"),
    "under another's name": (
        f"0003-{SECOND_KEY.file_name}",
        lambda data: armored(KEY, data, "twotrees-ledger-v1"),
        "the signature is of",
    ),
    "over no lines": (f"0000-{KEY.file_name}", lambda data: b"", "it signs 0 lines"),
    "of another name": ("notes.txt", lambda data: b"", "not a signature"),
    "far too large": (f"0003-{KEY.file_name}", lambda data: b"x" * 70_000, "too large"),
}


@pytest.mark.parametrize("what", SIGNATURES)
def test_a_signature_that_does_not_hold_breaks_the_ledger(what: str, ledger: Path, allowed: Path) -> None:
    name, make, reason = SIGNATURES[what]
    folder = signatures_of(ledger)
    folder.mkdir()
    (folder / name).write_bytes(make(ledger.read_bytes()))
    verdict = verify_ledger(ledger, Trust(allowed))
    assert verdict.exit_code == 5
    assert f"ledger.txt.signatures/{name}" in verdict.line
    assert reason in verdict.line


def test_a_link_among_the_signatures_is_refused(ledger: Path, key: Key, allowed: Path) -> None:
    file = sign_ledger(ledger, key)
    target = file.rename(ledger.parent / "elsewhere")
    file.symlink_to(target)
    assert "not a signature" in verify_ledger(ledger, Trust(allowed)).line


def test_a_ledger_that_is_not_there_is_the_callers_fault(tmp_path: Path, key: Key) -> None:
    with pytest.raises(UsageError, match="no such ledger"):
        verify_ledger(tmp_path / "ledger.txt", Trust())
    with pytest.raises(UsageError, match="an empty ledger"):
        sign_ledger(tmp_path / "ledger.txt", key)


def test_an_empty_ledger_is_intact(tmp_path: Path) -> None:
    (tmp_path / "ledger.txt").write_text("")
    verdict = verify_ledger(tmp_path / "ledger.txt", Trust())
    assert (verdict.word, verdict.head) == ("intact, unsigned", "0" * 64)


def test_a_ledger_of_more_than_16_mib_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "ledger.txt").touch()
    os.truncate(tmp_path / "ledger.txt", (16 << 20) + 1)
    with pytest.raises(BundleBroken, match="more than"):
        read_ledger(tmp_path / "ledger.txt")


def test_a_place_where_nothing_can_be_written_is_told(
    bundles: tuple[Path, Path, Path], tmp_path: Path, key: Key
) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        append(tmp_path / "no" / "ledger.txt", bundles[0], "original")
    with pytest.raises(UsageError, match="cannot be read"):
        append(tmp_path, bundles[0], "original")
    ledger = tmp_path / "ledger.txt"
    append(ledger, bundles[0], "original")
    signatures_of(ledger).write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        sign_ledger(ledger, key)
