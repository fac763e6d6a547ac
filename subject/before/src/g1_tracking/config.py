"""The composed configuration: Hydra reads conf/, options override single leaves, the rest sees plain data."""

import importlib
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException


def compose_config(repo: Path, backend: str, num_envs: int, env_seed: int, options: dict[str, str]) -> dict[str, Any]:
    """Compose conf/config.yaml of a tree.

    Args:
        repo: the tree; its `conf` folder is read.
        backend: `mujoco` or `mjwarp`.
        num_envs: number of environments.
        env_seed: seed of resets and observation noise.
        options: values by dotted path, or by a bare name that stands for `backend.<name>`.

    Returns:
        The configuration as nested dicts and lists.

    Raises:
        ValueError: an unknown backend or option.
    """
    conf = Path(repo).resolve() / "conf"
    known = sorted(path.stem for path in (conf / "backend").glob("*.yaml"))
    if backend not in known:
        raise ValueError(f"unknown backend {backend!r}; this tree has {', '.join(known)}")
    GlobalHydra.instance().clear()
    with initialize_config_dir(config_dir=str(conf), version_base="1.3"):
        cfg = compose("config", overrides=[f"backend={backend}", f"num_envs={num_envs}", f"env.seed={env_seed}"])
    OmegaConf.set_struct(cfg, True)
    for key, value in options.items():
        path = key if "." in key else f"backend.{key}"
        try:
            cfg = OmegaConf.merge(cfg, OmegaConf.from_dotlist([f"{path}={value}"]))
        except OmegaConfBaseException as error:
            raise ValueError(f"unknown option {key!r} for backend {backend!r} (looked for {path})") from error
    plain = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(plain, dict)
    return plain


def resolve(name: str) -> Any:
    """The object behind a dotted name such as `g1_tracking.mdp.rewards.joint_limit`."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)
