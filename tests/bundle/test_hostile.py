"""Every line of the hostile list, on a real bundle: the exit code, the file that is named, and the reason."""

from __future__ import annotations

from pathlib import Path

import pytest
from synthetic.corpus import Bench, Case
from synthetic.hostile import CASES

from twotrees.bundle.trust import Trust
from twotrees.bundle.verify import verify
from twotrees.errors import UsageError


def judged(bench: Bench, source: Path) -> tuple[int, str]:
    """Exit code and message, as the command line would give them."""
    try:
        verdict = verify(source, Trust(bench.allowed, **bench.options))
    except UsageError as fault:
        return fault.exit_code, str(fault)
    return verdict.exit_code, verdict.line


def test_the_names_of_the_corpus_are_distinct() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_hostile_bundle_is_refused_by_name_and_reason(case: Case, bench: Bench) -> None:
    source = case.change(bench) or bench.bundle
    if not source.exists():  # the case renamed the folder
        (source,) = bench.bundle.parent.iterdir()
    exit_code, message = judged(bench, source)
    assert exit_code == case.exit, message
    assert case.file in message
    assert case.reason in message
