"""The in-toto Statement v1 that stands beside the manifest, a function of the covered files and nothing else.

In come the manifest and the plan, out come its RFC 8785 bytes. A verifier builds them again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from twotrees import digest
from twotrees.bundle import layout

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "urn:twotrees:predicate:bundle:v1"


def statement_bytes(manifest: bytes, digests: Mapping[str, str], plan: Mapping[str, Any], created: str) -> bytes:
    """The bytes of ``statement.json``.

    Args:
        manifest: Bytes of ``manifest-sha256.txt``, the statement's subject.
        digests: What that manifest says, path to SHA-256.
        plan: ``data/plan.json``, whose shape has been checked.
        created: Moment of sealing, as in ``bag-info.txt``.
    """
    return digest.canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": [{"name": layout.MANIFEST, "digest": {"sha256": digest.sha256_bytes(manifest)}}],
            "predicateType": PREDICATE_TYPE,
            "predicate": {
                "format": layout.FORMAT,
                "study": plan["study"],
                "study_root": plan["study_root"],
                "backend": plan["backend"],
                "created": created,
                "arms": [{key: arm[key] for key in ("name", "commit", "tree")} for arm in plan["arms"]],
                "labels": plan["labels"],
                "replicates": plan["replicates"],
                "attempts": sum(layout.attempt_of_run(path) is not None for path in digests),
                "plan_sha256": digests[layout.PLAN],
                "journal_sha256": digests[layout.JOURNAL],
                "aggregate_sha256": digests[layout.AGGREGATE],
            },
        }
    )
