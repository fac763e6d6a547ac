"""Sound bundles are accepted: in every container, with every kind of campaign and key, and with the right word."""

from __future__ import annotations

import gzip
import io
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from synthetic.campaign import Incident
from synthetic.corpus import KEY, PRINCIPAL, SECOND_KEY, Bench
from synthetic.forge import make_bundle, sign_bundle

from twotrees.bundle import read, tar
from twotrees.bundle.layout import Limits
from twotrees.bundle.member import Member
from twotrees.bundle.seal import write_tar
from twotrees.bundle.trust import Trust
from twotrees.bundle.verify import verify
from twotrees.errors import BundleBroken, UsageError


def trusted(source: Path, bench: Bench, **demands: Any) -> bool:
    verdict = verify(source, Trust(bench.allowed, **demands))
    assert verdict.word == "trusted", verdict.line
    return verdict.exit_code == 0


def test_a_sound_bundle_is_trusted_and_says_by_whom(bench: Bench) -> None:
    verdict = verify(bench.bundle, Trust(bench.allowed))
    assert (verdict.word, verdict.exit_code) == ("trusted", 0)
    assert verdict.name == bench.bundle.name
    assert verdict.root is not None and bench.bundle.name.endswith(verdict.root[:8])
    assert [(one.fingerprint, one.principal) for one in verdict.signers] == [(KEY.fingerprint, PRINCIPAL)]
    assert verdict.line == f"trusted (root {verdict.root})"
    assert verdict.data()["signers"][0]["principal"] == PRINCIPAL


def test_without_a_list_of_signers_nobody_is_trusted(bench: Bench) -> None:
    verdict = verify(bench.bundle, Trust())
    assert verdict.word == f"intact, unknown signer {KEY.fingerprint}"
    assert verdict.exit_code == 6


def gnu_tar(bundle: Path, out: Path, *options: str) -> Path:
    subprocess.run(["tar", *options, "-cf", out, bundle.name], cwd=bundle.parent, check=True)
    return out


def own_tar(bundle: Path, out: Path) -> Path:
    with out.open("wb") as stream:
        write_tar(bundle, stream)
    return out


def info_zip(bundle: Path, out: Path, *options: str) -> Path:
    subprocess.run(["zip", "-qr", *options, out, bundle.name], cwd=bundle.parent, check=True)
    return out


def python_archive(bundle: Path, out: Path) -> Path:
    form = out.suffix[1:]
    return Path(shutil.make_archive(str(out.with_suffix("")), form, bundle.parent, bundle.name))


def streamed_zip(bundle: Path, out: Path) -> Path:
    class Pipe(io.RawIOBase):
        raw = bytearray()

        def writable(self) -> bool:
            return True

        def write(self, data: bytes) -> int:  # type: ignore[override]
            self.raw += data
            return len(data)

    pipe = Pipe()
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:  # type: ignore[arg-type]
        for path in bundle.rglob("*"):
            if path.is_file():
                archive.write(path, path.relative_to(bundle.parent))
    out.write_bytes(pipe.raw)
    return out


CONTAINERS: dict[str, Callable[[Path, Path], Path]] = {
    "our own tar": lambda bundle, folder: own_tar(bundle, folder / "a.tar"),
    "GNU tar": lambda bundle, folder: gnu_tar(bundle, folder / "a.tar"),
    "GNU tar in ustar": lambda bundle, folder: gnu_tar(bundle, folder / "a.tar", "--format=ustar"),
    "GNU tar in pax": lambda bundle, folder: gnu_tar(bundle, folder / "a.tar", "--format=posix"),
    "Python's tar": lambda bundle, folder: python_archive(bundle, folder / "a.tar"),
    "Python's zip": lambda bundle, folder: python_archive(bundle, folder / "a.zip"),
    "Python's zip to a pipe": lambda bundle, folder: streamed_zip(bundle, folder / "a.zip"),
    "Info-ZIP": lambda bundle, folder: info_zip(bundle, folder / "a.zip"),
    "Info-ZIP, stored": lambda bundle, folder: info_zip(bundle, folder / "a.zip", "-0"),
    "Info-ZIP without folders": lambda bundle, folder: info_zip(bundle, folder / "a.zip", "-D", "-X"),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_an_archive_made_by_a_common_tool_is_accepted(container: str, bench: Bench) -> None:
    assert trusted(CONTAINERS[container](bench.bundle, bench.folder), bench)


@pytest.mark.parametrize("container", ["our own tar", "Info-ZIP"])
def test_an_archive_is_accepted_on_standard_input(container: str, bench: Bench) -> None:
    archive = CONTAINERS[container](bench.bundle, bench.folder)
    script = (
        "import sys, pathlib; from twotrees.bundle.verify import verify; from twotrees.bundle.trust import Trust\n"
        "verdict = verify('-', Trust(pathlib.Path(sys.argv[1]))); print(verdict.line); sys.exit(verdict.exit_code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, bench.allowed], stdin=archive.open("rb"), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("trusted (root ")


def test_a_copy_under_another_name_is_the_same_bundle(bench: Bench) -> None:
    assert trusted(bench.bundle.rename(bench.folder / "my copy"), bench)


def test_the_folder_in_which_one_stands_can_be_verified(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(bench.bundle)
    assert trusted(Path(), bench)


def test_a_link_to_a_bundle_is_the_auditors_own_business(bench: Bench) -> None:
    link = bench.folder / "latest"
    link.symlink_to(bench.bundle)
    assert trusted(link, bench)


CAMPAIGNS: dict[str, dict[str, Any]] = {
    "three arms": {"arms": ("before", "after", "next")},
    "arms that alternate": {"protocol": "interleaved"},
    "lockstep": {"protocol": "lockstep", "steps": 16, "repeats": 2},
    "lockstep rounds that were tried again": {
        "protocol": "lockstep",
        "steps": 16,
        "repeats": 2,
        "incidents": [Incident(4), Incident(5, "interrupted", "killed")],
    },
    "another backend": {"backend": "mjwarp"},
    "an environment for each arm": {"per_arm": True},
    "no parity runs": {"parity": False},
    "a replication": {"replicates": "0" * 64},
}


@pytest.mark.parametrize("what", CAMPAIGNS)
def test_every_kind_of_campaign_is_accepted(what: str, bench: Bench) -> None:
    assert trusted(make_bundle(bench.folder / "other", KEY, **{"repeats": 1, "steps": 3, **CAMPAIGNS[what]}), bench)


def test_failures_interruptions_and_labels_are_kept_and_told(bench: Bench) -> None:
    incidents = [
        Incident(3),
        Incident(4, "interrupted", "the campaign was killed while it ran"),
        Incident(4, "timeout"),
    ]
    bundle = make_bundle(bench.folder / "other", KEY, incidents=incidents, labels=["drift allowed"])
    verdict = verify(bundle, Trust(bench.allowed))
    assert verdict.word == "trusted", verdict.line
    assert "label: drift allowed" in verdict.notes
    assert "3 of 13 attempts gave no result and were kept" in verdict.notes
    assert "the campaign was interrupted or resumed 1 times" in verdict.notes


def test_two_signers_are_enough_where_two_are_required(bench: Bench) -> None:
    sign_bundle(bench.bundle, SECOND_KEY)
    bench.allowed.write_text(KEY.allowed(PRINCIPAL) + SECOND_KEY.allowed("bob@example.org"))
    assert trusted(bench.bundle, bench, require_signers=2)


def test_an_unknown_co_signer_takes_no_trust_away(bench: Bench) -> None:
    sign_bundle(bench.bundle, SECOND_KEY)
    assert trusted(bench.bundle, bench)


def test_the_moment_of_the_check_is_the_auditors(bench: Bench) -> None:
    bench.allowed.write_text(KEY.allowed(PRINCIPAL, 'valid-after="20260101Z",valid-before="20260901Z"'))
    assert trusted(bench.bundle, bench, at=datetime(2026, 8, 31, 23, 59, tzinfo=UTC))
    for moment in (datetime(2026, 9, 1, 0, 1, tzinfo=UTC), datetime(2025, 12, 31, 23, 59, tzinfo=UTC)):
        assert verify(bench.bundle, Trust(bench.allowed, at=moment)).word == "broken"


def test_a_bundle_that_is_not_there_is_the_auditors_fault(bench: Bench) -> None:
    with pytest.raises(UsageError, match="no such bundle"):
        verify(bench.folder / "nothing", Trust(bench.allowed))


def test_a_flipped_byte_anywhere_is_noticed(bench: Bench) -> None:
    for path in sorted(bench.bundle.rglob("*")):
        if path.is_file() and path.stat().st_size:
            original = path.read_bytes()
            middle = len(original) // 2
            path.write_bytes(original[:middle] + bytes([original[middle] ^ 1]) + original[middle + 1 :])
            verdict = verify(bench.bundle, Trust(bench.allowed))
            assert (verdict.word, verdict.exit_code) == ("broken", 5), path
            path.write_bytes(original)
    assert trusted(bench.bundle, bench)


def test_verifying_leaves_the_bundle_and_the_temporary_folder_as_they_were(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = bench.folder / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    before = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in bench.bundle.rglob("*")}
    assert trusted(bench.bundle, bench)
    assert {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in bench.bundle.rglob("*")} == before
    assert list(scratch.iterdir()) == []


def test_runs_of_a_profiler_without_raw_samples_are_accepted_and_told(bench: Bench) -> None:
    bundle = make_bundle(bench.folder / "other", KEY, change_result=lambda record: record["result"].pop("twotrees"))
    verdict = verify(bundle, Trust(bench.allowed))
    assert verdict.word == "trusted", verdict.line
    assert "its profiler gave no raw samples: summaries could not be recomputed" in verdict.notes


LIMITS: dict[str, tuple[Limits, str]] = {
    "entries of one folder": (Limits(files=5), "more than 5 "),
    "files": (Limits(files=20), "more than 20 "),
    "bytes in all": (Limits(total_bytes=10_000), "more than 10000 bytes in all"),
    "bytes of a tag file": (Limits(tag_bytes=100), "more than such a file may have"),
    "bytes of a signature": (Limits(signature_bytes=100), "more than such a file may have"),
    "signatures": (Limits(signatures=0), "more than 0 signatures"),
    "bytes of a JSON file": (Limits(json_bytes=100), "more than such a file may have"),
    "bytes of a JSON Lines file": (Limits(stream_bytes=100), "more than such a file may have"),
    "bytes of a line": (Limits(line_bytes=20), "longer than 20 bytes"),
    "bytes kept": (Limits(kept_bytes=10_000), "more than such a file may have"),
    "depth": (Limits(depth=2), "nested deeper than 2 folders"),
    "letters of a name": (Limits(name_chars=12), "name longer than 12 characters"),
}


@pytest.mark.parametrize("container", ["folder", "our own tar", "Info-ZIP"])
@pytest.mark.parametrize("what", LIMITS)
def test_every_limit_holds_in_every_container(what: str, container: str, bench: Bench) -> None:
    limits, reason = LIMITS[what]
    source = bench.bundle if container == "folder" else CONTAINERS[container](bench.bundle, bench.folder)
    verdict = verify(source, Trust(bench.allowed), limits)
    assert verdict.exit_code == 5
    assert reason in verdict.line


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], None]:
    """Puts bytes on this process's standard input."""

    class Stdin:
        buffer = io.BytesIO()

    monkeypatch.setattr(sys, "stdin", Stdin)

    def give(data: bytes) -> None:
        Stdin.buffer = io.BytesIO(data)

    return give


def test_a_zip_on_standard_input_has_its_limit(bench: Bench, given: Callable[[bytes], None]) -> None:
    archive = info_zip(bench.bundle, bench.folder / "a.zip").read_bytes()
    given(archive)
    verdict = verify("-", Trust(bench.allowed), Limits(archive_bytes=len(archive) - 3))
    assert f"a zip of more than {len(archive) - 3} bytes" in verdict.line
    given(archive)
    assert verify("-", Trust(bench.allowed), Limits(archive_bytes=len(archive))).word == "trusted"


def test_a_compressed_stream_on_standard_input_is_named(bench: Bench, given: Callable[[bytes], None]) -> None:
    given(gzip.compress(b"x"))
    assert "a gzip stream, not a bundle" in verify("-", Trust(bench.allowed)).line


def test_a_zip_of_too_many_members_is_refused_before_its_table_is_read(bench: Bench) -> None:
    archive = info_zip(bench.bundle, bench.folder / "a.zip")
    assert "more than 20 files, and a folder for each" in verify(archive, Trust(bench.allowed), Limits(files=20)).line


@pytest.mark.parametrize(("size", "content"), [(3, b"ab"), (3, b"abcd")])
def test_a_file_of_another_size_than_its_container_says_is_refused(size: int, content: bytes) -> None:
    with pytest.raises(BundleBroken, match="changed while it was read"):
        read._hash(Member("top", "data/a", size, iter([content])), None)


def test_a_member_that_is_passed_over_ends_the_reading_of_a_tar(bench: Bench) -> None:
    archive = own_tar(bench.bundle, bench.folder / "a.tar")
    with archive.open("rb") as stream, pytest.raises(BundleBroken, match="was not read to its end"):
        for _ in tar.members(stream, "a.tar", Limits(), b""):
            pass


def test_a_folder_that_may_not_be_read_is_told(bench: Bench) -> None:
    if os.geteuid() == 0:
        # Root reads everything; the path is the same for any other error of the system.
        verdict_or_fault = verify(bench.bundle, Trust(bench.allowed)).word
        assert verdict_or_fault == "trusted"
        return
    (bench.bundle / "data").chmod(0)
    try:
        with pytest.raises(UsageError, match="permission denied"):
            verify(bench.bundle, Trust(bench.allowed))
    finally:
        (bench.bundle / "data").chmod(0o755)


def test_a_file_of_300_mib_is_read_in_less_memory_than_its_size(bench: Bench) -> None:
    from synthetic.forge import reseal

    with (bench.bundle / "data" / "logs" / "0001.out").open("wb") as stream:
        stream.truncate(300 << 20)
    reseal(bench.bundle, KEY)
    script = (
        "import re, sys, pathlib; from twotrees.bundle.verify import verify\n"
        "from twotrees.bundle.trust import Trust\n"
        "verdict = verify(pathlib.Path(sys.argv[1]), Trust(pathlib.Path(sys.argv[2])))\n"
        "print(verdict.line, file=sys.stderr)\n"
        # Not getrusage: its maximum counts what this process was before exec, a copy of the whole test run.
        "status = pathlib.Path('/proc/self/status').read_text()\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', status)[1]); sys.exit(verdict.exit_code)"
    )
    renamed = bench.bundle.rename(bench.folder / "copy")
    for source in (renamed, own_tar(renamed, bench.folder / "a.tar")):
        done = subprocess.run([sys.executable, "-c", script, source, bench.allowed], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert int(done.stdout) < 200 << 10, "maximum resident KiB"
