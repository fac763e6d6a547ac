"""Ties what different places of a post say about one thing: raw runs to their medians, sentences to table rows.

In: the entities of all tables, and sentences. Out: relations in the draft. Two places are about one thing only where
they name it with the same words and no other place does; a sentence that agrees with a row in one number of a pair and
not in the other is about that row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from twotrees.audit.claims import Reading
from twotrees.audit.post.draft import Draft, Entity
from twotrees.audit.post.prose import MAX_NAMING, Sentence
from twotrees.audit.post.words import label

STATISTICS = ("median", "mean", "min", "max")
MAX_ENTITIES = 4_000


def link_runs(draft: Draft) -> None:
    """Relates the raw runs of one thing to the value printed for it elsewhere."""
    pairs = _unique([one for one in draft.entities if one.before])
    for raw in [one for one in draft.entities if one.raw_before or one.raw_after][:MAX_ENTITIES]:
        pair = pairs.get(raw.words)
        if pair is None or not raw.words:
            continue
        for runs, value in ((raw.raw_before, pair.before), (raw.raw_after, pair.after)):
            if not runs or draft.get(runs[0]).unit.dimension != draft.get(value).unit.dimension:
                continue
            draft.relate([Reading(kind, runs) for kind in _admissible(draft)], value)


def _admissible(draft: Draft) -> tuple[str, ...]:
    """The statistics that the post names; all of them where it names none."""
    if draft.facts.median and not draft.facts.mean:
        return ("median",)
    if draft.facts.mean and not draft.facts.median:
        return ("mean",)
    return ("median", "mean") if draft.facts.median else STATISTICS


def _unique(entities: Sequence[Entity]) -> dict[frozenset[str], Entity]:
    seen = Counter(one.words for one in entities)
    return {one.words: one for one in entities if seen[one.words] == 1}


def link_sentences(sentences: Sequence[Sentence], draft: Draft) -> None:
    """Relates pairs in sentences to the table row that they repeat."""
    pairs = _unique([one for one in draft.entities if one.before and one.words][:MAX_ENTITIES])
    by_word: dict[str, set[frozenset[str]]] = {}
    for words in pairs:
        for word in words:
            by_word.setdefault(word, set()).add(words)
    for sentence in sentences:
        places = {name: place for place, name in enumerate(sentence.ids) if name}
        for name, place in places.items():
            claim = draft.get(name)
            if claim.arm == "before" and place + 1 < len(sentence.ids) and sentence.ids[place + 1]:
                after = sentence.ids[place + 1]
                if draft.get(after).arm == "after":
                    _link_pair(sentence, place, (name, after), (pairs, by_word), draft)


def _link_pair(
    sentence: Sentence,
    place: int,
    said: tuple[str, str],
    known: tuple[dict[frozenset[str], Entity], dict[str, set[frozenset[str]]]],
    draft: Draft,
) -> None:
    """Relates one spoken pair to the row that the words before it name, if the two share a number."""
    pairs, by_word = known
    end = sentence.tokens[place].start
    words = label(sentence.text[max(0, end - MAX_NAMING) : end])
    near = {candidate for word in words for candidate in by_word.get(word, ()) if candidate <= words}
    longest = max((len(one) for one in near), default=0)
    best = [one for one in near if len(one) == longest]
    if len(best) != 1 or longest == 0:
        return
    row = pairs[best[0]]
    intervals = [
        (draft.get(a).interval(), draft.get(b).interval()) for a, b in zip(said, (row.before, row.after), strict=True)
    ]
    alike = [one is not None and two is not None and one.overlaps(two) for one, two in intervals]
    if any(alike):
        for name, printed in zip(said, (row.before, row.after), strict=True):
            draft.relate([Reading("equal", (printed,))], name)
