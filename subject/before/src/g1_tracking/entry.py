"""The door of a tree: `make_env` is what a study names as its entry."""

from pathlib import Path

from g1_tracking.config import compose_config
from g1_tracking.env import TrackingEnv


def make_env(repo: Path, backend: str, num_envs: int, env_seed: int, options: dict[str, str]) -> TrackingEnv:
    """Build the environment of one tree.

    Args:
        repo: the tree whose `conf` is composed.
        backend: `mujoco` or `mjwarp`.
        num_envs: number of environments.
        env_seed: seed of resets and observation noise.
        options: `threads`, `chunk_size`, `device`, …, or any dotted configuration path.

    Returns:
        An environment that is not yet initialised: call `init_state` before the first `step`.

    Raises:
        ValueError: an unknown backend or option, or no environments.
        RuntimeError: a demanded device is missing.
    """
    if num_envs < 1:
        raise ValueError(f"num_envs must be at least 1, got {num_envs}")
    return TrackingEnv(compose_config(Path(repo), backend, num_envs, env_seed, options))
