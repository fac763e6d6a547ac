"""Automatic resets: who restarts, where, with whose random numbers, and what nobody else notices."""

import numpy as np
import pytest

from g1_tracking.mdp.sampling import FrameSampler
from g1_tracking.rng import episode_uniforms


def actions(env, seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (env.num_envs, 29)).astype(np.float32)


def test_an_ended_episode_restarts_in_the_same_step(env):
    env.episode_length[[1, 4]] = env.max_episode_length - 1
    state = env.step(actions(env, 0))
    assert state.truncated[[1, 4]].all()
    assert state.info["timing"]["reset_done_count"] >= 2
    assert (env.episode_length[[1, 4]] == 0).all()
    assert (env.action_manager.action[[1, 4]] == 0.0).all()
    assert np.array_equal(state.obs["critic"][1, 131:160], np.zeros(29))


def test_a_robot_restarts_near_its_frame_of_the_clip(make_env):
    env = make_env(num_envs=64)
    env.init_state()
    motion, frames = env.motion, env.motion.time_steps
    assert len(set(frames.tolist())) > 20
    joints = env.backend.state.joint_pos
    assert np.abs(joints - motion.clip.joint_pos[frames]).max() <= 0.1 + 1e-6
    pelvis = motion.robot_body_pos_w[:, 0] - motion.clip.body_pos[frames][:, 0]
    assert (np.abs(pelvis) <= np.array([0.05, 0.05, 0.01]) + 1e-6).all()
    velocity = motion.robot_body_lin_vel_w[:, 0] - motion.clip.body_lin_vel[frames][:, 0]
    assert (np.abs(velocity) <= np.array([0.5, 0.5, 0.2]) + 1e-4).all()
    spin = motion.robot_body_ang_vel_w[:, 0] - motion.clip.body_ang_vel[frames][:, 0]
    assert (np.abs(spin) <= np.array([0.52, 0.52, 0.78]) + 1e-4).all()
    assert np.abs(pelvis).max(axis=0) == pytest.approx([0.05, 0.05, 0.01], rel=0.2)


def test_a_reset_changes_no_other_robot(env):
    state, others = env.backend.state, [0, 1, 2, 4, 5]
    kept = {name: values.copy() for name, values in vars(state).items() if isinstance(values, np.ndarray)}
    relative = env.motion.relative.body_pos_relative_w.copy()
    env.command_manager.reset(np.array([3]))
    env._load_commands(np.array([3]))
    for name, values in kept.items():
        assert np.array_equal(getattr(state, name)[others], values[others])
    assert np.array_equal(env.motion.relative.body_pos_relative_w[others], relative[others])
    assert not np.array_equal(state.joint_pos[3], kept["joint_pos"][3])


def test_the_caches_after_a_reset_are_those_of_a_full_read(env):
    env.command_manager.reset(np.array([0, 5]))
    env._load_commands(np.array([0, 5]))
    rows = [values.copy() for values in (env.motion._robot_body_pos_w, env.motion.relative.robot_body_ori_b)]
    env.command_manager.post_compute()
    full = [env.motion._robot_body_pos_w, env.motion.relative.robot_body_ori_b]
    assert np.array_equal(rows[0], full[0])
    assert np.allclose(rows[1], full[1], atol=1e-6)


def test_an_environment_s_numbers_do_not_depend_on_who_else_restarts():
    alone = episode_uniforms(7, np.array([11]), np.array([2]), 42)
    crowd = episode_uniforms(7, np.array([3, 11, 40]), np.array([9, 2, 0]), 42)
    assert np.array_equal(alone[0], crowd[1])


def test_the_numbers_are_uniform_and_differ_by_seed_environment_and_episode():
    envs, episodes = np.repeat(np.arange(100), 20), np.tile(np.arange(20), 100)
    numbers = episode_uniforms(7, envs, episodes, 42)
    assert ((numbers >= 0.0) & (numbers < 1.0)).all()
    assert numbers.mean() == pytest.approx(0.5, abs=0.01)
    assert numbers.var() == pytest.approx(1.0 / 12.0, abs=0.005)
    assert len(np.unique(numbers[:, 0])) == 2000
    assert not np.array_equal(numbers, episode_uniforms(8, envs, episodes, 42))
    assert np.abs(np.corrcoef(numbers[:, :6].T) - np.eye(6)).max() < 0.1


def test_equal_seeds_give_equal_runs_and_other_seeds_do_not(make_env):
    def run(seed):
        env = make_env(env_seed=seed)
        env.init_state()
        states = [env.step(actions(env, k)) for k in range(12)]
        return np.concatenate([state.obs["actor"] for state in states[-1:]] + [states[-1].reward[:, None]], axis=1)

    first = run(3)
    assert np.array_equal(first, run(3))
    assert not np.array_equal(first, run(4))


def test_adaptive_sampling_starts_more_often_where_robots_fail():
    sampler = FrameSampler(1000, "adaptive", 20, 0.1, 0.01)
    uniforms = (np.arange(4000) + 0.5) / 4000
    assert np.bincount(sampler.sample(uniforms) // 50, minlength=20) == pytest.approx(200, abs=5)
    for _ in range(50):
        sampler.record(np.full(5, 620))
    counts = np.bincount(sampler.sample(uniforms) // 50, minlength=20)
    assert counts[12] > 3000
    assert counts.min() > 10


def test_the_other_samplings_are_what_they_say():
    uniforms = (np.arange(999) + 0.5) / 999
    assert np.array_equal(FrameSampler(1000, "uniform", 20, 0.1, 0.01).sample(uniforms), np.arange(999))
    assert not FrameSampler(1000, "start", 20, 0.1, 0.01).sample(uniforms).any()
    with pytest.raises(ValueError, match="adaptive, uniform or start"):
        FrameSampler(1000, "random", 20, 0.1, 0.01)


def test_the_last_frame_is_never_a_start():
    for sampling in ("adaptive", "uniform"):
        assert FrameSampler(1000, sampling, 20, 0.1, 0.01).sample(np.array([np.nextafter(1.0, 0.0)]))[0] == 998
