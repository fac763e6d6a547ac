"""Sentences that rank the rows of a table: "physics is the largest part", "最慢的是 command.compute".

In: sentences and the tables' plain columns. Out: rank relations in the draft. Only a clause that names exactly one row
of exactly one table, holds exactly one superlative, and speaks of no gain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from twotrees.audit.claims import Reading
from twotrees.audit.post.draft import Draft, Ranking
from twotrees.audit.post.table_sums import Rows
from twotrees.audit.post.words import PART_ROW, ROLES, TOTAL_ROW, Role

MAX_ROWS = 60
MAX_CLAUSES = 300
_CLAUSE = re.compile(r"[,，;。!?]|\.\s")
_LARGEST = r"(?:\b(?:largest|biggest|slowest|most expensive)\b|最大|最慢|最耗时)"
_SMALLEST = r"(?:\b(?:smallest|fastest|cheapest|quickest)\b|最小|最快)"
_SUPERLATIVE = re.compile(f"{_LARGEST}|{_SMALLEST}")
_IS = r"\s*(?:\b(?:is|was|remains)\b|仍然?是|还是|是|为|:)\s*(?:(?:still|now|by far|the|a)\s+)*"
_GAINS = (Role.SAVED, Role.FASTER, Role.SLOWER, Role.INCREASE)
_OF_CHANGE = re.compile(f"(?:{_LARGEST}|{_SMALLEST})[a-z \u7684]{{0,12}}(?:change|delta|difference|变化|差)")
_ORDINAL = re.compile(r"\b(?:second|third|next|one of|among|second-)\b|第二|第三|之一|其次|次", re.IGNORECASE)


def remember(rows: Rows, labels: int, draft: Draft) -> None:
    """Keeps a table whose rows have names and one plain column of times, for sentences to rank."""
    if not rows or labels == 0 or not 2 <= len(rows) <= MAX_ROWS:
        return
    columns = [
        place
        for place in range(labels, len(rows[0][1]))
        if all(
            (cell := row[1][place]) is not None
            and cell.only is not None
            and cell.only.kind == "value"
            and cell.only.dimension == "time"
            for row in rows
        )
    ]
    if len(columns) != 1:
        return
    kept = [
        (name.strip().lower(), ids[columns[0]][0][0])
        for name, _, ids in rows
        if len(name.strip()) > 2 and not TOTAL_ROW.fullmatch(name.strip()) and not PART_ROW.search(name)
    ]
    if len(kept) >= 2 and len({name for name, _ in kept}) == len(kept) and all(one for _, one in kept):
        draft.rankings.append(Ranking(tuple(kept)))


def rank(texts: Sequence[str], draft: Draft) -> None:
    """Adds a relation for each clause of *texts* that ranks one row."""
    if not draft.rankings:
        return
    looked_at = 0
    for text in texts:
        for clause in _CLAUSE.split(text.lower()):
            if len(_SUPERLATIVE.findall(clause)) != 1 or _ORDINAL.search(clause):
                continue
            looked_at += 1
            if looked_at > MAX_CLAUSES:
                return
            if any(pattern.search(clause) for role, pattern in ROLES if role in _GAINS) or _OF_CHANGE.search(clause):
                continue
            named = [
                (ranking, one, order)
                for ranking in draft.rankings[:200]
                for name, one in ranking.rows
                if name in clause and (order := _says(clause, name))
            ]
            if len(named) == 1:
                ranking, first, order = named[0]
                others = tuple(one for _, one in ranking.rows if one != first)
                draft.relate([Reading("rank", (first, *others))], order=order)


def _says(clause: str, name: str) -> str:
    """`largest` or `smallest` where the clause says it of *name*: "X is the largest …", "the largest … is X"."""
    row = rf"(?<![a-z0-9_/.]){re.escape(name)}(?![a-z0-9_/])"
    for order, word in (("largest", _LARGEST), ("smallest", _SMALLEST)):
        if re.search(rf"{row}{_IS}{word}|{word}(?:[a-z ]{{0,24}}|[\u4e00-\u9fff]{{0,6}}?){_IS}{row}", clause):
            return order
    return ""
