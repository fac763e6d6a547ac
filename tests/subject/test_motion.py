"""The reference motion: closed, on the ground, within the joints' ranges, consistent with its own velocities."""

import mujoco
import numpy as np
import pytest

from g1_tracking import robot
from g1_tracking.motion import generate_clip

DT = 0.02


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(robot.build_mjcf(0.02 / 3))


@pytest.fixture(scope="module")
def clip(model):
    return generate_clip(model, 1000, DT, np.arange(robot.NUM_BODIES))


def test_the_clip_is_the_same_every_time(model, clip):
    again = generate_clip(model, 1000, DT, np.arange(robot.NUM_BODIES))
    assert all(np.array_equal(getattr(clip, name), getattr(again, name)) for name in vars(clip))


def test_the_clip_closes(clip):
    seam = np.abs(clip.joint_pos[0] - clip.joint_pos[-1]).max()
    within = np.abs(np.diff(clip.joint_pos, axis=0)).max()
    assert seam <= within


def test_the_joints_stay_within_their_soft_limits(clip):
    centre, half = robot.JOINT_LIMITS.mean(axis=1), 0.5 * np.ptp(robot.JOINT_LIMITS, axis=1)
    assert (np.abs(clip.joint_pos - centre) <= 0.95 * half).all()


def test_one_foot_is_always_on_the_floor(clip):
    feet = [robot.BODY_NAMES.index(f"{side}_ankle_roll_link") for side in ("left", "right")]
    lowest = clip.body_pos[:, feet, 2].min(axis=1)
    assert 0.02 < lowest.min() <= lowest.max() < 0.08


def test_the_velocities_are_those_of_the_positions(clip):
    by_difference = (clip.body_pos[2:] - clip.body_pos[:-2]) / (2.0 * DT)
    assert np.abs(clip.body_lin_vel[1:-1] - by_difference).max() < 0.05
    by_difference = (clip.joint_pos[2:] - clip.joint_pos[:-2]) / (2.0 * DT)
    assert np.abs(clip.joint_vel[1:-1] - by_difference).max() < 1e-3


def test_the_root_is_the_pelvis(clip):
    assert np.array_equal(clip.root[:, :3], clip.body_pos[:, 0])
    assert np.array_equal(clip.root[:, 3:7], clip.body_quat[:, 0])
