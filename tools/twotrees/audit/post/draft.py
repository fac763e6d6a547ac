"""The growing claim set of a post: claims and relations get their ids here, and hostile length gets its bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from twotrees.audit.claims import Claim, Reading, Reference, Relation
from twotrees.audit.post.numerals import Token
from twotrees.audit.post.text import excerpt
from twotrees.audit.printed import printed
from twotrees.audit.result import Passage

MAX_CLAIMS = 20_000
MAX_LISTED = 2_000


@dataclass(frozen=True, slots=True)
class Entity:
    """A pair of numbers that a table prints for one thing, for other tables and sentences to be held against.

    `words` names the thing; `before` and `after` are claim ids; `raw_before` and `raw_after` the raw runs, if printed.
    """

    words: frozenset[str]
    before: str = ""
    after: str = ""
    raw_before: tuple[str, ...] = ()
    raw_after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ranking:
    """A table whose rows sentences may rank: (row name in lower case, claim id), one plain column of times."""

    rows: tuple[tuple[str, str], ...]


@dataclass
class Facts:
    """What the whole post says: which statistics it names, and its one number of environments if there is one."""

    median: bool = False
    mean: bool = False
    envs: int = 0


@dataclass
class Draft:
    """Everything read so far."""

    facts: Facts
    claims: list[Claim] = field(default_factory=list)
    relations: list[Relation] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    not_understood: list[Passage] = field(default_factory=list)
    entities: list[Entity] = field(default_factory=list)
    rankings: list[Ranking] = field(default_factory=list)
    # Relations of one table column, which stand or fall together (see `doubt`).
    columns: list[tuple[str, list[int]]] = field(default_factory=list)
    full: bool = False
    _places: dict[int, int] = field(default_factory=dict)
    _by_id: dict[str, Claim] = field(default_factory=dict)

    def claim(self, token: Token, **about: object) -> str:
        """Takes a quantity in and returns its id, `L<line>.<place>`; empty once the post has too many."""
        if len(self.claims) >= MAX_CLAIMS:
            if not self.full:
                self.list_unread(token.line, token.text, f"more than {MAX_CLAIMS} numbers; reading stopped here")
            self.full = True
            return ""
        read = printed(token.text)
        if read is None or token.printed is None:
            self.list_unread(token.line, token.text, "not a number that can be read with certainty")
            return ""
        place = self._places[token.line] = self._places.get(token.line, 0) + 1
        made = Claim(
            id=f"L{token.line}.{place}",
            text=token.text,
            unit=token.unit,
            printed=read,
            line=token.line,
            about=token.printed.about and not read.about,
        )
        made = replace(made, **about) if about else made  # type: ignore[arg-type]
        self.claims.append(made)
        self._by_id[made.id] = made
        return made.id

    def reference(self, token: Token, what: str = "") -> None:
        """Takes in a numeral that is no quantity."""
        if len(self.references) < MAX_CLAIMS:
            self.references.append(Reference(token.line, token.text, what or token.reference))

    def list_unread(self, line: int, text: str, why: str) -> None:
        """Lists what was not understood."""
        if len(self.not_understood) < MAX_LISTED:
            self.not_understood.append(Passage(line, line, excerpt(text), why))

    def relate(
        self,
        readings: Sequence[Reading],
        result: str = "",
        *,
        line: int = 0,
        envs: int = 1,
        order: str = "",
        note: str = "",
    ) -> int:
        """Adds a relation and returns its place; -1 where an argument was not taken in."""
        named = [one for reading in readings for one in reading.of]
        if (
            not readings
            or not all(named)
            or (not result and readings[0].kind not in ("closure", "common_whole", "rank"))
        ):
            return -1
        place = len(self.relations)
        where = line or self.get(result or named[0]).line
        self.relations.append(
            Relation(f"L{where}.r{place + 1}", tuple(readings), result, envs=envs, order=order, note=note)
        )
        return place

    def get(self, name: str) -> Claim:
        """A claim taken in earlier."""
        return self._by_id[name]

    def describe(self, name: str, **about: object) -> None:
        """Says more of a claim taken in earlier: what it measures, of which arm."""
        if name:
            old = self._by_id[name]
            new = replace(old, **about)  # type: ignore[arg-type]
            self._by_id[name] = new

    def all_claims(self) -> tuple[Claim, ...]:
        """The claims in order of reading, as last described."""
        return tuple(self._by_id[claim.id] for claim in self.claims)
