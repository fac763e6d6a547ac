"""A child of the tests: steps one arm's environment and records every term, observation, state and timing.

argv: the tree, the file to write, the settings as JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np

from g1_tracking.entry import make_env

tree, out, settings = Path(sys.argv[1]), Path(sys.argv[2]), json.loads(sys.argv[3])
num_envs, steps = settings["num_envs"], settings["steps"]
env = make_env(
    tree,
    settings.get("backend", "mujoco"),
    num_envs,
    settings.get("env_seed", 123),
    settings.get("options", {"chunk_size": "8"}),
)
state = env.init_state()
record: dict[str, list[np.ndarray]] = {}
kept: dict[str, np.ndarray] = {}


def recorded(name, func):
    """The callable, remembering its last full-batch result outside a reset."""

    def call(*args, **kwargs):
        value = func(*args, **kwargs)
        if not env._autoreset_reset_active:
            kept[name] = np.array(value, copy=True)
        return value

    return call


for kind in ("reward", "termination"):
    manager = getattr(env, f"{kind}_manager")
    for term_name, term in zip(manager._term_names, manager._term_cfgs, strict=True):
        term.func = recorded(f"{kind}/{term_name}", term.func)
observations = env.observation_manager
for group, names in observations._group_obs_term_names.items():
    for term_name, term in zip(names, observations._group_obs_term_cfgs[group], strict=True):
        term.func = recorded(f"obs/{group}/{term_name}", term.func)

rng = np.random.default_rng(20260826)
record["state/initial_actor"] = [state.obs["actor"].copy()]
for _ in range(steps):
    state = env.step(rng.uniform(-1.0, 1.0, (num_envs, env.action_space.shape[0])).astype(np.float32))
    kept |= {f"state/{group}": values.copy() for group, values in state.obs.items()}
    kept |= {"state/reward": state.reward, "state/terminated": state.terminated, "state/truncated": state.truncated}
    kept |= {f"timing/{key}": np.float64(value) for key, value in state.info["timing"].items()}
    kept["state/joint_pos"] = env.backend.state.joint_pos.copy()
    kept["state/joint_vel"] = env.backend.state.joint_vel.copy()
    for name, value in kept.items():
        record.setdefault(name, []).append(np.asarray(value))
env.close()
np.savez(out, **{name: np.stack(values) for name, values in record.items()})
