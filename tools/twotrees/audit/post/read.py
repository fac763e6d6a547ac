"""Reads a post: bytes in, a `Reading` out: claims, relations, references, what was skipped, what was not understood.

Markdown, a page saved as text, pasted tables; English and Chinese. Bounded in time and memory whatever the input.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from twotrees.audit.claims import ClaimSet
from twotrees.audit.post.blocks import Document, Paragraph, Table, split
from twotrees.audit.post.doubt import believed
from twotrees.audit.post.draft import Draft, Facts
from twotrees.audit.post.linking import link_runs, link_sentences
from twotrees.audit.post.numerals import scan
from twotrees.audit.post.prose import Sentence, read_words
from twotrees.audit.post.ranks import rank
from twotrees.audit.post.tables import read_table
from twotrees.audit.post.words import MEAN, MEDIAN
from twotrees.audit.result import Passage
from twotrees.errors import UsageError

MAX_BYTES = 16 * 2**20
_ENVS = re.compile(
    r"num_envs\s?[=:]\s?`?([0-9]{1,9})|(?<![0-9.,])([0-9]{1,9})\s?(?:envs?\b|environments|个环境)", re.IGNORECASE
)


@dataclass(frozen=True)
class PostReading:
    """What a post says, and what of it could not be understood."""

    claims: ClaimSet
    skipped: tuple[Passage, ...]
    not_understood: tuple[Passage, ...]


def read_post(data: bytes, name: str) -> PostReading:
    """Reads one post.

    Args:
        data: Its bytes; UTF-8, with or without a byte order mark.
        name: For messages and the claim set's source.

    Raises:
        UsageError: larger than MAX_BYTES, or not text.
    """
    if len(data) > MAX_BYTES:
        raise UsageError(f"larger than {MAX_BYTES // 2**20} MiB", file=name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        raise UsageError(f"not UTF-8 at byte {fault.start}", file=name, mend="save the post as UTF-8 text") from None
    if "\0" in text:
        raise UsageError("not text: it holds zero bytes", file=name)
    document = split(text)
    draft = Draft(_facts(document))
    sentences: list[Sentence] = []
    for block in document.blocks:
        if draft.full:
            break
        if isinstance(block, Table):
            read_table(block, draft)
        else:
            sentences += _read_paragraph(block, draft)
    if not draft.full:
        link_runs(draft)
        link_sentences(sentences, draft)
        rank([block.text for block in document.blocks if isinstance(block, Paragraph)], draft)
    claims = draft.all_claims()
    relations = believed(draft, {claim.id: claim for claim in claims})
    found = ClaimSet(
        claims=claims,
        relations=relations,
        references=tuple(draft.references),
        source={"file": name, "sha256": hashlib.sha256(data).hexdigest()},
    )
    return PostReading(found, tuple(document.skipped), _by_line([*document.not_understood, *draft.not_understood]))


def _by_line(passages: Sequence[Passage]) -> tuple[Passage, ...]:
    return tuple(sorted(passages, key=lambda one: one.first))


def _facts(document: Document) -> Facts:
    """What the whole post says about its statistics and its number of environments."""
    envs: set[str] = set()
    median = mean = False
    for block in document.blocks:
        texts = (
            [block.text]
            if isinstance(block, Paragraph)
            else [*block.header.cells, *(c for r in block.rows for c in r.cells)]
        )
        for text in texts:
            median = median or bool(MEDIAN.search(text))
            mean = mean or bool(MEAN.search(text))
            envs |= {match[1] or match[2] for match in _ENVS.finditer(text)}
    return Facts(median, mean, int(envs.pop()) if len(envs) == 1 else 0)


def _read_paragraph(block: Paragraph, draft: Draft) -> list[Sentence]:
    if any(char.isdigit() for char in block.marker):
        for token in scan(block.marker.strip(), block.starts[0][1]):
            draft.reference(replace(token, text=token.text.strip(".)")), "list marker")
    sentence = read_words(block.text, block.starts, draft)
    return [sentence] if sentence else []
