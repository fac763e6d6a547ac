"""The Python that measures: version, build, BLAS pools; and the uv that made its environment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twotrees import strict_json
from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources

PROBE = Path(__file__).resolve().parents[1] / "probe_python.py"
# Importing NumPy from a cold disk can take this long.
PROBE_TIMEOUT_S = 60.0

BUILD_FACTS = (
    *("version", "implementation", "compiler", "build", "platform", "environment"),
    *("debug_build", "free_threaded", "gil", "jit", "optimisation", "configure", "hash_seed"),
)


def collect(sources: Sources) -> Facts:
    """Asks the interpreter in a process of its own, so that nothing is loaded into this one."""
    answer = ask(sources)
    uv = sources.answer("uv", "--version")
    if isinstance(answer, Unknown):
        return {**dict.fromkeys((*BUILD_FACTS, "blas_pools"), answer), "uv": uv}
    build, pools = answer["build"], answer["blas"]
    facts = {
        name: Unknown(f"the interpreter does not tell its {name}") if build.get(name) is None else build[name]
        for name in BUILD_FACTS
    }
    return {**facts, "blas_pools": Unknown(pools) if isinstance(pools, str) else pools, "uv": uv}


def ask(sources: Sources) -> dict[str, Any] | Unknown:
    """The probe's answer."""
    # Isolated, as a measured run is: no PYTHONPATH, no site-packages of the user's own.
    text = sources.answer(str(sources.interpreter), "-I", str(PROBE), timeout_s=PROBE_TIMEOUT_S)
    if isinstance(text, Unknown):
        return text
    try:
        answer = strict_json.loads(text.splitlines()[-1])
        return {"build": dict(answer["build"]), "blas": answer["blas"]}
    except (strict_json.JsonRefused, KeyError, TypeError, ValueError):
        return Unknown(f"the interpreter answered {text[:60]!r}")


FACET = Facet(
    "python",
    collect,
    {
        **dict.fromkeys((*BUILD_FACTS, "blas_pools"), Kind.SPEED),
        **dict.fromkeys(("environment", "configure", "hash_seed", "uv"), Kind.LABEL),
    },
)
