"""Every reward term against its formula, one environment at a time."""

import math

import numpy as np
import pytest
import subject_reference as reference

BODIES = {
    "motion_body_lin_vel": ("body_lin_vel_w", "robot_body_lin_vel_w", 1.0),
    "motion_body_ang_vel": ("body_ang_vel_w", "robot_body_ang_vel_w", 3.14),
}


def value(env, name):
    manager = env.reward_manager
    term = manager._term_cfgs[manager._term_names.index(name)]
    return np.array(term.func(env, **term.params))


def test_the_root_position_reward_is_the_exponential_of_the_anchor_distance(env):
    motion, a = env.motion, env.motion.anchor
    for n, actual in enumerate(value(env, "motion_global_root_pos")):
        distance = math.dist(motion.body_pos_w[n, a], motion.robot_body_pos_w[n, a])
        assert actual == pytest.approx(math.exp(-((distance / 0.3) ** 2)), rel=1e-5, abs=1e-7)


def test_the_root_orientation_reward_is_the_exponential_of_the_anchor_angle(env):
    motion, a = env.motion, env.motion.anchor
    for n, actual in enumerate(value(env, "motion_global_root_ori")):
        angle = reference.angle(motion.body_quat_w[n, a], motion.robot_body_quat_w[n, a])
        assert actual == pytest.approx(math.exp(-((angle / 0.4) ** 2)), rel=1e-5, abs=1e-7)


def test_the_body_position_reward_averages_squared_distances_to_the_moved_reference(env):
    motion = env.motion
    for n, actual in enumerate(value(env, "motion_body_pos")):
        error = reference.mean_squared_distance(motion.relative.body_pos_relative_w[n], motion.robot_body_pos_w[n])
        assert actual == pytest.approx(math.exp(-error / 0.3**2), rel=1e-5, abs=1e-7)


def test_the_body_orientation_reward_averages_squared_angles_to_the_turned_reference(env):
    motion = env.motion
    for n, actual in enumerate(value(env, "motion_body_ori")):
        pairs = zip(motion.relative.body_quat_relative_w[n], motion.robot_body_quat_w[n], strict=True)
        error = np.mean([reference.angle(p, q) ** 2 for p, q in pairs])
        assert actual == pytest.approx(math.exp(-error / 0.4**2), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", BODIES)
def test_the_velocity_rewards_average_squared_differences_in_the_world(env, name):
    of_motion, of_robot, std = BODIES[name]
    for n, actual in enumerate(value(env, name)):
        error = reference.mean_squared_distance(getattr(env.motion, of_motion)[n], getattr(env.motion, of_robot)[n])
        assert actual == pytest.approx(math.exp(-error / std**2), rel=1e-5, abs=1e-7)


def test_the_action_rate_is_the_squared_change_since_the_last_action(env):
    actions = env.action_manager
    for n, actual in enumerate(value(env, "action_rate_l2")):
        expected = sum(
            (float(a) - float(b)) ** 2 for a, b in zip(actions.action[n], actions.prev_action[n], strict=True)
        )
        assert actual == pytest.approx(expected, rel=1e-5)


def test_the_joint_limit_penalty_counts_only_what_exceeds_the_soft_limits(env):
    env.backend.state.joint_pos[0, 3] = env.soft_joint_limits[1][3] + 0.25
    env.backend.state.joint_pos[1, 4] = env.soft_joint_limits[0][4] - 0.5
    low, high = env.soft_joint_limits
    for n, actual in enumerate(value(env, "joint_limit")):
        joints = env.backend.state.joint_pos[n]
        excess = [max(lo - q, 0.0, q - hi) for q, lo, hi in zip(joints, low, high, strict=True)]
        assert actual == pytest.approx(sum(float(e) ** 2 for e in excess), rel=1e-4, abs=1e-9)
    assert value(env, "joint_limit")[0] >= 0.25**2 - 1e-6


def test_undesired_contacts_count_listed_bodies_that_lie_low_and_no_feet(env):
    pos = env.motion.robot_body_pos_w
    pos[..., 2] = 1.0
    pos[0, env.motion.body_names.index("left_ankle_roll_link"), 2] = 0.01
    pos[1, env.motion.body_names.index("pelvis"), 2] = 0.01
    pos[1, env.motion.body_names.index("torso_link"), 2] = 0.049
    assert value(env, "undesired_contacts").tolist() == [0, 2, 0, 0, 0, 0]


def test_the_reward_is_the_weighted_sum_per_second_and_the_episode_log_its_sum(make_env):
    env = make_env()
    env.init_state()
    manager, recorded = env.reward_manager, {}
    for name, term in zip(manager._term_names, manager._term_cfgs, strict=True):

        def call(*args, func=term.func, name=name, **kwargs):
            recorded[name] = np.array(func(*args, **kwargs), dtype=float)
            return recorded[name]

        term.func = call
    state = env.step(np.ones((6, 29), dtype=np.float32))
    expected = sum(term.weight * recorded[name] for name, term in zip(recorded, manager._term_cfgs, strict=True)) * 0.02
    assert np.allclose(state.reward, expected, rtol=1e-5)
    log = manager.reset(np.arange(6))
    assert log["episode_reward/motion_body_pos"] == pytest.approx(
        2.0 * 0.02 * recorded["motion_body_pos"].mean(), rel=1e-5
    )
    assert manager.reset(np.arange(6))["episode_reward/motion_body_pos"] == 0.0


def test_a_reward_term_that_is_not_finite_is_named(env):
    term = env.reward_manager._term_cfgs[env.reward_manager._term_names.index("joint_limit")]
    term.func = lambda env: np.full(6, np.nan, dtype=np.float32)
    with pytest.raises(FloatingPointError, match="joint_limit"):
        env.step(np.zeros((6, 29), dtype=np.float32))
