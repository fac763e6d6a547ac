"""Other hosts, laid out as real files and real programs below tmp_path."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from twotrees.host import Sources, Unknown, here

MOUNT_V2 = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate"


class Host:
    """A host that consists of the files and programs given to it, and of nothing else."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "root"
        self.programs = folder / "bin"
        self.root.mkdir()
        self.programs.mkdir()

    def file(self, path: str, text: str = "") -> Host:
        """Lays out one file."""
        target = self.root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        return self

    def files(self, texts: Mapping[str, str]) -> Host:
        """Lays out several files."""
        for path, text in texts.items():
            self.file(path, text)
        return self

    def program(self, name: str, script: str) -> Host:
        """Installs a shell script as a program."""
        path = self.programs / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return self

    def prints(self, name: str, text: str, status: int = 0) -> Host:
        """Installs a program that prints *text*, whatever it is asked."""
        said = self.programs / f".{name}.txt"
        said.write_text(text)
        return self.program(name, f"/bin/cat '{said}'; exit {status}")

    def sources(self, **changes: Any) -> Sources:
        """The sources of this host."""
        own: dict[str, Any] = {
            "root": self.root,
            "system": "Linux",
            "machine": "x86_64",
            "environ": {"PATH": str(self.programs)},
            "interpreter": Path(sys.executable),
            "nvml": ("nvml-probe",),
            "host_name": "lab-7",
            "user": "mallory",
            "home": "/home/mallory",
            "affinity": lambda: frozenset({0, 1, 2, 3}),
            "microarchitecture": lambda: Unknown("not asked in this test"),
            "processes": list,
            "interval_s": 0.01,
            "timeout_s": 5.0,
        }
        return dataclasses.replace(here(), **{**own, **changes})


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """An empty host: no `/proc`, no `/sys`, no programs."""
    return Host(tmp_path)


@pytest.fixture
def busy_box(host: Host) -> Host:
    """A Linux desktop with everything that a fingerprint looks for."""
    cpu = "/sys/devices/system/cpu"
    for number in range(4):
        host.files(
            {
                f"{cpu}/cpufreq/policy{number}/affected_cpus": f"{number}\n",
                f"{cpu}/cpufreq/policy{number}/scaling_driver": "intel_pstate\n",
                f"{cpu}/cpufreq/policy{number}/scaling_governor": "performance\n",
                f"{cpu}/cpufreq/policy{number}/scaling_min_freq": "800000\n",
                f"{cpu}/cpufreq/policy{number}/scaling_max_freq": "4900000\n",
                f"{cpu}/cpufreq/policy{number}/cpuinfo_max_freq": "4900000\n",
                f"{cpu}/cpufreq/policy{number}/cpuinfo_min_freq": "800000\n",
                f"{cpu}/cpufreq/policy{number}/scaling_cur_freq": f"{4700000 + number}\n",
                f"{cpu}/cpufreq/policy{number}/energy_performance_preference": "performance\n",
                f"{cpu}/cpu{number}/cpufreq/scaling_cur_freq": f"{4700000 + number}\n",
                f"{cpu}/cpu{number}/thermal_throttle/core_throttle_count": "3\n",
                f"{cpu}/cpu{number}/cache/index0/level": "1\n",
                f"{cpu}/cpu{number}/cache/index0/type": "Data\n",
                f"{cpu}/cpu{number}/cache/index0/size": "48K\n",
                f"{cpu}/cpu{number}/cache/index0/shared_cpu_list": f"{number}\n",
                f"{cpu}/cpu{number}/cache/index3/level": "3\n",
                f"{cpu}/cpu{number}/cache/index3/type": "Unified\n",
                f"{cpu}/cpu{number}/cache/index3/size": "16384K\n",
                f"{cpu}/cpu{number}/cache/index3/shared_cpu_list": "0-3\n",
            }
        )
    return host.files(
        {
            f"{cpu}/intel_pstate/status": "active\n",
            f"{cpu}/intel_pstate/no_turbo": "0\n",
            f"{cpu}/smt/control": "on\n",
            f"{cpu}/online": "0-3\n",
            f"{cpu}/isolated": "\n",
            f"{cpu}/vulnerabilities/meltdown": "Not affected\n",
            "/sys/devices/system/node/node0/cpulist": "0-3\n",
            "/sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
            "/sys/class/hwmon/hwmon2/name": "coretemp\n",
            "/sys/class/hwmon/hwmon2/temp1_input": "41000\n",
            "/sys/class/hwmon/hwmon2/temp1_label": "Package id 0\n",
            "/sys/class/power_supply/AC/type": "Mains\n",
            "/sys/class/power_supply/AC/online": "1\n",
            "/sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
            "/sys/fs/cgroup/user.slice/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/user.slice/cpu.stat": "usage_usec 5\nnr_throttled 2\n",
            "/proc/self/cgroup": "0::/user.slice\n",
            "/proc/self/mountinfo": f"{MOUNT_V2}\n",
            "/proc/sys/kernel/randomize_va_space": "2\n",
            "/proc/sys/kernel/osrelease": "6.8.0-45-generic\n",
            "/proc/sys/vm/swappiness": "60\n",
            "/proc/cmdline": "BOOT_IMAGE=/vmlinuz root=UUID=1234 quiet mitigations=off\n",
            "/proc/meminfo": "MemTotal: 32768000 kB\nMemAvailable: 30000000 kB\nSwapTotal: 0 kB\nSwapFree: 0 kB\n",
            "/proc/loadavg": "0.12 0.10 0.09 1/900 4242\n",
            "/proc/uptime": "3600.12 9000.00\n",
            "/proc/stat": "cpu  10 0 10 1000 0 0 0 5 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n",
            "/proc/pressure/cpu": "some avg10=0.00 avg60=0.00 avg300=0.00 total=1\n",
            "/proc/cpuinfo": "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Core i5\nflags\t\t: fpu avx2\n"
            "microcode\t: 0x2b\ncpu MHz\t\t: 4700.000\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\n",
            "/etc/machine-id": "0123456789abcdef\n",
            "/etc/os-release": 'NAME="Ubuntu"\nPRETTY_NAME="Ubuntu 24.04 LTS"\n',
        }
    )


@pytest.fixture
def facts() -> Callable[..., dict[str, Any]]:
    """Collects one facet of given sources, in its JSON form."""
    from twotrees.host.collect import facts_of
    from twotrees.host.facets import FACETS
    from twotrees.host.facts import jsonable

    def collect(name: str, sources: Sources) -> dict[str, Any]:
        facet = next(facet for facet in FACETS if facet.name == name)
        collected: dict[str, Any] = jsonable(facts_of(facet, sources))
        return collected

    return collect
