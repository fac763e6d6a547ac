"""Sessions: each names what it runs through the `twotrees` CLI. `nox -l` lists them; what follows `--` is passed on."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2024.10.9"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["check"]

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SUBJECT = ("--extra=subject",)  # the numeric packages that a measured run imports
WORKSHOP = (*SUBJECT, "--group=test", "--group=lint")
INTERRUPT_PATIENCE_S = 60


def sync(session: nox.Session, *what: str) -> None:
    """Makes the session's environment exactly what uv.lock says of *what*, and nothing beside it."""
    environment = {"UV_PROJECT_ENVIRONMENT": session.virtualenv.location}
    session.run_install("uv", "sync", "--locked", *what, env=environment, external=True)


def twotrees(session: nox.Session, verb: str, *words: str, needs: tuple[str, ...] = ()) -> None:
    """Runs one CLI verb in the session's synced environment and leaves nox with its documented exit code."""
    sync(session, *needs)
    argv = [str(Path(session.bin) / "twotrees"), verb, *words, *session.posargs]
    session.log(" ".join(argv))
    variables = {name: value for name, value in {**os.environ, **session.env}.items() if value is not None}
    # Not session.run: nox would end an interrupted campaign within half a second, before it could save its state,
    # and would turn every exit code into 1.
    process = subprocess.Popen(argv, env=variables)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        code = process.wait(INTERRUPT_PATIENCE_S)
    if code:
        atexit.register(leave_with, code)
        session.error(f"twotrees {verb} ended with exit code {code}")


def leave_with(code: int) -> None:
    """Ends this process with *code*, once nox has run its other sessions and printed its summary."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@nox.session(python=PYTHON)
def check(session: nox.Session) -> None:
    """Lock, installed files, CHECKSUMS and commits are what the study pins."""
    twotrees(session, "check", needs=SUBJECT)


@nox.session(python=PYTHON)
def fingerprint(session: nox.Session) -> None:
    """What this host is: facts as a table, or --json."""
    twotrees(session, "fingerprint", needs=SUBJECT)


@nox.session(name="ab-mujoco", python=PYTHON)
def ab_mujoco(session: nox.Session) -> None:
    """The main job on MuJoCo: check, trees, matrix, aggregate, parity, seal, sign, verify, report."""
    twotrees(session, "ab", "backend=mujoco", needs=SUBJECT)


@nox.session(name="ab-mjwarp", python=PYTHON)
def ab_mjwarp(session: nox.Session) -> None:
    """The main job on MuJoCo Warp (its CPU device where there is no CUDA)."""
    twotrees(session, "ab", "backend=mjwarp", needs=SUBJECT)


@nox.session(python=PYTHON)
def calibrate(session: nox.Session) -> None:
    """A against A: the noise floor of this host."""
    twotrees(session, "calibrate", needs=SUBJECT)


@nox.session(python=PYTHON)
def resume(session: nox.Session) -> None:
    """Finish the campaign that was interrupted."""
    twotrees(session, "resume", needs=SUBJECT)


@nox.session(python=PYTHON)
def clean(session: nox.Session) -> None:
    """Remove what crashed campaigns left: worktrees and unfinished work folders."""
    twotrees(session, "clean", needs=SUBJECT)


@nox.session(python=PYTHON)
def verify(session: nox.Session) -> None:
    """Signature, hashes and meaning of a bundle: nox -s verify -- BUNDLE."""
    twotrees(session, "verify")


@nox.session(python=PYTHON)
def sign(session: nox.Session) -> None:
    """Co-sign a bundle: nox -s sign -- BUNDLE."""
    twotrees(session, "sign")


@nox.session(python=PYTHON)
def audit(session: nox.Session) -> None:
    """Do published numbers follow, and were they reproduced: nox -s audit -- BUNDLE | POST.md | claims=NAME."""
    twotrees(session, "audit")


@nox.session(python=PYTHON)
def report(session: nox.Session) -> None:
    """Tables and pages of a bundle: nox -s report -- BUNDLE."""
    twotrees(session, "report")


@nox.session(python=PYTHON)
def export(session: nox.Session) -> None:
    """A bundle in another tool's format: nox -s export -- BUNDLE --to pyperf --out FOLDER."""
    twotrees(session, "export")


@nox.session(python=PYTHON)
def pins(session: nox.Session) -> None:
    """Write anew what pins this toolkit: overlay commit ids in conf/, then CHECKSUMS. For its maintainers."""
    sync(session, *WORKSHOP)
    session.run("twotrees", "pins", *session.posargs)


@nox.session(python=PYTHON)
def tests(session: nox.Session) -> None:
    """Everything that must hold, in minutes: nox -s tests -- tests/bundle."""
    sync(session, *WORKSHOP)
    session.run("pytest", *(session.posargs or ["-m", "not slow"]))


@nox.session(python=PYTHON)
def lint(session: nox.Session) -> None:
    """ruff and mypy, as the editor sees them."""
    sync(session, *WORKSHOP)
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("mypy")


@nox.session(venv_backend="none")
def build(session: nox.Session) -> None:
    """The wheel and the source archive, into dist/."""
    session.run("uv", "build", "--quiet", f"--out-dir={Path('dist')}", external=True)
