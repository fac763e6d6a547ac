"""Every termination term at and around its threshold, and what the manager makes of them."""

import numpy as np
import subject_reference as reference


def value(env, name):
    manager = env.termination_manager
    term = manager._term_cfgs[manager._term_names.index(name)]
    return np.array(term.func(env, **term.params))


def test_an_episode_times_out_after_ten_seconds(env):
    assert env.max_episode_length * env.step_dt == 10.0
    env.episode_length[:] = [498, 499, 500, 501, 0, 1]
    assert value(env, "time_out").tolist() == [False, False, True, True, False, False]


def test_the_clip_ends_at_its_last_frame(env):
    env.motion.time_steps[:] = [997, 998, 999, 0, 1, 2]
    assert value(env, "motion_clip_end").tolist() == [False, False, True, False, False, False]


def test_the_anchor_fails_by_height_alone_and_only_beyond_half_a_metre(env):
    motion, a = env.motion, env.motion.anchor
    motion._robot_body_pos_w[:, a] = motion.body_pos_w[:, a]
    motion._robot_body_pos_w[0, a, 2] += 0.49
    motion._robot_body_pos_w[1, a, 2] += 0.51
    motion._robot_body_pos_w[2, a, 2] -= 0.51
    motion._robot_body_pos_w[3, a, 0] += 5.0
    assert value(env, "anchor_pos").tolist() == [False, True, True, False, False, False]


def test_the_anchor_fails_when_it_leans_and_not_when_it_turns(env):
    motion, a = env.motion, env.motion.anchor
    for n, euler in enumerate(((0, 0, 3), (1.2, 0, 0), (0, -1.5, 0), (0.5, 0, 0), (3.1, 0, 0), (0, 0.3, 1))):
        motion.body_quat_w[n, a] = (1, 0, 0, 0)
        turned = reference.Rotation.from_euler("xyz", euler)
        motion._robot_body_quat_w[n, a] = turned.as_quat(scalar_first=True)
    up = [reference.rotation(q).as_matrix()[2, 2] for q in motion._robot_body_quat_w[:, a]]
    assert value(env, "anchor_ori").tolist() == [abs(1.0 - z) > 0.8 for z in up]
    assert value(env, "anchor_ori").any()


def test_a_hand_or_foot_fails_by_height_and_an_elbow_never(env):
    motion = env.motion
    motion._robot_body_pos_w[:] = motion.relative.body_pos_relative_w
    motion._robot_body_pos_w[0, motion.body_names.index("left_wrist_yaw_link"), 2] += 0.51
    motion._robot_body_pos_w[1, motion.body_names.index("right_ankle_roll_link"), 2] -= 0.51
    motion._robot_body_pos_w[2, motion.body_names.index("left_elbow_link"), 2] += 3.0
    motion._robot_body_pos_w[3, motion.body_names.index("left_wrist_yaw_link"), 2] += 0.49
    assert value(env, "ee_body_pos").tolist() == [True, True, False, False, False, False]


def test_time_truncates_and_failure_terminates(env):
    env.episode_length[:] = [600, 0, 0, 0, 0, 600]
    motion, a = env.motion, env.motion.anchor
    motion._robot_body_pos_w[0, a, 2] = 9.0
    motion._robot_body_pos_w[1, a, 2] = 9.0
    done = env.termination_manager.compute()
    assert env.termination_manager.truncated.tolist() == [True, False, False, False, False, True]
    assert env.termination_manager.terminated[:2].all()
    assert done.tolist() == (env.termination_manager.terminated | env.termination_manager.truncated).tolist()
