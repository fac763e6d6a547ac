"""What a post claims, as data: each printed number with what it is, and the relations that ought to hold among them.

Read from conf/claims/*.yaml (`claims_file`) or from a post (`post`); graded by `check` and compared by `against`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from twotrees.audit.interval import Interval
from twotrees.audit.printed import Printed
from twotrees.audit.units import NONE, Unit

# What a claim says about its metric. `value` is one arm's number; `statement` is words without a number ("largest").
QUANTITIES = (
    "value",
    "saved",
    "change",
    "reduction",
    "speedup",
    "share",
    "unchanged",
    "statement",
    "setting",
    "count",
)
DEFAULT_TOLERANCE = Fraction(5)


@dataclass(frozen=True, slots=True)
class Claim:
    """One published number.

    Attributes:
        id: Unique within its set.
        text: As printed, without its unit.
        unit: As printed.
        printed: `text` read as a number; None for words, whose `quantity` then says what they mean.
        line: Line of the post, from 1; 0 where unknown.
        quantity: One of QUANTITIES.
        metric, arm, backend, statistic, n: What was measured, as the aggregate names it; n counts runs.
        whole: The metric that a share is a share of.
        exact: A count or setting that was never rounded.
        about: "about" is said, though not right before this number.
        tolerance: For `unchanged`: how many per cent still count as unchanged.
    """

    id: str
    text: str
    unit: Unit = NONE
    printed: Printed | None = None
    line: int = 0
    quantity: str = "value"
    metric: str = ""
    arm: str = ""
    backend: str = ""
    statistic: str = ""
    n: int = 0
    whole: str = ""
    exact: bool = False
    about: bool = False
    tolerance: Fraction = DEFAULT_TOLERANCE

    def reading(self) -> Printed | None:
        """The number with what is said about its precision elsewhere in the sentence."""
        if self.printed is None or not self.about or self.printed.about:
            return self.printed
        return Printed(self.printed.first, self.printed.last, True, self.printed.bound)

    def interval(self) -> Interval | None:
        """The values this can stand for, in base units (ms, per second, per cent); None for a mere statement."""
        reading = self.reading()
        if reading is None:
            return Interval(-self.tolerance, self.tolerance) if self.quantity == "unchanged" else None
        return reading.interval(exact=self.exact).scaled(self.unit.scale)

    @property
    def numeric(self) -> bool:
        """Whether it stands for values at all."""
        return self.printed is not None or self.quantity == "unchanged"

    def shown(self) -> str:
        """Text and unit for a message."""
        glue = "" if self.unit.name in ("×", "") else " "
        return f"{self.text}{glue}{self.unit.name}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One formula over claims: `kind` (see `relations`), its arguments in order, and the base of a change."""

    kind: str
    of: tuple[str, ...]
    base: str = "before"


@dataclass(frozen=True, slots=True)
class Relation:
    """What ought to hold: some reading gives the `result` claim.

    Attributes:
        id: Unique within its set.
        readings: At least one; several where words admit several ("34 % faster").
        result: The claim that prints the outcome; empty for rank statements and closures without a printed residual.
        order: For ranks: `largest` or `smallest` (the first argument is), `descending` or `ascending` (all are).
        n: For medians of per-run sums: how many runs.
        envs: For rates: environments per step.
        apart: Why the arguments come from another measurement than the result, where they do.
        note: What a reader of the finding should know.
    """

    id: str
    readings: tuple[Reading, ...]
    result: str = ""
    order: str = ""
    n: int = 0
    envs: int = 1
    apart: str = ""
    note: str = ""

    def claims(self) -> tuple[str, ...]:
        """Every claim it speaks of, the result first, each once."""
        named = [self.result] if self.result else []
        return tuple(dict.fromkeys([*named, *(one for reading in self.readings for one in reading.of)]))


@dataclass(frozen=True, slots=True)
class Reference:
    """A numeral that is no quantity: an issue number, a version, a name, a hash; `what` says which."""

    line: int
    text: str
    what: str


def _nothing() -> Mapping[str, str]:
    return MappingProxyType({})


@dataclass(frozen=True)
class ClaimSet:
    """All claims of one source.

    Attributes:
        title: For people.
        source: Where they are printed: `file`, `sha256`.
        commits: Arm name to commit.
        scale: `num_envs`, `warmup`, `measure` as printed.
        host: Facts of the published host that explain differences: `cpu`, `gpu`, `os`, `python`, package versions.
    """

    claims: tuple[Claim, ...]
    relations: tuple[Relation, ...] = ()
    references: tuple[Reference, ...] = ()
    title: str = ""
    source: Mapping[str, str] = field(default_factory=_nothing)
    commits: Mapping[str, str] = field(default_factory=_nothing)
    scale: Mapping[str, str] = field(default_factory=_nothing)
    host: Mapping[str, str] = field(default_factory=_nothing)

    def by_id(self) -> dict[str, Claim]:
        """Claims by their ids."""
        return {claim.id: claim for claim in self.claims}
