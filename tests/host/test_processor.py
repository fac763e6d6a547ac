"""The processor from lscpu, sysfs, cpuinfo and sysctl, and from fewer of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

ROWS = [("Vendor ID:", "AuthenticAMD"), ("Model name:", "EPYC"), ("CPU(s):", "16"), ("Thread(s) per core:", "2")]
MORE = [("Core(s) per socket:", "4"), ("Socket(s):", "2"), ("Flags:", "fpu sse2 avx2 fpu"), ("Stepping:", "-")]


def _flat() -> str:
    return json.dumps({"lscpu": [{"field": field, "data": data} for field, data in ROWS + MORE]})


def _nested() -> str:
    rows = [{"field": field, "data": data} for field, data in ROWS]
    children = [{"field": field, "data": data} for field, data in MORE]
    return json.dumps({"lscpu": [*rows, {"field": "Model:", "data": None, "children": children}]})


@pytest.mark.parametrize("text", [_flat(), _nested()])
def test_both_json_shapes_of_lscpu_are_read(host: Any, facts: Any, text: str) -> None:
    found = facts("processor", host.prints("lscpu", text).sources())
    assert (found["vendor"], found["model_name"]) == ("AuthenticAMD", "EPYC")
    assert (found["sockets"], found["cores"], found["threads"], found["threads_per_core"]) == (2, 8, 16, 2)
    assert found["instruction_sets"] == ["avx2", "fpu", "sse2"]
    assert "lscpu gives no 'Stepping'" in found["stepping"]["unknown"]


@pytest.mark.parametrize(
    ("text", "status", "reason"),
    [
        ("lscpu: cannot open /proc\n", 1, "lscpu: cannot open /proc"),
        ("", 0, "lscpu printed nothing"),
        ("Architecture: x86_64\n", 0, "printed no table of fields: Architecture: x86_64"),
        ('{"lscpu": []}', 0, "printed an empty table"),
        ('{"lscpu": 3}', 0, "printed no table of fields"),
    ],
)
def test_an_lscpu_that_fails_is_quoted(host: Any, facts: Any, text: str, status: int, reason: str) -> None:
    sources = host.prints("lscpu", text, status).sources()
    assert reason in facts("lscpu", sources)["fields"]["unknown"]
    assert reason in facts("processor", sources)["cores"]["unknown"]


def test_without_lscpu_cpuinfo_and_sysfs_answer(busy_box: Any, facts: Any) -> None:
    found = facts("processor", busy_box.sources())
    assert (found["vendor"], found["model_name"], found["threads"]) == ("GenuineIntel", "Core i5", 2)
    assert found["instruction_sets"] == ["avx2", "fpu"]
    assert found["microcode"] == "0x2b"
    assert found["caches"] == {"L1d": {"kib": 48, "instances": 4}, "L3": {"kib": 16384, "instances": 1}}
    assert found["numa_nodes"] == {"0": "0-3"}
    assert found["smt"] == "on"
    assert found["hybrid_cores"] == "none"
    assert "lscpu is not installed" in found["sockets"]["unknown"]


def test_an_intel_hybrid_lists_both_kinds_of_core(host: Any, facts: Any) -> None:
    host.file("/sys/devices/cpu_core/cpus", "0-15\n").file("/sys/devices/cpu_atom/cpus", "16-23\n")
    assert facts("processor", host.sources())["hybrid_cores"] == {"core": "0-15", "atom": "16-23"}


def test_an_arm_board_lists_cores_by_capacity(host: Any, facts: Any) -> None:
    for number in range(6):
        host.file(f"/sys/devices/system/cpu/cpu{number}/cpu_capacity", "446\n" if number < 4 else "1024\n")
    host.file("/proc/cpuinfo", "processor : 0\nFeatures : fp asimd\nCPU implementer : 0x41\nCPU part : 0xd03\n")
    found = facts("processor", host.sources(machine="aarch64"))
    assert found["hybrid_cores"] == {"capacity 446": "0-3", "capacity 1024": "4-5"}
    assert (found["vendor"], found["model"], found["instruction_sets"]) == ("0x41", "0xd03", ["asimd", "fp"])


def test_equal_capacities_are_no_hybrid_and_no_evidence_is_unknown(host: Any, facts: Any) -> None:
    sources = host.sources(machine="aarch64")
    assert "neither core kinds nor capacities" in facts("processor", sources)["hybrid_cores"]["unknown"]
    for number in range(4):
        host.file(f"/sys/devices/system/cpu/cpu{number}/cpu_capacity", "1024\n")
    assert facts("processor", sources)["hybrid_cores"] == "none"


def test_a_mac_answers_through_sysctl(host: Any, facts: Any) -> None:
    text = """machdep.cpu.brand_string: Apple M3 Pro
hw.physicalcpu: 11
hw.logicalcpu: 11
hw.packages: 1
hw.nperflevels: 2
hw.perflevel0.name: Performance
hw.perflevel0.physicalcpu: 5
hw.perflevel1.name: Efficiency
hw.perflevel1.physicalcpu: 6
hw.l1dcachesize: 65536
hw.l2cachesize: 4194304
"""
    found = facts("processor", host.prints("sysctl", text).sources(system="Darwin", machine="arm64"))
    assert found["model_name"] == "Apple M3 Pro"
    assert (found["cores"], found["threads"], found["threads_per_core"], found["sockets"]) == (11, 11, 1, 1)
    assert found["hybrid_cores"] == {"Performance": 5, "Efficiency": 6}
    assert found["caches"]["L1d"] == {"kib": 64, "instances": {"unknown": "sysctl does not count caches"}}


def test_sockets_that_lscpu_does_not_tell_leave_the_cores_unknown(host: Any, facts: Any) -> None:
    rows = [{"field": "Core(s) per cluster:", "data": "4"}, {"field": "Core(s) per socket:", "data": "4"}]
    rows.append({"field": "Socket(s):", "data": "-"})
    found = facts("processor", host.prints("lscpu", json.dumps({"lscpu": rows})).sources(machine="aarch64"))
    assert found["cores"] == {"unknown": "4 in each socket, but the number of sockets is not known"}
