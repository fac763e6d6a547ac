"""Whether `uv.lock` still answers `pyproject.toml`: uv decides, without network; where it cannot, the requirement lists
are compared, and the answer says that only this was done.
"""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from packaging.requirements import InvalidRequirement, Requirement

from twotrees import process
from twotrees.errors import PinsDiffer
from twotrees.pins.environment import normalised
from twotrees.pins.lock import Lock, specifier_text

UV_TIMEOUT_S = 60.0
NEEDS_UPDATE = "needs to be updated"
NOT_INSTALLED = "uv is not installed"
INSTALL_UV = "install it: python -m pip install uv"

# What a user's own settings say about indexes and resolution must not decide whether this lock is in step.
SCRUBBED = (
    *("UV_INDEX", "UV_INDEX_URL", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS", "UV_NO_INDEX", "UV_EXCLUDE_NEWER"),
    *("UV_RESOLUTION", "UV_PRERELEASE", "UV_FROZEN", "UV_LOCKED", "UV_PROJECT", "UV_PYTHON", "VIRTUAL_ENV"),
)

Run = Callable[[Sequence[str], Mapping[str, str]], process.Finished]


@dataclass(frozen=True)
class InStep:
    """The answer.

    Attributes:
        state: `in step`, `out of step`, or `in step by lists`: uv did not decide and the requirement lists agree.
        detail: What was found, or why uv did not decide.
    """

    state: Literal["in step", "out of step", "in step by lists"]
    detail: str


def in_step(root: Path, lock: Lock, *, run: Run | None = None, environ: Mapping[str, str] | None = None) -> InStep:
    """Asks whether the lock is in step with the project beside it.

    Args:
        root: The folder with `pyproject.toml` and `uv.lock`.
        lock: The lock, already read.
        run: Runs a command; the real one by default.
        environ: The environment that uv is started with; this process's by default.

    Raises:
        PinsDiffer: `pyproject.toml` is missing or cannot be read.
    """
    moved = differing(root / "pyproject.toml", lock)
    answer = ask_uv(root, lock, run=run, environ=os.environ if environ is None else environ)
    if answer.ok:
        return InStep("in step", "uv agrees")
    said = (answer.stderr + answer.stdout).decode("utf-8", "replace")
    if moved or NEEDS_UPDATE in said:
        return InStep("out of step", "; ".join(moved) or "uv says that the lock needs to be updated")
    why = NOT_INSTALLED if answer.fault.endswith("is not installed") else f"uv could not decide ({_last_word(said)})"
    return InStep("in step by lists", f"{why}; the lists of requirements agree")


def ask_uv(root: Path, lock: Lock, *, run: Run | None, environ: Mapping[str, str]) -> process.Finished:
    """Runs `uv lock --check` against the lock's own indexes, offline; uv on PATH, else as a module of this Python."""
    execute = run or (lambda argv, env: process.run(argv, env=env, cwd=root, timeout_s=UV_TIMEOUT_S))
    env = {name: value for name, value in environ.items() if name not in SCRUBBED}
    # A folder of wheels (find-links) is written as a path and needs no index to be named.
    urls = [url for url in lock.registries if "://" in url]
    if urls:
        env["UV_DEFAULT_INDEX"] = urls[0]
    if urls[1:]:
        env["UV_INDEX"] = " ".join(urls[1:])
    arguments = ["lock", "--check", "--offline", "--project", str(root), "--python", sys.executable]
    answer = execute(["uv", *arguments], env)
    if not answer.fault.endswith("is not installed"):
        return answer
    module = execute([sys.executable, "-m", "uv", *arguments], env)
    return answer if b"No module named" in module.stderr else module


def _last_word(said: str) -> str:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    hints = [line for line in lines if line.startswith(("hint:", "error:"))]
    return (hints or lines or ["it said nothing"])[-1][:160]


def differing(pyproject: Path, lock: Lock) -> list[str]:
    """Requirements that stand in only one of the two files. Markers other than extras are not compared.

    Raises:
        PinsDiffer: `pyproject.toml` is missing or cannot be read.
    """
    try:
        data = tomllib.loads(pyproject.read_text(encoding="utf-8"))
        wanted = demanded(data)
        python = specifier_text(str(data["project"].get("requires-python", "")))
    except FileNotFoundError:
        raise PinsDiffer("there is no such file", file=pyproject) from None
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PinsDiffer(f"cannot be read: {error}", file=pyproject) from None
    except (KeyError, TypeError, AttributeError, InvalidRequirement) as error:
        raise PinsDiffer(f"its requirements cannot be read: {error}", file=pyproject) from None
    said = [f"pyproject.toml demands {_shown(item)}, the lock does not" for item in sorted(wanted - lock.requirements)]
    said += [f"the lock demands {_shown(item)}, pyproject.toml does not" for item in sorted(lock.requirements - wanted)]
    locked_python = specifier_text(lock.requires_python)
    if python != locked_python:
        said.append(f"pyproject.toml wants Python {python or 'of any version'}, the lock {locked_python or 'any'}")
    return said


def demanded(data: dict[str, Any]) -> frozenset[tuple[str, str, str]]:
    """The requirements of a `pyproject.toml` in the form of :attr:`Lock.requirements`."""
    project = data["project"]
    lists: dict[str, list[Any]] = {"": project.get("dependencies", [])}
    lists |= {normalised(extra): items for extra, items in project.get("optional-dependencies", {}).items()}
    groups = {normalised(name): items for name, items in data.get("dependency-groups", {}).items()}
    for name in groups:
        lists[f"group:{name}"] = list(_expanded(groups, name))
    return frozenset((key, *_parsed(item)) for key, items in lists.items() for item in items)


def _expanded(groups: Mapping[str, list[Any]], name: str, depth: int = 0) -> list[str]:
    """A group with the groups that it includes (PEP 735)."""
    if depth > len(groups):
        raise TypeError(f"the group {name!r} includes itself")
    found: list[str] = []
    for item in groups[name]:
        if isinstance(item, dict):
            found += _expanded(groups, normalised(item["include-group"]), depth + 1)
        else:
            found.append(item)
    return found


def _parsed(text: str) -> tuple[str, str]:
    requirement = Requirement(text)
    return normalised(requirement.name), specifier_text(str(requirement.specifier))


def _shown(item: tuple[str, str, str]) -> str:
    where, name, specifier = item
    kind = f" ({where.replace(':', ' ')})" if where.startswith("group:") else f" (extra {where})" if where else ""
    return f"{name}{specifier}{kind}"
