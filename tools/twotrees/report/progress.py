"""How far a campaign is: one live line on a terminal, one plain line for each run elsewhere.

It runs beside the measurement, so there is no thread, no timer, and at most one short write a second.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.control import Control
from rich.segment import ControlType
from rich.text import Text

from twotrees.runs.plan import PlannedRun

# A tick comes about once a second; one that is a hair early still counts as the next second.
REFRESH_S = 0.99
LOCKSTEP = "lockstep"
ERASE_LINE = Control((ControlType.ERASE_IN_LINE, 2), ControlType.CARRIAGE_RETURN)


class Progress:
    """Watches a matrix (`runs.matrix.Watcher`). Leaving it as a context, or `close`, frees the live line.

    Args:
        console: Where to show it; a live line only where it is a terminal that can erase a line.
        runs: The planned runs in order.
        guess_s: Seconds to expect of a run before one of its mode has ended.
    """

    def __init__(self, console: Console, runs: Sequence[PlannedRun], guess_s: float) -> None:
        self._console = console
        self._runs = tuple(runs)
        self._guess_s = guess_s
        self._live = console.is_terminal and not console.is_dumb_terminal
        self._walls_s: dict[tuple[str, str], list[float]] = {}
        self._current: PlannedRun | None = None
        self._shown_s = 0.0
        self._line_is_open = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run_started(self, planned: PlannedRun) -> None:
        """Shows which run begins and what is left of the campaign."""
        self._current, self._shown_s = planned, 0.0
        if self._live:
            self._show(0.0)
        else:
            self._say(f"{self._place(planned)}: {self._name(planned)}; {self._left(planned, 0.0)}")

    def run_ticked(self, elapsed_s: float) -> None:
        """Refreshes the live line, at most once a second."""
        if self._live and elapsed_s - self._shown_s >= REFRESH_S:
            self._shown_s = elapsed_s
            self._show(elapsed_s)

    def run_ended(self, planned: PlannedRun, status: str, wall_s: float) -> None:
        """Learns from a run that is over; one that does not count gets a line that stays."""
        self._current = None
        if status == "ok":
            self._walls_s.setdefault((planned.arm, planned.mode), []).append(wall_s)
        else:
            self.close()
            self._say(f"{self._place(planned)}: {self._name(planned)} {status} after {duration(wall_s)}")
        if planned == self._runs[-1]:
            self.close()

    def close(self) -> None:
        """Takes the live line off the terminal."""
        if self._line_is_open:
            self._console.control(ERASE_LINE)
            self._line_is_open = False

    def expected_s(self, planned: PlannedRun) -> tuple[float, bool]:
        """Seconds that a run should take, and whether that is rough.

        From ended runs of its arm and mode; else from those of its mode in other arms; else the guess.
        """
        own = self._walls_s.get((planned.arm, planned.mode))
        if own:
            return sum(own) / len(own), False
        others = [wall for (_, mode), walls in self._walls_s.items() if mode == planned.mode for wall in walls]
        return (sum(others) / len(others) if others else self._guess_s), True

    def remaining_s(self, planned: PlannedRun, elapsed_s: float) -> tuple[float, bool]:
        """Seconds left of the campaign while *planned* has been running for *elapsed_s*, and whether that is rough."""
        later = self._runs[self._runs.index(planned) + 1 :]
        current_s, rough = self.expected_s(planned)
        left_s = max(current_s - elapsed_s, 0.0)
        # The workers of a lockstep round run at once, and each is told the whole round's time.
        rounds = {planned.repeat} if planned.mode == LOCKSTEP else set()
        for run in later:
            if run.mode == LOCKSTEP:
                if run.repeat in rounds:
                    continue
                rounds.add(run.repeat)
            expected_s, run_rough = self.expected_s(run)
            left_s += expected_s
            rough = rough or run_rough
        return left_s, rough

    def _show(self, elapsed_s: float) -> None:
        if self._current is None:
            return
        planned = self._current
        line = f"{self._place(planned)}  {self._name(planned)}  {duration(elapsed_s)}  {self._left(planned, elapsed_s)}"
        self.close()
        width = max(self._console.width - 1, 1)
        self._console.print(Text(line[:width]), end="", soft_wrap=True, highlight=False)
        self._line_is_open = True

    def _say(self, line: str) -> None:
        self._console.print(Text(line), soft_wrap=True, highlight=False)

    def _place(self, planned: PlannedRun) -> str:
        return f"run {self._runs.index(planned) + 1} of {len(self._runs)}"

    def _name(self, planned: PlannedRun) -> str:
        return (
            f"{LOCKSTEP} round {planned.repeat}"
            if planned.mode == LOCKSTEP
            else f"{planned.arm} {planned.mode} {planned.repeat}"
        )

    def _left(self, planned: PlannedRun, elapsed_s: float) -> str:
        left_s, rough = self.remaining_s(planned, elapsed_s)
        return f"about {duration(left_s)} left" + (" (rough)" if rough else "")


def duration(seconds: float) -> str:
    """Seconds as people say them: 8 s, 2 min 05 s, 1 h 03 min."""
    whole = max(round(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"
