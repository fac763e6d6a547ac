"""Asked of the interpreter that measures, whichever it is: its build, and the BLAS pools of its NumPy. Standard library
only; prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import sysconfig
from pathlib import Path
from typing import Any


def build() -> dict[str, Any]:
    """Facts of the interpreter itself."""
    config = sysconfig.get_config_vars()
    gil = getattr(sys, "_is_gil_enabled", None)
    jit = getattr(sys, "_jit", None)
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
        "build": " ".join(platform.python_build()),
        "platform": sysconfig.get_platform(),
        "environment": "of its own" if sys.prefix != sys.base_prefix else "the base installation",
        "debug_build": hasattr(sys, "gettotalrefcount"),
        "free_threaded": bool(config.get("Py_GIL_DISABLED")),
        "gil": True if gil is None else bool(gil()),
        "jit": bool(jit.is_enabled()) if jit is not None else False,
        "optimisation": config.get("OPT") or config.get("CFLAGS") or None,
        "configure": config.get("CONFIG_ARGS") or None,
        "hash_seed": os.environ.get("PYTHONHASHSEED") or "random",
    }


def pools() -> list[dict[str, Any]] | str:
    """Native thread pools, after NumPy has loaded its BLAS; the reason as a string when they cannot be listed."""
    try:
        import numpy  # noqa: F401  # its import loads the BLAS library that is then listed
    except Exception as fault:
        return f"numpy cannot be imported: {fault}"
    try:
        import threadpoolctl  # type: ignore[import-untyped]
    except Exception as fault:
        return f"threadpoolctl cannot be imported: {fault}"
    kept = ("user_api", "internal_api", "num_threads", "version", "threading_layer", "architecture")
    return [
        {key: pool[key] for key in kept if pool.get(key) is not None} | {"library": Path(pool["filepath"]).name}
        for pool in threadpoolctl.threadpool_info()
    ]


if __name__ == "__main__":
    print(json.dumps({"build": build(), "blas": pools()}))
