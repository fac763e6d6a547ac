"""What `audit` was asked about: a post, a claims file, a bundle, or claims against a bundle.

A bundle is verified first and its numbers are recomputed twice, by the pinned file and by the package; only then are
claims held against it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from twotrees import strict_json
from twotrees.audit import AuditResult, audit_bundle, audit_claims, audit_post, claims_named, read_claims, read_post
from twotrees.audit.claims import ClaimSet
from twotrees.bundle.trust import Trust
from twotrees.bundle.verify import WORD_BROKEN, verify
from twotrees.errors import BundleBroken, UsageError
from twotrees.stats import aggregate, differences


@dataclass(frozen=True)
class Asked:
    """The words after `audit`, sorted out.

    Attributes:
        bundles: Folders that look like bundles.
        posts: Texts.
        claims: Claims files.
    """

    bundles: tuple[Path, ...]
    posts: tuple[Path, ...]
    claims: tuple[Path, ...]


def asked(words: Sequence[str]) -> Asked:
    """Sorts out what each word names.

    Raises:
        UsageError: a word names nothing.
    """
    bundles, posts, claims = [], [], []
    for word in words:
        if word.startswith("claims="):
            claims.append(claims_named(word.removeprefix("claims=")))
            continue
        path = Path(word)
        if path.is_dir():
            bundles.append(path)
        elif path.suffix in (".yaml", ".yml") and path.is_file():
            claims.append(path)
        elif path.is_file():
            posts.append(path)
        else:
            raise UsageError("no such bundle, post or claims", file=word, mend="name a folder, a text, or claims=NAME")
    return Asked(tuple(bundles), tuple(posts), tuple(claims))


def results(words: Sequence[str], say: Callable[[str], None]) -> list[AuditResult]:
    """Audits all that was asked for: texts by themselves, and each of their claims against each bundle.

    A bundle alone is held against its study's own claims file, where there is one.

    Args:
        words: What was asked about.
        say: Told, in one line, of each bundle whose numbers were recomputed.

    Raises:
        UsageError: nothing to be read.
        BundleBroken: a bundle is not intact, or its numbers are not those of its runs.
    """
    what = asked(words)
    found = [*(audit_post(path) for path in what.posts), *(audit_claims(path) for path in what.claims)]
    claim_sets: list[ClaimSet] = [read_post(path.read_bytes(), str(path)).claims for path in what.posts]
    claim_sets += [read_claims(path) for path in what.claims]
    for bundle in what.bundles:
        recomputed(bundle)
        say(f"{bundle.name}: intact; every number recomputed from its runs, by the pinned file and by the package")
        plan = strict_json.read(bundle / "data" / "plan.json", error=BundleBroken)
        for claims in claim_sets or own_claims(plan["study"]):
            found.append(
                audit_bundle(
                    strict_json.read(bundle / "data" / "aggregate.json", error=BundleBroken),
                    plan,
                    claims,
                    source=bundle.name,
                    fingerprint=strict_json.read(bundle / "data" / "host" / "before.json", error=BundleBroken),
                )
            )
    return found


def own_claims(study: str) -> list[ClaimSet]:
    """The claims file that carries the study's name, if there is one."""
    try:
        return [read_claims(claims_named(study))]
    except UsageError:
        return []


def recomputed(bundle: Path) -> None:
    """Verifies a bundle, which recomputes its numbers with the pinned file, and recomputes them with the package.

    Who signed it is not asked here: an audit is about numbers.

    Raises:
        BundleBroken: not intact, or one of the two computes another number.
    """
    verdict = verify(bundle, Trust())
    if verdict.word == WORD_BROKEN:
        raise BundleBroken(verdict.what or "broken", file=bundle.name, key=verdict.file)
    claimed = strict_json.read(bundle / "data" / "aggregate.json", error=BundleBroken)
    for difference in differences(claimed, aggregate(bundle / "data", summation=claimed["twotrees"]["summation"])):
        raise BundleBroken(f"the package computes another number: {difference}", file=bundle.name, key="aggregate.json")
