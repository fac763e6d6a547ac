"""What stands between this process and the hardware: hypervisor, container, translation; and the product's name."""

from __future__ import annotations

from twotrees.host.facet import Facet
from twotrees.host.facets import lscpu
from twotrees.host.facts import Facts, Kind, Unknown, first_known
from twotrees.host.sources import Sources


def collect(sources: Sources) -> Facts:
    """From systemd-detect-virt where there is one, else from the marks that hypervisors and engines leave."""
    return {
        "hypervisor": first_known(
            (lambda: detected(sources, "--vm"), lambda: from_lscpu(sources), lambda: from_sysctl(sources)),
            "no source tells",
        ),
        "container": first_known((lambda: detected(sources, "--container"), lambda: marked(sources)), "none tells"),
        "translated": translated(sources),
        "product": sources.text("/sys/devices/virtual/dmi/id/product_name"),
        "maker": sources.text("/sys/devices/virtual/dmi/id/sys_vendor"),
    }


def detected(sources: Sources, kind: str) -> str | Unknown:
    """What systemd-detect-virt prints; its status 1 with the word `none` is an answer, not a fault."""
    finished = sources.run("systemd-detect-virt", kind)
    if finished.exit in (0, 1) and finished.text and len(finished.text.split()) == 1:
        return finished.text
    return Unknown(finished.complaint)


def from_lscpu(sources: Sources) -> str | Unknown:
    """lscpu's hypervisor, which it reads from CPUID."""
    table = lscpu.fields(sources)
    if isinstance(table, Unknown):
        return Unknown(f"lscpu: {table.reason}")
    vendor = table.get("Hypervisor vendor")
    return vendor.lower() if vendor else Unknown("lscpu names no hypervisor")


def from_sysctl(sources: Sources) -> str | Unknown:
    """macOS knows whether it is a guest, though not whose."""
    guest = sources.sysctl_value("kern.hv_vmm_present")
    return guest if isinstance(guest, Unknown) else {"0": "none", "1": "some hypervisor"}.get(guest, guest)


def marked(sources: Sources) -> str | Unknown:
    """The files that Docker and Podman put into every container."""
    for path, engine in (("/.dockerenv", "docker"), ("/run/.containerenv", "podman")):
        if sources.at(path).exists():
            return engine
    return Unknown("no engine left its mark, which proves nothing")


def translated(sources: Sources) -> str | Unknown:
    """Whether another architecture's instructions are translated (Rosetta): `yes` or `no`."""
    if sources.system == "Linux":
        vendor = sources.cpuinfo_value("vendor_id")
        return "yes" if vendor == "VirtualApple" else "no"
    state = sources.sysctl_value("sysctl.proc_translated")
    return state if isinstance(state, Unknown) else {"0": "no", "1": "yes"}.get(state, state)


FACET = Facet(
    "virtualization",
    collect,
    {
        "hypervisor": Kind.SPEED,
        "container": Kind.SPEED,
        "translated": Kind.SPEED,
        "product": Kind.SPEED,
        "maker": Kind.LABEL,
    },
)
