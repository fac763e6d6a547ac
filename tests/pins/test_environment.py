"""The digest of what is installed."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from twotrees.errors import PinsDiffer
from twotrees.pins import environment


def test_every_distribution_is_listed_by_name_version_and_record_hash(locked: Any) -> None:
    found = environment.environment_digest([locked.site])
    assert [(item.name, item.version) for item in found.distributions] == [("alpha", "1.0"), ("beta", "2.1")]
    record = (locked.site / "beta-2.1.dist-info/RECORD").read_bytes()
    assert found.distributions[1].record_sha256 == hashlib.sha256(record).hexdigest()
    assert found.version("Beta") == "2.1"
    assert found.version("gamma") is None


def test_the_digest_does_not_depend_on_where_the_environment_lies(locked: Any, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(locked.site, moved)
    assert environment.environment_digest([moved]).digest == environment.environment_digest([locked.site]).digest


def test_the_content_digest_is_the_same_in_every_environment_with_the_same_wheels(
    locked: Any, uv: Callable[..., None], wheels: Path, tmp_path: Path
) -> None:
    uv("venv", "--python", str(locked.interpreter), str(tmp_path / "other"), cwd=tmp_path)
    interpreter = tmp_path / "other/bin/python"
    arguments = ("--offline", "--no-index", "--find-links", str(wheels), "--python", str(interpreter))
    uv("pip", "install", *arguments, "--link-mode", "copy", "alpha", cwd=tmp_path)
    first = environment.environment_digest([locked.site])
    second = environment.environment_digest(environment.site_folders(interpreter))
    assert first.digest != second.digest
    assert first.content == second.content
    assert first.content_digest == second.content_digest
    record = next((tmp_path / "other").rglob("beta-2.1.dist-info/RECORD"))
    record.write_text(record.read_text().replace("beta.py,sha256=", "beta.py,sha256=X"))
    edited = environment.environment_digest(environment.site_folders(interpreter))
    assert [name for name, digest in edited.content.items() if digest != first.content[name]] == ["beta"]
    assert edited.content_digest != first.content_digest


def test_another_version_another_record_or_a_new_startup_file_gives_another_digest(project: Any) -> None:
    before = environment.environment_digest([project.site])
    record = project.site / "beta-2.1.dist-info/RECORD"
    record.write_text(record.read_text().replace("beta.py", "beta2.py"))
    edited = environment.environment_digest([project.site])
    (project.site / "beta-2.1.dist-info").rename(project.site / "beta-2.2.dist-info")
    renamed = environment.environment_digest([project.site])
    (project.site / "evil.pth").write_text("import os\n")
    started = environment.environment_digest([project.site])
    shutil.rmtree(project.site / "alpha-1.0.dist-info")
    removed = environment.environment_digest([project.site])
    assert len({before.digest, edited.digest, renamed.digest, started.digest, removed.digest}) == 5
    assert environment.changes(before, before) == []
    assert environment.changes(before, edited) == ["beta 2.1 was installed again with other files"]
    assert environment.changes(edited, renamed) == ["beta was 2.1 and is 2.2"]
    assert environment.changes(renamed, started) == ["evil.pth, which runs at every start, changed"]
    assert environment.changes(started, removed) == ["alpha 1.0 is gone"]
    assert environment.changes(removed, started) == ["alpha 1.0 is new"]


def test_the_folders_of_another_interpreter_are_its_own(locked: Any) -> None:
    assert environment.site_folders(locked.interpreter) == (locked.site.resolve(),)
    assert locked.site.resolve() not in environment.site_folders()


def test_an_interpreter_that_does_not_start_is_refused_by_name(tmp_path: Path) -> None:
    broken = tmp_path / "python"
    broken.write_text("#!/bin/sh\necho no such luck >&2\nexit 7\n")
    broken.chmod(0o755)
    with pytest.raises(PinsDiffer, match=r"python: the interpreter does not tell its site-packages: no such luck"):
        environment.site_folders(broken)


def test_an_editable_install_is_marked_and_shows_no_path_of_this_machine(
    project: Any, uv: Callable[..., None], tmp_path: Path
) -> None:
    own = tmp_path / "mine"
    (own / "src/mine").mkdir(parents=True)
    info = project.site / "mine-0.3.dist-info"
    info.mkdir()
    (info / "RECORD").write_text("mine-0.3.dist-info/RECORD,,\n")
    (info / "direct_url.json").write_text(json.dumps({"url": own.as_uri(), "dir_info": {"editable": True}}))
    item = next(d for d in environment.environment_digest([project.site]).distributions if d.name == "mine")
    assert (item.editable, item.source) == (True, "directory")
    assert str(tmp_path) not in json.dumps(environment.environment_digest([project.site]).data())


@pytest.mark.parametrize(
    ("direct_url", "source"),
    [
        ({"url": "https://h/r.git", "vcs_info": {"vcs": "git", "commit_id": "a" * 40}}, f"git {'a' * 40}"),
        ({"url": "file:///w/a.whl", "archive_info": {"hashes": {"sha256": "b" * 64}}}, f"archive {'b' * 64}"),
        ({"url": "https://h/a.whl", "archive_info": {"hash": f"sha256={'c' * 64}"}}, f"download {'c' * 64}"),
        ({"url": "file:///w/a.whl", "archive_info": {}}, "archive"),
        ({"url": "file:///w"}, "unreadable direct_url.json"),
        ([], "unreadable direct_url.json"),
    ],
)
def test_where_a_distribution_came_from_is_told(project: Any, direct_url: Any, source: str) -> None:
    (project.site / "beta-2.1.dist-info/direct_url.json").write_text(json.dumps(direct_url))
    assert environment.environment_digest([project.site]).distributions[1].source == source


def test_an_old_egg_info_is_listed_without_a_record(project: Any) -> None:
    (project.site / "Old_Thing-1.2-py3.11.egg-info").write_text("Name: Old-Thing\n")
    found = environment.environment_digest([project.site])
    old = next(item for item in found.distributions if item.name == "old-thing")
    assert (old.version, old.record_sha256) == ("1.2", None)


def test_a_metadata_file_that_cannot_be_read_is_refused_by_name(project: Any) -> None:
    record = project.site / "beta-2.1.dist-info/RECORD"
    record.unlink()
    record.mkdir()
    with pytest.raises(PinsDiffer, match="RECORD: cannot be read"):
        environment.environment_digest([project.site])


def test_a_folder_that_is_gone_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PinsDiffer, match="nowhere: cannot be read"):
        environment.environment_digest([tmp_path / "nowhere"])
