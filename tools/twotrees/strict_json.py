"""The one place that reads and writes JSON.

Stricter than the standard reader where two readers could disagree about one file: duplicate keys, NaN and the
infinities, numbers that overflow to them, integers from 2^53 on, lone surrogates and deep nesting are all refused.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NoReturn

from twotrees.errors import TwotreesError, UsageError

MAX_SAFE_INTEGER = 2**53 - 1  # the largest that RFC 8785 can write; 2^53 itself is also what 2^53 + 1 is read as
MAX_DEPTH = 64
MAX_DIGITS = 40


class JsonRefused(ValueError):
    """The text is not JSON that every reader understands alike; the message says why."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise JsonRefused(f"duplicate key {key!r}")
        result[key] = value
    return result


def _constant(name: str) -> NoReturn:
    raise JsonRefused(f"{name} is not a JSON number")


def _integer(text: str) -> int:
    if len(text) > MAX_DIGITS or abs(int(text)) > MAX_SAFE_INTEGER:
        raise JsonRefused(f"integer beyond 2^53: {text[:24]}")
    return int(text)


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise JsonRefused(f"number overflows: {text[:24]}")
    return value


def _refuse_depth(text: str) -> None:
    """Counts brackets outside strings before parsing: the standard decoder recurses, so depth must be known first."""
    depth = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise JsonRefused(f"nested deeper than {MAX_DEPTH}")
        elif char in "]}":
            depth -= 1


def _refuse_surrogates(value: Any) -> None:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise JsonRefused("lone surrogate in a string") from None
    elif isinstance(value, dict):
        for key, item in value.items():
            _refuse_surrogates(key)
            _refuse_surrogates(item)
    elif isinstance(value, list):
        for item in value:
            _refuse_surrogates(item)


def loads(data: bytes | str) -> Any:
    """Reads one JSON text.

    Args:
        data: UTF-8 bytes without a byte order mark, or text.

    Returns:
        dict, list, str, int, float, bool or None.

    Raises:
        JsonRefused: not UTF-8, not JSON, or JSON that readers disagree about.
    """
    try:
        text = data.decode("utf-8", errors="strict") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise JsonRefused(f"not UTF-8 at byte {error.start}") from None
    _refuse_depth(text)
    try:
        value = json.loads(
            text, object_pairs_hook=_object, parse_constant=_constant, parse_int=_integer, parse_float=_real
        )
    except json.JSONDecodeError as error:
        raise JsonRefused(f"not JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    _refuse_surrogates(value)
    return value


def read(path: Path, *, error: type[TwotreesError] = UsageError) -> Any:
    """Reads a JSON file, turning every fault into one *error* that names the file.

    Raises:
        error: the file is missing, unreadable or refused by :func:`loads`.
    """
    try:
        return loads(path.read_bytes())
    except OSError as fault:
        raise error(f"cannot be read: {fault.strerror or fault}", file=path) from None
    except JsonRefused as fault:
        raise error(str(fault), file=path) from None


def dumps(value: Any) -> str:
    """Writes *value* as the JSON of a file that people read: sorted nothing, indented, ASCII off, one final newline.

    Key order is the caller's, so equal data built the same way gives equal bytes.

    Raises:
        ValueError: NaN or an infinity.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def dumps_line(value: Any) -> str:
    """Writes *value* on one line without its newline, for journals and streams.

    Raises:
        ValueError: NaN or an infinity.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
