"""Action terms: raw actions to joint targets."""

from typing import Any

import numpy as np

from g1_tracking import robot


class JointPositionAction:
    """target = stance + scale x action, radians, (num_envs, 29) float32."""

    def __init__(self, env: Any, scale: float):
        self._scale = np.float32(scale)
        self._stance = robot.STANCE.astype(np.float32)
        self._target = np.empty((env.num_envs, env.num_joints), dtype=np.float32)

    def __call__(self, env: Any, action: np.ndarray) -> np.ndarray:
        """The targets of an action (num_envs, 29)."""
        np.multiply(action, self._scale, out=self._target)
        return np.add(self._target, self._stance, out=self._target)
