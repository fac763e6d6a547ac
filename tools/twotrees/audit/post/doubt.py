"""Takes back what was read from a header where the whole column speaks against it.

In: the draft's relations, column by column. Out: the same without the columns whose every row fails, and by so much
that the header rather than the arithmetic was misread. Such columns are listed, not flagged.
"""

from __future__ import annotations

from collections.abc import Mapping

from twotrees.audit.claims import Claim, Relation
from twotrees.audit.interval import Interval
from twotrees.audit.measure import best
from twotrees.audit.post.draft import Draft

# A row that misses by less than this share of what it should be is a slip of arithmetic in a column rightly read.
NEAR = 0.2


def believed(draft: Draft, claims: Mapping[str, Claim]) -> tuple[Relation, ...]:
    """The relations that stand, after listing in the draft the columns that do not."""
    dropped: set[int] = set()
    for header, places in draft.columns:
        if len(places) >= 2 and all(_far_off(draft.relations[place], claims) for place in places):
            dropped |= set(places)
            first = claims[draft.relations[places[0]].result]
            draft.list_unread(
                first.line, header, "no row of this column follows from its neighbours; nothing concluded"
            )
    return tuple(relation for place, relation in enumerate(draft.relations) if place not in dropped)


def _far_off(relation: Relation, claims: Mapping[str, Claim]) -> bool:
    outcome = best(relation, lambda name: claims[name].interval() or Interval(None, None))
    if outcome.undefined or outcome.gap == 0 or outcome.computed is None:
        return False
    low, high = outcome.computed.ends()
    return abs(outcome.gap) > NEAR * max(abs(low), abs(high))
