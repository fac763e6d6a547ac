"""The journal: what is in it has happened, and nobody can change it unseen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from twotrees.digest import sha256_json
from twotrees.errors import RunFailed
from twotrees.runs import journal
from twotrees.runs.journal import GENESIS, Journal


@pytest.fixture
def written(tmp_path: Path) -> Path:
    path = tmp_path / "journal.jsonl"
    log = Journal(path)
    log.append("plan", sha256="ab" * 32)
    log.append("start", attempt=1, run=1)
    log.append("end", attempt=1, run=1, status="ok")
    return path


def test_a_journal_that_is_not_there_yet_is_empty_and_ready(tmp_path: Path) -> None:
    log, lines = journal.read(tmp_path / "journal.jsonl")
    assert (log.seq, log.head, lines) == (0, GENESIS, [])


def test_each_line_names_the_hash_of_the_line_before_it(written: Path) -> None:
    lines = [json.loads(text) for text in written.read_text().splitlines()]
    assert [line["seq"] for line in lines] == [0, 1, 2]
    assert [line["prev"] for line in lines] == [GENESIS, lines[0]["hash"], lines[1]["hash"]]


def test_a_stranger_can_recompute_each_hash_from_the_line_alone(written: Path) -> None:
    for text in written.read_text().splitlines():
        line = json.loads(text)
        told = line.pop("hash")
        assert sha256_json(line) == told


def test_a_line_is_on_the_disk_when_append_returns(tmp_path: Path) -> None:
    log = Journal(tmp_path / "journal.jsonl")
    for number in range(1, 4):
        log.append("start", attempt=number)
        assert len(log.path.read_bytes().splitlines()) == number


def test_a_journal_that_was_read_goes_on_where_it_ended(written: Path) -> None:
    log, lines = journal.read(written)
    log.append("resume")
    again, more = journal.read(written)
    assert more[:3] == lines
    assert (again.seq, again.head, more[3]["event"]) == (log.seq, log.head, "resume")


def test_times_are_utc_and_do_not_run_backwards(written: Path) -> None:
    _, lines = journal.read(written)
    times = [line["time"] for line in lines]
    assert all(time.endswith("Z") and time[10] == "T" for time in times)
    assert times == sorted(times)


@pytest.mark.parametrize("keep", [1, 40, -2])
def test_a_last_line_that_a_crash_cut_short_is_taken_off(written: Path, keep: int) -> None:
    whole = written.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    written.write_bytes(whole[: len(whole) - len(last)] + last[:keep])
    log, lines = journal.read(written)
    assert [line["event"] for line in lines] == ["plan", "start"]
    assert written.read_bytes() == whole[: len(whole) - len(last)]
    log.append("resume")
    assert [line["event"] for line in journal.read(written)[1]] == ["plan", "start", "resume"]


def test_a_line_without_its_end_of_line_does_not_count(written: Path) -> None:
    written.write_bytes(written.read_bytes().removesuffix(b"\n"))
    assert len(journal.read(written)[1]) == 2


def test_any_changed_byte_in_any_line_is_found(written: Path) -> None:
    whole = written.read_bytes()
    for position in range(0, len(whole), 7):
        if whole[position : position + 1] == b"\n":
            continue
        changed = bytearray(whole)
        changed[position] ^= 1
        written.write_bytes(bytes(changed))
        with pytest.raises(RunFailed, match=r"journal\.jsonl: line \d: "):
            journal.read(written)


def rewritten(path: Path, lines: list[bytes]) -> None:
    path.write_bytes(b"".join(line + b"\n" for line in lines))


def test_a_line_taken_out_is_found(written: Path) -> None:
    lines = written.read_bytes().splitlines()
    rewritten(written, [lines[0], lines[2]])
    with pytest.raises(RunFailed, match="line 2: it is not chained"):
        journal.read(written)


def test_lines_in_another_order_are_found(written: Path) -> None:
    lines = written.read_bytes().splitlines()
    rewritten(written, [lines[0], lines[2], lines[1]])
    with pytest.raises(RunFailed, match="line 2: it is not chained"):
        journal.read(written)


def test_a_line_repeated_is_found(written: Path) -> None:
    lines = written.read_bytes().splitlines()
    rewritten(written, [*lines, lines[-1]])
    with pytest.raises(RunFailed, match="line 4: it is not chained"):
        journal.read(written)


def test_a_line_made_anew_in_the_middle_breaks_the_chain_after_it(written: Path) -> None:
    lines = [json.loads(text) for text in written.read_text().splitlines()]
    changed = {**lines[1], "run": 7}
    del changed["hash"]
    changed["hash"] = sha256_json(changed)
    rewritten(written, [json.dumps(line).encode() for line in (lines[0], changed, lines[2])])
    with pytest.raises(RunFailed, match="line 3: it is not chained"):
        journal.read(written)


@pytest.mark.parametrize(
    ("line", "told"),
    [(b"{", "not JSON"), (b"[1]", "not an object"), (b'{"a":1,"a":1}', "duplicate key"), (b"", "not JSON")],
)
def test_a_line_that_is_no_object_is_named(written: Path, line: bytes, told: str) -> None:
    rewritten(written, [*written.read_bytes().splitlines(), line])
    with pytest.raises(RunFailed, match=f"line 4: .*{told}"):
        journal.read(written)


def test_the_refusal_says_what_to_do(written: Path) -> None:
    rewritten(written, [b"{}"])
    with pytest.raises(RunFailed) as caught:
        journal.read(written)
    assert caught.value.exit_code == 4
    assert "start a new campaign" in str(caught.value)
