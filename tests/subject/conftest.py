"""Trees of the three arms, what they do in children, and environments of the first arm in this process."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from subject_trees import LAYERS, SUBJECT, lay_tree

# Only the first arm's code is ever imported here; the others run in children.
sys.path.insert(0, str(SUBJECT / "before" / "src"))


@pytest.fixture(scope="session")
def trees(tmp_path_factory):
    """The three arms' trees."""
    return {arm: lay_tree(arm, tmp_path_factory.mktemp(arm)) for arm in LAYERS}


@pytest.fixture(scope="session")
def recordings(trees, tmp_path_factory):
    """What the three arms do in 40 steps of 48 environments with equal seeds, each in a process of its own."""
    out = tmp_path_factory.mktemp("recordings")
    return {arm: tree.drive(out / f"{arm}.npz", num_envs=48, steps=40) for arm, tree in trees.items()}


@pytest.fixture
def make_env(tmp_path, monkeypatch):
    """Builds environments of the first arm in this process; closes them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    from g1_tracking.entry import make_env as entry

    envs = []

    def build(num_envs=6, env_seed=123, **options):
        options = {"chunk_size": "4", "threads": "2", **options}
        env = entry(SUBJECT / "before", "mujoco", num_envs, env_seed, {k: str(v) for k, v in options.items()})
        envs.append(env)
        return env

    yield build
    for env in envs:
        env.close()


@pytest.fixture
def env(make_env):
    """Six robots that have made a few random steps, so that no two of them and no two frames are alike."""
    env = make_env()
    env.init_state()
    rng = np.random.default_rng(1)
    for _ in range(7):
        env.step(rng.uniform(-1.0, 1.0, (6, 29)).astype(np.float32))
    return env
