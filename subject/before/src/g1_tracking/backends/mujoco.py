"""MuJoCo on the CPU: all robots through one persistent rollout pool."""

import time
from typing import Any

import mujoco
import numpy as np

from g1_tracking.backends.chunk_tuning import TUNING_ROWS, choose_chunk_size
from g1_tracking.backends.pool import RolloutPool, threads_of
from g1_tracking.backends.state import RobotState


class MujocoBackend:
    """N robots on MuJoCo; float64 physics, float32 host copy.

    A step's sensors belong to the start of its last substep, as `mj_step` leaves them; joint positions and velocities
    are those after it. Without a carried warm start the result does not depend on threads or chunks.
    """

    def __init__(self, config: dict[str, Any], model: mujoco.MjModel, num_envs: int, substeps: int):
        self.state = RobotState(num_envs)
        self.timing_ns: dict[str, int] = {}
        self._model, self._substeps = model, substeps
        self._pool = RolloutPool(model, num_envs, threads_of(config["threads"]))
        size = self._pool.state_size
        self._initial = np.zeros((num_envs, size))
        self._control = np.zeros((num_envs, substeps, model.nu))
        self._states = np.zeros((num_envs, substeps, size))
        self._sensors = np.zeros((num_envs, substeps, model.nsensordata))
        self._qpos = slice(1, 1 + model.nq)
        self._qvel = slice(1 + model.nq, 1 + model.nq + model.nv)
        self.threads = {"mujoco_pool": self._pool.threads}
        self.decisions = self._decide_chunk_size(config["chunk_size"], num_envs)
        self._chunk_size = int(self.decisions["chunk_size"])

    def _decide_chunk_size(self, option: str | int, num_envs: int) -> dict[str, int | str]:
        if option != "auto":
            if int(option) < 1:
                raise ValueError(f"chunk_size must be `auto` or at least 1, got {option!r}")
            return {"chunk_size": int(option), "chunk_cache": "option"}
        self._initial[:, self._qpos] = self._model.qpos0
        rows = slice(0, TUNING_ROWS)
        arrays = (self._initial[rows], self._control[rows], self._states[rows], self._sensors[rows])

        def time_step_ns(chunk_size: int) -> int:
            start = time.perf_counter_ns()
            self._pool.step(*arrays, chunk_size)
            return time.perf_counter_ns() - start

        return choose_chunk_size(num_envs, self._pool.threads, time_step_ns)

    def write_control(self, target: np.ndarray) -> None:
        """Hold joint targets (num_envs, 29), radians, over the substeps of the next step."""
        np.copyto(self._control, target[:, None, :])

    def step(self) -> None:
        """Advance all robots by one control step and refresh the host copy."""
        start = time.perf_counter_ns()
        self._pool.step(self._initial, self._control, self._states, self._sensors, self._chunk_size)
        np.copyto(self._initial, self._states[:, -1])
        stepped = time.perf_counter_ns()
        self.refresh()
        self.timing_ns = {
            "backend_physics": stepped - start,
            "backend_refresh_cache": time.perf_counter_ns() - stepped,
        }

    def refresh(self) -> None:
        """Copy the last substep's sensors and the present joints into the host copy."""
        self.state.load(self._sensors[:, -1], self._initial[:, self._qpos], self._initial[:, self._qvel])

    def reset_rows(self, env_ids: np.ndarray, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Put some robots into given states and refresh their rows of the host copy.

        Args:
            env_ids: (rows,) integers, ascending.
            qpos: (rows, 36).
            qvel: (rows, 35).
        """
        self._initial[env_ids] = 0.0
        self._initial[env_ids, self._qpos] = qpos
        self._initial[env_ids, self._qvel] = qvel
        self.state.load_rows(env_ids, self._pool.sensors_at(qpos, qvel), qpos, qvel)

    def close(self) -> None:
        """Stop the pool."""
        self._pool.close()
