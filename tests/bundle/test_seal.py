"""Sealing: the same data gives the same root, and nothing that a bundle may not hold gets in."""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import tarfile
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from synthetic.campaign import write_campaign
from synthetic.forge import CREATED

from twotrees.bundle import layout
from twotrees.bundle.seal import seal, write_tar
from twotrees.errors import UsageError


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("campaign"), repeats=1, steps=3)


@pytest.fixture
def data(campaign: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(campaign, tmp_path / "data"))


def sealed(data: Path, results: Path, created: datetime = CREATED, **fields: str) -> Path:
    return seal(data, results, study="g1_update_state", backend="mujoco", created=created, bag_info=fields)


def bytes_of(bundle: Path) -> dict[str, bytes]:
    return {path.relative_to(bundle).as_posix(): path.read_bytes() for path in bundle.rglob("*") if path.is_file()}


def test_sealing_the_same_data_twice_gives_the_same_bytes_whatever_its_dates_and_modes(
    data: Path, tmp_path: Path
) -> None:
    first = sealed(data, tmp_path / "first")
    for path in data.rglob("*"):
        os.utime(path, (1, 1))
        path.chmod(0o700)
    second = sealed(data, tmp_path / "second")
    assert first.name == second.name
    assert bytes_of(first) == bytes_of(second)


def test_everybody_may_read_a_bundle_whatever_the_umask(data: Path, tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        bundle = sealed(data, tmp_path)
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in bundle.rglob("*") if path.is_file()} == {0o644}
    assert bundle.stat().st_mode & 0o777 == 0o755


def test_the_moment_of_sealing_is_read_in_utc(data: Path, tmp_path: Path) -> None:
    elsewhere = CREATED.astimezone(timezone(timedelta(hours=9)))
    assert sealed(data, tmp_path / "a").name == sealed(data, tmp_path / "b", elsewhere).name


def test_the_name_holds_study_backend_time_and_root(data: Path, tmp_path: Path) -> None:
    bundle = sealed(data, tmp_path)
    root = hashlib.sha256((bundle / "tagmanifest-sha256.txt").read_bytes()).hexdigest()
    assert bundle.name == f"g1_update_state-mujoco-20260826T130000Z-{root[:8]}"


def test_sealing_again_into_the_same_folder_leaves_what_is_there(data: Path, tmp_path: Path) -> None:
    bundle = sealed(data, tmp_path)
    (bundle / "signatures").mkdir()
    assert sealed(data, tmp_path) == bundle
    assert (bundle / "signatures").is_dir()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["data", bundle.name])


def test_another_folder_in_the_place_of_the_bundle_is_not_overwritten(data: Path, tmp_path: Path) -> None:
    bundle = sealed(data, tmp_path)
    (bundle / "tagmanifest-sha256.txt").write_text("mine")
    with pytest.raises(UsageError, match="another folder lies where"):
        sealed(data, tmp_path)
    assert (bundle / "tagmanifest-sha256.txt").read_text() == "mine"


def test_folders_without_files_are_left_out(data: Path, tmp_path: Path) -> None:
    (data / "empty" / "deep").mkdir(parents=True)
    assert not (sealed(data, tmp_path) / "data" / "empty").exists()


def test_bag_info_takes_who_made_it_in_a_fixed_order(data: Path, tmp_path: Path) -> None:
    fields = {"Contact-Name": "Zoë", "Source-Organization": "Somewhere"}
    lines = (sealed(data, tmp_path, **fields) / "bag-info.txt").read_text("utf-8").splitlines()
    assert [line.partition(":")[0] for line in lines] == [
        "Source-Organization",
        "Contact-Name",
        "Bagging-Date",
        "External-Identifier",
        "Payload-Oxum",
        "Twotrees-Format",
        "Twotrees-Study",
        "Twotrees-Backend",
        "Twotrees-Created",
    ]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"Bag-Software-Agent": "x"}, "not a field"),
        ({"Contact-Name": "a\nb: c"}, "one line"),
        ({"Contact-Name": ""}, "one line"),
    ],
)
def test_bag_info_refuses_other_fields_and_lines(
    data: Path, tmp_path: Path, fields: dict[str, str], reason: str
) -> None:
    with pytest.raises(UsageError, match=reason):
        sealed(data, tmp_path, **fields)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def to_link(data: Path) -> None:
    (data / "report.md").unlink()
    (data / "report.md").symlink_to("plan.json")


def to_link_of_folder(data: Path) -> None:
    (data / "more").symlink_to(data / "host")


REFUSED = {
    "a link": (to_link, "regular files only"),
    "a linked folder": (to_link_of_folder, "regular files only"),
    "a FIFO": (lambda data: os.mkfifo(data / "fifo"), "regular files only"),
    "a name with a space": (lambda data: (data / "a b").write_text(""), "characters outside"),
    "a device of Windows": (lambda data: (data / "nul.txt").write_text(""), "device name"),
    "a run of another name": (lambda data: (data / "runs" / "1.json").write_text(""), "not a run file"),
    "names equal but for case": (lambda data: (data / "PLAN.json").write_text(""), "equal but for case"),
    "no plan": (lambda data: (data / "plan.json").unlink(), "not finished"),
    "no journal": (lambda data: (data / "journal.jsonl").unlink(), "not finished"),
    "no aggregate": (lambda data: (data / "aggregate.json").unlink(), "not finished"),
    "a plan with NaN": (lambda data: (data / "plan.json").write_text('{"a": NaN}'), "NaN"),
    "a plan that is none": (lambda data: (data / "plan.json").write_text("{}"), "not a plan"),
    "a plan that is a list": (lambda data: (data / "plan.json").write_text("[]"), "not a plan"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_bundle_may_not_hold_is_refused_and_nothing_is_left(what: str, data: Path, tmp_path: Path) -> None:
    change, reason = REFUSED[what]
    change(data)
    with pytest.raises(UsageError, match=reason):
        sealed(data, tmp_path / "results")
    assert not list((tmp_path / "results").glob("*")) if (tmp_path / "results").exists() else True


@pytest.mark.parametrize("name", ["", "..", "a/b", "-rf", "con"])
def test_a_study_whose_name_cannot_be_a_folders_is_refused(name: str, data: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be part of a bundle's name"):
        seal(data, tmp_path, study=name, backend="mujoco", created=CREATED)


def test_a_results_folder_that_is_a_file_is_told(data: Path, tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        sealed(data, tmp_path / "results")


def test_the_tar_is_ustar_sorted_and_without_dates_or_owners(data: Path, tmp_path: Path) -> None:
    bundle = sealed(data, tmp_path)
    first, second = io.BytesIO(), io.BytesIO()
    write_tar(bundle, first)
    for path in bundle.rglob("*"):
        os.utime(path, (1, 1))
    write_tar(bundle, second)
    assert first.getvalue() == second.getvalue()
    assert len(first.getvalue()) % 10240 == 0
    first.seek(0)
    with tarfile.open(fileobj=first) as archive:
        members = archive.getmembers()
        contents = {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]
    assert [member.name for member in members] == sorted(member.name for member in members)
    assert {(m.mtime, m.uid, m.gid, m.uname, m.gname, m.mode, m.type) for m in members} == {
        (0, 0, 0, "", "", 0o644, b"0")
    }
    assert contents == {f"{bundle.name}/{name}": content for name, content in bytes_of(bundle).items()}


def test_the_tar_takes_nothing_in_that_is_no_part_of_a_bundle(data: Path, tmp_path: Path) -> None:
    bundle = sealed(data, tmp_path)
    (bundle / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="not one of the files"):
        write_tar(bundle, io.BytesIO())
    (bundle / "notes.txt").unlink()
    (bundle / "data" / "link").symlink_to("plan.json")
    with pytest.raises(UsageError, match="a link"):
        write_tar(bundle, io.BytesIO())


def test_a_file_that_grows_while_it_goes_into_the_tar_is_noticed(data: Path, tmp_path: Path) -> None:
    bundle = sealed(data, tmp_path)

    class Growing(io.BytesIO):
        def write(self, piece: bytes) -> int:  # type: ignore[override]
            with (bundle / "data" / "report.md").open("a") as stream:
                stream.write("more\n")
            return super().write(piece)

    with pytest.raises(UsageError, match="changed while it was read"):
        write_tar(bundle, Growing())


def test_a_name_of_more_than_a_hundred_letters_goes_into_the_tar_in_two_fields(data: Path, tmp_path: Path) -> None:
    (data / "host" / ("a" * 90)).write_text("x")
    bundle = sealed(data, tmp_path)
    out = io.BytesIO()
    write_tar(bundle, out)
    out.seek(0)
    with tarfile.open(fileobj=out) as archive:
        assert f"{bundle.name}/data/host/{'a' * 90}" in archive.getnames()


@pytest.mark.parametrize("name", ["a" * 101, "a" * 160 + "/b", "a/" + "b" * 101])
def test_a_name_that_no_ustar_header_holds_is_refused(name: str) -> None:
    from twotrees.bundle.tar import header

    with pytest.raises(UsageError, match="too long for a tar"):
        header(name, 1)


def test_a_file_of_eight_gib_is_too_large_for_a_tar() -> None:
    from twotrees.bundle.tar import header

    assert header("a", 8**11 - 1)
    with pytest.raises(UsageError, match="8 GiB"):
        header("a", 8**11)


def test_the_layout_allows_what_the_campaign_writes(data: Path) -> None:
    names = [f"data/{path.relative_to(data).as_posix()}" for path in data.rglob("*") if path.is_file()]
    assert [layout.place_refusal(name) for name in names] == [None] * len(names)
    assert CREATED.tzinfo is UTC
