"""GPUs: by UUID, or "unavailable" with the first line of what went wrong (cases 24 and 25)."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from twotrees.host.facets.gpu import by_model, visible
from twotrees.host.nvml import reasons

# A pynvml of two different cards, of which the second one's driver answers only half of the questions.
FAKE_PYNVML = """
class NVMLError(Exception):
    pass
class Memory:
    total, used = 80 * 2**30, 2**30
class Pci:
    def __init__(self, number): self.busId = f"00000000:0{9 - number}:00.0".encode()
NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU = 1, 2, 0
def nvmlInit(): pass
def nvmlSystemGetDriverVersion(): return b"550.54.15"
def nvmlSystemGetCudaDriverVersion_v2(): return 12040
def nvmlSystemGetNVMLVersion(): return "12.550.54.15"
def nvmlDeviceGetCount(): return 2
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetUUID(handle): return f"GPU-{'ab'[handle]}000-1111"
def nvmlDeviceGetName(handle): return ["NVIDIA H100", "NVIDIA A2"][handle]
def nvmlDeviceGetPciInfo(handle): return Pci(handle)
def nvmlDeviceGetMemoryInfo(handle): return Memory
def nvmlDeviceGetClockInfo(handle, kind): return 1980
def nvmlDeviceGetMaxClockInfo(handle, kind): return 1980
def nvmlDeviceGetTemperature(handle, kind): return 41
def nvmlDeviceGetPowerUsage(handle):
    if handle: raise NVMLError("Not Supported")
    return 72345
def nvmlDeviceGetCurrentClocksEventReasons(handle): return 0x21
def nvmlDeviceGetMigMode(handle):
    if handle: raise NVMLError("Not Supported")
    return [1, 1]
def nvmlDeviceGetMaxMigDeviceCount(handle): return 0 if handle else 7
def nvmlDeviceGetMigDeviceHandleByIndex(handle, index):
    if index: raise NVMLError("Not Found")
    return 0
def nvmlDeviceGetPersistenceMode(handle): return 1
def nvmlDeviceGetEccMode(handle): return (0, 1)
def nvmlDeviceGetCudaComputeCapability(handle): return (9, 0)
"""


@pytest.fixture
def two_cards(host: Any, tmp_path: Path) -> Any:
    """Sources whose NVML process finds the module above."""
    (tmp_path / "fake").mkdir()
    (tmp_path / "fake/pynvml.py").write_text(FAKE_PYNVML)
    return lambda **changes: host.sources(
        nvml=(sys.executable, "-c", "from twotrees.host.nvml import main; main()"),
        environ={"PATH": str(host.programs), "PYTHONPATH": str(tmp_path / "fake"), **changes},
    )


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            "echo 'Failed to initialize NVML: Driver/library version mismatch'; echo more; exit 18",
            "unavailable: Failed to initialize NVML: Driver/library version mismatch",
        ),
        ("echo 'No devices were found'", "unavailable: No devices were found"),
        ('echo \'{"unavailable": "NVML Shared Library Not Found"}\'', "unavailable: NVML Shared Library Not Found"),
        ('echo \'{"gpus": {}, "lost": []}\'', "unavailable: no GPU is there"),
        ('echo \'{"gpus": {}, "lost": ["GPU is lost"]}\'', "unavailable: GPU is lost"),
        ("exit 0", "unavailable: nothing printed"),
        (
            "printf 'Traceback (most recent call last):\\n  File x\\nOSError: boom\\n' >&2; exit 1",
            "unavailable: OSError: boom",
        ),
        ("kill -SEGV $$", "unavailable: exit status -11"),
        ("sleep 30", "unavailable: nvml-probe gave no answer in 0.3 s"),
    ],
)
def test_a_broken_driver_is_unavailable_with_its_first_line(host: Any, facts: Any, script: str, reason: str) -> None:
    environ = {"PATH": f"{host.programs}:/usr/bin:/bin"}
    found = facts("gpu", host.program("nvml-probe", script).sources(timeout_s=0.3, environ=environ))
    assert found["count"] == {"unknown": reason}
    assert found["gpus"] == {"unknown": reason}
    assert set(found) == {
        *("driver_version", "cuda_driver", "nvml_version", "kernel_module", "count", "models", "gpus", "addresses"),
        *("state", "visible"),
    }


def test_a_missing_probe_is_unavailable(host: Any, facts: Any) -> None:
    assert facts("gpu", host.sources())["gpus"] == {"unknown": "unavailable: nvml-probe is not installed"}


def test_the_kernel_modules_version_is_told_beside_a_library_that_fails(host: Any, facts: Any) -> None:
    line = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024\n"
    found = facts("gpu", host.file("/proc/driver/nvidia/version", line).sources())
    assert found["kernel_module"] == "535.183.01"


def test_each_card_stands_under_its_uuid_with_its_unanswered_questions(two_cards: Any, facts: Any) -> None:
    found = facts("gpu", two_cards())
    assert (found["count"], found["models"]) == (2, ["NVIDIA A2", "NVIDIA H100"])
    assert (found["driver_version"], found["cuda_driver"]) == ("550.54.15", "12.4")
    first, second = found["gpus"]["GPU-a000-1111"], found["gpus"]["GPU-b000-1111"]
    assert (first["name"], first["memory_total_mib"], first["mig_mode"]) == ("NVIDIA H100", 81920, "on")
    assert (first["ecc"], first["persistence"], first["compute_capability"]) == ("off", "on", "9.0")
    assert second["mig_mode"] == {"unknown": "NVML: Not Supported"}
    state = found["state"]
    assert state["GPU-a000-1111"]["power_w"] == 72.345
    assert state["GPU-b000-1111"]["power_w"] == {"unknown": "NVML: Not Supported"}
    assert state["GPU-a000-1111"]["throttle_reasons"] == ["idle", "software thermal slowdown"]
    assert found["addresses"]["GPU-a000-1111"] == {"pci_bus_id": "00000000:09:00.0", "mig_devices": ["GPU-a000-1111"]}


A, B = "GPU-a000-1111", "GPU-b000-1111"


@pytest.mark.parametrize(
    ("variables", "uuids"),
    [
        ({}, [B, A]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": A}, [A]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-b0"}, [B]),
        ({"CUDA_VISIBLE_DEVICES": f"{A},{B}"}, [A, B]),
        ({"CUDA_VISIBLE_DEVICES": f"{A},{A}"}, [A]),
        ({"CUDA_VISIBLE_DEVICES": f"{A},GPU-zzz,{B}"}, [A]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-"}, []),
        ({"CUDA_VISIBLE_DEVICES": "MIG-1"}, ["MIG-1"]),
        ({"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [B]),
        ({"CUDA_VISIBLE_DEVICES": "1,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [A, B]),
        ({"CUDA_VISIBLE_DEVICES": "1,-1,0", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [A]),
        ({"CUDA_VISIBLE_DEVICES": "7", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, []),
    ],
)
def test_visible_devices_are_resolved_to_uuids(two_cards: Any, facts: Any, variables: Any, uuids: list[str]) -> None:
    assert facts("gpu", two_cards(**variables))["visible"] == uuids


def test_an_index_among_several_cards_is_not_guessed(two_cards: Any, facts: Any) -> None:
    reason = facts("gpu", two_cards(CUDA_VISIBLE_DEVICES="1"))["visible"]["unknown"]
    assert "CUDA's order is not NVML's" in reason


def test_an_index_is_clear_where_there_is_one_card() -> None:
    from twotrees.host import Unknown

    assert visible({"CUDA_VISIBLE_DEVICES": "0"}, {A: {"pci_bus_id": "x"}}) == [A]
    assert not isinstance(visible({"CUDA_VISIBLE_DEVICES": "1"}, {A: {"pci_bus_id": "x"}}), Unknown)


def test_two_hosts_with_equal_models_are_compared_by_model_and_not_by_uuid() -> None:
    left = by_model({"gpus": {"GPU-2": {"name": "H100"}, "GPU-1": {"name": "A2"}}, "state": {"GPU-2": {}}})
    assert left == {"gpus": {"H100 #1": {"name": "H100"}, "A2 #1": {"name": "A2"}}, "state": {"H100 #1": {}}}
    assert by_model({"gpus": {"unknown": "none"}}) == {"gpus": {"unknown": "none"}}


def test_an_unknown_throttle_bit_keeps_its_number() -> None:
    assert reasons(0x0) == []
    assert reasons(0x48) == ["hardware slowdown", "hardware thermal slowdown"]
    assert reasons(0x1001) == ["idle", "reason 0x1000"]
