"""Relative poses of a motion and a robot: the motion moved under the robot, and both seen from the robot's anchor.

NumPy runs over contiguous scratch, a block of environments at a time; what the anchor sees is one batched product.
"""

import numpy as np

_SQRT2 = np.float32(np.sqrt(2.0))
_ONE = np.float32(1.0)
# Environments at a time: the scratch of a block stays in the core's own cache over the sixty passes of a computation.
_BLOCK = 1024
Components = tuple[np.ndarray, ...] | np.ndarray


class RelativePoses:
    """The results for all environments, and the scratch they are computed in; float32, quaternions unit, w x y z.

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
            return np.zeros(shape, dtype=np.float32)

        self._anchor, self._bodies = anchor, bodies
        self.body_pos_relative_w = block(num_envs, bodies, 3)
        self.body_quat_relative_w = block(num_envs, bodies, 4)
        self.robot_body_pos_b, self.robot_body_ori_b = block(num_envs, 3 * bodies), block(num_envs, 6 * bodies)
        self._motion_anchor_b = block(num_envs, 9)
        self.motion_anchor_pos_b, self.motion_anchor_ori_b = self._motion_anchor_b[:, :3], self._motion_anchor_b[:, 3:]
        rows = min(num_envs, _BLOCK)
        self._positions, self._axes = block(rows, 3, bodies), block(rows, 3, 2 * bodies)
        self._motion_anchor, self._rotation = block(rows, 3, 3), block(rows, 3, 3)
        self._factors = block(4, rows, bodies)
        self._products = block(2, rows, bodies)
        self._components = block(4, rows, bodies)

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
        inputs = (motion_pos, motion_quat, robot_pos, robot_quat)
        outputs = (
            self.body_pos_relative_w,
            self.body_quat_relative_w,
            self.robot_body_pos_b,
            self.robot_body_ori_b,
            self._motion_anchor_b,
        )
        if env_ids is None:
            for start in range(0, len(motion_pos), _BLOCK):
                block = slice(start, start + _BLOCK)
                self._compute(*(values[block] for values in (*inputs, *outputs)))
            return
        for start in range(0, len(env_ids), _BLOCK):
            ids = env_ids[start : start + _BLOCK]
            rows = tuple(np.empty((len(ids), *out.shape[1:]), dtype=np.float32) for out in outputs)
            self._compute(*(values[ids] for values in inputs), *rows)
            for out, values in zip(outputs, rows, strict=True):
                out[ids] = values

    def _compute(
        self,
        motion_pos: np.ndarray,
        motion_quat: np.ndarray,
        robot_pos: np.ndarray,
        robot_quat: np.ndarray,
        pos_relative: np.ndarray,
        quat_relative: np.ndarray,
        pos_b: np.ndarray,
        ori_b: np.ndarray,
        motion_anchor_b: np.ndarray,
    ) -> None:
        a = self._anchor
        motion_anchor, robot_anchor = (
            np.ascontiguousarray(motion_quat[:, a].T),
            np.ascontiguousarray(robot_quat[:, a].T),
        )
        w, x, y, z = _turn_between(motion_anchor, robot_anchor)
        yaw = np.arctan2(2.0 * (w * z + x * y), _ONE - 2.0 * (y * y + z * z))
        self._move_under_robot(motion_pos, motion_quat, robot_pos, yaw, pos_relative, quat_relative)

        rows, bodies = len(motion_pos), self._bodies
        narrow = (self._components.reshape(4, -1)[:, :rows], self._products.reshape(2, -1)[:, :rows])
        # The rows of the rotation into the robot's anchor frame are that frame's axes.
        into = self._rotation[:rows]
        _two_axes(robot_anchor, *narrow, into[:, :2].transpose(1, 2, 0))
        _cross(into[:, 0].T, into[:, 1].T, into[:, 2].T)

        positions, axes = self._positions[:rows], self._axes[:rows]
        for i in range(3):
            np.subtract(robot_pos[..., i], robot_pos[:, a, i, None], out=positions[:, i])
        wide = (self._components[:, :rows], self._products[:, :rows])
        _two_axes(robot_quat.transpose(2, 0, 1), *wide, axes.reshape(rows, 3, 2, bodies).transpose(2, 1, 0, 3))
        np.matmul(into, positions, out=pos_b.reshape(rows, 3, bodies))
        np.matmul(into, axes, out=ori_b.reshape(rows, 3, 2 * bodies))

        anchor = self._motion_anchor[:rows]
        np.subtract(motion_pos[:, a], robot_pos[:, a], out=anchor[:, 0])
        _two_axes(motion_anchor, *narrow, anchor[:, 1:].transpose(1, 2, 0))
        np.matmul(anchor, into.transpose(0, 2, 1), out=motion_anchor_b.reshape(rows, 3, 3))

    def _move_under_robot(
        self,
        motion_pos: np.ndarray,
        motion_quat: np.ndarray,
        robot_pos: np.ndarray,
        yaw: np.ndarray,
        pos_relative: np.ndarray,
        quat_relative: np.ndarray,
    ) -> None:
        """Turn by `yaw` about the motion's anchor, move the anchor onto the robot's in the plane."""
        rows, a = len(yaw), self._anchor
        cos, sin = np.cos(yaw), np.sin(yaw)
        left, right = self._products[:, :rows]
        # Per-environment factors spread over the bodies once, so that the products below run over whole rows.
        wide = self._factors[:, :rows]
        for factor, value in zip(wide, (cos, sin, np.cos(0.5 * yaw), np.sin(0.5 * yaw)), strict=True):
            np.copyto(factor, value[:, None])
        cos_wide, sin_wide, cos_half, sin_half = wide

        x, y = motion_pos[..., 0], motion_pos[..., 1]
        shift_x = robot_pos[:, a, 0] - (cos * motion_pos[:, a, 0] - sin * motion_pos[:, a, 1])
        shift_y = robot_pos[:, a, 1] - (sin * motion_pos[:, a, 0] + cos * motion_pos[:, a, 1])
        np.multiply(x, cos_wide, out=left)
        np.multiply(y, sin_wide, out=right)
        left -= right
        np.add(left, shift_x[:, None], out=pos_relative[..., 0])
        np.multiply(x, sin_wide, out=left)
        np.multiply(y, cos_wide, out=right)
        left += right
        np.add(left, shift_y[:, None], out=pos_relative[..., 1])
        np.copyto(pos_relative[..., 2], motion_pos[..., 2])

        # (cos_half, 0, 0, sin_half) times q: each result takes one other component, the first two with a minus.
        for i, (other, combine) in enumerate(((3, np.subtract), (2, np.subtract), (1, np.add), (0, np.add))):
            np.multiply(motion_quat[..., i], cos_half, out=left)
            np.multiply(motion_quat[..., other], sin_half, out=right)
            combine(left, right, out=quat_relative[..., i])


def _two_axes(quat: np.ndarray, scaled: np.ndarray, products: np.ndarray, out: np.ndarray) -> None:
    """The x and y axes of quaternions.

    Args:
        quat: (4, ...).
        scaled: scratch like `quat`.
        products: scratch, (2, ...).
        out: axis, component: (2, 3, ...).
    """
    # With q scaled by the root of 2 every product already carries the factor 2 of the matrix entries.
    w, x, y, z = np.multiply(quat, _SQRT2, out=scaled)
    left, right = products
    np.multiply(x, y, out=left)
    np.multiply(w, z, out=right)
    np.add(left, right, out=out[0, 1])
    np.subtract(left, right, out=out[1, 0])
    np.multiply(x, z, out=left)
    np.multiply(w, y, out=right)
    np.subtract(left, right, out=out[0, 2])
    np.multiply(y, z, out=left)
    np.multiply(w, x, out=right)
    np.add(left, right, out=out[1, 2])
    np.multiply(z, z, out=right)
    np.subtract(_ONE, right, out=right)
    np.multiply(y, y, out=left)
    np.subtract(right, left, out=out[0, 0])
    np.multiply(x, x, out=left)
    np.subtract(right, left, out=out[1, 1])


def _cross(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """The cross products of component arrays (3, rows)."""
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        np.subtract(a[j] * b[k], a[k] * b[j], out=out[i])


def _turn_between(start: np.ndarray, end: np.ndarray) -> Components:
    """The rotation that turns `start` into `end`, both (4, rows): the product of `end` and the conjugate of `start`."""
    (a, b, c, d), (w, x, y, z) = end, start
    return (
        a * w + b * x + c * y + d * z,
        b * w - a * x - c * z + d * y,
        c * w - a * y - d * x + b * z,
        d * w - a * z - b * y + c * x,
    )
