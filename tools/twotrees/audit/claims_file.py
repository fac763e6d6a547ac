"""Claims as YAML: conf/claims/*.yaml read into a `ClaimSet`, and a `ClaimSet` written back.

Every scalar is read as the text it is written as, so that `19.230` keeps its last zero and never passes through a
binary float. Each fault is one UsageError naming file and key.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NoReturn

import yaml

from twotrees.audit.claims import DEFAULT_TOLERANCE, QUANTITIES, Claim, ClaimSet, Reading, Reference, Relation
from twotrees.audit.printed import printed
from twotrees.audit.relations import BASES, KINDS
from twotrees.audit.units import unit_named
from twotrees.errors import UsageError
from twotrees.study.compose import toolkit_root

SCHEMA = "twotrees-claims-v1"
MAX_BYTES = 32 * 2**20
MAX_DEPTH = 6

_TOP = ("schema", "title", "source", "commits", "scale", "host", "claims", "relations", "references")
_CLAIM = (
    "id",
    "text",
    "unit",
    "line",
    "quantity",
    "metric",
    "arm",
    "backend",
    "statistic",
    "n",
    "whole",
    "exact",
    "about",
    "tolerance_pct",
)
_RELATION = ("id", "kind", "of", "base", "either", "result", "order", "n", "envs", "apart", "note")
_READING = ("kind", "of", "base")
_REFERENCE = ("line", "text", "what")
_ORDERS = ("largest", "smallest", "descending", "ascending")

# Fast where libyaml is there; both give every scalar as text.
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)


def claims_folder() -> Path:
    """Where this toolkit keeps its claims files."""
    return toolkit_root() / "conf" / "claims"


def claims_named(name: str) -> Path:
    """The file of `claims=NAME`: a path as given, or a file of the claims folder without its ending.

    Raises:
        UsageError: there is none; names the nearest.
    """
    direct = Path(name)
    if direct.suffix in (".yaml", ".yml") and direct.is_file():
        return direct
    known = {path.stem: path for path in sorted(claims_folder().glob("*.yaml"))}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known) or 'none'}"
    raise UsageError(f"no claims file {name!r}", key="claims", mend=hint)


def read_claims(path: Path) -> ClaimSet:
    """Reads and checks one claims file.

    Raises:
        UsageError: names the file, the key (claim or relation by its id or place) and what is wrong.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise UsageError(f"cannot be read: {fault.strerror or fault}", file=path) from None
    return parse_claims(data, path)


def parse_claims(data: bytes, file: object) -> ClaimSet:
    """Reads claims from YAML bytes; *file* is only for messages.

    Raises:
        UsageError: see :func:`read_claims`.
    """
    reader = _Reader(file)
    if len(data) > MAX_BYTES:
        reader.refuse("", f"larger than {MAX_BYTES // 2**20} MiB")
    try:
        node = yaml.compose(data.decode("utf-8"), Loader=_Loader)
    except UnicodeDecodeError as fault:
        reader.refuse("", f"not UTF-8 at byte {fault.start}")
    except yaml.YAMLError as fault:
        mark = getattr(fault, "problem_mark", None)
        what = getattr(fault, "problem", None) or "malformed"
        reader.refuse("" if mark is None else f"line {mark.line + 1}", f"not YAML: {what}")
    return reader.claim_set(_plain(node, reader, 0, set()))


def _plain(node: Any, reader: _Reader, depth: int, seen: set[int]) -> Any:
    """A YAML node as dict, list or str; aliases and deep nesting have no use in claims and are refused."""
    if node is None:
        return {}
    where = f"line {node.start_mark.line + 1}"
    if depth > MAX_DEPTH:
        reader.refuse(where, f"nested deeper than {MAX_DEPTH}")
    if isinstance(node, yaml.ScalarNode):
        return node.value
    if id(node) in seen:
        reader.refuse(where, "aliases are not allowed")
    seen.add(id(node))
    if isinstance(node, yaml.SequenceNode):
        return [_plain(item, reader, depth + 1, seen) for item in node.value]
    result: dict[str, Any] = {}
    for key, value in node.value:
        name = key.value if isinstance(key, yaml.ScalarNode) else reader.refuse(where, "a key is not a word")
        if name in result:
            reader.refuse(f"line {key.start_mark.line + 1}", f"duplicate key {name!r}")
        result[name] = _plain(value, reader, depth + 1, seen)
    return result


class _Reader:
    """Turns plain data into claims; remembers the file for messages."""

    def __init__(self, file: object) -> None:
        self.file = file

    def refuse(self, key: str, what: str, mend: str | None = None) -> NoReturn:
        raise UsageError(what, file=self.file, key=key or None, mend=mend)

    def claim_set(self, data: Any) -> ClaimSet:
        top = self.mapping(data, "", _TOP)
        if top.get("schema") != SCHEMA:
            self.refuse("schema", f"is {top.get('schema')!r}", f"expected {SCHEMA!r}")
        claims = tuple(self.claim(item, where) for item, where in self.items(top, "claims"))
        if not claims:
            self.refuse("claims", "there are none")
        known = {claim.id: claim for claim in claims}
        if len(known) < len(claims):
            self.refuse("claims", f"id {_first_twice(claim.id for claim in claims)!r} is there twice")
        relations = tuple(self.relation(item, where, known) for item, where in self.items(top, "relations"))
        if len({relation.id for relation in relations}) < len(relations):
            self.refuse("relations", f"id {_first_twice(one.id for one in relations)!r} is there twice")
        return ClaimSet(
            claims=claims,
            relations=relations,
            references=tuple(self.reference(item, where) for item, where in self.items(top, "references")),
            title=self.text(top, "title", ""),
            source=self.words(top, "source"),
            commits=self.words(top, "commits"),
            scale=self.words(top, "scale"),
            host=self.words(top, "host"),
        )

    def claim(self, item: Any, where: str) -> Claim:
        data = self.mapping(item, where, _CLAIM)
        name = self.needed(data, "id", where)
        where = f"claims.{name}"
        text = self.needed(data, "text", where)
        unit = unit_named(self.text(data, "unit", where))
        if unit is None:
            self.refuse(f"{where}.unit", f"unknown unit {data['unit']!r}")
        quantity = data.get("quantity", "value")
        if quantity not in QUANTITIES:
            self.refuse(f"{where}.quantity", f"unknown quantity {quantity!r}", _nearest(str(quantity), QUANTITIES))
        number = printed(text)
        if number is None and quantity not in ("unchanged", "statement"):
            self.refuse(
                f"{where}.text", f"{text!r} is not a number as printed", "one number or range, digits as printed"
            )
        return Claim(
            id=name,
            text=text,
            unit=unit,
            printed=None if quantity in ("unchanged", "statement") else number,
            line=self.count(data, "line", where),
            quantity=quantity,
            metric=self.text(data, "metric", where),
            arm=self.text(data, "arm", where),
            backend=self.text(data, "backend", where),
            statistic=self.text(data, "statistic", where),
            n=self.count(data, "n", where),
            whole=self.text(data, "whole", where),
            exact=self.flag(data, "exact", where),
            about=self.flag(data, "about", where),
            tolerance=self.decimal(data, "tolerance_pct", where, DEFAULT_TOLERANCE),
        )

    def relation(self, item: Any, where: str, known: Mapping[str, Claim]) -> Relation:
        data = self.mapping(item, where, _RELATION)
        name = self.needed(data, "id", where)
        where = f"relations.{name}"
        if ("kind" in data) == ("either" in data):
            self.refuse(where, "needs `kind` and `of`, or `either` with several of them, not both")
        raw = (
            self.sequence(data, "either", where) if "either" in data else [{k: data[k] for k in _READING if k in data}]
        )
        readings = tuple(self.reading(one, where, known) for one in raw)
        result = self.text(data, "result", where)
        if result and result not in known:
            self.refuse(f"{where}.result", f"no claim {result!r}", _nearest(result, known))
        if not result and any(one.kind not in ("rank", "closure", "common_whole") for one in readings):
            self.refuse(f"{where}.result", "is missing", "name the claim that prints the outcome")
        order = self.text(data, "order", where)
        if any(one.kind == "rank" for one in readings) and order not in _ORDERS:
            self.refuse(f"{where}.order", f"is {order!r}", f"one of {', '.join(_ORDERS)}")
        n = self.count(data, "n", where)
        if any(one.kind == "median_of_sums" for one in readings) and n < 1:
            self.refuse(f"{where}.n", "is missing", "the number of runs")
        relation = Relation(
            id=name,
            readings=readings,
            result=result,
            order=order,
            n=n,
            envs=self.count(data, "envs", where) or 1,
            apart=self.text(data, "apart", where),
            note=self.text(data, "note", where),
        )
        self.units_fit(relation, where, known)
        return relation

    def reading(self, item: Any, where: str, known: Mapping[str, Claim]) -> Reading:
        data = self.mapping(item, where, _READING)
        kind = self.needed(data, "kind", where)
        if kind not in KINDS:
            self.refuse(f"{where}.kind", f"unknown relation {kind!r}", _nearest(kind, KINDS))
        of = tuple(self.sequence(data, "of", where))
        for one in of:
            if one not in known:
                self.refuse(f"{where}.of", f"no claim {one!r}", _nearest(str(one), known))
            if not known[one].numeric:
                self.refuse(f"{where}.of", f"claim {one!r} is words, not a number")
        least, most = KINDS[kind].least, KINDS[kind].most
        if len(of) < least or (most and len(of) > most):
            self.refuse(f"{where}.of", f"{kind} takes {least if least == most else f'at least {least}'}, not {len(of)}")
        base = self.text(data, "base", where) or "before"
        if base not in BASES:
            self.refuse(f"{where}.base", f"is {base!r}", "`before` or `after`")
        return Reading(kind, of, base)

    def units_fit(self, relation: Relation, where: str, known: Mapping[str, Claim]) -> None:
        """Refuses sums of milliseconds and per cent, and results in a unit that the formula cannot give."""
        for reading in relation.readings:
            dimensions = [known[one].unit.dimension for one in reading.of]
            if reading.kind not in ("product", "common_whole") and len(set(dimensions)) > 1:
                self.refuse(f"{where}.of", f"{reading.kind} of unlike units: {', '.join(sorted(set(dimensions)))}")
            if reading.kind == "rate" and dimensions != ["time"]:
                self.refuse(f"{where}.of", f"rate takes a time, not {dimensions[0]}")
            gives = KINDS[reading.kind].gives
            if not relation.result or gives in ("", "none") or reading.kind == "product":
                continue
            wanted = dimensions[0] if gives == "same" else gives
            found = known[relation.result].unit.dimension
            alike = {wanted, "points"} if wanted == "percent" else {wanted, "none"} if wanted == "factor" else {wanted}
            if found not in alike and known[relation.result].quantity != "statement":
                self.refuse(f"{where}.result", f"{reading.kind} gives {wanted}, the claim is {found}")

    def reference(self, item: Any, where: str) -> Reference:
        data = self.mapping(item, where, _REFERENCE)
        return Reference(
            self.count(data, "line", where), self.needed(data, "text", where), self.text(data, "what", where)
        )

    def items(self, top: Mapping[str, Any], key: str) -> Iterator[tuple[Any, str]]:
        for place, item in enumerate(self.sequence(top, key, ""), start=1):
            yield item, f"{key}[{place}]"

    def mapping(self, data: Any, where: str, allowed: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(data, dict):
            self.refuse(where, "is not a mapping of keys to values")
        for key in data:
            if key not in allowed:
                self.refuse(f"{where}.{key}".lstrip("."), f"unknown key {key!r}", _nearest(key, allowed))
        return data

    def sequence(self, data: Mapping[str, Any], key: str, where: str) -> list[Any]:
        value = data.get(key, [])
        if not isinstance(value, list):
            self.refuse(f"{where}.{key}".lstrip("."), "is not a list")
        return value

    def words(self, top: Mapping[str, Any], key: str) -> Mapping[str, str]:
        value = top.get(key, {})
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            self.refuse(key, "is not a mapping of names to values")
        return value

    def text(self, data: Mapping[str, Any], key: str, where: str) -> str:
        value = data.get(key, "")
        if not isinstance(value, str):
            self.refuse(f"{where}.{key}".lstrip("."), "is not text")
        return value

    def needed(self, data: Mapping[str, Any], key: str, where: str) -> str:
        return self.text(data, key, where) or self.refuse(f"{where}.{key}", "is missing")

    def count(self, data: Mapping[str, Any], key: str, where: str) -> int:
        text = self.text(data, key, where)
        if text and not (text.isascii() and text.isdigit() and len(text) < 12):
            self.refuse(f"{where}.{key}", f"{text!r} is not a whole number")
        return int(text or 0)

    def flag(self, data: Mapping[str, Any], key: str, where: str) -> bool:
        text = self.text(data, key, where)
        if text not in ("", "true", "false"):
            self.refuse(f"{where}.{key}", f"{text!r} is neither true nor false")
        return text == "true"

    def decimal(self, data: Mapping[str, Any], key: str, where: str, otherwise: Fraction) -> Fraction:
        text = self.text(data, key, where)
        number = printed(text) if text else None
        if text and (number is None or number.last is not None or number.first.value < 0):
            self.refuse(f"{where}.{key}", f"{text!r} is not a positive number")
        return number.first.value if number else otherwise


def _nearest(name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str | None:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {near[0]!r}?" if near else None


def _first_twice(names: Iterator[str]) -> str:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return ""


# ------------------------------------------------------------------------------------------------------------- writing


def claims_yaml(claims: ClaimSet) -> str:
    """The YAML of *claims*, one claim or relation a line; :func:`parse_claims` reads it back equal."""
    lines = [f"schema: {SCHEMA}"]
    if claims.title:
        lines.append(f"title: {_quoted(claims.title)}")
    for key in ("source", "commits", "scale", "host"):
        if words := getattr(claims, key):
            lines.append(f"{key}: {_flow(words)}")
    sections: tuple[tuple[str, list[dict[str, Any]]], ...] = (
        ("claims", [_claim_data(claim) for claim in claims.claims]),
        ("relations", [_relation_data(relation) for relation in claims.relations]),
        ("references", [_reference_data(one) for one in claims.references]),
    )
    for key, rows in sections:
        if rows:
            lines += [f"{key}:", *(f"  - {_flow(row)}" for row in rows)]
    return "\n".join(lines) + "\n"


def _claim_data(claim: Claim) -> dict[str, Any]:
    data: dict[str, Any] = {"id": claim.id, "line": claim.line, "text": claim.text, "unit": claim.unit.name}
    for key in ("quantity", "metric", "arm", "backend", "statistic", "n", "whole", "exact", "about"):
        data[key] = getattr(claim, key)
    if data["quantity"] == "value":
        del data["quantity"]
    if claim.tolerance != DEFAULT_TOLERANCE:
        data["tolerance_pct"] = f"{float(claim.tolerance):g}"
    return data


def _relation_data(relation: Relation) -> dict[str, Any]:
    readings = [
        {"kind": one.kind, "of": list(one.of)} | ({} if one.base == "before" else {"base": one.base})
        for one in relation.readings
    ]
    data: dict[str, Any] = {"id": relation.id}
    data |= readings[0] if len(readings) == 1 else {"either": readings}
    for key in ("result", "order", "n", "apart", "note"):
        data[key] = getattr(relation, key)
    return data | ({} if relation.envs == 1 else {"envs": relation.envs})


def _reference_data(reference: Reference) -> dict[str, Any]:
    return {"line": reference.line, "text": reference.text, "what": reference.what}


def _flow(value: Any) -> str:
    """Data in YAML's one-line form; what is empty, zero or false is the default and left out."""
    if isinstance(value, Mapping):
        kept = ((key, item) for key, item in value.items() if item not in ("", 0, False))
        return "{" + ", ".join(f"{_key(key)}: {_flow(item)}" for key, item in kept) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _quoted(value)


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").isalnum() else _quoted(name)


def _quoted(text: str) -> str:
    """A double-quoted YAML scalar; whatever YAML calls unprintable is escaped."""
    named: dict[str, str] = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t"}
    return '"' + "".join(named.get(char) or (char if char.isprintable() else _escaped(char)) for char in text) + '"'


def _escaped(char: str) -> str:
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"
