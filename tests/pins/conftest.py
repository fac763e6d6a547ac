"""A real project for the pins: wheels built here, an index on the loopback interface, lock and environment by uv."""

from __future__ import annotations

import base64
import functools
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

PYPROJECT = """\
[project]
name = "demo"
version = "0.1"
requires-python = ">=3.11,<3.14"
dependencies = ["alpha>=1", "gamma; sys_platform == 'never'"]
[project.optional-dependencies]
more = ["Delta_Pkg>=1"]
[dependency-groups]
test = [{ include-group = "base" }]
base = ["epsilon"]
[tool.uv]
default-groups = []
"""


@dataclass(frozen=True)
class Project:
    """A locked project and the site-packages of its environment."""

    root: Path
    site: Path
    interpreter: Path


def _hash(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")


def build_wheel(
    folder: Path, name: str, version: str, files: dict[str, str], requires: Sequence[str] = (), entry: str = ""
) -> Path:
    """A wheel by hand: files, METADATA, WHEEL, RECORD."""
    info = f"{name}-{version}.dist-info"
    head = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    content = {
        **files,
        f"{info}/METADATA": "\n".join([*head, *(f"Requires-Dist: {item}" for item in requires), ""]),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if entry:
        content[f"{info}/entry_points.txt"] = entry
    lines = [f"{path},{_hash(text.encode())},{len(text.encode())}" for path, text in content.items()]
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in content.items():
            archive.writestr(path, text)
        archive.writestr(f"{info}/RECORD", "\n".join([*lines, f"{info}/RECORD,,", ""]))
    return wheel


def lay_out_index(folder: Path, wheels: Path) -> None:
    """A static package index (PEP 503) over a folder of wheels."""
    for wheel in sorted(wheels.glob("*.whl")):
        name = wheel.name.split("-")[0].replace("_", "-").lower()
        page = folder / "simple" / name / "index.html"
        page.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, page.parent / wheel.name)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        with page.open("a") as out:
            out.write(f'<a href="{wheel.name}#sha256={digest}">{wheel.name}</a>\n')


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serves *folder* on the loopback interface; gives the index URL."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/simple"
    finally:
        server.shutdown()
        server.server_close()


def _uv_environment(cache: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("UV_") and name != "VIRTUAL_ENV"}
    # Copies, because a hard link would let an edit in a test reach the cache.
    own = {"UV_CACHE_DIR": str(cache), "UV_PYTHON_DOWNLOADS": "never", "UV_LINK_MODE": "copy", "NO_PROXY": "127.0.0.1"}
    return {**kept, **own}


@pytest.fixture(scope="session")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., None]:
    """Runs uv with a cache of its own."""
    program = ["uv"] if shutil.which("uv") else [sys.executable, "-m", "uv"]
    env = _uv_environment(tmp_path_factory.mktemp("uv-cache"))

    def run(*argv: str, cwd: Path) -> None:
        done = subprocess.run([*program, *argv], cwd=cwd, env=env, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr

    return run


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """alpha needs beta; delta-pkg is an extra; epsilon a group; gamma is for a platform that nobody has."""
    folder = tmp_path_factory.mktemp("wheels")
    script = "[console_scripts]\nalpha-tool = alpha:main\n"
    build_wheel(folder, "alpha", "1.0", {"alpha/__init__.py": "def main():\n    pass\n"}, ["beta>=2"], script)
    build_wheel(folder, "beta", "2.1", {"beta.py": "VALUE = 2\n", "beta_data/table.bin": "0" * 5000})
    build_wheel(folder, "gamma", "1.0", {"gamma.py": "\n"})
    build_wheel(folder, "delta_pkg", "1.5", {"delta_pkg.py": "\n"})
    build_wheel(folder, "epsilon", "3.0", {"epsilon.py": "\n"})
    return folder


@pytest.fixture(scope="session")
def index(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheels as a static index."""
    folder = tmp_path_factory.mktemp("index")
    lay_out_index(folder, wheels)
    return folder


@pytest.fixture(scope="session")
def locked(uv: Callable[..., None], index: Path, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The project, locked and synced once; tests that change something take `project`."""
    root = tmp_path_factory.mktemp("project") / "demo"
    root.mkdir()
    (root / "pyproject.toml").write_text(PYPROJECT)
    with serving(index) as url:
        uv("lock", "--python", sys.executable, "--default-index", url, cwd=root)
        uv("sync", "--locked", "--python", sys.executable, "--default-index", url, cwd=root)
    site = next((root / ".venv").glob("lib/python*/site-packages"))
    return Project(root, site, root / ".venv/bin/python")


@pytest.fixture
def project(locked: Project, tmp_path: Path) -> Project:
    """A copy of the project that a test may spoil."""
    root = tmp_path / "demo"
    shutil.copytree(locked.root, root, symlinks=True)
    return Project(root, root / locked.site.relative_to(locked.root), root / ".venv/bin/python")


@pytest.fixture(scope="session")
def new_wheel() -> Callable[..., Path]:
    """:func:`build_wheel`."""
    return build_wheel


@pytest.fixture(scope="session")
def serve() -> Callable[[Path], object]:
    """:func:`serving`."""
    return serving
