"""The robot: public numbers, mirror symmetry, and the sensor block that both backends copy."""

import mujoco
import numpy as np
import pytest

from g1_tracking import robot


@pytest.fixture(scope="module")
def model():
    return mujoco.MjModel.from_xml_string(robot.build_mjcf(0.02 / 3))


def named(model, kind, count):
    return [mujoco.mj_id2name(model, kind, i) for i in range(count)]


def test_it_has_29_driven_joints_and_30_bodies_in_the_documented_order(model):
    assert (model.nq, model.nv, model.nu, model.nbody) == (36, 35, 29, 31)
    assert named(model, mujoco.mjtObj.mjOBJ_BODY, 31)[1:] == list(robot.BODY_NAMES)
    assert named(model, mujoco.mjtObj.mjOBJ_JOINT, 30)[1:] == list(robot.JOINT_NAMES)
    assert named(model, mujoco.mjtObj.mjOBJ_ACTUATOR, 29) == list(robot.JOINT_NAMES)


def test_it_weighs_what_the_public_robot_weighs(model):
    assert model.body_mass.sum() == pytest.approx(33.34, abs=0.01)


def test_it_is_its_own_mirror_image(model):
    rng = np.random.default_rng(0)
    data = [mujoco.MjData(model) for _ in range(2)]
    joints = rng.uniform(-0.4, 0.4, 29)
    mirrored = np.empty(29)
    for i, name in enumerate(robot.JOINT_NAMES):
        twin = name.replace("left", "@").replace("right", "left").replace("@", "right")
        sign = 1.0 if "pitch" in name or "knee" in name or "elbow" in name else -1.0
        mirrored[robot.JOINT_NAMES.index(twin)] = sign * joints[i]
    for d, values in zip(data, (joints, mirrored), strict=True):
        d.qpos[7:] = values
        mujoco.mj_forward(model, d)
    for i, name in enumerate(robot.BODY_NAMES, start=1):
        twin = name.replace("left", "@").replace("right", "left").replace("@", "right")
        j = 1 + robot.BODY_NAMES.index(twin)
        assert np.allclose(data[0].xpos[i] * (1, -1, 1), data[1].xpos[j], atol=1e-4)
    assert np.allclose(data[0].subtree_com[0] * (1, -1, 1), data[1].subtree_com[0], atol=2e-3)


def test_the_sensor_block_holds_each_quantity_of_all_bodies_then_the_inertial_units(model):
    data = mujoco.MjData(model)
    rng = np.random.default_rng(3)
    data.qpos[7:], data.qvel[:] = rng.uniform(-0.3, 0.3, 29), rng.uniform(-1.0, 1.0, 35)
    mujoco.mj_forward(model, data)
    block, n = data.sensordata, robot.NUM_BODIES
    assert np.array_equal(block[: 3 * n].reshape(n, 3), data.xpos[1:])
    assert np.allclose(block[3 * n : 7 * n].reshape(n, 4), data.xquat[1:])
    velocity = np.empty(6)
    for i in range(n):
        mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, i + 1, velocity, 0)
        assert np.allclose(block[7 * n + 3 * i : 7 * n + 3 * i + 3], velocity[3:])
        assert np.allclose(block[10 * n + 3 * i : 10 * n + 3 * i + 3], velocity[:3])
    assert np.array_equal(block[robot.BASE_LIN_VEL_AT : robot.BASE_LIN_VEL_AT + 3], data.sensor("base_lin_vel").data)
    assert np.array_equal(block[robot.BASE_ANG_VEL_AT :], data.sensor("base_ang_vel").data)


def test_it_stands_on_its_own_feet(model):
    data = mujoco.MjData(model)
    data.qpos[7:] = data.ctrl[:] = robot.STANCE
    data.qpos[2] = robot.STANDING_HEIGHT
    for _ in range(150):
        mujoco.mj_step(model, data)
    assert 0.65 < data.qpos[2] < 0.8
    assert reference_up(data) > 0.9


def reference_up(data):
    return data.body("pelvis").xmat.reshape(3, 3)[2, 2]
