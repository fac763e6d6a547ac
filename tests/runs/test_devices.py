"""Which device a backend runs on is settled before anything is measured; a program that is asked may say anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from twotrees.errors import PinsDiffer
from twotrees.runs.devices import settled
from twotrees.study import Backend, compose

ENV = {"PATH": "/usr/bin:/bin"}
TWO_GPUS = """echo 'Warp 1.14.0 initialized:'; echo '["cuda:0", "cuda:1"]'"""


def backend(name: str, device: str) -> Backend:
    return compose([f"backend={name}", f"backend.device={device}"])[0].backend


def python(folder: Path, says: str) -> Path:
    """Something in the place of the measured environment's interpreter."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_mujoco_runs_on_the_cpu(device: str) -> None:
    assert settled(backend("mujoco", device), Path("/nonexistent"), ENV) == "cpu"


def test_a_gpu_is_refused_for_mujoco() -> None:
    with pytest.raises(PinsDiffer, match=r"backend\.device: cuda:0 is demanded and missing .*on the CPU only"):
        settled(backend("mujoco", "cuda:0"), Path("/nonexistent"), ENV)


def test_warp_on_the_cpu_asks_nobody() -> None:
    assert settled(backend("mjwarp", "cpu"), Path("/nonexistent"), ENV) == "cpu"


def test_auto_takes_the_first_gpu_that_warp_opens_whatever_it_prints_before(tmp_path: Path) -> None:
    assert settled(backend("mjwarp", "auto"), python(tmp_path, TWO_GPUS), ENV) == "cuda:0"


def test_a_demanded_gpu_that_is_there_is_taken(tmp_path: Path) -> None:
    assert settled(backend("mjwarp", "cuda:1"), python(tmp_path, TWO_GPUS), ENV) == "cuda:1"


def test_a_demanded_gpu_that_is_missing_is_refused_with_what_is_there(tmp_path: Path) -> None:
    with pytest.raises(PinsDiffer) as caught:
        settled(backend("mjwarp", "cuda:7"), python(tmp_path, TWO_GPUS), ENV)
    assert "cuda:7 is demanded and missing (CUDA devices here: cuda:0, cuda:1)" in str(caught.value)
    assert "backend.device=auto" in str(caught.value)
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "says",
    [
        "exit 1",
        "echo '[]'",
        "echo 3",
        "echo 'Failed to initialize NVML: Driver/library version mismatch'",
        "echo '{\"a\": NaN}'",
        "true",
        "kill -9 $$",
    ],
)
def test_auto_comes_to_the_cpu_when_warp_finds_no_gpu_or_does_not_start(tmp_path: Path, says: str) -> None:
    assert settled(backend("mjwarp", "auto"), python(tmp_path, says), ENV) == "cpu"


def test_why_warp_does_not_start_is_told(tmp_path: Path) -> None:
    broken = python(tmp_path, "echo \"ModuleNotFoundError: No module named 'warp'\" >&2; exit 1")
    with pytest.raises(PinsDiffer, match="Warp does not start: ModuleNotFoundError: No module named 'warp'"):
        settled(backend("mjwarp", "cuda:0"), broken, ENV)
