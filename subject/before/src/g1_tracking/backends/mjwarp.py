"""MuJoCo Warp: all robots as worlds on one device, and a host copy of what the managers read.

A step is one launch (a captured graph on CUDA) and one copy to the host; a reset writes back the reset worlds only.
"""

import time
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import warp

from g1_tracking.backends.pool import RolloutPool, threads_of
from g1_tracking.backends.state import RobotState


def find_device(option: str) -> warp.Device:
    """The device of a `device` option.

    Args:
        option: `auto` (the first CUDA device, else the CPU), `cpu`, or `cuda:N`, which are demands.

    Returns:
        The device.

    Raises:
        ValueError: none of these.
        RuntimeError: the demanded device is missing; names it and what there is.
    """
    warp.config.log_level = warp.LOG_WARNING
    warp.init()
    known = {"cpu": warp.get_device("cpu"), **{device.alias: device for device in warp.get_cuda_devices()}}
    if option == "auto":
        return next((device for device in known.values() if device.is_cuda), known["cpu"])
    if option in known:
        return known[option]
    if option.startswith("cuda:") and option.removeprefix("cuda:").isdigit():
        raise RuntimeError(f"device {option} is missing: this host has {', '.join(known)}")
    raise ValueError(f"device must be auto, cpu or cuda:N, got {option!r}")


class MjwarpBackend:
    """N robots on MuJoCo Warp; float32 physics.

    As on MuJoCo, a step's sensors belong to the start of its last substep. The sensors of a reset robot come from
    MuJoCo on the host, so that no other world is touched.
    """

    def __init__(self, config: dict[str, Any], model: mujoco.MjModel, num_envs: int, substeps: int):
        device = find_device(config["device"])
        self.state = RobotState(num_envs)
        self.timing_ns: dict[str, int] = {}
        self._device, self._substeps = device, substeps
        self._pool = RolloutPool(model, num_envs, threads_of(config["threads"]))
        self.threads = {"mujoco_pool": self._pool.threads}
        self.decisions = {"device": device.alias, "device_name": device.name}
        if device.is_cuda:
            self.decisions["device_uuid"] = device.uuid

        self._sensors = slice(0, model.nsensordata)
        self._qpos = slice(model.nsensordata, model.nsensordata + model.nq)
        self._qvel = slice(self._qpos.stop, self._qpos.stop + model.nv)
        with warp.ScopedDevice(device):
            self._model = mujoco_warp.put_model(model)
            self._data = mujoco_warp.make_data(model, nworld=num_envs, nconmax=config["nconmax"], njmax=config["njmax"])
            self._packed = warp.zeros((num_envs, self._qvel.stop), dtype=float)
            self._row_ids = warp.zeros(num_envs, dtype=int)
            self._row_states = warp.zeros((num_envs, model.nq + model.nv), dtype=float)
        self._host_packed = self._host_array(self._packed)
        self._host_control = self._host_array(self._data.ctrl)
        self._host_ids, self._host_states = self._host_array(self._row_ids), self._host_array(self._row_states)
        self._graph = self._compile(model)

    def _host_array(self, like: warp.array) -> warp.array:
        return warp.zeros(like.shape, dtype=like.dtype, device="cpu", pinned=self._device.is_cuda)

    def _compile(self, model: mujoco.MjModel) -> Any:
        """Run every kernel once, so that none compiles later; on CUDA capture a step, on the CPU there is no graph."""
        standing = np.concatenate((model.qpos0, np.zeros(model.nv)))
        self._write_rows(np.zeros(1, dtype=np.int64), standing[None])
        with warp.ScopedDevice(self._device):
            self._launch_step()
            warp.synchronize_device(self._device)
            if not self._device.is_cuda:
                return None
            with warp.ScopedCapture(self._device) as capture:
                self._launch_step()
            return capture.graph

    def _launch_step(self) -> None:
        for _ in range(self._substeps):
            mujoco_warp.step(self._model, self._data)
        data = self._data
        warp.launch(_pack, self._packed.shape, inputs=[data.sensordata, data.qpos, data.qvel], outputs=[self._packed])

    def write_control(self, target: np.ndarray) -> None:
        """Hold joint targets (num_envs, 29), radians, over the substeps of the next step."""
        np.copyto(self._host_control.numpy(), target)
        warp.copy(self._data.ctrl, self._host_control)

    def step(self) -> None:
        """Advance all robots by one control step and refresh the host copy."""
        start = time.perf_counter_ns()
        with warp.ScopedDevice(self._device):
            if self._graph is None:
                self._launch_step()
            else:
                warp.capture_launch(self._graph)
        warp.synchronize_device(self._device)
        stepped = time.perf_counter_ns()
        warp.copy(self._host_packed, self._packed)
        warp.synchronize_device(self._device)
        copied = time.perf_counter_ns()
        self.refresh()
        self.timing_ns = {
            "backend_physics": stepped - start,
            "backend_device_barrier": copied - stepped,
            "backend_refresh_cache": time.perf_counter_ns() - copied,
        }

    def refresh(self) -> None:
        """Split what the last step left on the host into the host copy's arrays."""
        packed = self._host_packed.numpy()
        self.state.load(packed[:, self._sensors], packed[:, self._qpos], packed[:, self._qvel])

    def reset_rows(self, env_ids: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Put some robots into given states, on the device and in the host copy.

        Args:
            env_ids: (rows,) integers, ascending.
            qpos: (rows, 36).
            qvel: (rows, 35).
        """
        self._write_rows(env_ids, np.concatenate((qpos, qvel), axis=1))
        self.state.load_rows(env_ids, self._pool.sensors_at(qpos, qvel), qpos, qvel)

    def _write_rows(self, env_ids: np.ndarray, states: np.ndarray) -> None:
        rows, width = states.shape
        # The staging arrays may still be on their way from an earlier reset.
        warp.synchronize_device(self._device)
        self._host_ids.numpy()[:rows] = env_ids
        self._host_states.numpy()[:rows] = states
        warp.copy(self._row_ids, self._host_ids, count=rows)
        warp.copy(self._row_states, self._host_states, count=rows * width)
        data = self._data
        warp.launch(
            _scatter,
            (rows, width),
            inputs=[self._row_ids, self._row_states],
            outputs=[data.qpos, data.qvel, data.qacc_warmstart, data.time],
            device=self._device,
        )

    def close(self) -> None:
        """Stop the host pool."""
        self._pool.close()


@warp.kernel
def _pack(
    sensors: warp.array2d(dtype=float),
    qpos: warp.array2d(dtype=float),
    qvel: warp.array2d(dtype=float),
    packed: warp.array2d(dtype=float),
):
    """One row per world: its sensors, positions, velocities."""
    world, column = warp.tid()
    first, second = sensors.shape[1], sensors.shape[1] + qpos.shape[1]
    if column < first:
        packed[world, column] = sensors[world, column]
    elif column < second:
        packed[world, column] = qpos[world, column - first]
    else:
        packed[world, column] = qvel[world, column - second]


@warp.kernel
def _scatter(
    world_ids: warp.array(dtype=int),
    states: warp.array2d(dtype=float),
    qpos: warp.array2d(dtype=float),
    qvel: warp.array2d(dtype=float),
    warm_start: warp.array2d(dtype=float),
    time: warp.array(dtype=float),
):
    """Write the rows' positions and velocities into their worlds and forget the worlds' solver warm start and time."""
    row, column = warp.tid()
    world = world_ids[row]
    positions = qpos.shape[1]
    if column < positions:
        qpos[world, column] = states[row, column]
    else:
        qvel[world, column - positions] = states[row, column]
        warm_start[world, column - positions] = 0.0
    if column == 0:
        time[world] = 0.0
