"""The observation groups: their widths, their terms against formulas, noise, checks, lifetimes."""

import numpy as np
import pytest
import subject_reference as reference

from g1_tracking import robot

SHARED = ("command", "motion_anchor_pos_b", "motion_anchor_ori_b", "base_lin_vel", "base_ang_vel", "joint_pos")
WIDTHS = {
    "command": 58,
    "motion_anchor_pos_b": 3,
    "motion_anchor_ori_b": 6,
    "base_lin_vel": 3,
    "base_ang_vel": 3,
    "joint_pos": 29,
    "joint_vel": 29,
    "actions": 29,
    "body_pos": 42,
    "body_ori": 84,
}
NOISE = {"base_lin_vel": 0.1, "base_ang_vel": 0.2, "joint_pos": 0.01, "joint_vel": 1.5}


def columns(env, group):
    """Where each term stands in its group."""
    at, spans = 0, {}
    for name in env.observation_manager._group_obs_term_names[group]:
        spans[name] = slice(at, at + WIDTHS[name])
        at += WIDTHS[name]
    return spans


def test_the_groups_have_their_documented_widths(env):
    obs = env.observation_manager.compute()
    assert obs["actor"].shape == (6, 160)
    assert obs["critic"].shape == (6, 286)
    assert all(values.dtype == np.float32 for values in obs.values())


def test_the_robot_s_bodies_are_seen_from_its_anchor(env):
    motion, spans = env.motion, columns(env, "critic")
    critic, a = env.observation_manager.compute()["critic"], motion.anchor
    for n in range(6):
        bodies = zip(motion.robot_body_pos_w[n], motion.robot_body_quat_w[n], strict=True)
        anchor = motion.robot_body_pos_w[n, a], motion.robot_body_quat_w[n, a]
        positions, axes = zip(*(reference.seen_from_anchor(*body, *anchor) for body in bodies), strict=True)
        by_component = np.array(positions).T.ravel()
        assert np.allclose(critic[n, spans["body_pos"]], by_component, atol=2e-6)
        x_axes, y_axes = np.array(axes)[:, :3].T, np.array(axes)[:, 3:].T
        by_component = np.stack((x_axes, y_axes), axis=1).ravel()
        assert np.allclose(critic[n, spans["body_ori"]], by_component, atol=2e-6)


def test_the_reference_anchor_is_seen_from_the_robot_s(env):
    motion, spans, a = env.motion, columns(env, "critic"), env.motion.anchor
    critic = env.observation_manager.compute()["critic"]
    for n in range(6):
        position, axes = reference.seen_from_anchor(
            motion.body_pos_w[n, a],
            motion.body_quat_w[n, a],
            motion.robot_body_pos_w[n, a],
            motion.robot_body_quat_w[n, a],
        )
        assert np.allclose(critic[n, spans["motion_anchor_pos_b"]], position, atol=2e-6)
        assert np.allclose(critic[n, spans["motion_anchor_ori_b"]], axes, atol=2e-6)


def test_the_motion_moved_under_the_robot_keeps_heights_and_takes_heading(env):
    motion, relative = env.motion, env.motion.relative
    for n in range(6):
        poses = motion.body_pos_w[n], motion.body_quat_w[n], motion.robot_body_pos_w[n], motion.robot_body_quat_w[n]
        positions, turns = reference.moved_under_robot(*poses, motion.anchor)
        assert np.allclose(relative.body_pos_relative_w[n], positions, atol=2e-6)
        assert np.array_equal(relative.body_pos_relative_w[n, :, 2], motion.body_pos_w[n, :, 2])
        for turn, quat in zip(turns, relative.body_quat_relative_w[n], strict=True):
            assert (turn.inv() * reference.rotation(quat)).magnitude() < 2e-6


def test_the_proprioceptive_terms_are_the_backend_s(env):
    critic, spans, state = env.observation_manager.compute()["critic"], columns(env, "critic"), env.backend.state
    assert np.array_equal(critic[:, spans["command"]], env.motion.command)
    assert np.array_equal(critic[:, spans["base_lin_vel"]], state.base_lin_vel)
    assert np.array_equal(critic[:, spans["base_ang_vel"]], state.base_ang_vel)
    assert np.allclose(critic[:, spans["joint_pos"]], state.joint_pos - robot.STANCE, atol=1e-6)
    assert np.array_equal(critic[:, spans["joint_vel"]], state.joint_vel)
    assert np.array_equal(critic[:, spans["actions"]], env.action_manager.action)


def test_the_actor_sees_noise_of_the_stated_half_width_and_the_critic_none(env):
    spans = columns(env, "actor")
    seen = {name: [] for name in spans}
    for _ in range(60):
        obs = env.observation_manager.compute()
        for name, span in spans.items():
            seen[name].append(obs["actor"][:, span] - obs["critic"][:, span])
    for name, differences in seen.items():
        noise, half_width = np.concatenate(differences), NOISE.get(name, 0.0)
        assert np.abs(noise).max() <= half_width * 1.0001 + 1e-7
        if half_width:
            assert np.abs(noise).max() > 0.9 * half_width
            assert abs(noise.mean()) < 0.1 * half_width


def test_the_noise_is_a_function_of_the_seed(make_env):
    first, same, other = (make_env(env_seed=seed) for seed in (5, 5, 6))
    actors = [env.init_state().obs["actor"] for env in (first, same, other)]
    assert np.array_equal(actors[0], actors[1])
    assert not np.array_equal(actors[0], actors[2])


def test_an_observation_outlives_the_next_step(make_env):
    env = make_env()
    env.init_state()
    state = env.step(np.zeros((6, 29), dtype=np.float32))
    kept = {group: values.copy() for group, values in state.obs.items()}
    env.step(np.ones((6, 29), dtype=np.float32))
    assert all(np.array_equal(state.obs[group], values) for group, values in kept.items())


@pytest.mark.parametrize("poison", [np.nan, np.inf, -np.inf])
def test_a_term_that_is_not_finite_is_named_with_its_environments(env, poison):
    env.backend.state.base_ang_vel[[2, 4], 1] = poison
    with pytest.raises(FloatingPointError, match=r"base_ang_vel .*\[2, 4\]"):
        env.observation_manager.compute()
