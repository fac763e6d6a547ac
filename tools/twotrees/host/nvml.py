"""NVIDIA GPUs by UUID through NVML (`pynvml`). Standard library only; runs as a process of its own or in the monitor.

In: a module like `pynvml`. Out: plain data, each attribute a value or ``{"unknown": reason}``. NVML's index is never
used as a name: it is not the order that CUDA counts in.
"""

from __future__ import annotations

import json
import sys
from typing import Any

MIB = 1 << 20

# nvml.h: nvmlClockType_t and nvmlTemperatureSensors_t.
CLOCK_SM, CLOCK_MEMORY, TEMPERATURE_GPU = 1, 2, 0

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


def ask(nvml: Any, name: str, *arguments: Any) -> Any:
    """What NVML's function *name* gives, or why it gives nothing.

    Every call may fail on some card, driver or permission, and an old pynvml lacks some functions and constants.
    """
    try:
        value = getattr(nvml, name)(*arguments)
    except Exception as fault:
        # NVMLError's classes are made at import time by each version of pynvml; a fake or an old one has others.
        return {"unknown": f"NVML: {fault}"}
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def snapshot(nvml: Any) -> dict[str, Any]:
    """Everything that a fingerprint records.

    Returns:
        ``{"driver_version", "cuda_driver", "nvml_version", "gpus": {uuid: {...}}}``, or ``{"unavailable": reason}``.
    """
    started = ask(nvml, "nvmlInit")
    if isinstance(started, dict):
        return {"unavailable": started["unknown"].removeprefix("NVML: ")}
    count = ask(nvml, "nvmlDeviceGetCount")
    if isinstance(count, dict):
        return {"unavailable": count["unknown"].removeprefix("NVML: ")}
    gpus: dict[str, Any] = {}
    faults: list[str] = []
    for index in range(count):
        handle = ask(nvml, "nvmlDeviceGetHandleByIndex", index)
        uuid = handle if isinstance(handle, dict) else ask(nvml, "nvmlDeviceGetUUID", handle)
        if isinstance(uuid, dict):
            faults.append(uuid["unknown"])
        else:
            gpus[uuid] = describe(nvml, handle)
    cuda = ask(nvml, "nvmlSystemGetCudaDriverVersion_v2")
    return {
        "driver_version": ask(nvml, "nvmlSystemGetDriverVersion"),
        "cuda_driver": cuda if isinstance(cuda, dict) else f"{cuda // 1000}.{cuda % 1000 // 10}",
        "nvml_version": ask(nvml, "nvmlSystemGetNVMLVersion"),
        "gpus": gpus,
        "lost": faults,
    }


def describe(nvml: Any, handle: Any) -> dict[str, Any]:
    """One GPU: memory in MiB, clocks in MHz, power in W, temperatures in °C."""

    def of(name: str, *arguments: int) -> Any:
        return ask(nvml, name, handle, *arguments)

    def watts(name: str) -> Any:
        milliwatts = of(name)
        return milliwatts if isinstance(milliwatts, dict) else milliwatts / 1000

    capability = of("nvmlDeviceGetCudaComputeCapability")
    memory = of("nvmlDeviceGetMemoryInfo")
    return {
        "name": of("nvmlDeviceGetName"),
        "pci_bus_id": bus_id(nvml, handle),
        "compute_capability": capability if isinstance(capability, dict) else ".".join(map(str, capability)),
        "memory_total_mib": memory if isinstance(memory, dict) else memory.total // MIB,
        "memory_used_mib": memory if isinstance(memory, dict) else memory.used // MIB,
        "sm_clock_mhz": of("nvmlDeviceGetClockInfo", CLOCK_SM),
        "memory_clock_mhz": of("nvmlDeviceGetClockInfo", CLOCK_MEMORY),
        "sm_clock_max_mhz": of("nvmlDeviceGetMaxClockInfo", CLOCK_SM),
        "memory_clock_max_mhz": of("nvmlDeviceGetMaxClockInfo", CLOCK_MEMORY),
        "application_clock_mhz": of("nvmlDeviceGetApplicationsClock", CLOCK_SM),
        "performance_state": of("nvmlDeviceGetPerformanceState"),
        "power_w": watts("nvmlDeviceGetPowerUsage"),
        "power_limit_w": watts("nvmlDeviceGetEnforcedPowerLimit"),
        "power_limit_default_w": watts("nvmlDeviceGetPowerManagementDefaultLimit"),
        "temperature_c": of("nvmlDeviceGetTemperature", TEMPERATURE_GPU),
        "throttle_reasons": throttle(nvml, handle),
        "mig_mode": switch(of("nvmlDeviceGetMigMode")),
        "mig_devices": mig_devices(nvml, handle),
        "persistence": switch(of("nvmlDeviceGetPersistenceMode")),
        "ecc": switch(of("nvmlDeviceGetEccMode")),
        "compute_mode": of("nvmlDeviceGetComputeMode"),
        "vbios": of("nvmlDeviceGetVbiosVersion"),
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
    info = ask(nvml, "nvmlDeviceGetPciInfo", handle)
    if isinstance(info, dict):
        return info
    address = getattr(info, "busId", None) or {"unknown": "NVML: no PCI address"}
    return address.decode("ascii", "replace") if isinstance(address, bytes) else address


def throttle(nvml: Any, handle: Any) -> Any:
    """Why the clocks are held down now; the call was renamed in driver 535."""
    for name in ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"):
        if hasattr(nvml, name):
            bits = ask(nvml, name, handle)
            return bits if isinstance(bits, dict) else reasons(bits)
    return {"unknown": "NVML: this pynvml cannot ask for throttle reasons"}


def mig_devices(nvml: Any, handle: Any) -> Any:
    """UUIDs of the GPU's slices; empty without MIG."""
    count = ask(nvml, "nvmlDeviceGetMaxMigDeviceCount", handle)
    if isinstance(count, dict):
        return count
    found = []
    for index in range(count):
        device = ask(nvml, "nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        if not isinstance(device, dict):
            found.append(ask(nvml, "nvmlDeviceGetUUID", device))
    return found


def processes(nvml: Any, handle: Any) -> Any:
    """How many processes compute on the GPU."""
    running = ask(nvml, "nvmlDeviceGetComputeRunningProcesses", handle)
    return running if isinstance(running, dict) else len(running)


def sample(nvml: Any) -> dict[str, Any]:
    """What the monitor records of each GPU, by UUID: few and cheap calls."""
    gpus: dict[str, Any] = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
        uuid = ask(nvml, "nvmlDeviceGetUUID", handle)
        power = ask(nvml, "nvmlDeviceGetPowerUsage", handle)
        gpus[str(uuid)] = {
            "sm_clock_mhz": ask(nvml, "nvmlDeviceGetClockInfo", handle, CLOCK_SM),
            "temperature_c": ask(nvml, "nvmlDeviceGetTemperature", handle, TEMPERATURE_GPU),
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
