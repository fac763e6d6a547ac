"""Simulated campaigns of known truth: nested noise of several shapes, to show what an interval covers.

In: a family of noise, a true log-ratio, a design. Out: blocks of lockstep rounds, or run values of fresh processes. The
sizes are those of a noisy shared machine: processes differ by 1 %, steps by 5 % with rare stalls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Draw = np.random.Generator
Processes = Callable[[Draw, tuple[int, ...]], Array]
Machine = Callable[[Draw, int], Array]

PROCESS_SPREAD = 0.01
STEP_SPREAD = 0.05
STALL_SHARE = 0.02
STALL_FACTOR = 4.0


@dataclass(frozen=True)
class Family:
    """One shape of noise.

    Attributes:
        name: Of the shape.
        processes: Log factors of processes, any shape: memory layout, compiled code.
        machine: Log factors of the machine over consecutive steps, shape ``(steps,)``, shared by all arms.
    """

    name: str
    processes: Processes
    machine: Machine


def _normal(draw: Draw, shape: tuple[int, ...]) -> Array:
    return draw.normal(0.0, PROCESS_SPREAD, shape)


def _log_normal(draw: Draw, shape: tuple[int, ...]) -> Array:
    return PROCESS_SPREAD * draw.lognormal(0.0, 1.0, shape)


def _bimodal(draw: Draw, shape: tuple[int, ...]) -> Array:
    return np.where(draw.random(shape) < 0.3, 3.0 * PROCESS_SPREAD, 0.0) + draw.normal(0.0, PROCESS_SPREAD / 4, shape)


def _steady(draw: Draw, steps: int) -> Array:
    return np.zeros(steps)


def _drifting(draw: Draw, steps: int) -> Array:
    """Warming up by a few per cent over the round, in either direction."""
    return draw.normal(0.0, 0.05) * np.linspace(0.0, 1.0, steps)


def _autocorrelated(draw: Draw, steps: int) -> Array:
    """A neighbour that comes and goes: AR(1) with a memory of about 20 steps and a spread of 5 %."""
    memory = 0.95
    shocks = draw.normal(0.0, 0.05 * np.sqrt(1.0 - memory**2), steps)
    level = np.empty(steps)
    level[0] = draw.normal(0.0, 0.05)
    for step in range(1, steps):
        level[step] = memory * level[step - 1] + shocks[step]
    return level


FAMILIES = {
    family.name: family
    for family in (
        Family("normal", _normal, _steady),
        Family("log-normal", _log_normal, _steady),
        Family("bimodal", _bimodal, _steady),
        Family("drifting", _normal, _drifting),
        Family("autocorrelated", _normal, _autocorrelated),
    )
}


def step_noise(draw: Draw, shape: tuple[int, ...]) -> Array:
    """Log factors of steps: skewed to the right, with rare stalls."""
    stalls = np.where(draw.random(shape) < STALL_SHARE, np.log(STALL_FACTOR), 0.0)
    return np.abs(draw.normal(0.0, STEP_SPREAD, shape)) + stalls


def lockstep_round(
    draw: Draw, family: Family, log_ratio: float, *, cycles: int, steps: int, leader: int
) -> tuple[list[Array], list[Array]]:
    """One round's blocks: (baseline's, other arm's), each an array of step times in ms, first steps included.

    Args:
        draw: Where randomness comes from.
        family: Shape of the noise.
        log_ratio: The truth, other arm over baseline.
        cycles: ABBA or BAAB, alternating.
        steps: Of one block; the first costs half as much again.
        leader: 0 when the baseline leads, 1 when the other arm does.
    """
    turns = [[0, 1, 1, 0], [1, 0, 0, 1]]
    order = np.array([arm for cycle in range(cycles) for arm in turns[(leader + cycle) % 2]])
    own = family.processes(draw, (2,)) + np.array([0.0, log_ratio])
    logs = family.machine(draw, order.size * steps).reshape(order.size, steps) + step_noise(draw, (order.size, steps))
    logs += own[order][:, None]
    logs[:, 0] += np.log(1.5)
    times = 10.0 * np.exp(logs)
    return list(times[order == 0]), list(times[order == 1])


def run_values(draw: Draw, family: Family, log_ratio: float, *, order: Array, steps: int) -> Array:
    """Medians of fresh processes in the order in which they run, shape ``(runs,)``, in ms.

    Args:
        draw: Where randomness comes from.
        family: Shape of the noise; the machine's part runs on over the whole campaign, as many steps per process.
        log_ratio: The truth.
        order: 0 (baseline) or 1 of each process, shape ``(runs,)``.
        steps: Of one process.
    """
    arms = order.astype(int)
    machine = family.machine(draw, arms.size * steps).reshape(arms.size, steps)
    logs = machine + step_noise(draw, (arms.size, steps))
    logs += (family.processes(draw, (arms.size,)) + log_ratio * arms)[:, None]
    middle: Array = np.median(10.0 * np.exp(logs), axis=1)
    return middle
