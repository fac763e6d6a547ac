"""A persistent thread pool of MuJoCo rollouts, and the kinematics of single states through it."""

import mujoco
import numpy as np
from mujoco import rollout

from g1_tracking.host import usable_cores

_FULL_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS
_CTRL = int(mujoco.mjtState.mjSTATE_CTRL)


def threads_of(option: str | int) -> int:
    """The `threads` option as a number: `auto` is every usable core.

    Raises:
        ValueError: neither `auto` nor a positive number.
    """
    threads = usable_cores() if option == "auto" else int(option)
    if threads < 1:
        raise ValueError(f"threads must be `auto` or at least 1, got {option!r}")
    return threads


class RolloutPool:
    """Threads that step batches of robots; lives as long as the environment."""

    def __init__(self, model: mujoco.MjModel, num_envs: int, threads: int):
        self.threads = threads
        self.state_size = mujoco.mj_stateSize(model, _FULL_PHYSICS)
        self._pool = rollout.Rollout(nthread=threads)
        self._models = [model] * num_envs
        self._datas = [mujoco.MjData(model) for _ in range(threads)]
        self._row_state = np.empty((num_envs, self.state_size))
        self._row_state_out = np.empty((num_envs, 1, self.state_size))
        self._row_sensors = np.empty((num_envs, 1, model.nsensordata))
        self._nq, self._nv = model.nq, model.nv

    def step(
        self,
        initial: np.ndarray,
        control: np.ndarray | None,
        state: np.ndarray,
        sensors: np.ndarray,
        chunk_size: int | None,
    ) -> None:
        """Step robots, each from its own state.

        Args:
            initial: (rows, state_size) float64.
            control: actuator targets, (rows, steps, 29) float64, or None for zeros.
            state: receives the states, (rows, steps, state_size).
            sensors: receives the sensor blocks, (rows, steps, nsensordata).
            chunk_size: robots handed to a thread at a time; None leaves it to MuJoCo.
        """
        rows, steps = state.shape[:2]
        self._pool.rollout(
            self._models[:rows],
            self._datas,
            initial,
            control,
            control_spec=_CTRL,
            skip_checks=True,
            nstep=steps,
            state=state,
            sensordata=sensors,
            chunk_size=chunk_size,
        )

    def sensors_at(self, qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
        """The sensor blocks of given states: those that a step computes before it moves.

        Args:
            qpos: (rows, 36).
            qvel: (rows, 35).

        Returns:
            (rows, nsensordata) float64, valid until the next call.
        """
        rows = len(qpos)
        initial = self._row_state[:rows]
        initial[:] = 0.0
        initial[:, 1 : 1 + self._nq] = qpos
        initial[:, 1 + self._nq : 1 + self._nq + self._nv] = qvel
        sensors = self._row_sensors[:rows]
        self.step(initial, None, self._row_state_out[:rows], sensors, None)
        return sensors[:, 0]

    def close(self) -> None:
        """Stop the threads."""
        self._pool.close()
