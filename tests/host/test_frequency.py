"""Clock frequency: where there is none it is unknown with a reason, never 0 and never a crash (case 16)."""

from __future__ import annotations

from typing import Any

import pytest

POLICY = "/sys/devices/system/cpu/cpufreq/policy{}"


def test_a_desktop_tells_everything(busy_box: Any, facts: Any) -> None:
    found = facts("frequency", busy_box.sources())
    assert found["driver"] == "intel_pstate"
    assert found["driver_mode"] == "active"
    assert found["governor"] == "performance"
    assert found["turbo"] == "on"
    assert (found["min_mhz"], found["max_mhz"]) == (800, 4900)
    assert found["current_mhz"] == {"0": 4700, "1": 4700.001, "2": 4700.002, "3": 4700.003}
    assert "no such file" in found["base_mhz"]["unknown"]


def test_a_virtual_machine_without_cpufreq_tells_why_in_every_fact(host: Any, facts: Any) -> None:
    host.file("/proc/cpuinfo", "processor : 0\ncpu MHz : 0.000\n")
    found = facts("frequency", host.sources())
    assert all(set(value) == {"unknown"} for value in found.values())
    assert "no cpufreq" in found["governor"]["unknown"]
    assert found["reported_mhz"] == {"unknown": "cpu MHz reads 0.000"}


@pytest.mark.parametrize("text", ["0", "", "-1", "<unknown>", "nan"])
def test_a_frequency_that_is_zero_empty_or_senseless_is_unknown(host: Any, facts: Any, text: str) -> None:
    host.file(POLICY.format(0) + "/affected_cpus", "0 1").file(POLICY.format(0) + "/scaling_cur_freq", text)
    assert set(facts("frequency", host.sources())["current_mhz"]) == {"unknown"}


def test_a_frequency_file_that_cannot_be_read_is_unknown_with_the_systems_reason(host: Any, facts: Any) -> None:
    host.file(POLICY.format(0) + "/affected_cpus", "0")
    (host.root / POLICY.format(0)[1:] / "cpuinfo_cur_freq").mkdir()
    (host.root / POLICY.format(0)[1:] / "scaling_max_freq").mkdir()
    reason = facts("frequency", host.sources())["max_mhz"]["unknown"]
    assert reason == f"{POLICY.format(0)}/scaling_max_freq: is a directory"


def test_cores_that_differ_are_listed_apart_and_in_numeric_order(host: Any, facts: Any) -> None:
    for number, governor in ((10, "powersave"), (2, "performance")):
        host.file(POLICY.format(number) + "/affected_cpus", f"{number} {number + 1}")
        host.file(POLICY.format(number) + "/scaling_governor", governor)
    governors = facts("frequency", host.sources())["governor"]
    assert list(governors.items()) == [("2,3", "performance"), ("10,11", "powersave")]


@pytest.mark.parametrize(
    ("path", "text", "turbo"),
    [
        ("intel_pstate/no_turbo", "0", "on"),
        ("intel_pstate/no_turbo", "1", "off"),
        ("cpufreq/boost", "1", "on"),
        ("cpufreq/boost", "0", "off"),
    ],
)
def test_turbo_is_read_from_whichever_switch_there_is(host: Any, facts: Any, path: str, text: str, turbo: str) -> None:
    host.file(f"/sys/devices/system/cpu/{path}", f"{text}\n")
    assert facts("frequency", host.sources())["turbo"] == turbo


def test_an_intel_mac_tells_through_sysctl_and_an_arm_mac_does_not(host: Any, facts: Any) -> None:
    host.prints("sysctl", "hw.cpufrequency: 2600000000\nhw.cpufrequency_max: 2600000000\nhw.memsize: 17179869184\n")
    intel = facts("frequency", host.sources(system="Darwin"))
    assert intel["max_mhz"] == 2600
    host.prints("sysctl", "hw.memsize: 17179869184\n")
    arm = facts("frequency", host.sources(system="Darwin", machine="arm64"))
    assert arm["max_mhz"] == {"unknown": "sysctl has no hw.cpufrequency_max"}
    assert arm["governor"] == {"unknown": "Darwin does not tell"}
