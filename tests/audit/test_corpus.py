"""The reader against posts of our own making: every planted contradiction is found where it is, nothing else is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from audit.conftest import Planted, corpus

from twotrees.audit import AuditResult, Grade

POSTS = corpus()


@pytest.mark.parametrize("post", POSTS, ids=[post.name for post in POSTS])
def test_a_post_is_flagged_exactly_at_its_planted_fault(post: Planted, audited: Callable[[str], AuditResult]) -> None:
    result = audited(post.text)
    flagged = {finding.line for finding in result.findings if finding.grade is Grade.CONTRADICTION}
    assert flagged == post.lines, [finding.message for finding in result.findings]
    assert result.exit_code == (0 if post.fault == "none" else 1)


@pytest.mark.parametrize("post", [post for post in POSTS if post.fault != "none"], ids=lambda post: post.name)
def test_every_contradiction_says_what_would_mend_it(post: Planted, audited: Callable[[str], AuditResult]) -> None:
    for finding in audited(post.text).negative:
        assert finding.change, finding.message
        assert finding.size, finding.message


def test_the_corpus_holds_many_kinds_of_faults_and_as_many_honest_posts() -> None:
    faults = Counter(post.fault for post in POSTS)
    assert len(POSTS) >= 120
    assert faults["none"] >= 60
    assert len(faults) >= 15
    assert len({post.name for post in POSTS}) == len(POSTS)


@pytest.mark.parametrize("post", [post for post in POSTS if post.fault == "none"], ids=lambda post: post.name)
def test_a_windows_file_with_a_mark_at_its_start_reads_the_same(
    post: Planted, audited: Callable[[str], AuditResult]
) -> None:
    plain, windows = audited(post.text), audited("\ufeff" + post.text.replace("\n", "\r\n"))
    assert windows.claims.claims == plain.claims.claims
    assert windows.claims.relations == plain.claims.relations
