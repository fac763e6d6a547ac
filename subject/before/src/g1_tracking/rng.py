"""Random numbers of the resets: each environment's are a function of (seed, environment, episode), of nothing else.

Counter-based (the splitmix64 finaliser over a keyed counter), so the order in which environments end cannot move them.
"""

import numpy as np

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)


def episode_uniforms(seed: int, env_ids: np.ndarray, episodes: np.ndarray, draws: int) -> np.ndarray:
    """Uniform numbers in [0, 1) for the given episodes.

    Args:
        seed: the environment seed.
        env_ids: environments, (rows,) integers.
        episodes: the running number of each environment's episode, (rows,) integers.
        draws: numbers per row.

    Returns:
        (rows, draws) float64.
    """
    with np.errstate(over="ignore"):
        key = _mix(np.uint64(seed) * _GOLDEN + env_ids.astype(np.uint64))
        key = _mix(key + episodes.astype(np.uint64) * _GOLDEN)
        counter = np.arange(1, draws + 1, dtype=np.uint64) * _GOLDEN
        bits = _mix(key[:, None] + counter)
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _mix(value: np.ndarray) -> np.ndarray:
    value = (value ^ (value >> np.uint64(30))) * _MIX_A
    value = (value ^ (value >> np.uint64(27))) * _MIX_B
    return value ^ (value >> np.uint64(31))
