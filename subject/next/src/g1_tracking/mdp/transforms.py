"""Relative poses of a motion and a robot: the motion moved under the robot, and both seen from the robot's anchor.

One kernel makes one pass over an environment and writes every result; a reset runs it over the reset rows alone.
"""

import math

import numba
import numpy as np

from g1_tracking import kernels


class RelativePoses:
    """The results for all environments; float32, quaternions unit, w x y z.

    Attributes:
        body_pos_relative_w: the motion's bodies turned by the heading difference and moved to the robot's anchor in the
            plane, heights kept, (num_envs, bodies, 3).
        body_quat_relative_w: their orientations turned by the heading difference, (num_envs, bodies, 4).
        motion_anchor_pos_b: the motion's anchor in the robot's anchor frame, (num_envs, 3).
        motion_anchor_ori_b: its x and y axis there, (num_envs, 6).
        robot_body_pos_b: the robot's bodies in its anchor frame: all x, all y, all z, (num_envs, 3 x bodies).
        robot_body_ori_b: their x axes there and their y axes: the x components of all x axes, of all y axes, then the y
            components, then the z, (num_envs, 6 x bodies).
    """

    def __init__(self, num_envs: int, bodies: int, anchor: int):
        def block(*shape: int) -> np.ndarray:
            return np.zeros((num_envs, *shape), dtype=np.float32)

        self._anchor = anchor
        self._everyone = np.arange(num_envs)
        self.body_pos_relative_w, self.body_quat_relative_w = block(bodies, 3), block(bodies, 4)
        self.motion_anchor_pos_b, self.motion_anchor_ori_b = block(3), block(6)
        self.robot_body_pos_b, self.robot_body_ori_b = block(3 * bodies), block(6 * bodies)
        self._pos_by_component = self.robot_body_pos_b.reshape(num_envs, 3, bodies)
        self._axes_by_component = self.robot_body_ori_b.reshape(num_envs, 3, 2, bodies)

    def update(
        self,
        motion_pos: np.ndarray,
        motion_quat: np.ndarray,
        robot_pos: np.ndarray,
        robot_quat: np.ndarray,
        env_ids: np.ndarray | None = None,
    ) -> None:
        """Recompute the results.

        Args:
            motion_pos: (num_envs, bodies, 3).
            motion_quat: (num_envs, bodies, 4).
            robot_pos: (num_envs, bodies, 3).
            robot_quat: (num_envs, bodies, 4).
            env_ids: only these environments, (rows,); None for all.
        """
        _relate(
            self._everyone if env_ids is None else env_ids,
            self._anchor,
            motion_pos,
            motion_quat,
            robot_pos,
            robot_quat,
            self.body_pos_relative_w,
            self.body_quat_relative_w,
            self.motion_anchor_pos_b,
            self.motion_anchor_ori_b,
            self._pos_by_component,
            self._axes_by_component,
        )


@numba.njit(inline="always")
def _two_axes(w, x, y, z):  # type: ignore[no-untyped-def]
    """The x and y axes of a unit quaternion."""
    one, two = np.float32(1.0), np.float32(2.0)
    return (
        one - two * (y * y + z * z),
        two * (x * y + w * z),
        two * (x * z - w * y),
        two * (x * y - w * z),
        one - two * (x * x + z * z),
        two * (y * z + w * x),
    )


@numba.njit(inline="always")
def _heading(along, up):  # type: ignore[no-untyped-def]
    """Cosine and sine of the angle of a plane vector and of half of it, without trigonometry; 0 for no vector."""
    zero, half, one = np.float32(0.0), np.float32(0.5), np.float32(1.0)
    length = math.sqrt(along * along + up * up)
    if length == zero:
        return one, zero, one, zero
    cos, sin = along / length, up / length
    # Of the two half-angle roots take the one that does not cancel.
    if cos >= zero:
        cos_half = math.sqrt(half * (one + cos))
        return cos, sin, cos_half, half * sin / cos_half
    sin_half = math.copysign(math.sqrt(half * (one - cos)), sin)
    return cos, sin, half * sin / sin_half, sin_half


@kernels.kernel(parallel_from=4096, fastmath={"contract"})
def _relate(  # type: ignore[no-untyped-def]
    env_ids,
    anchor,
    motion_pos,
    motion_quat,
    robot_pos,
    robot_quat,
    pos_relative,
    quat_relative,
    anchor_pos_b,
    anchor_ori_b,
    pos_b,
    ori_b,
):
    """Fill the rows `env_ids` of the six results; pos_b is (num_envs, 3, bodies), ori_b (num_envs, 3, 2, bodies)."""
    one, two = np.float32(1.0), np.float32(2.0)
    bodies = motion_pos.shape[1]
    for row in numba.prange(env_ids.shape[0]):
        n = env_ids[row]
        # The robot's anchor: position, axes as the rows of the rotation into its frame.
        px, py, pz = robot_pos[n, anchor, 0], robot_pos[n, anchor, 1], robot_pos[n, anchor, 2]
        rw, rx, ry, rz = (
            robot_quat[n, anchor, 0],
            robot_quat[n, anchor, 1],
            robot_quat[n, anchor, 2],
            robot_quat[n, anchor, 3],
        )
        a0, a1, a2, b0, b1, b2 = _two_axes(rw, rx, ry, rz)
        c0, c1, c2 = a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0

        # The heading difference: the turn from the motion's anchor to the robot's, about the vertical.
        mw, mx, my, mz = (
            motion_quat[n, anchor, 0],
            motion_quat[n, anchor, 1],
            motion_quat[n, anchor, 2],
            motion_quat[n, anchor, 3],
        )
        dw = rw * mw + rx * mx + ry * my + rz * mz
        dx = rx * mw - rw * mx - ry * mz + rz * my
        dy = ry * mw - rw * my - rz * mx + rx * mz
        dz = rz * mw - rw * mz - rx * my + ry * mx
        up, along = two * (dw * dz + dx * dy), one - two * (dy * dy + dz * dz)
        cos, sin, cos_half, sin_half = _heading(along, up)
        qx, qy, qz = motion_pos[n, anchor, 0], motion_pos[n, anchor, 1], motion_pos[n, anchor, 2]
        shift_x = px - (cos * qx - sin * qy)
        shift_y = py - (sin * qx + cos * qy)

        ex, ey, ez = qx - px, qy - py, qz - pz
        anchor_pos_b[n, 0] = a0 * ex + a1 * ey + a2 * ez
        anchor_pos_b[n, 1] = b0 * ex + b1 * ey + b2 * ez
        anchor_pos_b[n, 2] = c0 * ex + c1 * ey + c2 * ez
        u0, u1, u2, v0, v1, v2 = _two_axes(mw, mx, my, mz)
        anchor_ori_b[n, 0] = a0 * u0 + a1 * u1 + a2 * u2
        anchor_ori_b[n, 1] = b0 * u0 + b1 * u1 + b2 * u2
        anchor_ori_b[n, 2] = c0 * u0 + c1 * u1 + c2 * u2
        anchor_ori_b[n, 3] = a0 * v0 + a1 * v1 + a2 * v2
        anchor_ori_b[n, 4] = b0 * v0 + b1 * v1 + b2 * v2
        anchor_ori_b[n, 5] = c0 * v0 + c1 * v1 + c2 * v2

        for k in range(bodies):
            x, y = motion_pos[n, k, 0], motion_pos[n, k, 1]
            pos_relative[n, k, 0] = cos * x - sin * y + shift_x
            pos_relative[n, k, 1] = sin * x + cos * y + shift_y
            pos_relative[n, k, 2] = motion_pos[n, k, 2]
            w, x, y, z = motion_quat[n, k, 0], motion_quat[n, k, 1], motion_quat[n, k, 2], motion_quat[n, k, 3]
            quat_relative[n, k, 0] = cos_half * w - sin_half * z
            quat_relative[n, k, 1] = cos_half * x - sin_half * y
            quat_relative[n, k, 2] = cos_half * y + sin_half * x
            quat_relative[n, k, 3] = cos_half * z + sin_half * w
        for k in range(bodies):
            x, y, z = robot_pos[n, k, 0] - px, robot_pos[n, k, 1] - py, robot_pos[n, k, 2] - pz
            pos_b[n, 0, k] = a0 * x + a1 * y + a2 * z
            pos_b[n, 1, k] = b0 * x + b1 * y + b2 * z
            pos_b[n, 2, k] = c0 * x + c1 * y + c2 * z
            u0, u1, u2, v0, v1, v2 = _two_axes(
                robot_quat[n, k, 0], robot_quat[n, k, 1], robot_quat[n, k, 2], robot_quat[n, k, 3]
            )
            ori_b[n, 0, 0, k] = a0 * u0 + a1 * u1 + a2 * u2
            ori_b[n, 1, 0, k] = b0 * u0 + b1 * u1 + b2 * u2
            ori_b[n, 2, 0, k] = c0 * u0 + c1 * u1 + c2 * u2
            ori_b[n, 0, 1, k] = a0 * v0 + a1 * v1 + a2 * v2
            ori_b[n, 1, 1, k] = b0 * v0 + b1 * v1 + b2 * v2
            ori_b[n, 2, 1, k] = c0 * v0 + c1 * v1 + c2 * v2
