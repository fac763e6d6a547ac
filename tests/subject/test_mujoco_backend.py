"""The MuJoCo backend: threads and chunks change nothing but time, the tuner remembers, the tree stays clean."""

import json

import mujoco
import numpy as np
import pytest

from g1_tracking import robot
from g1_tracking.backends.chunk_tuning import choose_chunk_size


def joint_states(env, steps=6):
    env.init_state()
    rng = np.random.default_rng(5)
    for _ in range(steps):
        env.step(rng.uniform(-1.0, 1.0, (env.num_envs, 29)).astype(np.float32))
    return np.concatenate([env.backend.state.joint_pos, env.backend.state.joint_vel], axis=1)


def test_threads_and_chunks_do_not_change_a_bit_of_the_physics(make_env):
    states = [joint_states(make_env(num_envs=9, threads=t, chunk_size=c)) for t, c in ((1, 9), (2, 1), (2, 4))]
    assert np.array_equal(states[0], states[1])
    assert np.array_equal(states[0], states[2])


def test_a_step_is_the_substeps_of_mj_step_and_its_sensors_are_the_last_one_s(make_env):
    env = make_env(num_envs=1)
    env.init_state()
    backend, data = env.backend, mujoco.MjData(env.backend._model)
    mujoco.mj_setState(backend._model, data, backend._initial[0], mujoco.mjtState.mjSTATE_FULLPHYSICS)
    target = (robot.STANCE + 0.1).astype(np.float32)
    backend.write_control(target[None])
    backend.step()
    data.ctrl[:] = target
    for _ in range(3):
        mujoco.mj_step(backend._model, data)
    assert np.allclose(backend.state.joint_pos[0], data.qpos[7:], atol=1e-6)
    assert np.allclose(backend.state.body_pos[0], data.xpos[1:], atol=1e-6)
    assert np.allclose(backend.state.base_ang_vel[0], data.sensor("base_ang_vel").data, atol=1e-5)


def test_a_reset_row_is_read_at_its_new_state(make_env):
    env = make_env(num_envs=3)
    env.init_state()
    model = env.backend._model
    data = mujoco.MjData(model)
    data.qpos[:7], data.qpos[7:] = (0.3, -0.2, 0.9, 1, 0, 0, 0), robot.STANCE
    data.qvel[:] = np.linspace(-0.5, 0.5, 35)
    mujoco.mj_forward(model, data)
    env.backend.reset_rows(np.array([2]), data.qpos[None], data.qvel[None])
    state = env.backend.state
    assert np.allclose(state.body_pos[2], data.xpos[1:], atol=1e-6)
    assert np.allclose(state.body_quat[2], data.xquat[1:], atol=1e-6)
    assert np.allclose(state.base_lin_vel[2], data.sensor("base_lin_vel").data, atol=1e-6)
    assert np.allclose(state.joint_vel[2], data.qvel[6:], atol=1e-6)


def test_the_tuner_asks_the_host_once_and_remembers(make_env, tmp_path):
    first, second = (make_env(chunk_size="auto").decisions for _ in range(2))
    assert first["chunk_cache"] == "miss"
    assert second == {"chunk_size": first["chunk_size"], "chunk_cache": "hit"}
    assert len(list((tmp_path / "g1_tracking").glob("chunk-*.json"))) == 1
    assert make_env(chunk_size="3").decisions == {"chunk_size": 3, "chunk_cache": "option"}


def test_the_tuner_leaves_the_usual_size_only_for_a_clear_gain(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "noise"))
    assert choose_chunk_size(4096, 2, lambda size: 100 - (size == 4) * 5)["chunk_size"] == 32
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "gain"))
    assert choose_chunk_size(4096, 2, lambda size: 100 - (size == 4) * 40)["chunk_size"] == 4


@pytest.mark.parametrize("content", ["", "{", "[]", json.dumps({"chunk_size": -1}), json.dumps({"chunk_size": "12"})])
def test_a_damaged_memory_is_a_miss(tmp_path, monkeypatch, content):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    choose_chunk_size(64, 2, lambda size: 100)
    (memory,) = (tmp_path / "g1_tracking").glob("chunk-*.json")
    memory.write_text(content)
    assert choose_chunk_size(64, 2, lambda size: 100)["chunk_cache"] == "miss"


def test_a_cache_that_cannot_be_written_costs_only_the_hit(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert choose_chunk_size(64, 2, lambda size: 100)["chunk_cache"] == "miss"
