"""The smallest change of one printed number that would make a contradiction consistent.

Every relation is monotone in each of its arguments, so the change is found by doubling and halving over units of the
last printed digit. Of several numbers that could be changed, the one that settles most relations wins, then the one
that moves by fewest units.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from twotrees.audit.claims import Claim, Reading, Relation
from twotrees.audit.interval import Interval
from twotrees.audit.measure import Outcome, Values, best, measured

# Bounds on work for hostile input: beyond them only the result itself is tried, or nothing.
MAX_WORK = 400_000  # arguments looked at, all mends of one claim set together
MAX_ARGUMENTS = 40
MAX_NEIGHBOURS = 60
MAX_UNITS = 2**40


@dataclass(frozen=True, slots=True)
class Change:
    """One claim moved by `units` of its last digit."""

    claim: str
    units: int


class Mender:
    """Finds changes within one claim set."""

    def __init__(
        self, relations: Sequence[Relation], by_id: Mapping[str, Claim], intervals: Mapping[str, Interval]
    ) -> None:
        self._by_id = by_id
        self._intervals = intervals
        self._touching: dict[str, list[Relation]] = defaultdict(list)
        self._work_left = MAX_WORK
        for relation in relations:
            for claim in relation.claims():
                self._touching[claim].append(relation)

    def smallest_change(self, relation: Relation) -> str:
        """In words, with line and what else it settles; empty once the bound on work is reached."""
        if self._work_left <= 0:
            return ""
        candidates = list(self._candidates(relation))
        if not candidates:
            return self._without_numbers(relation)
        scored = [
            (self._score(change), abs(change.units), change.claim != relation.result, change) for change in candidates
        ]
        (settled, _), _, _, change = min(scored, key=lambda one: (one[0][1] - one[0][0], one[1], one[2]))
        also = f", which settles {settled} findings" if settled > 1 else ""
        return f"{self._words(change)}{also}"

    def result_change(self, relation: Relation, outcome: Outcome) -> str:
        """In words, how the printed outcome itself would have to read; empty where none is printed."""
        if self._work_left <= 0 or not relation.result or self._by_id[relation.result].printed is None:
            return ""
        change = self._least(relation, outcome.reading, relation.result)
        return self._words(change) if change else ""

    def _candidates(self, relation: Relation) -> Iterator[Change]:
        names = relation.claims() if len(relation.claims()) <= MAX_ARGUMENTS else relation.claims()[:1]
        for name in names:
            if self._by_id[name].printed is None or self._by_id[name].exact or self._work_left <= 0:
                continue
            broken = [relation, *(one for one in self._neighbours(name) if one is not relation and self._gap(one))]
            for one in broken[:4]:
                for reading in one.readings:
                    change = self._least(one, reading, name)
                    if change is not None and not self._gap(relation, change):
                        yield change

    def _neighbours(self, claim: str) -> list[Relation]:
        return self._touching[claim][:MAX_NEIGHBOURS]

    def _score(self, change: Change) -> tuple[int, int]:
        """(relations settled, relations broken) by the change."""
        settled = broken = 0
        for relation in self._neighbours(change.claim):
            was, now = self._gap(relation), self._gap(relation, change)
            settled += was and not now
            broken += now and not was
        return settled, broken

    def _gap(self, relation: Relation, change: Change | None = None) -> bool:
        """Whether the relation is contradicted, with *change* made."""
        if relation.apart or any(one.kind in ("closure", "median_of_sums") for one in relation.readings):
            return False
        self._work_left -= sum(len(reading.of) for reading in relation.readings)
        outcome = best(relation, self._values(change))
        return not outcome.undefined and outcome.gap != 0

    def _values(self, change: Change | None) -> Values:
        if change is None:
            return self._intervals.__getitem__
        moved = self._moved(change)
        return lambda name: moved if name == change.claim else self._intervals[name]

    def _moved(self, change: Change) -> Interval:
        claim = self._by_id[change.claim]
        reading = claim.reading()
        assert reading is not None, "only numbers are moved"
        return reading.moved(change.units).interval().scaled(claim.unit.scale)

    def _least(self, relation: Relation, reading: Reading, claim: str) -> Change | None:
        """The fewest units, either way, by which moving *claim* closes the gap of one reading."""
        start = self._outcome(relation, reading, None)
        if start.undefined or start.gap == 0:
            return None
        found = []
        for direction in (1, -1):
            if (units := self._search(relation, reading, claim, direction, start)) is not None:
                found.append(Change(claim, direction * units))
        return min(found, key=lambda one: abs(one.units)) if found else None

    def _outcome(self, relation: Relation, reading: Reading, change: Change | None) -> Outcome:
        self._work_left -= len(reading.of)
        return measured(relation, reading, self._values(change))

    def _search(self, relation: Relation, reading: Reading, claim: str, direction: int, start: Outcome) -> int | None:
        def beyond(units: int) -> bool:
            """Whether the gap is closed, or passed over, after so many units."""
            outcome = self._outcome(relation, reading, Change(claim, direction * units))
            return bool(outcome.undefined) or outcome.gap == 0 or (outcome.gap > 0) != (start.gap > 0)

        first = self._outcome(relation, reading, Change(claim, direction))
        if not first.undefined and first.gap != 0 and abs(first.gap) >= abs(start.gap):
            return None
        high = 1
        while not beyond(high):
            high *= 2
            if high > MAX_UNITS:
                return None
        low = high // 2
        while high - low > 1:
            half = (low + high) // 2
            low, high = (low, half) if beyond(half) else (half, high)
        outcome = self._outcome(relation, reading, Change(claim, direction * high))
        return high if outcome.gap == 0 and not outcome.undefined else None

    def _words(self, change: Change) -> str:
        claim = self._by_id[change.claim]
        assert claim.printed is not None, "only numbers are moved"
        moved = Claim(id="", text=claim.printed.moved(change.units).text(), unit=claim.unit)
        where = f" (line {claim.line})" if claim.line else ""
        return f"print {moved.shown()} instead of {claim.shown()}{where}"

    def _without_numbers(self, relation: Relation) -> str:
        """Where no single number can be moved: the words must change."""
        return "no single printed number can be moved; the statement itself must change" if relation.claims() else ""
