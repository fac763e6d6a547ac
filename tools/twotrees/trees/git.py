"""The one place that calls git: two scrubbed environments in, output or one clear line out.

`content` decides what a tree holds: no user configuration, no hooks, no network. `transport` fetches objects: it keeps
the user's proxies, credential helpers and keys, because an object's id is checked whoever delivers it, but never asks.
"""

from __future__ import annotations

import functools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from twotrees import process
from twotrees.errors import TwotreesError, UsageError

SERVED_CONFIG = Path(__file__).with_name("served.gitconfig")
MINIMUM_VERSION = (2, 32)  # the first that honours GIT_CONFIG_GLOBAL
# The first patch of each old line that honours GIT_NO_LAZY_FETCH; every version from 2.45 on does.
NO_LAZY_FETCH = {(2, 39): 4, (2, 40): 2, (2, 41): 1, (2, 42): 2, (2, 43): 4, (2, 44): 1}
QUICK_S = 120.0
CHECKOUT_S = 900.0
TRANSPORT_S = 3600.0

# Command-scope settings, which outrank those of the repository itself: everything that could change bytes or run code.
CONTENT_SETTINGS: Mapping[str, str] = {
    "core.autocrlf": "false",
    "core.eol": "lf",
    "core.safecrlf": "false",
    "core.fileMode": "true",
    "core.symlinks": "true",
    "core.hooksPath": os.devnull,
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
    "core.fsmonitor": "false",
    "core.untrackedCache": "false",
    "core.quotePath": "false",
    "core.sparseCheckout": "false",
    "commit.gpgSign": "false",
    "diff.external": "",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "i18n.commitEncoding": "UTF-8",
    "init.templateDir": "",
    "submodule.recurse": "false",
    "checkout.workers": "1",
}
TRANSPORT_SETTINGS: Mapping[str, str] = {
    "core.hooksPath": os.devnull,
    "credential.interactive": "false",
    "fetch.recurseSubmodules": "false",
    "fetch.writeCommitGraph": "false",
    "gc.auto": "0",
    "maintenance.auto": "false",
    "http.lowSpeedLimit": "1000",
    "http.lowSpeedTime": "60",
}

# Variables of git's own that say how to reach a server and nothing about content.
_TRANSPORT_VARIABLES = re.compile(r"^GIT_(SSL_\w+|PROXY_\w+|HTTP_\w+|SSH|SSH_COMMAND|SSH_VARIANT|CONFIG_\w+)$")
_USERINFO = re.compile(r"(?<=://)[^/@\s']+@")

_NETWORK = re.compile(
    r"could not resolve (host|proxy)|temporary failure in name resolution|name or service not known|"
    r"network is unreachable|no route to host|failed to connect|couldn't connect|connection (refused|timed out|reset)|"
    r"operation timed out|operation too slow|gave no answer in",
    re.IGNORECASE,
)
_CREDENTIALS = re.compile(
    r"terminal prompts disabled|authentication failed|could not read (username|password)|permission denied \(|"
    r"permission denied, please try again|invalid username or (password|token)|returned error: 40[137]|"
    r"host key verification failed",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"does not appear to be a git repository|repository .* (not found|does not exist)|returned error: 404|"
    r"not valid: is this a git",
    re.IGNORECASE,
)
_SPACE = re.compile(r"no space left on device|disk quota exceeded", re.IGNORECASE)


def redacted(text: str) -> str:
    """*text* without the user and password part of any URL in it."""
    return _USERINFO.sub("", text)


def _inherited() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "LC_", "SSH_ASKPASS"))}
    kept.pop("LANGUAGE", None)
    return kept | {
        "LC_ALL": "C",
        "LANG": "C",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "SSH_ASKPASS_REQUIRE": "never",
        "GCM_INTERACTIVE": "never",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_NO_REPLACE_OBJECTS": "1",
        # What is missing is fetched in one request, or it is an error. Fetching it by and by would also never end
        # where a blobless clone meets a shallow server: each fetch would start another for the same missing parent.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ADVICE": "0",
    }


def _with_settings(environment: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    given = environment.get("GIT_CONFIG_COUNT", "")
    first = int(given) if given.isdigit() else 0
    result = dict(environment)
    for number, (key, value) in enumerate(settings.items(), start=first):
        result[f"GIT_CONFIG_KEY_{number}"] = key
        result[f"GIT_CONFIG_VALUE_{number}"] = value
    result["GIT_CONFIG_COUNT"] = str(first + len(settings))
    return result


def content_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment in which git reads and writes content: the same result on every machine, and no network."""
    own = {
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": str(SERVED_CONFIG),
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_LFS_SKIP_SMUDGE": "1",
    }
    return _with_settings(_inherited() | own | dict(extra or {}), CONTENT_SETTINGS)


def local_environment() -> dict[str, str]:
    """The environment for fetching from a repository on this machine, also one that another user owns."""
    return content_environment({"GIT_ALLOW_PROTOCOL": "file"})


def remote_environment() -> dict[str, str]:
    """The environment for fetching from a server: the user's way to reach it, and never a question."""
    environment = _inherited()
    environment |= {name: value for name, value in os.environ.items() if _TRANSPORT_VARIABLES.match(name)}
    environment["GIT_ALLOW_PROTOCOL"] = "https:http:ssh:git"
    command = (
        environment.get("GIT_SSH_COMMAND") or _user_setting("core.sshCommand") or environment.get("GIT_SSH") or "ssh"
    )
    if Path(shlex.split(command)[0] if command.strip() else "ssh").name == "ssh":
        environment["GIT_SSH_COMMAND"] = f"{command} -oBatchMode=yes -oConnectTimeout=20"
    return _with_settings(environment, TRANSPORT_SETTINGS)


def _user_setting(key: str) -> str:
    return process.run(["git", "config", "--global", "--get", key], timeout_s=QUICK_S).text


@functools.cache
def _version(program: str | None) -> tuple[int, int, int]:
    if program is None:
        raise UsageError("git is not installed", mend="install git 2.32 or newer: trees are git worktrees")
    answer = process.run([program, "version"], timeout_s=QUICK_S)
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", answer.text)
    if not answer.ok or found is None:
        raise UsageError(f"git does not run: {answer.complaint}", mend="install git 2.32 or newer")
    version = (int(found[1]), int(found[2]), int(found[3] or 0))
    if version[:2] < MINIMUM_VERSION:
        raise UsageError(f"{answer.text} is too old", mend="install git 2.32 or newer")
    return version


def version() -> tuple[int, int, int]:
    """The version of the git on PATH.

    Raises:
        UsageError: there is none, or it is older than 2.32.
    """
    return _version(shutil.which("git"))


def can_be_blobless() -> bool:
    """Whether this git can be kept from fetching missing objects one by one, without which no clone is blobless."""
    found = version()
    return found >= (2, 45, 0) or found[2] >= NO_LAZY_FETCH.get(found[:2], sys.maxsize)


def call(
    arguments: Sequence[str],
    *,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float = QUICK_S,
) -> process.Finished:
    """Runs git, in the content environment unless another is given.

    Args:
        arguments: What follows ``git``.
        git_dir: The repository, when it is not the one around *cwd*.
        cwd: The folder to run in.
        env: A whole environment, made by this module.
        stdin: Bytes for its standard input.
        timeout_s: Seconds until it is ended.

    Raises:
        UsageError: no usable git.
    """
    version()
    place = [] if git_dir is None else [f"--git-dir={git_dir}"]
    return process.run(
        ["git", *place, *arguments],
        cwd=cwd,
        env=content_environment() if env is None else env,
        stdin=stdin,
        timeout_s=timeout_s,
    )


def ask(
    arguments: Sequence[str],
    *,
    what: str,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes = b"",
    timeout_s: float = QUICK_S,
) -> bytes:
    """Runs git like :func:`call` and returns its standard output.

    Raises:
        UsageError: it failed; the line says *what* could not be done and git's own reason.
    """
    done = call(arguments, git_dir=git_dir, cwd=cwd, env=env, stdin=stdin, timeout_s=timeout_s)
    if not done.ok:
        raise fault(done, what)
    return done.stdout


def reason(done: process.Finished) -> str:
    """The line of git's complaint that carries the cause, without secrets."""
    lines = [line.strip() for line in done.stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    for mark in ("fatal:", "error:", "ERROR:", "remote:"):
        for line in lines:
            if line.startswith(mark):
                return redacted(line.removeprefix(mark).strip())
    return redacted(done.complaint)


def fault(done: process.Finished, what: str) -> TwotreesError:
    """The error for a git call that failed for a local cause."""
    text = done.stderr.decode("utf-8", "replace")
    if _SPACE.search(text):
        return UsageError(
            f"{what}: no space left on the disk", mend="free some on the disks of the cache and of the work folder"
        )
    return UsageError(f"{what}: {reason(done)}")


def transport_fault(done: process.Finished, shown: str) -> TwotreesError:
    """The error for a fetch that failed.

    Args:
        done: The failed call.
        shown: The repository as it may be printed.
    """
    text = f"{done.stderr.decode('utf-8', 'replace')}\n{done.fault}"
    if _SPACE.search(text):
        return fault(done, f"{shown} cannot be fetched")
    if _CREDENTIALS.search(text):
        return UsageError(
            f"{shown} needs credentials, and twotrees never asks for any ({reason(done)})",
            mend="set up git's credential helper or an ssh agent, or clone it yourself and give the path",
        )
    if _NETWORK.search(text):
        return UsageError(
            f"{shown} cannot be reached ({reason(done)})", mend="connect, or give the path of a local clone instead"
        )
    if "mismatched algorithms" in text:
        return UsageError(f"{shown} uses git's SHA-256 object format; twotrees compares ids of 40 digits")
    if _ABSENT.search(text):
        return UsageError(f"there is no git repository at {shown} ({reason(done)})", mend="check the address")
    return UsageError(f"{shown} cannot be fetched: {reason(done)}")
