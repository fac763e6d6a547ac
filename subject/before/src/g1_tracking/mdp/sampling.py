"""Where in the clip an episode starts: anywhere alike, at the start, or where robots fail most."""

import numpy as np


class FrameSampler:
    """Samples start frames by bins of the clip.

    Adaptive sampling mixes a uniform share with a running mean of failures per bin, so hard parts are practised more.
    """

    def __init__(self, frames: int, sampling: str, bins: int, uniform_ratio: float, failure_rate: float):
        if sampling not in ("adaptive", "uniform", "start"):
            raise ValueError(f"sampling must be adaptive, uniform or start, got {sampling!r}")
        self._frames, self._sampling, self._bins = frames, sampling, bins
        self._uniform_ratio, self._failure_rate = uniform_ratio, failure_rate
        self.failures = np.zeros(bins)

    def record(self, failed_frames: np.ndarray) -> None:
        """Take note of the frames, (failures,) integers, at which robots failed in this step."""
        if self._sampling != "adaptive":
            return
        counts = np.bincount(failed_frames * self._bins // self._frames, minlength=self._bins)
        self.failures += self._failure_rate * (counts - self.failures)

    def sample(self, uniforms: np.ndarray) -> np.ndarray:
        """Start frames for uniform numbers in [0, 1), (rows,); the last frame is never a start."""
        last = self._frames - 2
        if self._sampling == "start":
            return np.zeros(len(uniforms), dtype=np.int64)
        if self._sampling == "uniform":
            return np.minimum((uniforms * (last + 1)).astype(np.int64), last)
        weights = self.failures + self._uniform_ratio * max(self.failures.sum(), 1e-9) / self._bins
        edges = np.cumsum(weights)
        edges /= edges[-1]
        bin_of = np.minimum(np.searchsorted(edges, uniforms, side="right"), self._bins - 1)
        low = np.where(bin_of > 0, edges[bin_of - 1], 0.0)
        inside = (uniforms - low) / (edges[bin_of] - low)
        return np.minimum(((bin_of + inside) * self._frames / self._bins).astype(np.int64), last)
