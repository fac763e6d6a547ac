"""JSON as every reader understands it alike, or an error that says where it is not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees import strict_json
from twotrees.digest import canonical_json
from twotrees.errors import BundleBroken, RunFailed, UsageError
from twotrees.strict_json import MAX_DEPTH, MAX_SAFE_INTEGER, JsonRefused

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_SAFE_INTEGER, MAX_SAFE_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner),
    max_leaves=20,
)


@given(values)
def test_what_is_written_is_read_back_the_same(value: Any) -> None:
    assert strict_json.loads(strict_json.dumps(value)) == value
    assert strict_json.loads(strict_json.dumps_line(value).encode()) == value


@given(values)
def test_whatever_it_reads_can_be_hashed(value: Any) -> None:
    canonical_json(strict_json.loads(strict_json.dumps_line(value)))


@given(values)
def test_one_line_is_one_line_and_a_file_ends_with_one(value: Any) -> None:
    assert "\n" not in strict_json.dumps_line(value)
    assert strict_json.dumps(value).endswith("\n")


@given(st.binary(max_size=40) | st.text('{}[]",:0123456789.eE+-tfn\\u ', max_size=40))
def test_it_reads_what_the_standard_reader_reads_or_refuses_and_never_anything_else(data: bytes | str) -> None:
    try:
        value = strict_json.loads(data)
    except JsonRefused:
        return
    assert value == json.loads(data)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1, "a": 1}', "duplicate key 'a'"),
        ('{"x": {"b": 1, "b": 2}}', "duplicate key 'b'"),
        (r'{"a": 1, "\u0061": 2}', "duplicate key 'a'"),
        ("NaN", "NaN is not a JSON number"),
        ("[Infinity]", "Infinity is not a JSON number"),
        ('{"a": -Infinity}', "-Infinity is not a JSON number"),
        ("1e999", "number overflows: 1e999"),
        ("-1e999", "number overflows"),
        ("9007199254740992", "integer beyond 2^53"),
        ("-9007199254740992", "integer beyond 2^53"),
        ("1" * 5000, "integer beyond 2^53: 111111111111111111111111"),
        (r'"\ud800"', "lone surrogate"),
        (r'{"\udfff": 1}', "lone surrogate"),
        (r'[{"a": ["\ud800"]}]', "lone surrogate"),
        ("[" * 100_000, "nested deeper than 64"),
        ('{"a":' * 100_000, "nested deeper than 64"),
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[1,]", "not JSON"),
        ("{'a': 1}", "not JSON"),
        ("01", "not JSON"),
        ("1 2", "not JSON: Extra data at line 1 column 3"),
        ("// comment\n1", "not JSON"),
        ("\ufeff1", "not JSON"),
        ('"a\nb"', "not JSON: Invalid control character"),
    ],
    ids=lambda value: str(value)[:24],
)
def test_it_refuses(text: str, told: str) -> None:
    for data in (text, text.encode()):
        with pytest.raises(JsonRefused) as caught:
            strict_json.loads(data)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("data", "position"), [(b'"\xff"', 1), (b'{"a": "\xc3\x28"}', 7), (b"\xff\xfe1\x00", 0), (b'"\xed\xa0\x80"', 1)]
)
def test_it_refuses_bytes_that_are_not_utf8_and_says_where(data: bytes, position: int) -> None:
    with pytest.raises(JsonRefused, match=f"not UTF-8 at byte {position}"):
        strict_json.loads(data)


def test_the_deepest_that_is_allowed_is_read_and_one_deeper_is_not() -> None:
    assert strict_json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    with pytest.raises(JsonRefused):
        strict_json.loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1))


@pytest.mark.parametrize("text", ['"[[[[[[[["', r'"\"[[[[[[[["', r'"\\"', '{"[": "{"}'])
def test_brackets_within_strings_are_no_depth(text: str) -> None:
    deep = text.replace("[", "[" * 40)
    assert strict_json.loads(deep) == json.loads(deep)


@pytest.mark.parametrize("number", [MAX_SAFE_INTEGER, -MAX_SAFE_INTEGER, 0])
def test_integers_within_the_safe_range_are_exact(number: int) -> None:
    assert strict_json.loads(str(number)) == number


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert strict_json.loads(r'"\ud83d\ude00"') == "\U0001f600"


@pytest.mark.parametrize("value", [math.nan, math.inf, {"a": [-math.inf]}])
def test_it_never_writes_what_it_would_refuse_to_read(value: Any) -> None:
    for write in (strict_json.dumps, strict_json.dumps_line):
        with pytest.raises(ValueError, match="not JSON compliant"):
            write(value)


def test_equal_data_built_in_the_same_order_gives_equal_bytes() -> None:
    assert strict_json.dumps({"b": 1, "a": "ü"}) == '{\n "b": 1,\n "a": "ü"\n}\n'


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"plan\.json: cannot be read: No such file"):
        strict_json.read(tmp_path / "plan.json")


@pytest.mark.parametrize("error", [UsageError, RunFailed, BundleBroken])
def test_a_file_that_is_refused_is_named_under_the_callers_exit_code(tmp_path: Path, error: type[UsageError]) -> None:
    (tmp_path / "plan.json").write_text('{"a": NaN}')
    with pytest.raises(error) as caught:
        strict_json.read(tmp_path / "plan.json", error=error)
    assert str(caught.value) == f"{tmp_path}/plan.json: NaN is not a JSON number"


def test_a_folder_in_the_place_of_a_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="Is a directory"):
        strict_json.read(tmp_path)
