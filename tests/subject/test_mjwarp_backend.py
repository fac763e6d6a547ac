"""The MuJoCo Warp backend: devices by name, worlds that do not disturb each other, arms that agree."""

import numpy as np
import pytest

STEPS = {"backend": "mjwarp", "num_envs": 4, "steps": 12, "options": {"device": "cpu", "threads": "1"}}


@pytest.fixture(scope="session")
def warp_recordings(trees, tmp_path_factory):
    """Twelve steps of four worlds in each arm, on the CPU device."""
    out = tmp_path_factory.mktemp("warp")
    return {arm: tree.drive(out / f"{arm}.npz", **STEPS) for arm, tree in trees.items()}


def test_a_demanded_device_that_is_missing_is_refused_by_name(trees):
    program = (
        "from g1_tracking.backends.mjwarp import find_device\n"
        "for option in ('cpu', 'cuda:97', 'gpu'):\n"
        "    try: print(find_device(option).alias)\n"
        "    except (RuntimeError, ValueError) as error: print(type(error).__name__, error)\n"
    )
    finished = trees["before"].run("-c", program)
    assert finished.returncode == 0, finished.stderr
    cpu, missing, unknown = finished.stdout.strip().splitlines()[-3:]
    assert cpu == "cpu"
    assert missing.startswith("RuntimeError device cuda:97 is missing: this host has cpu")
    assert unknown.startswith("ValueError device must be auto, cpu or cuda:N, got 'gpu'")


@pytest.mark.slow
@pytest.mark.parametrize("arm", ["after", "next"])
def test_the_arms_agree_on_warp(warp_recordings, arm):
    reference, other = warp_recordings["before"], warp_recordings[arm]
    assert np.array_equal(reference["state/joint_pos"], other["state/joint_pos"])
    for name, values in reference.items():
        if name.startswith(("reward/", "termination/", "obs/", "state/")):
            assert np.allclose(values.astype(float), other[name].astype(float), rtol=1e-5, atol=2e-6), name


@pytest.mark.slow
def test_warp_starts_where_mujoco_starts_and_stays_near_it(warp_recordings, trees, tmp_path):
    mujoco = trees["before"].drive(tmp_path / "mujoco.npz", **{**STEPS, "backend": "mujoco", "options": {}})
    warp = warp_recordings["before"]
    assert np.allclose(warp["state/initial_actor"], mujoco["state/initial_actor"], atol=1e-4)
    assert np.allclose(warp["state/joint_pos"][0], mujoco["state/joint_pos"][0], atol=2e-3)
    assert np.allclose(warp["obs/critic/body_pos"][0], mujoco["obs/critic/body_pos"][0], atol=2e-3)


@pytest.mark.slow
def test_the_device_barrier_is_a_phase_of_its_own(warp_recordings):
    phases = {name for name in warp_recordings["before"] if name.startswith("timing/backend_")}
    assert phases == {
        "timing/backend_physics_ms",
        "timing/backend_device_barrier_ms",
        "timing/backend_refresh_cache_ms",
    }


@pytest.mark.slow
def test_a_reset_writes_back_its_own_worlds_only(trees):
    program = (
        "import numpy as np, sys\n"
        "from g1_tracking.entry import make_env\n"
        f"env = make_env({str(trees['before'].path)!r}, 'mjwarp', 4, 1, {{'device': 'cpu', 'threads': '1'}})\n"
        "env.init_state()\n"
        "env.step(np.zeros((4, 29), np.float32))\n"
        "data = env.backend._data\n"
        "before = data.qpos.numpy().copy(), data.qvel.numpy().copy(), data.qacc_warmstart.numpy().copy()\n"
        "qpos, qvel = np.tile(before[0][0] + 0.25, (2, 1)), np.full((2, 35), 0.5)\n"
        "qpos[:, 3:7] = (1, 0, 0, 0)\n"
        "env.backend.reset_rows(np.array([1, 3]), qpos, qvel)\n"
        "after = data.qpos.numpy(), data.qvel.numpy(), data.qacc_warmstart.numpy()\n"
        "assert all(np.array_equal(a[[0, 2]], b[[0, 2]]) for a, b in zip(before, after))\n"
        "assert np.allclose(after[0][[1, 3]], qpos) and np.allclose(after[1][[1, 3]], 0.5)\n"
        "assert not after[2][[1, 3]].any() and before[2].any()\n"
        "assert np.allclose(env.backend.state.joint_pos[3], qpos[0, 7:])\n"
        "env.close()\n"
    )
    finished = trees["before"].run("-c", program)
    assert finished.returncode == 0, finished.stderr
