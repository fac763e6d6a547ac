"""Hashes that a stranger gets too: with sha256sum, with git, and from the RFC's own examples."""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from twotrees.digest import CHUNK_BYTES, canonical_json, git_blob_id, sha256_bytes, sha256_file, sha256_json


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])
def test_a_files_hash_is_what_sha256sum_prints(tmp_path: Path, size: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(index % 251 for index in range(size)))
    told = subprocess.run(["sha256sum", str(path)], capture_output=True, text=True, check=True).stdout.split()[0]
    assert sha256_file(path) == told == sha256_bytes(path.read_bytes())


def test_a_file_that_is_not_there_is_an_error_and_no_hash(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        sha256_file(tmp_path / "nothing")


@pytest.mark.parametrize("data", [b"", b"x", b"a\r\nb\r\n", bytes(range(256)), b"#!/bin/sh\n" * 1000])
def test_a_blob_id_is_what_git_prints(data: bytes) -> None:
    argv = ["git", "hash-object", "--stdin", "--no-filters"]
    told = subprocess.run(argv, input=data, capture_output=True, check=True).stdout.decode().strip()
    assert git_blob_id(data) == told


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": [True, None, "ü"]}, '{"a":[true,null,"ü"],"b":1}'),
        ([333333333.33333329, 1e30, 4.50, 2e-3, 1e-27], "[333333333.3333333,1e+30,4.5,0.002,1e-27]"),
        ({"n": [56.0, -0.0, 1.0, 10, 1e21]}, '{"n":[56,0,1,10,1e+21]}'),
        ('€$\u000f\nA\'B"\\\\"/', '"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"'),
    ],
)
def test_canonical_json_is_as_rfc_8785_shows_it(value: Any, text: str) -> None:
    assert canonical_json(value) == text.encode()


def test_keys_are_sorted_by_their_utf16_code_units_as_the_rfc_demands() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    told = list(json.loads(canonical_json(dict.fromkeys(keys, 0))))
    assert told == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


text = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(text, inner, max_size=4),
    max_leaves=8,
)


@given(st.dictionaries(st.text("abc", max_size=3), json_values))
def test_the_hash_of_data_does_not_depend_on_who_wrote_it_in_which_order(value: dict[str, Any]) -> None:
    turned = dict(reversed(value.items()))
    assert sha256_json(value) == sha256_json(turned)
    assert sha256_json(value) == hashlib.sha256(canonical_json(json.loads(json.dumps(turned, indent=3)))).hexdigest()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 2**53, -(2**53)])
def test_what_readers_disagree_about_has_no_hash(value: Any) -> None:
    with pytest.raises(rfc8785.CanonicalizationError):
        sha256_json({"a": value})
