"""The operating system: name, kernel, command line, CPUs that it keeps free, C library."""

from __future__ import annotations

import platform
import re

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources


def collect(sources: Sources) -> Facts:
    """From `/proc` and `/etc/os-release`; from `uname` and `sysctl` elsewhere."""
    linux = sources.system == "Linux"
    return {
        "system": sources.system or Unknown("the platform gives no name"),
        "distribution": distribution(sources),
        "release": sources.text("/proc/sys/kernel/osrelease") if linux else sources.sysctl_value("kern.osrelease"),
        "version": sources.text("/proc/sys/kernel/version") if linux else sources.sysctl_value("kern.version"),
        "command_line": command_line(sources) if linux else sources.sysctl_value("kern.bootargs"),
        "isolated_cpus": isolated(sources),
        "libc": " ".join(platform.libc_ver()).strip() or Unknown(f"{sources.system} has no glibc that names itself"),
    }


def command_line(sources: Sources) -> str | Unknown:
    """What the kernel was started with. What follows `--` is for init alone, and may be a secret: it is left out."""
    text = sources.text("/proc/cmdline")
    return text if isinstance(text, Unknown) else f"{text} ".partition(" -- ")[0].strip()


def distribution(sources: Sources) -> str | Unknown:
    """The name that the distribution gives itself."""
    if sources.system == "Darwin":
        version = sources.sysctl_value("kern.osproductversion")
        return version if isinstance(version, Unknown) else f"macOS {version}"
    text = sources.text("/etc/os-release")
    if isinstance(text, Unknown):
        return text
    found = re.search(r'^PRETTY_NAME="?([^"\n]+)', text, re.MULTILINE)
    return found.group(1) if found else Unknown("/etc/os-release has no PRETTY_NAME")


def isolated(sources: Sources) -> str | Unknown:
    """The CPU list that the scheduler leaves alone, or `none`."""
    path = "/sys/devices/system/cpu/isolated"
    if not sources.at(path).is_file():
        return Unknown(f"{path}: no such file")
    text = sources.text(path)
    # An empty file is the kernel's way to write an empty list.
    return "none" if isinstance(text, Unknown) and text.reason.endswith("is empty") else text


# Where this one machine keeps its disk, kernel image and console; two hosts never share these.
OWN_PARAMETERS = ("root=", "BOOT_IMAGE=", "resume=", "console=", "ip=", "initrd=", "cryptdevice=", "rd.")


def without_own_parameters(facts: Facts) -> Facts:
    """The facts with a command line that can be compared between hosts."""
    line = facts.get("command_line")
    if not isinstance(line, str):
        return facts
    return {**facts, "command_line": " ".join(part for part in line.split() if not part.startswith(OWN_PARAMETERS))}


FACET = Facet(
    "kernel",
    collect,
    {
        "system": Kind.SPEED,
        "distribution": Kind.LABEL,
        "release": Kind.SPEED,
        "version": Kind.LABEL,
        "command_line": Kind.SPEED,
        "isolated_cpus": Kind.SPEED,
        "libc": Kind.SPEED,
    },
    align=without_own_parameters,
)
