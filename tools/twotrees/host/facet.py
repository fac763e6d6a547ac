"""One row of the table of collectors: a facet's name, its function, and what each of its facts means for speed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twotrees.host.facts import Facts, Kind
from twotrees.host.sources import Sources


@dataclass(frozen=True)
class Facet:
    """A group of facts that are found out together.

    Attributes:
        name: The key in the fingerprint.
        collect: Gives the facts; whatever it raises becomes the reason of every fact it owes.
        facts: The facts that are always there, known or not, and the kind of each.
        align: Renames what two hosts can never share (a GPU's UUID) before they are compared; takes and gives JSON.
    """

    name: str
    collect: Callable[[Sources], Facts]
    facts: Mapping[str, Kind]
    align: Callable[[Facts], Facts] | None = None

    def kind(self, fact: str) -> Kind:
        """The kind of a fact, given by its dotted name; one that this version does not know is a label."""
        return self.facts.get(fact.partition(".")[0], Kind.LABEL)
