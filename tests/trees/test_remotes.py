"""Remote trouble, each one clear line: credentials, no network, no repository; nothing asked, nothing secret stored."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from twotrees import trees
from twotrees.errors import UsageError

SECRET = "s3cret-t0ken"


@pytest.fixture
def subject(new_repository):
    repository = new_repository()
    repository.commit({"src/p/__init__.py": "VALUE = 1\n"})
    return repository


def everything_under(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def failure(source, tmp_path) -> str:
    with pytest.raises(UsageError) as caught:
        trees.resolve(source, base=tmp_path)
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_a_commit_is_fetched_over_http(subject, source, serve, tmp_path):
    subject.git("config", "uploadpack.allowFilter", "true")
    commit = subject.git("rev-parse", "main")
    url = serve().url("subject/.git")
    tree = trees.make(source("git", url=url, commit=commit), "before", tmp_path / "work", base=tmp_path)
    assert (tree.path / "src/p/__init__.py").read_text() == "VALUE = 1\n"
    assert trees.describe(tree)["source"]["url"] == url


def test_a_server_that_wants_a_password_is_told_in_one_line_and_nobody_is_asked(subject, source, serve, tmp_path):
    server = serve(credentials=f"user:{SECRET}")
    line = failure(source("git", url=server.url("subject/.git"), commit="main"), tmp_path)
    assert "needs credentials, and twotrees never asks" in line
    assert set(server.asked) == {None}


def test_a_password_program_of_the_desktop_is_not_started(subject, source, serve, tmp_path, monkeypatch):
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\necho x\n")
    program.chmod(0o755)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.setenv(name, str(program))
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")
    failure(source("git", url=serve(credentials="a:b").url("subject/.git"), commit="main"), tmp_path)
    assert not (tmp_path / "asked").exists()


def test_the_credential_helper_of_the_user_is_used(subject, source, serve, tmp_path, user_folders):
    helper = f'!f() {{ test "$1" = get && echo username=user && echo password={SECRET}; }}; f'
    (user_folders / "home/.gitconfig").write_text(
        f'[credential]\n\thelper = "{helper.replace(chr(34), chr(92) + chr(34))}"\n'
    )
    url = serve(credentials=f"user:{SECRET}").url("subject/.git")
    commit = subject.git("rev-parse", "main")
    tree = trees.make(source("git", url=url, commit=commit), "before", tmp_path / "work", base=tmp_path)
    assert tree.commit == commit
    assert SECRET.encode() not in everything_under(user_folders / "cache") + everything_under(user_folders / "state")


@pytest.mark.parametrize("userinfo", [f"user:{SECRET}@", f"{SECRET}@", f"user:{SECRET}%40x@"])
def test_a_password_in_a_url_is_refused_unread_and_never_printed_or_stored(
    subject, source, serve, tmp_path, user_folders, userinfo
):
    server = serve()
    line = failure(source("git", url=server.url("subject/.git", userinfo), commit="main"), tmp_path)
    assert "holds a user or a password" in line and SECRET not in line
    assert server.asked == []
    assert SECRET.encode() not in everything_under(user_folders)


def test_no_network_is_one_clear_line(source, tmp_path):
    line = failure(source("git", url="https://nowhere.invalid/x/y.git", commit="a" * 40), tmp_path)
    assert "https://nowhere.invalid/x/y.git cannot be reached" in line and "local clone" in line


def test_nobody_listening_is_one_clear_line(source, tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        line = failure(source("git", url=f"http://127.0.0.1:{unused.getsockname()[1]}/x.git", commit="main"), tmp_path)
    assert "cannot be reached" in line


def test_without_network_a_name_is_answered_with_where_it_was(subject, source, serve, tmp_path):
    server = serve()
    named = source("git", url=server.url("subject/.git"), commit="main")
    commit = trees.resolve(named, base=tmp_path).commit
    server.server.shutdown()
    server.server.server_close()
    assert f"or pin {commit}, which main was when last seen here" in failure(named, tmp_path)


def test_a_server_without_that_repository_is_one_clear_line(subject, source, serve, tmp_path):
    line = failure(source("git", url=serve().url("other.git"), commit="main"), tmp_path)
    assert "there is no git repository at http://127.0.0.1" in line


@pytest.fixture
def fake_ssh(tmp_path, monkeypatch):
    """An ssh that writes down how it was called and answers as told."""

    def install(answer: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "ssh").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/ssh-calls\necho "{answer}" >&2\nexit 255\n')
        (folder / "ssh").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
        return tmp_path / "ssh-calls"

    return install


@pytest.mark.parametrize("url", ["git@host.invalid:x/y.git", "ssh://git@host.invalid/x/y.git"])
def test_ssh_never_asks_and_a_missing_key_is_one_clear_line(source, tmp_path, fake_ssh, url):
    calls = fake_ssh("git@host.invalid: Permission denied (publickey).")
    line = failure(source("git", url=url, commit="main"), tmp_path)
    assert "needs credentials" in line
    assert "-oBatchMode=yes" in calls.read_text()


def test_an_unknown_ssh_host_is_no_network(source, tmp_path, fake_ssh):
    fake_ssh("ssh: Could not resolve hostname host.invalid: Name or service not known")
    assert "cannot be reached" in failure(source("git", url="git@host.invalid:x/y.git", commit="main"), tmp_path)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("ext::sh -c touch% ran", "remote helpers"),
        ("--upload-pack=touch ran", "cannot be the address"),
        ("ftp://host.invalid/x.git", "not fetched by ftp"),
        ("ssh://user:word@host.invalid/x.git", "holds a user or a password"),
    ],
)
def test_an_address_that_would_run_or_leak_something_is_refused(source, tmp_path, url, why):
    assert why in failure(source("git", url=url, commit="main"), tmp_path)


@pytest.mark.parametrize("commit", ["--help", "a b", "x\ny"])
def test_a_name_that_is_no_name_is_refused(subject, source, tmp_path, commit):
    assert "cannot name a commit" in failure(source("git", path="subject", commit=commit), tmp_path)
