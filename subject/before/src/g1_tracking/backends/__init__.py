"""Simulation backends: N robots stepped together, and the host copy of their state that the managers read."""

from typing import Any

from mujoco import MjModel

from g1_tracking.backends.mujoco import MujocoBackend


def make_backend(config: dict[str, Any], model: MjModel, num_envs: int, substeps: int) -> Any:
    """Build the configured backend.

    Args:
        config: the `backend` section of the configuration.
        model: the robot.
        num_envs: number of robots.
        substeps: physics steps per control step.

    Returns:
        A backend with `state`, `write_control`, `step`, `refresh`, `reset_rows`, `close`; `timing_ns` of the last step,
        `threads`, `decisions`.

    Raises:
        RuntimeError: a demanded device is missing.
    """
    if config["name"] == "mujoco":
        return MujocoBackend(config, model, num_envs, substeps)
    from g1_tracking.backends.mjwarp import MjwarpBackend  # Warp is imported only by those who use it

    return MjwarpBackend(config, model, num_envs, substeps)
