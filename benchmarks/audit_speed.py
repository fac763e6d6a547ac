"""How long an audit takes: 10,000 claims, the reference claims, and 5 MB of each hostile kind of post.

    python benchmarks/audit_speed.py [--size BYTES] [--only KIND]

Prints seconds of CPU time and peak memory; tracing memory slows the hostile part down, --fast leaves it out.
"""

from __future__ import annotations

import argparse
import sys
import time
import tracemalloc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from audit.hostile import KINDS  # noqa: E402

from twotrees.audit import check, claims_yaml, parse_claims, read_post  # noqa: E402
from twotrees.audit.claims import Claim, ClaimSet, Reading, Relation  # noqa: E402
from twotrees.audit.printed import printed  # noqa: E402
from twotrees.audit.units import FACTOR, MS, PERCENT  # noqa: E402


def ten_thousand() -> ClaimSet:
    """2,000 rows of five claims (before, after, saved, per cent, factor) and their 6,000 relations."""
    claims: list[Claim] = []
    relations: list[Relation] = []
    for i in range(2000):
        before, after = 20_000 + 7 * i, 9_000 + 3 * i
        saved, percent, factor = before - after, 100 * (before - after) / before, before / after
        texts = (
            f"{before / 1000:.3f}",
            f"{after / 1000:.3f}",
            f"{saved / 1000:.3f}",
            f"{percent:.1f}",
            f"{factor:.2f}",
        )
        units = (MS, MS, MS, PERCENT, FACTOR)
        for name, text, unit in zip("bascx"[:5], texts, units, strict=True):
            claims.append(Claim(f"r{i}.{name}", text, unit, printed(text), line=i + 1))
        pair = (f"r{i}.b", f"r{i}.a")
        relations += [
            Relation(f"r{i}.saved", (Reading("difference", pair),), f"r{i}.s"),
            Relation(f"r{i}.percent", (Reading("reduction_pct", pair),), f"r{i}.c"),
            Relation(f"r{i}.factor", (Reading("ratio", pair),), f"r{i}.x"),
        ]
    return ClaimSet(tuple(claims), tuple(relations))


def seconds(what: str, work: object) -> None:
    start = time.process_time()
    found = work()  # type: ignore[operator]
    print(f"{time.process_time() - start:8.3f} s  {what}: {found}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=5 * 2**20)
    parser.add_argument("--only", choices=sorted(KINDS))
    parser.add_argument("--fast", action="store_true", help="do not trace memory")
    options = parser.parse_args()
    if options.only is None:
        claims = ten_thousand()
        text = claims_yaml(claims).encode()
        seconds("10,000 claims, 6,000 relations checked", lambda: f"{len(check(claims))} findings")
        seconds("the same from YAML", lambda: f"{len(check(parse_claims(text, 'generated')))} findings")
    for kind, make in KINDS.items():
        if options.only not in (None, kind):
            continue
        data = make(options.size).encode()
        if not options.fast:
            tracemalloc.start()
        start = time.process_time()
        reading = read_post(data, kind)
        findings = check(reading.claims)
        took = time.process_time() - start
        peak = 0.0
        if not options.fast:
            peak = tracemalloc.get_traced_memory()[1] / 2**20
            tracemalloc.stop()
        print(
            f"{took:8.3f} s  {peak:7.1f} MiB  {kind}: {len(reading.claims.claims)} numbers, {len(findings)} findings",
            flush=True,
        )


if __name__ == "__main__":
    main()
