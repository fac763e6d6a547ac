"""Real repositories, real wheels and a real importing child in the tests' own folders."""

from __future__ import annotations

import base64
import gzip
import hashlib
import http.server
import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

IDENTITY = {"GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@example.invalid"}
IDENTITY |= {"GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@example.invalid"}


@dataclass(frozen=True)
class Source:
    """What the study's configuration says, as the tests write it."""

    kind: str
    url: str | None = None
    commit: str | None = None
    base: str | None = None
    overlays: tuple[str, ...] = ()
    requirement: str | None = None
    sha256: str | None = None
    path: str | None = None


class Repository:
    """A user's repository, driven by the real git."""

    def __init__(self, path: Path, *options: str) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main", *options)

    @property
    def url(self) -> str:
        return self.path.as_uri()

    def git(self, *arguments: str) -> str:
        environment = {**os.environ, **IDENTITY, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, cwd=self.path, env=environment, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def write(self, name: str, content: str | bytes) -> Path:
        target = self.path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return target

    def commit(self, files: Mapping[str, str | bytes] | None = None, message: str = "change") -> str:
        for name, content in (files or {}).items():
            self.write(name, content)
        self.git("add", "--all")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def user_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache, state and home lie in the test's folder."""
    user = tmp_path / "user"
    for name in ("CACHE", "STATE", "CONFIG"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(user / name.lower()))
    (user / "home").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(user / "home"))
    return user


@pytest.fixture
def source() -> type[Source]:
    return Source


@pytest.fixture
def new_repository(tmp_path: Path) -> Callable[..., Repository]:
    def make(name: str = "subject", *options: str) -> Repository:
        return Repository(tmp_path / name, *options)

    return make


@pytest.fixture
def folder_of(tmp_path: Path) -> Callable[[str, Mapping[str, str | bytes]], Path]:
    """Writes a folder of files."""

    def make(name: str, files: Mapping[str, str | bytes]) -> Path:
        for file, content in files.items():
            target = tmp_path / name / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path / name

    return make


# What a measured child does about provenance, in short: import, then report each file.
CHILD = """
import hashlib, importlib, json, os, sys
top = os.path.realpath(sys.argv[1])
exec(os.environ.get("BEFORE_IMPORT", ""))
lines = []
for name in sys.argv[2:]:
    importlib.import_module(name)
for name, module in sorted(sys.modules.items()):
    file = getattr(module, "__file__", None)
    if file and name.split(".")[0] in {item.split(".")[0] for item in sys.argv[2:]}:
        real = os.path.realpath(file)
        data = open(real, "rb").read()
        blob = hashlib.sha1(b"blob %d\\0" % len(data) + data).hexdigest()
        inside = real.startswith(top + os.sep)
        path = os.path.relpath(real, top) if inside else real
        lines.append({"module": name, "path": path, "sha256": hashlib.sha256(data).hexdigest(), "blob": blob})
value = getattr(sys.modules[sys.argv[2]], "VALUE", None)
print(json.dumps({"lines": lines, "value": value}))
"""


@pytest.fixture
def imported(tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """Imports modules in a fresh interpreter with PYTHONPATH=<tree>/src; returns its report."""

    def run(tree: Path, *modules: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
        env = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tree / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", CHILD, str(tree), *modules]
        done = subprocess.run(command, env=env | dict(environment or {}), check=True, capture_output=True, cwd=tmp_path)
        return json.loads(done.stdout)

    return run


@pytest.fixture
def wheel_of(tmp_path: Path) -> Callable[..., Path]:
    """Writes a wheel; `extra` members are written as given, without an entry in RECORD unless `recorded`."""

    def make(
        files: Mapping[str, bytes],
        *,
        name: str = "subject",
        version: str = "1.0",
        extra: Mapping[str, bytes] | None = None,
        falsify: str | None = None,
    ) -> Path:
        folder = tmp_path / "wheels"
        folder.mkdir(exist_ok=True)
        info = f"{name}-{version}.dist-info"
        members = dict(files)
        members[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode()
        members[f"{info}/WHEEL"] = b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        rows = []
        for member, data in members.items():
            told = b"something else" if member == falsify else data
            digest = base64.urlsafe_b64encode(hashlib.sha256(told).digest()).rstrip(b"=").decode()
            rows.append(f"{member},sha256={digest},{len(data)}\n")
        members[f"{info}/RECORD"] = "".join([*rows, f"{info}/RECORD,,\n"]).encode()
        target = folder / f"{name}-{version}-py3-none-any.whl"
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in [*members.items(), *(extra or {}).items()]:
                archive.writestr(zipfile.ZipInfo(member), data, zipfile.ZIP_DEFLATED)
        return target

    return make


class GitServer:
    """A real git over HTTP on this machine: repositories of a folder, with or without a password."""

    def __init__(self, root: Path, credentials: str | None = None) -> None:
        self.asked: list[str | None] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_one(self) -> None:
                given = self.headers.get("Authorization")
                outer.asked.append(given)
                if credentials is not None and given != f"Basic {base64.b64encode(credentials.encode()).decode()}":
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="here"')
                    self.end_headers()
                    return
                path, _, query = self.path.partition("?")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                env = {
                    "PATH": os.environ["PATH"],
                    "GIT_PROJECT_ROOT": str(root),
                    "GIT_HTTP_EXPORT_ALL": "1",
                    "GIT_CONFIG_GLOBAL": os.devnull,
                    "PATH_INFO": path,
                    "QUERY_STRING": query,
                    "REQUEST_METHOD": self.command,
                    "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                    "CONTENT_LENGTH": str(len(body)),
                    "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
                }
                done = subprocess.run(["git", "http-backend"], env=env, input=body, capture_output=True, check=False)
                head, _, content = done.stdout.partition(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
                self.send_response(int(fields.pop("Status", "200").split()[0]))
                for name, value in fields.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = handle_one  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return self.server.server_address[1]

    def url(self, repository: str, userinfo: str = "") -> str:
        return f"http://{userinfo}127.0.0.1:{self.port}/{repository}"


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., GitServer]]:
    """Serves the repositories in the test's folder over HTTP."""
    started: list[GitServer] = []

    def start(credentials: str | None = None) -> GitServer:
        started.append(GitServer(tmp_path, credentials))
        return started[-1]

    yield start
    for server in started:
        server.server.shutdown()
        server.server.server_close()


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """A package registry on this machine (simple index over HTTP) that uv is pointed at."""
    root = tmp_path / "registry"
    root.mkdir()

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, directory=str(root), **options)

        def log_message(self, *_: Any) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"http://127.0.0.1:{server.server_address[1]}/simple")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv-cache"))
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")

    def publish(wheel: Path, stated: str | None = None) -> None:
        name = wheel.name.partition("-")[0]
        page = root / "simple" / name
        page.mkdir(parents=True, exist_ok=True)
        (page / wheel.name).write_bytes(wheel.read_bytes())
        digest = stated or hashlib.sha256(wheel.read_bytes()).hexdigest()
        (page / "index.html").write_text(f'<!DOCTYPE html><a href="{wheel.name}#sha256={digest}">{wheel.name}</a>')

    yield publish
    server.shutdown()
    server.server_close()
