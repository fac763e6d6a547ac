"""The robot: a 29-degree-of-freedom humanoid of the G1's public masses, offsets, joint ranges and gains, as MJCF.

The left limbs are tables, the right ones their mirror image. Collision is primitive and only with the floor.
"""

from dataclasses import dataclass, replace

import numpy as np

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Geom:
    """A collision primitive: a sphere (`end` is None) or a capsule, in the link's frame, metres."""

    radius: float
    start: Vector
    end: Vector | None = None


@dataclass(frozen=True)
class Link:
    """A rigid link, its inertial, and the joint that holds it to its parent (metres, kilograms, radians)."""

    name: str
    parent: str
    pos: Vector
    quat: Vector
    mass: float
    com: Vector
    inertia_quat: Vector
    inertia: Vector
    axis: str
    limits: tuple[float, float]
    gain: str
    geoms: tuple[Geom, ...] = ()

    @property
    def joint(self) -> str:
        """The joint's name, which is also the actuator's."""
        return self.name.removesuffix("_link").replace("torso", "waist_pitch") + "_joint"


# Position servo of each joint class: stiffness (N·m/rad), damping (N·m·s/rad), torque limit (N·m).
GAINS = {
    "hip": (40.179, 2.558, 88.0),
    "knee": (99.098, 6.309, 139.0),
    "ankle": (28.501, 1.814, 50.0),
    "arm": (14.251, 0.907, 25.0),
    "wrist": (16.778, 1.068, 5.0),
}
ROOT = "pelvis"
STANDING_HEIGHT = 0.754
# Stance of a leg and an arm, in joint order; the right arm's roll is mirrored.
_LEG_STANCE = (-0.312, 0.0, 0.0, 0.669, -0.363, 0.0)
_ARM_STANCE = (0.2, 0.2, 0.0, 0.6, 0.0, 0.0, 0.0)
FOOT_SOLE = ((-0.05, 0.025, -0.03), (-0.05, -0.025, -0.03), (0.12, 0.03, -0.03), (0.12, -0.03, -0.03))
FOOT_RADIUS = 0.005

_IDENTITY = (1.0, 0.0, 0.0, 0.0)
_LEG = (
    Link(
        "left_hip_pitch_link",
        ROOT,
        (0.0, 0.064452, -0.1027),
        _IDENTITY,
        1.35,
        (0.002741, 0.047791, -0.02606),
        (0.954862, 0.293964, 0.0302556, 0.030122),
        (0.00181517, 0.00153422, 0.00116212),
        "y",
        (-2.5307, 2.8798),
        "hip",
    ),
    Link(
        "left_hip_roll_link",
        "left_hip_pitch_link",
        (0.0, 0.052, -0.030465),
        (0.996179, 0.0, -0.0873386, 0.0),
        1.52,
        (0.029812, -0.001045, -0.087934),
        (0.977808, -1.97119e-05, 0.205576, -0.0403793),
        (0.00254986, 0.00241169, 0.00148755),
        "x",
        (-0.5236, 2.9671),
        "knee",
        (Geom(0.06, (0.02, 0.0, 0.0), (0.02, 0.0, -0.08)),),
    ),
    Link(
        "left_hip_yaw_link",
        "left_hip_roll_link",
        (0.025001, 0.0, -0.12412),
        _IDENTITY,
        1.702,
        (-0.057709, -0.010981, -0.15078),
        (0.600598, 0.15832, 0.223482, 0.751181),
        (0.00776166, 0.00717575, 0.00160139),
        "z",
        (-2.7576, 2.7576),
        "hip",
    ),
    Link(
        "left_knee_link",
        "left_hip_yaw_link",
        (-0.078273, 0.0021489, -0.17734),
        (0.996179, 0.0, 0.0873386, 0.0),
        1.932,
        (0.005457, 0.003964, -0.12074),
        (0.923418, -0.0327699, 0.0158246, 0.382067),
        (0.0113804, 0.0112778, 0.00146458),
        "y",
        (-0.087267, 2.8798),
        "knee",
        (Geom(0.045, (0.01, 0.0, 0.0), (0.01, 0.0, -0.25)),),
    ),
    Link(
        "left_ankle_pitch_link",
        "left_knee_link",
        (0.0, -9.4445e-05, -0.30001),
        _IDENTITY,
        0.074,
        (-0.007269, 0.0, 0.011137),
        (0.603053, 0.369225, 0.369225, 0.603053),
        (1.89e-05, 1.40805e-05, 6.9195e-06),
        "y",
        (-0.87267, 0.5236),
        "ankle",
    ),
    Link(
        "left_ankle_roll_link",
        "left_ankle_pitch_link",
        (0.0, 0.0, -0.017558),
        _IDENTITY,
        0.608,
        (0.026505, 0.0, -0.016425),
        (-0.000481092, 0.728482, -0.000618967, 0.685065),
        (0.00167218, 0.0016161, 0.000217621),
        "x",
        (-0.2618, 0.2618),
        "ankle",
        tuple(Geom(FOOT_RADIUS, point) for point in FOOT_SOLE),
    ),
)
_WAIST = (
    Link(
        "waist_yaw_link",
        ROOT,
        (0.0, 0.0, 0.0),
        _IDENTITY,
        0.214,
        (0.003494, 0.000233, 0.018034),
        (0.289697, 0.591001, -0.337795, 0.672821),
        (0.000163531, 0.000107714, 0.000102205),
        "z",
        (-2.618, 2.618),
        "hip",
    ),
    Link(
        "waist_roll_link",
        "waist_yaw_link",
        (-0.0039635, 0.0, 0.044),
        _IDENTITY,
        0.086,
        (0.0, 2.3e-05, 0.0),
        (0.5, 0.5, -0.5, 0.5),
        (8.245e-06, 7.079e-06, 6.339e-06),
        "x",
        (-0.52, 0.52),
        "ankle",
    ),
    Link(
        "torso_link",
        "waist_roll_link",
        (0.0, 0.0, 0.0),
        _IDENTITY,
        7.818,
        (0.00203158, 0.000339683, 0.184568),
        (0.999803, -6.03319e-05, 0.0198256, 0.00131986),
        (0.121847, 0.109825, 0.0273735),
        "y",
        (-0.52, 0.52),
        "ankle",
        (Geom(0.09, (0.01, 0.0, 0.08), (0.01, 0.0, 0.2)), Geom(0.06, (0.0, 0.0, 0.43))),
    ),
)
_ARM = (
    Link(
        "left_shoulder_pitch_link",
        "torso_link",
        (0.0039563, 0.10022, 0.24778),
        (0.990264, 0.139201, 1.38722e-05, -9.86868e-05),
        0.718,
        (0.0, 0.035892, -0.011628),
        (0.654152, 0.0130458, -0.326267, 0.68225),
        (0.000465864, 0.000432842, 0.000406394),
        "y",
        (-3.0892, 2.6704),
        "arm",
    ),
    Link(
        "left_shoulder_roll_link",
        "left_shoulder_pitch_link",
        (0.0, 0.038, -0.013831),
        (0.990268, -0.139172, 0.0, 0.0),
        0.643,
        (-0.000227, 0.00727, -0.063243),
        (0.701256, -0.0196223, -0.00710317, 0.712604),
        (0.000691311, 0.000618011, 0.000388977),
        "x",
        (-1.5882, 2.2515),
        "arm",
    ),
    Link(
        "left_shoulder_yaw_link",
        "left_shoulder_roll_link",
        (0.0, 0.00624, -0.1032),
        _IDENTITY,
        0.734,
        (0.010773, -0.002949, -0.072009),
        (0.716879, -0.0964829, -0.0679942, 0.687134),
        (0.00106187, 0.00103217, 0.000400661),
        "z",
        (-2.618, 2.618),
        "arm",
        (Geom(0.035, (0.0, 0.0, -0.08), (0.0, 0.0, 0.05)),),
    ),
    Link(
        "left_elbow_link",
        "left_shoulder_yaw_link",
        (0.015783, 0.0, -0.080518),
        _IDENTITY,
        0.6,
        (0.064956, 0.004454, -0.010062),
        (0.541765, 0.636132, 0.388821, 0.388129),
        (0.000443035, 0.000421612, 0.000259353),
        "y",
        (-1.0472, 2.0944),
        "arm",
        (Geom(0.035, (-0.01, 0.0, -0.01), (0.08, 0.0, -0.01)),),
    ),
    Link(
        "left_wrist_roll_link",
        "left_elbow_link",
        (0.1, 0.00188791, -0.01),
        _IDENTITY,
        0.085445,
        (0.0171394, 0.000537591, 4.8864e-07),
        (0.575338, 0.411667, -0.574906, 0.411094),
        (5.48211e-05, 4.96646e-05, 3.57798e-05),
        "x",
        (-1.97222, 1.97222),
        "arm",
    ),
    Link(
        "left_wrist_pitch_link",
        "left_wrist_roll_link",
        (0.038, 0.0, 0.0),
        _IDENTITY,
        0.48405,
        (0.0229999, -0.00111685, -0.00111658),
        (0.249998, 0.661363, 0.293036, 0.643608),
        (0.000430353, 0.000429873, 0.000164648),
        "y",
        (-1.61443, 1.61443),
        "wrist",
    ),
    Link(
        "left_wrist_yaw_link",
        "left_wrist_pitch_link",
        (0.046, 0.0, 0.0),
        _IDENTITY,
        0.254576,
        (0.0708244, 0.000191745, 0.00161742),
        (0.510571, 0.526295, 0.468078, 0.493188),
        (0.000646113, 0.000559993, 0.000147566),
        "z",
        (-1.61443, 1.61443),
        "wrist",
        (Geom(0.035, (0.07, 0.0, 0.0), (0.15, -0.02, 0.0)),),
    ),
)


def _mirror(link: Link) -> Link:
    """The right-hand twin of a left link: reflected through the sagittal (xz) plane."""

    def vector(value: Vector) -> Vector:
        return (value[0], -value[1], value[2])

    def rotation(value: Vector) -> Vector:
        return (value[0], -value[1], value[2], -value[3])

    low, high = link.limits
    return replace(
        link,
        name=link.name.replace("left", "right"),
        parent=link.parent.replace("left", "right"),
        pos=vector(link.pos),
        quat=rotation(link.quat),
        com=vector(link.com),
        inertia_quat=rotation(link.inertia_quat),
        limits=(low, high) if link.axis == "y" else (-high, -low),
        geoms=tuple(Geom(g.radius, vector(g.start), g.end and vector(g.end)) for g in link.geoms),
    )


LINKS = (*_LEG, *map(_mirror, _LEG), *_WAIST, *_ARM, *map(_mirror, _ARM))
BODY_NAMES = (ROOT, *(link.name for link in LINKS))
JOINT_NAMES = tuple(link.joint for link in LINKS)
STANCE = np.array(
    [*_LEG_STANCE, *_LEG_STANCE, 0.0, 0.0, 0.0, *_ARM_STANCE, _ARM_STANCE[0], -_ARM_STANCE[1], *_ARM_STANCE[2:]]
)
JOINT_LIMITS = np.array([link.limits for link in LINKS])

# The sensor block that both backends copy out: per quantity all bodies, then the inertial units.
BODY_SENSORS = (("framepos", 3), ("framequat", 4), ("framelinvel", 3), ("frameangvel", 3))
NUM_BODIES = len(BODY_NAMES)
BASE_LIN_VEL_AT = NUM_BODIES * sum(width for _, width in BODY_SENSORS)
BASE_ANG_VEL_AT = BASE_LIN_VEL_AT + 3


def build_mjcf(sim_dt: float) -> str:
    """The robot on a plane as MJCF text.

    Args:
        sim_dt: physics time step, seconds.

    Returns:
        XML that `mujoco.MjModel.from_xml_string` accepts.
    """
    children: dict[str, list[Link]] = {}
    for link in LINKS:
        children.setdefault(link.parent, []).append(link)
    sensors = [
        f'<{kind} name="{kind}_{body}" objtype="xbody" objname="{body}"/>'
        for kind, _ in BODY_SENSORS
        for body in BODY_NAMES
    ]
    actuators = []
    for link in LINKS:
        kp, kv, effort = GAINS[link.gain]
        actuators.append(
            f'<position name="{link.joint}" joint="{link.joint}" kp="{kp}" kv="{kv}" forcerange="{-effort} {effort}"/>'
        )
    newline = "\n    "
    return f"""<mujoco model="g1_tracking">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="{sim_dt!r}" integrator="implicitfast" iterations="10" ls_iterations="20"/>
  <default>
    <joint armature="0.01"/>
    <geom contype="1" conaffinity="0" condim="3" friction="0.6" group="3"/>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="0 0 0.05" contype="0" conaffinity="1" friction="0.6"/>
    <body name="{ROOT}" pos="0 0 {STANDING_HEIGHT}">
      <freejoint name="root"/>
      <inertial pos="0 0 -0.07605" quat="1 0 -0.000399148 0" mass="3.813" diaginertia="0.010549 0.0093089 0.0079184"/>
      <geom type="sphere" size="0.07" pos="0 0 -0.08"/>
      <site name="imu_in_pelvis" pos="0.04525 0 -0.08339"/>
      {newline.join(_body(link, children) for link in children[ROOT])}
    </body>
  </worldbody>
  <actuator>
    {newline.join(actuators)}
  </actuator>
  <sensor>
    {newline.join(sensors)}
    <velocimeter name="base_lin_vel" site="imu_in_pelvis"/>
    <gyro name="base_ang_vel" site="imu_in_torso"/>
  </sensor>
</mujoco>
"""


def _body(link: Link, children: dict[str, list[Link]]) -> str:
    axis = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}[link.axis]
    site = '<site name="imu_in_torso" pos="-0.03959 -0.00224 0.14792"/>' if link.name == "torso_link" else ""
    return (
        f'<body name="{link.name}" pos="{_numbers(link.pos)}" quat="{_numbers(link.quat)}">'
        f'<inertial pos="{_numbers(link.com)}" quat="{_numbers(link.inertia_quat)}" mass="{link.mass}"'
        f' diaginertia="{_numbers(link.inertia)}"/>'
        f'<joint name="{link.joint}" axis="{axis}" range="{_numbers(link.limits)}"/>'
        f"{''.join(map(_geom, link.geoms))}{site}"
        f"{''.join(_body(child, children) for child in children.get(link.name, []))}</body>"
    )


def _geom(geom: Geom) -> str:
    if geom.end is None:
        return f'<geom type="sphere" size="{geom.radius}" pos="{_numbers(geom.start)}"/>'
    return f'<geom type="capsule" size="{geom.radius}" fromto="{_numbers(geom.start)} {_numbers(geom.end)}"/>'


def _numbers(values: Vector) -> str:
    return " ".join(repr(float(value)) for value in values)
