"""One line for each foreseeable fault: where, what, and the mend; one exit code for each type."""

from __future__ import annotations

from pathlib import Path

import pytest

from twotrees import errors
from twotrees.errors import BundleBroken, NegativeVerdict, PinsDiffer, RunFailed, TwotreesError, UsageError


@pytest.mark.parametrize(
    ("error", "code"), [(NegativeVerdict, 1), (UsageError, 2), (PinsDiffer, 3), (RunFailed, 4), (BundleBroken, 5)]
)
def test_each_type_has_its_documented_exit_code(error: type[TwotreesError], code: int) -> None:
    assert error("x").exit_code == code


def test_no_two_types_share_an_exit_code() -> None:
    codes = [error.exit_code for error in TwotreesError.__subclasses__()]
    assert sorted(codes) == [1, 2, 3, 4, 5]
    assert errors.EXIT_GOOD == 0


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "it is wrong"),
        ({"file": Path("a/b.json")}, "a/b.json: it is wrong"),
        ({"key": "seeds.action"}, "seeds.action: it is wrong"),
        ({"file": "conf", "key": "seeds.action"}, "conf: seeds.action: it is wrong"),
        ({"mend": "mend it"}, "it is wrong; mend it"),
        ({"file": "conf", "key": "k", "mend": "mend it"}, "conf: k: it is wrong; mend it"),
        ({"file": "", "key": ""}, "it is wrong"),
    ],
)
def test_the_line_says_where_what_and_how_to_mend_it(given: dict[str, str], line: str) -> None:
    assert str(UsageError("it is wrong", **given)) == line


def test_its_parts_can_be_read_by_a_program() -> None:
    error = RunFailed("it is wrong", file=Path("x"), key="line 3", mend="mend it")
    assert (error.what, error.file, error.key, error.mend) == ("it is wrong", "x", "line 3", "mend it")
