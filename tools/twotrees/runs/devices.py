"""Which device a backend runs on, settled before anything is measured."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
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
NVML_S = 20.0


def settled(backend: Backend, python: Path, env: Mapping[str, str], demanded: str | None = None) -> str:
    """The device that ``backend.device`` comes to: `cpu` or `cuda:N`.

    Args:
        backend: Whose device.
        python: The measured environment's interpreter.
        env: What a run would see.
        demanded: The kind of device (`cuda`) without which the subject does not run, if there is one.

    Raises:
        PinsDiffer: a device is demanded that is not here.
    """
    if backend.name == "mujoco":
        if backend.device not in ("auto", "cpu"):
            raise missing(backend.device, "the mujoco backend runs on the CPU only")
        return "cpu"
    if backend.device == "cpu":
        if demanded is not None:
            raise missing(demanded, "backend.device is cpu", by="the subject")
        return "cpu"
    devices, reason = cuda_devices(python, env)
    if backend.device == "auto":
        if demanded is not None and not devices:
            raise missing(demanded, f"{reason}; {driver_says()}", by="the subject")
        return devices[0] if devices else "cpu"
    if backend.device not in devices:
        raise missing(backend.device, reason)
    return backend.device


def refuse_hopeless(backend: Backend, demanded: str | None) -> None:
    """Refuses a subject whose device is plainly not here, before anything is fetched or built for it.

    Asked with the toolkit's own Warp, where it has one; `settled` asks again in the measured environment.

    Raises:
        PinsDiffer: the device is missing.
    """
    if backend.name == "mujoco" or demanded is None or importlib.util.find_spec("warp") is None:
        return
    settled(backend, Path(sys.executable), os.environ, demanded)


def cuda_devices(python: Path, env: Mapping[str, str]) -> tuple[list[str], str]:
    """The CUDA devices that Warp opens, and in words what was found."""
    asked = process.run([str(python), "-c", QUESTION], env=env, timeout_s=START_UP_S)
    if not asked.ok:
        return [], f"Warp does not start: {asked.complaint}"
    devices: list[str] = []
    with contextlib.suppress(strict_json.JsonRefused):
        # Warp greets on standard output, whatever it is told; the answer is the last line.
        answer = strict_json.loads(asked.text.splitlines()[-1] if asked.text else "")
        devices = [str(device) for device in answer] if isinstance(answer, list) else []
    return devices, f"CUDA devices here: {', '.join(devices) or 'none'}"


def driver_says() -> str:
    """What NVML has to say, asked in a process of its own, because a broken driver can hang or crash."""
    asked = process.run([sys.executable, "-P", "-m", "twotrees.host.nvml"], timeout_s=NVML_S)
    told: object = None
    if asked.ok:
        with contextlib.suppress(strict_json.JsonRefused):
            told = strict_json.loads(asked.stdout)
    if not isinstance(told, dict):
        return f"NVML: unavailable: {asked.complaint}"
    if "unavailable" in told:
        return f"NVML: unavailable: {told['unavailable']}"
    return f"NVML lists {len(told.get('gpus', {}))} GPUs"


def missing(device: str, reason: str, by: str = "") -> PinsDiffer:
    """The refusal of a device that is not here."""
    who = f" by {by}" if by else ""
    return PinsDiffer(
        f"{device} is demanded{who} and missing ({reason})",
        file="conf",
        key="study.demands" if by else "backend.device",
        mend="run on a host that has it" if by else "run on a host that has it, or backend.device=auto",
    )
