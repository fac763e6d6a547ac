"""Relative poses of a motion and a robot: the motion moved under the robot, and both seen from the robot's anchor.

Works on component-major scratch, so that NumPy runs over long contiguous rows; all quaternions are unit, w x y z.
"""

import numpy as np

_SQRT2 = np.float32(np.sqrt(2.0))


class RelativePoses:
    """The results for all environments, and the scratch they are computed in; float32.

    Attributes:
        body_pos_relative_w: the motion's bodies turned by the heading difference and moved to the robot's anchor in the
            plane, heights kept, (num_envs, bodies, 3).
        body_quat_relative_w: their orientations turned by the heading difference, (num_envs, bodies, 4).
        motion_anchor_pos_b: the motion's anchor in the robot's anchor frame, (num_envs, 3).
        motion_anchor_ori_b: its orientation there, first two columns of the rotation matrix, row by row, (num_envs, 6).
        robot_body_pos_b: the robot's bodies in its anchor frame, (num_envs, bodies, 3).
        robot_body_ori_b: their orientations there, as above, (num_envs, bodies, 6).
    """

    def __init__(self, num_envs: int, bodies: int, anchor: int):
        def block(*shape: int) -> np.ndarray:
            return np.zeros(shape, dtype=np.float32)

        self._anchor = anchor
        self.body_pos_relative_w = block(num_envs, bodies, 3)
        self.body_quat_relative_w = block(num_envs, bodies, 4)
        self.motion_anchor_pos_b = block(num_envs, 3)
        self.motion_anchor_ori_b = block(num_envs, 6)
        self.robot_body_pos_b = block(num_envs, bodies, 3)
        self.robot_body_ori_b = block(num_envs, bodies, 6)
        self._factors = block(4, num_envs, bodies)
        self._products = block(2, num_envs, bodies)
        self._components = block(4, num_envs, bodies)
        self._rotation = block(num_envs, 3, 3)
        self._columns = block(num_envs, 3, 3 * bodies)
        self._rotated = block(num_envs, 3, 3 * bodies)

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
        outputs = (
            self.body_pos_relative_w,
            self.body_quat_relative_w,
            self.motion_anchor_pos_b,
            self.motion_anchor_ori_b,
            self.robot_body_pos_b,
            self.robot_body_ori_b,
        )
        if env_ids is None:
            self._compute(motion_pos, motion_quat, robot_pos, robot_quat, outputs)
            return
        rows = tuple(np.empty((len(env_ids), *out.shape[1:]), dtype=np.float32) for out in outputs)
        self._compute(motion_pos[env_ids], motion_quat[env_ids], robot_pos[env_ids], robot_quat[env_ids], rows)
        for out, values in zip(outputs, rows, strict=True):
            out[env_ids] = values

    def _compute(
        self,
        motion_pos: np.ndarray,
        motion_quat: np.ndarray,
        robot_pos: np.ndarray,
        robot_quat: np.ndarray,
        outputs: tuple[np.ndarray, ...],
    ) -> None:
        pos_relative, quat_relative, anchor_pos, anchor_ori, pos_b, ori_b = outputs
        a = self._anchor
        robot_anchor = robot_quat[:, a].T
        difference = _multiply(robot_anchor, _conjugate(motion_quat[:, a].T))
        yaw = np.arctan2(
            2.0 * (difference[0] * difference[3] + difference[1] * difference[2]),
            1.0 - 2.0 * (np.square(difference[2]) + np.square(difference[3])),
        )
        self._move_under_robot(motion_pos, motion_quat, robot_pos, yaw, pos_relative, quat_relative)

        rotation = self._rotation[: len(motion_pos)]
        _rotation_matrix(robot_anchor, rotation)
        np.einsum("nij,ni->nj", rotation, motion_pos[:, a] - robot_pos[:, a], out=anchor_pos)
        seen = np.empty_like(rotation)
        _rotation_matrix(_multiply(_conjugate(robot_anchor), motion_quat[:, a].T), seen)
        anchor_ori.reshape(-1, 3, 2)[:] = seen[:, :, :2]
        self._see_from_anchor(rotation, robot_pos, robot_quat, pos_b, ori_b)

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

    def _see_from_anchor(
        self, rotation: np.ndarray, robot_pos: np.ndarray, robot_quat: np.ndarray, pos_b: np.ndarray, ori_b: np.ndarray
    ) -> None:
        """Rotate positions and the first two axes of every body into the anchor's frame, as one batched product."""
        rows, bodies = robot_pos.shape[:2]
        columns, rotated = self._columns[:rows], self._rotated[:rows]
        for i in range(3):
            np.subtract(robot_pos[..., i], robot_pos[:, self._anchor, i, None], out=columns[:, i, :bodies])
        self._first_two_axes(robot_quat, columns[:, :, bodies : 2 * bodies], columns[:, :, 2 * bodies :])
        np.matmul(rotation.transpose(0, 2, 1), columns, out=rotated)
        np.copyto(pos_b, rotated[:, :, :bodies].transpose(0, 2, 1))
        axes = ori_b.reshape(rows, bodies, 3, 2)
        np.copyto(axes[..., 0], rotated[:, :, bodies : 2 * bodies].transpose(0, 2, 1))
        np.copyto(axes[..., 1], rotated[:, :, 2 * bodies :].transpose(0, 2, 1))

    def _first_two_axes(self, quat: np.ndarray, first: np.ndarray, second: np.ndarray) -> None:
        """The first two columns of the rotation matrices of (rows, bodies, 4) into two (rows, 3, bodies)."""
        # With q scaled by the root of 2 every product already carries the factor 2 of the matrix entries.
        scaled = self._components[:, : len(quat)]
        np.multiply(quat.transpose(2, 0, 1), _SQRT2, out=scaled)
        w, x, y, z = scaled
        left, right = self._products[:, : len(quat)]

        def pair(
            a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray, combine: np.ufunc, out: np.ndarray
        ) -> None:
            np.multiply(a, b, out=left)
            np.multiply(c, d, out=right)
            combine(left, right, out=out)

        pair(y, y, z, z, np.add, left)
        np.subtract(np.float32(1.0), left, out=first[:, 0])
        pair(x, y, w, z, np.add, first[:, 1])
        pair(x, z, w, y, np.subtract, first[:, 2])
        pair(x, y, w, z, np.subtract, second[:, 0])
        pair(x, x, z, z, np.add, left)
        np.subtract(np.float32(1.0), left, out=second[:, 1])
        pair(y, z, w, x, np.add, second[:, 2])


def _conjugate(q: np.ndarray) -> tuple[np.ndarray, ...]:
    return q[0], -q[1], -q[2], -q[3]


def _multiply(p: tuple[np.ndarray, ...] | np.ndarray, q: tuple[np.ndarray, ...] | np.ndarray) -> tuple[np.ndarray, ...]:
    """The Hamilton product of component tuples."""
    return (
        p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
        p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
        p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
        p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0],
    )


def _rotation_matrix(q: tuple[np.ndarray, ...] | np.ndarray, out: np.ndarray) -> None:
    """The rotation matrices of component tuples into (rows, 3, 3)."""
    w, x, y, z = q
    out[:, 0, 0] = 1.0 - 2.0 * (y * y + z * z)
    out[:, 0, 1] = 2.0 * (x * y - w * z)
    out[:, 0, 2] = 2.0 * (x * z + w * y)
    out[:, 1, 0] = 2.0 * (x * y + w * z)
    out[:, 1, 1] = 1.0 - 2.0 * (x * x + z * z)
    out[:, 1, 2] = 2.0 * (y * z - w * x)
    out[:, 2, 0] = 2.0 * (x * z - w * y)
    out[:, 2, 1] = 2.0 * (y * z + w * x)
    out[:, 2, 2] = 1.0 - 2.0 * (x * x + y * y)
