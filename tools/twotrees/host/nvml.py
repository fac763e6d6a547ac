"""NVIDIA GPUs by UUID through NVML (`pynvml`). Standard library only; runs as a process of its own or in the monitor.

In: a module like `pynvml`. Out: plain data, each attribute a value or ``{"unknown": reason}``. NVML's index is never
used as a name: it is not the order that CUDA counts in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

MIB = 1 << 20

# nvml.h, nvmlClocksEventReason*: why the clocks are below what was asked for.
THROTTLE_REASONS = {
    0x1: "idle",
    0x2: "application clocks",
    0x4: "software power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "hardware power brake",
    0x100: "display clocks",
}
HARMLESS = frozenset({"idle", "application clocks", "display clocks", "sync boost"})


def reasons(bits: int) -> list[str]:
    """The names of the set bits; a bit that this version does not know keeps its number."""
    named = [name for bit, name in THROTTLE_REASONS.items() if bits & bit]
    rest = bits & ~sum(THROTTLE_REASONS)
    return [*named, f"reason {rest:#x}"] if rest else named


def attempt(read: Callable[..., Any], *arguments: Any) -> Any:
    """A value, or why NVML gives none. Every NVML call may fail on some card, driver or permission."""
    try:
        value = read(*arguments)
    except Exception as fault:
        # NVMLError's classes are made at import time by each version of pynvml; a fake or an old one has others.
        return {"unknown": f"NVML: {fault}"}
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def snapshot(nvml: Any) -> dict[str, Any]:
    """Everything that a fingerprint records.

    Returns:
        ``{"driver_version", "cuda_driver", "nvml_version", "gpus": {uuid: {...}}}``, or ``{"unavailable": reason}``.
    """
    started = attempt(nvml.nvmlInit)
    if isinstance(started, dict):
        return {"unavailable": started["unknown"].removeprefix("NVML: ")}
    count = attempt(nvml.nvmlDeviceGetCount)
    if isinstance(count, dict):
        return {"unavailable": count["unknown"].removeprefix("NVML: ")}
    gpus: dict[str, Any] = {}
    faults: list[str] = []
    for index in range(count):
        handle = attempt(nvml.nvmlDeviceGetHandleByIndex, index)
        uuid = handle if isinstance(handle, dict) else attempt(nvml.nvmlDeviceGetUUID, handle)
        if isinstance(uuid, dict):
            faults.append(uuid["unknown"])
        else:
            gpus[uuid] = describe(nvml, handle)
    cuda = attempt(nvml.nvmlSystemGetCudaDriverVersion_v2)
    return {
        "driver_version": attempt(nvml.nvmlSystemGetDriverVersion),
        "cuda_driver": cuda if isinstance(cuda, dict) else f"{cuda // 1000}.{cuda % 1000 // 10}",
        "nvml_version": attempt(nvml.nvmlSystemGetNVMLVersion),
        "gpus": gpus,
        "lost": faults,
    }


def describe(nvml: Any, handle: Any) -> dict[str, Any]:
    """One GPU: memory in MiB, clocks in MHz, power in W, temperatures in °C."""

    def ask(name: str, *arguments: str) -> Any:
        return attempt(lambda: getattr(nvml, name)(handle, *(getattr(nvml, constant) for constant in arguments)))

    def scaled(name: str, divisor: float, *arguments: str) -> Any:
        value = ask(name, *arguments)
        return value if isinstance(value, dict) else round(value / divisor, 3)

    capability = ask("nvmlDeviceGetCudaComputeCapability")
    memory = ask("nvmlDeviceGetMemoryInfo")
    return {
        "name": ask("nvmlDeviceGetName"),
        "pci_bus_id": bus_id(nvml, handle),
        "compute_capability": capability if isinstance(capability, dict) else ".".join(map(str, capability)),
        "memory_total_mib": memory if isinstance(memory, dict) else memory.total // MIB,
        "memory_used_mib": memory if isinstance(memory, dict) else memory.used // MIB,
        "sm_clock_mhz": ask("nvmlDeviceGetClockInfo", "NVML_CLOCK_SM"),
        "memory_clock_mhz": ask("nvmlDeviceGetClockInfo", "NVML_CLOCK_MEM"),
        "sm_clock_max_mhz": ask("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_SM"),
        "memory_clock_max_mhz": ask("nvmlDeviceGetMaxClockInfo", "NVML_CLOCK_MEM"),
        "application_clock_mhz": ask("nvmlDeviceGetApplicationsClock", "NVML_CLOCK_SM"),
        "performance_state": ask("nvmlDeviceGetPerformanceState"),
        "power_w": scaled("nvmlDeviceGetPowerUsage", 1000),
        "power_limit_w": scaled("nvmlDeviceGetEnforcedPowerLimit", 1000),
        "power_limit_default_w": scaled("nvmlDeviceGetPowerManagementDefaultLimit", 1000),
        "temperature_c": ask("nvmlDeviceGetTemperature", "NVML_TEMPERATURE_GPU"),
        "throttle_reasons": throttle(nvml, handle),
        "mig_mode": switch(ask("nvmlDeviceGetMigMode")),
        "mig_devices": mig_devices(nvml, handle),
        "persistence": switch(ask("nvmlDeviceGetPersistenceMode")),
        "ecc": switch(ask("nvmlDeviceGetEccMode")),
        "compute_mode": ask("nvmlDeviceGetComputeMode"),
        "vbios": ask("nvmlDeviceGetVbiosVersion"),
        "compute_processes": processes(nvml, handle),
    }


def switch(value: Any) -> Any:
    """`on` or `off`; NVML gives some modes as (current, after the next reset), of which the first counts."""
    if isinstance(value, dict):
        return value
    current = value[0] if isinstance(value, (list, tuple)) else value
    return "on" if current else "off"


def bus_id(nvml: Any, handle: Any) -> Any:
    """The PCI address, which is what CUDA_DEVICE_ORDER=PCI_BUS_ID sorts by."""
    info = attempt(nvml.nvmlDeviceGetPciInfo, handle)
    return info if isinstance(info, dict) else attempt(lambda: info.busId)


def throttle(nvml: Any, handle: Any) -> Any:
    """Why the clocks are held down now; the call was renamed in driver 535."""
    for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        if hasattr(nvml, name):
            bits = attempt(getattr(nvml, name), handle)
            return bits if isinstance(bits, dict) else reasons(bits)
    return {"unknown": "NVML: this pynvml cannot ask for throttle reasons"}


def mig_devices(nvml: Any, handle: Any) -> Any:
    """UUIDs of the GPU's slices; empty without MIG."""
    count = attempt(nvml.nvmlDeviceGetMaxMigDeviceCount, handle)
    if isinstance(count, dict):
        return count
    found = []
    for index in range(count):
        device = attempt(nvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, index)
        if not isinstance(device, dict):
            found.append(attempt(nvml.nvmlDeviceGetUUID, device))
    return found


def processes(nvml: Any, handle: Any) -> Any:
    """How many processes compute on the GPU."""
    running = attempt(nvml.nvmlDeviceGetComputeRunningProcesses, handle)
    return running if isinstance(running, dict) else len(running)


def sample(nvml: Any) -> dict[str, Any]:
    """What the monitor records of each GPU, by UUID: few and cheap calls."""
    gpus: dict[str, Any] = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = attempt(nvml.nvmlDeviceGetUUID, handle)
        power = attempt(nvml.nvmlDeviceGetPowerUsage, handle)
        gpus[str(uuid)] = {
            "sm_clock_mhz": attempt(nvml.nvmlDeviceGetClockInfo, handle, nvml.NVML_CLOCK_SM),
            "temperature_c": attempt(nvml.nvmlDeviceGetTemperature, handle, nvml.NVML_TEMPERATURE_GPU),
            "power_w": power if isinstance(power, dict) else power / 1000,
            "throttle_reasons": throttle(nvml, handle),
        }
    return gpus


def main() -> None:
    """Prints :func:`snapshot` as one line of JSON."""
    try:
        import pynvml
    except ImportError as fault:
        answer: dict[str, Any] = {"unavailable": f"pynvml cannot be imported: {fault}"}
    else:
        answer = snapshot(pynvml)
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
