"""Which device a backend runs on, settled before anything is measured."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path

from twotrees import process, strict_json
from twotrees.errors import PinsDiffer
from twotrees.study import Backend

# Asked in the measured environment: what NVML lists and what the simulator can open are two different things.
QUESTION = (
    "import json, warp; warp.config.quiet = True; warp.init(); "
    "print(json.dumps([device.alias for device in warp.get_cuda_devices()]))"
)
START_UP_S = 120.0


def settled(backend: Backend, python: Path, env: Mapping[str, str]) -> str:
    """The device that ``backend.device`` comes to: `cpu` or `cuda:N`.

    Args:
        backend: Whose device.
        python: The measured environment's interpreter.
        env: What a run would see.

    Raises:
        PinsDiffer: a device is demanded that is not here.
    """
    if backend.name == "mujoco":
        if backend.device not in ("auto", "cpu"):
            raise missing(backend.device, "the mujoco backend runs on the CPU only")
        return "cpu"
    if backend.device == "cpu":
        return "cpu"
    asked = process.run([str(python), "-c", QUESTION], env=env, timeout_s=START_UP_S)
    devices: list[str] = []
    if asked.ok:
        last_line = asked.text.splitlines()[-1] if asked.text else ""
        with contextlib.suppress(strict_json.JsonRefused):
            answer = strict_json.loads(last_line)
            devices = [str(device) for device in answer] if isinstance(answer, list) else []
    if backend.device == "auto":
        return devices[0] if devices else "cpu"
    if backend.device not in devices:
        found = ", ".join(devices) or "none"
        reason = f"CUDA devices here: {found}" if asked.ok else f"Warp does not start: {asked.complaint}"
        raise missing(backend.device, reason)
    return backend.device


def missing(device: str, reason: str) -> PinsDiffer:
    """The refusal of a device that is not here."""
    return PinsDiffer(
        f"{device} is demanded and missing ({reason})",
        file="conf",
        key="backend.device",
        mend="run on a host that has it, or backend.device=auto",
    )
