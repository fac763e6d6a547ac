"""Clock frequency and what steers it: driver, governor, turbo, limits, energy preference; absent on most VMs.

Each fact is one value where all CPUs agree, else a value for each CPU list. Frequencies are in MHz.
"""

from __future__ import annotations

from typing import Any

from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown, positive, same_for_all
from twotrees.host.sources import Sources

CPU = "/sys/devices/system/cpu"
NO_CPUFREQ = "the kernel gives no cpufreq here, as in most virtual machines"


def collect(sources: Sources) -> Facts:
    """From cpufreq's policies; on macOS from sysctl, which only Intel Macs answer."""
    policies = sources.glob(f"{CPU}/cpufreq/policy[0-9]*") or sources.glob(f"{CPU}/cpu[0-9]*/cpufreq")
    absent = f"{sources.system} does not tell" if sources.system != "Linux" else NO_CPUFREQ

    def text(name: str) -> Any:
        return same_for_all({cpus(sources, p): sources.text(f"{p}/{name}") for p in policies}, absent)

    def mhz(name: str, sysctl: str) -> Any:
        if sources.system == "Darwin":
            return positive(sources.sysctl_value(sysctl), sysctl, 1_000_000)
        return same_for_all({cpus(sources, p): sources.number(f"{p}/{name}", 1000) for p in policies}, absent)

    return {
        "driver": text("scaling_driver"),
        "driver_mode": driver_mode(sources, absent),
        "governor": text("scaling_governor"),
        "energy_preference": text("energy_performance_preference"),
        "turbo": turbo(sources, absent),
        "min_mhz": mhz("scaling_min_freq", "hw.cpufrequency_min"),
        "max_mhz": mhz("scaling_max_freq", "hw.cpufrequency_max"),
        "hardware_min_mhz": mhz("cpuinfo_min_freq", "hw.cpufrequency_min"),
        "hardware_max_mhz": mhz("cpuinfo_max_freq", "hw.cpufrequency_max"),
        "base_mhz": mhz("base_frequency", "hw.cpufrequency"),
        "current_mhz": mhz("scaling_cur_freq", "hw.cpufrequency"),
        "reported_mhz": positive(sources.cpuinfo_value("cpu MHz"), "cpu MHz"),
    }


def cpus(sources: Sources, policy: str) -> str:
    """The CPUs of a policy, which name its values."""
    listed = sources.text(f"{policy}/affected_cpus")
    return policy.rsplit("/", 1)[-1] if isinstance(listed, Unknown) else listed.replace(" ", ",")


def driver_mode(sources: Sources, absent: str) -> str | Unknown:
    """`active`, `passive` or `guided` for the drivers that have modes."""
    for driver in ("intel_pstate", "amd_pstate"):
        status = sources.text(f"{CPU}/{driver}/status")
        if not isinstance(status, Unknown):
            return status
    return Unknown("the driver has no modes" if sources.glob(f"{CPU}/cpufreq/policy[0-9]*") else absent)


def turbo(sources: Sources, absent: str) -> str | Unknown:
    """Whether the processor may exceed its base clock: `on` or `off`."""
    for path, on in ((f"{CPU}/intel_pstate/no_turbo", "0"), (f"{CPU}/cpufreq/boost", "1")):
        state = sources.text(path)
        if state in {"0", "1"}:
            return "on" if state == on else "off"
    return Unknown(f"neither intel_pstate nor cpufreq tells; {absent}")


FACET = Facet(
    "frequency",
    collect,
    {
        "driver": Kind.SPEED,
        "driver_mode": Kind.SPEED,
        "governor": Kind.SPEED,
        "energy_preference": Kind.SPEED,
        "turbo": Kind.SPEED,
        "min_mhz": Kind.SPEED,
        "max_mhz": Kind.SPEED,
        "hardware_min_mhz": Kind.SPEED,
        "hardware_max_mhz": Kind.SPEED,
        "base_mhz": Kind.SPEED,
        "current_mhz": Kind.STATE,
        "reported_mhz": Kind.STATE,
    },
)
