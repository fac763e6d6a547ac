"""The published report, by hand count and by machine: none of its numbers is missed, none of its sums is wrong."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest
from audit.conftest import REFERENCE_CLAIMS, REFERENCE_POST, counted_by_hand

from twotrees.audit import ClaimSet, Grade, audit_claims, audit_post, extract_script, read_claims, scripts_in
from twotrees.digest import sha256_bytes
from twotrees.errors import UsageError

PROFILER = "7de572e10c83af040b4bb08f2824ce95dfc48124cf890192b2b9fdc143233386"
AGGREGATOR = "500d5f239782776013611fd4224c2166ac8df76af26907efc7259cd8f958dea0"

# The saved post is not part of this repository; where it lies beside it, it is read too.
READINGS = {"claims file": REFERENCE_CLAIMS} | ({"post": REFERENCE_POST} if REFERENCE_POST.is_file() else {})


def claims_of(path: Path) -> ClaimSet:
    return read_claims(path) if path.suffix == ".yaml" else audit_post(path).claims


def numerals(claims: ClaimSet) -> dict[int, tuple[list[str], list[str]]]:
    found: dict[int, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for claim in claims.claims:
        if claim.printed is not None:
            found[claim.line][0].append(claim.printed.text())
    for reference in claims.references:
        found[reference.line][1].append(reference.text)
    return {line: (sorted(quantities), sorted(others)) for line, (quantities, others) in found.items()}


@pytest.mark.parametrize("path", READINGS.values(), ids=READINGS.keys())
def test_every_number_counted_by_hand_is_read_and_no_other(path: Path) -> None:
    assert numerals(claims_of(path)) == counted_by_hand()


@pytest.mark.parametrize("path", READINGS.values(), ids=READINGS.keys())
def test_the_report_does_not_contradict_itself(path: Path) -> None:
    result = audit_claims(path) if path.suffix == ".yaml" else audit_post(path)
    assert result.negative == ()
    assert result.exit_code == 0


@pytest.mark.parametrize("path", [path for path in READINGS.values() if path.suffix != ".yaml"])
def test_the_reader_lists_the_code_and_understands_all_else(path: Path) -> None:
    result = audit_post(path)
    assert result.not_understood == ()
    assert [(one.first, one.last) for one in result.skipped] == [
        (143, 152),
        (156, 185),
        (192, 201),
        (207, 521),
        (525, 736),
    ]


def test_medians_are_recomputed_from_all_36_raw_runs() -> None:
    result = audit_claims(REFERENCE_CLAIMS)
    medians = [relation for relation in result.claims.relations if relation.readings[0].kind == "median"]
    raw = {one for relation in medians for one in relation.readings[0].of}
    grades = {finding.subject: finding.grade for finding in result.findings}
    assert len(raw) == 36
    assert {grades[relation.id] for relation in medians} == {Grade.CONSISTENT}


def test_medians_of_sums_are_unsupported_with_bounds_and_not_flagged() -> None:
    findings = {finding.subject: finding for finding in audit_claims(REFERENCE_CLAIMS).findings}
    four = findings["mj.four.before.sum"]
    assert four.grade is Grade.UNSUPPORTED
    assert four.computed.startswith("≥ 2.42")
    assert "per-run sums" in four.change


def test_the_diagnostic_first_refresh_is_a_separate_measurement() -> None:
    findings = {finding.subject: finding for finding in audit_claims(REFERENCE_CLAIMS).findings}
    assert findings["mj.net.before"].grade is Grade.UNSUPPORTED
    assert "diagnostic run" in findings["mj.net.before"].message


def test_closure_gaps_are_warnings_with_their_size() -> None:
    gaps = [one for one in audit_claims(REFERENCE_CLAIMS).findings if one.grade is Grade.CLOSURE_GAP]
    assert {gap.subject for gap in gaps} == {"mj.step.closure", "mw.step.closure"}
    assert all(gap.size for gap in gaps)


@pytest.mark.parametrize("line, wrong", [(26, "19.320"), (34, "28.146988"), (60, "4.236"), (86, "35.7"), (76, "6.703")])
def test_a_digit_changed_in_the_claims_is_found(line: int, wrong: str, tmp_path: Path) -> None:
    right = {26: "19.230", 34: "29.146988", 60: "-4.231", 86: "37.7", 76: "6.073"}[line]
    text = REFERENCE_CLAIMS.read_text(encoding="utf-8")
    place = text.index(f'line: {line}, text: "{right}"')
    changed = text[:place] + text[place:].replace(right, wrong, 1)
    (tmp_path / "claims.yaml").write_text(changed, encoding="utf-8")
    assert audit_claims(tmp_path / "claims.yaml").exit_code == 1


@pytest.mark.parametrize("path", [path for path in READINGS.values() if path.suffix != ".yaml"])
def test_both_published_scripts_are_found_by_their_hashes(path: Path) -> None:
    post = path.read_bytes()
    for wanted in (PROFILER, AGGREGATOR):
        assert sha256_bytes(extract_script(post, wanted)) == wanted
        assert wanted in {script.sha256 for script in scripts_in(post)}


@pytest.mark.parametrize("path", [path for path in READINGS.values() if path.suffix != ".yaml"])
def test_an_unknown_hash_is_one_clear_line(path: Path) -> None:
    with pytest.raises(UsageError, match="no code in this post has SHA-256"):
        extract_script(path.read_bytes(), "0" * 64)
