"""The formulas of the task written out for one environment at a time, in float64, for the terms to be held against."""

import math

import numpy as np
from scipy.spatial.transform import Rotation


def rotation(quat):
    """A w x y z quaternion as a rotation."""
    return Rotation.from_quat(np.asarray(quat, dtype=float), scalar_first=True)


def heading(turn):
    """The yaw of a rotation (roll, pitch, yaw convention)."""
    w, x, y, z = turn.as_quat(scalar_first=True)
    return math.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))


def moved_under_robot(motion_pos, motion_quat, robot_pos, robot_quat, anchor):
    """The motion's bodies turned by the heading difference about its anchor and moved to the robot's in the plane."""
    difference = rotation(robot_quat[anchor]) * rotation(motion_quat[anchor]).inv()
    turn = Rotation.from_euler("z", heading(difference))
    origin = np.array([robot_pos[anchor][0], robot_pos[anchor][1], motion_pos[anchor][2]], dtype=float)
    positions = [origin + turn.apply(np.asarray(p, float) - motion_pos[anchor]) for p in motion_pos]
    return np.array(positions), [turn * rotation(q) for q in motion_quat]


def two_axes(turn):
    """The x axis and then the y axis of a frame."""
    matrix = turn.as_matrix()
    return np.concatenate((matrix[:, 0], matrix[:, 1]))


def seen_from_anchor(pos, quat, anchor_pos, anchor_quat):
    """A body's position and two axes in the anchor's frame."""
    into = rotation(anchor_quat).inv()
    return into.apply(np.asarray(pos, float) - anchor_pos), two_axes(into * rotation(quat))


def angle(p, q):
    """The angle between two w x y z quaternions, radians."""
    return (rotation(p).inv() * rotation(q)).magnitude()


def mean_squared_distance(reference, actual):
    """Mean over bodies of the squared distance."""
    return sum(math.dist(r, a) ** 2 for r, a in zip(reference, actual, strict=True)) / len(reference)
