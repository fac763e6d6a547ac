"""Where facts come from: the file-system root, commands, the environment, names. Passed in, so that a test can lay out
another host as real files and real programs instead of patching this one.
"""

from __future__ import annotations

import getpass
import os
import platform
import re
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from twotrees import process
from twotrees.host.facts import Unknown, positive

COMMAND_TIMEOUT_S = 10.0


@dataclass(frozen=True)
class Usage:
    """One process's CPU time so far, in seconds."""

    pid: int
    name: str
    cpu_s: float


@dataclass(frozen=True)
class Sources:
    """One host to be asked.

    Attributes:
        root: What stands for `/`: files under `proc`, `sys`, `etc` are read below it.
        system: `Linux`, `Darwin`, …
        machine: `x86_64`, `aarch64`, `arm64`, …
        environ: Environment variables, also those of every command.
        interpreter: The Python that will measure; its build, packages and BLAS are the ones recorded.
        nvml: The command that prints the GPUs as JSON. A process of its own, because a broken driver can hang or crash.
        repo: The git repository to describe, or None.
        host_name: The host's name.
        user: The user's name.
        home: The user's home folder.
        affinity: Gives the CPUs this process may run on, or why they are not known.
        microarchitecture: Gives the CPU generation's name, or why it is not known.
        processes: Lists all processes that may be seen, except our own family.
        pause: Sleeps for some seconds between two readings of a counter.
        interval_s: The length of that pause.
        timeout_s: How long a command may take to answer.
    """

    root: Path
    system: str
    machine: str
    environ: Mapping[str, str]
    interpreter: Path
    nvml: tuple[str, ...]
    repo: Path | None
    host_name: str
    user: str
    home: str
    affinity: Callable[[], frozenset[int] | Unknown]
    microarchitecture: Callable[[], str | Unknown]
    processes: Callable[[], list[Usage] | Unknown]
    pause: Callable[[float], None] = time.sleep
    interval_s: float = 0.3
    timeout_s: float = COMMAND_TIMEOUT_S

    def run(self, *argv: str, timeout_s: float | None = None) -> process.Finished:
        """Runs a command in the C locale with these sources' environment."""
        env = {**self.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
        return process.run(argv, env=env, timeout_s=self.timeout_s if timeout_s is None else timeout_s)

    def answer(self, *argv: str, timeout_s: float | None = None) -> str | Unknown:
        """A command's standard output, or the first line of what it complained about."""
        finished = self.run(*argv, timeout_s=timeout_s)
        if not finished.ok:
            return Unknown(finished.complaint)
        return finished.text or Unknown(f"{argv[0]} printed nothing")

    def text(self, path: str) -> str | Unknown:
        """A small system file without outer white space.

        Args:
            path: Absolute, as on a real host (`/proc/meminfo`).
        """
        try:
            text = self.at(path).read_bytes().decode("utf-8", "replace").strip("\0\n\t ")
        except OSError as error:
            return Unknown(f"{path}: {(error.strerror or type(error).__name__).lower()}")
        return text or Unknown(f"{path} is empty")

    def number(self, path: str, divisor: int = 1) -> int | float | Unknown:
        """A quantity from a system file that cannot be zero; see :func:`facts.positive`."""
        return positive(self.text(path), path, divisor)

    def at(self, path: str) -> Path:
        """Where the host's *path* really lies."""
        return self.root / path.lstrip("/")

    def glob(self, pattern: str) -> list[str]:
        """The host's paths that match, sorted by the numbers in them (`policy2` before `policy10`)."""
        try:
            found = [f"/{path.relative_to(self.root)}" for path in self.root.glob(pattern.lstrip("/"))]
        except OSError:
            return []
        return sorted(found, key=_numeric)

    @cached_property
    def sysctl(self) -> dict[str, str]:
        """All of macOS's `sysctl` values; empty elsewhere."""
        if self.system != "Darwin":
            return {}
        text = self.answer("sysctl", "-a")
        if isinstance(text, Unknown):
            return {}
        pairs = (line.partition(": ") for line in text.splitlines())
        return {key.strip(): value.strip() for key, colon, value in pairs if colon}

    def sysctl_value(self, key: str) -> str | Unknown:
        """One `sysctl` value, or why there is none."""
        if self.system != "Darwin":
            return Unknown(f"{self.system} has no sysctl {key}")
        return self.sysctl.get(key) or Unknown(f"sysctl has no {key}")

    @cached_property
    def cpuinfo(self) -> list[dict[str, str]] | Unknown:
        """`/proc/cpuinfo` as one dict for each block of lines."""
        text = self.text("/proc/cpuinfo")
        if isinstance(text, Unknown):
            return text
        blocks = []
        for block in text.split("\n\n"):
            pairs = (line.partition(":") for line in block.splitlines())
            blocks.append({key.strip(): value.strip() for key, colon, value in pairs if colon})
        return blocks

    def cpuinfo_value(self, *keys: str) -> str | Unknown:
        """The first of *keys* that any block of `/proc/cpuinfo` has."""
        blocks = self.cpuinfo
        if isinstance(blocks, Unknown):
            return blocks
        for key in keys:
            for block in blocks:
                if block.get(key):
                    return block[key]
        return Unknown(f"/proc/cpuinfo has no {keys[0]!r}")


def here(*, repo: Path | None = None, interpreter: Path | None = None) -> Sources:
    """The sources of the host we are on."""
    package_parent = str(Path(__file__).resolve().parents[2])
    return Sources(
        root=Path("/"),
        system=platform.system(),
        machine=platform.machine(),
        environ=dict(os.environ),
        interpreter=interpreter or Path(sys.executable),
        nvml=(sys.executable, "-P", "-c", f"import sys; sys.path.insert(0, {package_parent!r}); {_NVML}"),
        repo=repo,
        host_name=socket.gethostname(),
        user=_user(),
        home=str(Path("~").expanduser()),
        affinity=own_affinity,
        microarchitecture=known_microarchitecture,
        processes=other_processes,
    )


_NVML = "from twotrees.host import nvml; nvml.main()"


def own_affinity() -> frozenset[int] | Unknown:
    """The CPUs that this process may run on."""
    if not hasattr(os, "sched_getaffinity"):
        return Unknown(f"{platform.system()} has no CPU affinity")
    try:
        return frozenset(os.sched_getaffinity(0))
    except OSError as error:
        return Unknown(f"sched_getaffinity: {error.strerror}")


def known_microarchitecture() -> str | Unknown:
    """The newest generation in archspec's table all of whose instruction sets this CPU shows."""
    import archspec.cpu  # type: ignore[import-untyped]  # only here: a table that nothing else needs

    name = str(archspec.cpu.host().name)
    generic = name in {"x86_64", "aarch64", "arm", "riscv64"}
    return Unknown(f"archspec knows no closer name than {name}") if generic else name


def other_processes() -> list[Usage] | Unknown:
    """Every process but this one, its ancestors and its descendants.

    The family is left out because a campaign's own work must not count as foreign load.
    """
    import psutil

    try:
        own = psutil.Process()
        family = {own.pid, *(p.pid for p in own.parents()), *(p.pid for p in own.children(recursive=True))}
        listed = []
        for item in psutil.process_iter(["pid", "name", "cpu_times"]):
            times = item.info["cpu_times"]
            if times is not None and item.info["pid"] not in family:
                listed.append(Usage(item.info["pid"], item.info["name"] or "?", times.user + times.system))
    except (psutil.Error, OSError) as error:
        return Unknown(f"processes cannot be listed: {error}")
    return listed


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        # A container may run under a number that /etc/passwd does not list.
        return str(os.getuid())


def _numeric(path: str) -> list[str | int]:
    return [int(part) if part.isdigit() else part for part in re.split(r"(\d+)", path)]
