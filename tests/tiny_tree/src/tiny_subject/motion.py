"""The command: where the bodies should be, and a cache of where they are."""

from typing import Any

import numpy as np

from tiny_subject import knobs

BODIES = 4


class Motion:
    """Tracks a circling target; reads the bodies once per step, and once more when forced."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._robot_cache_step = -1
        shape = (env.num_envs, BODIES, 3)
        self.target = np.zeros(shape, dtype=np.float32)
        self.pos, self.ori, self.lin_vel, self.ang_vel = (np.zeros(shape, dtype=np.float32) for _ in range(4))
        self.phase = np.zeros(env.num_envs, dtype=np.float32)
        if knobs.fused:
            self._copy_robot_body_state = env.copy_body_state

    def read(self, name: str) -> np.ndarray:
        """One of the cached body states, current for this step; (num_envs, bodies, 3)."""
        self._refresh_robot_state()
        return getattr(self, name)

    def _refresh_robot_state(self, force: bool = False, env_ids: np.ndarray | None = None) -> None:
        step = self._env.common_step_counter
        if not force and self._robot_cache_step == step:
            return
        outputs = (self.pos, self.ori, self.lin_vel, self.ang_vel)
        if env_ids is not None:
            for source, cached in zip(self._env.bodies, outputs, strict=True):
                cached[env_ids] = source[env_ids]
        elif knobs.fused:
            self._copy_robot_body_state(outputs)
        else:
            for source, cached in zip(self._env.bodies, outputs, strict=True):
                np.take(source, np.arange(BODIES), axis=1, out=cached, mode="clip")
        self._robot_cache_step = step

    def compute(self, env_ids: np.ndarray | None = None) -> None:
        """Moves the target on, of all environments or of those that begin anew."""
        rows = slice(None) if env_ids is None else env_ids
        self.phase[rows] += 0.1
        self.target[rows, :, 0] = np.cos(self.phase[rows])[:, None]
        self.target[rows, :, 1] = np.sin(self.phase[rows])[:, None]

    def post_compute(self, env_ids: np.ndarray | None = None) -> None:
        """Reads the bodies again: a command may have moved them."""
        self._refresh_robot_state(force=True, env_ids=env_ids)


class CommandManager:
    """Holds the one command."""

    def __init__(self, env: Any) -> None:
        self._motion = Motion(env)

    def get_term(self, name: str) -> Motion:
        """The command called *name*."""
        return {"motion": self._motion}[name]

    def compute(self, env_ids: np.ndarray | None = None) -> None:
        """Moves the commands on."""
        self._motion.compute(env_ids=env_ids)

    def post_compute(self, env_ids: np.ndarray | None = None) -> None:
        """What depends on where the bodies are."""
        self._motion.post_compute(env_ids=env_ids)
