"""What differs between two hosts; unknown on both sides is not equal."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from twotrees.errors import UsageError
from twotrees.host import differences, fingerprint_of, sentences


@pytest.fixture
def taken(busy_box: Any) -> dict[str, Any]:
    return fingerprint_of(busy_box.sources())


def _changed(taken: dict[str, Any], facet: str, fact: str, value: Any) -> dict[str, Any]:
    other = copy.deepcopy(taken)
    other["facets"][facet][fact] = value
    return other


def test_a_known_fact_that_is_equal_is_no_difference(taken: dict[str, Any]) -> None:
    assert all(item.verdict == "unknown" for item in differences(taken, copy.deepcopy(taken)))


def test_unknown_on_both_sides_is_told_and_matters_when_the_fact_matters(host: Any) -> None:
    blank = fingerprint_of(host.sources())
    found = {(item.facet, item.fact): item for item in differences(blank, copy.deepcopy(blank))}
    governor = found["frequency", "governor"]
    assert (governor.verdict, governor.matters) == ("unknown", True)
    assert governor.sentence.startswith("frequency governor: unknown on both sides (")


def test_known_against_unknown_is_told_with_the_reason(taken: dict[str, Any]) -> None:
    other = _changed(taken, "frequency", "governor", {"unknown": "no cpufreq"})
    found = [item for item in differences(taken, other) if item.fact == "governor"]
    assert [item.sentence for item in found] == ["frequency governor: performance against unknown (no cpufreq)"]
    assert found[0].verdict == "unknown"


def test_packages_come_first_and_are_named_one_by_one(taken: dict[str, Any]) -> None:
    other = _changed(taken, "processor", "vendor", "AuthenticAMD")
    packages = other["facets"]["packages"]["installed"]
    packages["numpy"], packages["extra"] = "1.0", "2.0"
    del packages["numba"]
    told = [item.sentence for item in differences(taken, other) if item.verdict == "different"]
    versions = taken["facets"]["packages"]["installed"]
    assert set(told[:3]) == {
        f"packages installed.numpy: {versions['numpy']} against 1.0",
        f"packages installed.numba: {versions['numba']} against absent",
        "packages installed.extra: absent against 2.0",
    }
    assert told[3] == "processor vendor: GenuineIntel against AuthenticAMD"


@pytest.mark.parametrize(
    ("facet", "fact", "value", "matters"),
    [
        ("frequency", "governor", "powersave", True),
        ("variables", "set", {"OMP_NUM_THREADS": "1"}, True),
        ("usable", "quota_cores", 2.0, True),
        ("kernel", "command_line", "quiet mitigations=auto", True),
        ("load", "load_1", 9.0, False),
        ("frequency", "current_mhz", 800, False),
        ("identity", "host", "host-000000000000", False),
        ("kernel", "distribution", "Debian", False),
    ],
)
def test_facts_that_matter_for_speed_are_told_from_those_that_do_not(
    taken: dict[str, Any], facet: str, fact: str, value: Any, matters: bool
) -> None:
    found = [item for item in differences(taken, _changed(taken, facet, fact, value)) if item.verdict == "different"]
    assert found
    assert all(item.facet == facet and item.matters is matters for item in found)


def test_a_list_is_compared_by_what_only_one_side_has(taken: dict[str, Any]) -> None:
    other = _changed(taken, "processor", "instruction_sets", ["fpu", "avx512f"])
    (found,) = [item for item in differences(taken, other) if item.verdict == "different"]
    assert found.sentence == ("processor instruction_sets: only the first has avx2; only the second has avx512f")


def test_where_a_machine_keeps_its_disk_is_no_difference(taken: dict[str, Any]) -> None:
    line = "BOOT_IMAGE=/vmlinuz-2 root=UUID=9999 quiet mitigations=off"
    other = _changed(taken, "kernel", "command_line", line)
    assert not [item for item in differences(taken, other) if item.fact == "command_line"]


def test_a_fact_that_an_older_fingerprint_lacks_is_unknown_and_not_equal(taken: dict[str, Any]) -> None:
    other = copy.deepcopy(taken)
    del other["facets"]["security"]
    found = [item for item in differences(taken, other) if item.facet == "security"]
    assert {item.verdict for item in found} == {"unknown"}
    assert "does not record it" in found[0].sentence


def test_the_comparison_is_the_same_from_both_sides(taken: dict[str, Any]) -> None:
    other = _changed(taken, "frequency", "governor", "powersave")
    forth = {(item.facet, item.fact, item.verdict) for item in differences(taken, other)}
    back = {(item.facet, item.fact, item.verdict) for item in differences(other, taken)}
    assert forth == back


def test_unknown_facts_with_one_reason_share_a_line(host: Any) -> None:
    blank = fingerprint_of(host.sources())
    lines = sentences([item for item in differences(blank, blank) if item.facet == "frequency" and item.matters])
    assert any(line.startswith("frequency driver, driver_mode, governor, ") for line in lines)
    assert len(lines) < 5


@pytest.mark.parametrize(
    "other", [{}, {"schema": "twotrees-host-v2", "facets": {}}, [], {"schema": "twotrees-host-v1"}]
)
def test_what_is_no_fingerprint_is_refused(taken: dict[str, Any], other: Any) -> None:
    with pytest.raises(UsageError, match="not a host fingerprint"):
        differences(taken, other)


def test_differences_can_be_stored(taken: dict[str, Any]) -> None:
    (item,) = [d for d in differences(taken, _changed(taken, "frequency", "turbo", "off")) if d.verdict == "different"]
    assert item.data() == {
        "facet": "frequency",
        "fact": "turbo",
        "left": "on",
        "right": "off",
        "kind": "speed",
        "verdict": "different",
    }
