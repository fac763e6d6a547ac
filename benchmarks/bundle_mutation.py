"""Mutation testing of the bundle room: does dropping any rule of the verifier make a test fail?

In: `tools/twotrees/bundle/` and `tests/bundle/`. Out: how many mutants of each kind the tests kill, and the survivors
by file and line. Each mutant runs in a forked process, against only those tests that execute its line.

    python benchmarks/bundle_mutation.py [--only FILE…] [--kinds rule,condition,…] [--jobs 2] [--seconds N] [--out JSON]
"""

from __future__ import annotations

import argparse
import ast
import copy
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOM = ROOT / "tools" / "twotrees" / "bundle"
TESTS = ROOT / "tests" / "bundle"
PACKAGE = "twotrees.bundle"
# These run the other verifier, or files of hundreds of MiB; they say nothing about a mutant that the rest does not.
LEFT_OUT = ("test_verify_bundle", "300_mib", "test_fuzz", "test_two_first_uses_at_once")
LIMIT_S = 120
KINDS = ("rule", "condition", "operand", "comparison", "constant")
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip


@dataclass(frozen=True)
class Mutant:
    """One change of one place.

    Attributes:
        file: Name of the file in the room.
        line: Where.
        kind: `rule` (a statement that only checks or refuses is dropped), `condition` (an `if` is turned round),
            `operand` (a part of an and/or is dropped), `comparison` (an operator is exchanged), `constant` (a number
            is one more).
        what: The place as it reads.
        source: The whole file, changed.
    """

    file: str
    line: int
    kind: str
    what: str
    source: str


def mutants_of(file: str, kinds: Sequence[str]) -> Iterator[Mutant]:
    """All mutants of one file."""
    tree = ast.parse((ROOM / file).read_text())
    nodes = list(ast.walk(tree))
    for place, node in enumerate(nodes):
        for kind, change in changes_of(node):
            if kind not in kinds:
                continue
            changed = copy.deepcopy(tree)
            target = list(ast.walk(changed))[place]
            change(target, changed)
            source = ast.unparse(ast.fix_missing_locations(changed))
            yield Mutant(file, node.lineno, kind, ast.unparse(node).split("\n")[0][:100], source)


def changes_of(node: ast.AST) -> Iterator[tuple[str, Any]]:
    """The kinds of change that fit a node, each a function of the node and the tree, to be applied to a copy."""
    if isinstance(node, ast.Raise) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield "rule", lambda target, tree: replace(tree, target, ast.Pass())
    if isinstance(node, ast.If | ast.While) and not isinstance(node.test, ast.NamedExpr):
        yield "condition", lambda target, tree: setattr(target, "test", ast.UnaryOp(ast.Not(), target.test))
    if isinstance(node, ast.IfExp):
        yield "condition", lambda target, tree: setattr(target, "test", ast.UnaryOp(ast.Not(), target.test))
    if isinstance(node, ast.BoolOp):
        for index in range(len(node.values)):
            yield "operand", lambda target, tree, index=index: target.values.pop(index)
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = COMPARISONS[type(operator)]
            yield "comparison", lambda target, tree, i=index, other=other: target.ops.__setitem__(i, other())
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield "constant", lambda target, tree: setattr(target, "value", target.value + 1)


def replace(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Puts *new* in the place of the statement *old*."""
    for parent in ast.walk(tree):
        for _, value in ast.iter_fields(parent):
            if isinstance(value, list) and old in value:
                value[value.index(old)] = new


class Lines:
    """A pytest plugin: which lines of the room each test executes, how long it takes, and whether all pass."""

    def __init__(self) -> None:
        self.lines: dict[str, set[tuple[str, int]]] = defaultdict(set)
        self.seconds: dict[str, float] = {}
        self.failed: list[str] = []
        self.current: set[tuple[str, int]] = set()
        self.everywhere: set[tuple[str, int]] = set()
        self.codes: dict[CodeType, str | None] = {}

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Follows only frames of the room."""
        code = frame.f_code
        if code not in self.codes:
            path = Path(code.co_filename)
            self.codes[code] = path.name if path.parent == ROOM else None
        name = self.codes[code]
        if name is None:
            return None
        self.current.add((name, frame.f_lineno))

        def local(frame: FrameType, event: str, argument: Any) -> Any:
            self.current.add((name, frame.f_lineno))
            return local

        return local

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        """Begins a test."""
        self.current = self.lines[nodeid]
        self.seconds[nodeid] = time.monotonic()
        sys.settrace(self.trace)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        """Ends it."""
        sys.settrace(None)
        self.seconds[nodeid] = time.monotonic() - self.seconds[nodeid]

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Notes failures: a mutant can only be killed by a test that passes without it."""
        if report.failed:
            self.failed.append(report.nodeid)


class Swap(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Loads one module of the room from changed source."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant = mutant
        self.name = f"{PACKAGE}.{mutant.file.removesuffix('.py')}"

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        """Answers for that module alone."""
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, ROOM / self.mutant.file, loader=self)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """The default module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Runs the changed source."""
        exec(compile(self.mutant.source, str(ROOM / self.mutant.file), "exec"), module.__dict__)


def run_tests(names: Sequence[str], plugins: Sequence[object]) -> int:
    """Runs tests in this process; gives pytest's exit status."""
    import pytest

    common = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=no", "-W", "ignore"]
    with Path(os.devnull).open("w") as silence, redirect_stdout(silence), redirect_stderr(silence):
        return int(pytest.main([*common, *names], plugins=list(plugins)))


def fork(mutant: Mutant, names: Sequence[str]) -> int:
    """Starts a process that runs *names* against *mutant*; exit 0 means that they all pass."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    signal.alarm(LIMIT_S)
    sys.meta_path.insert(0, Swap(mutant))
    status = 1
    try:
        status = run_tests(names, [])
    finally:
        os._exit(0 if status == 0 else 1)


def learn() -> Lines:
    """Runs all tests once in a process of their own and learns which lines they execute."""
    import pickle
    import tempfile

    with tempfile.NamedTemporaryFile() as file:
        pid = os.fork()
        if not pid:
            lines = Lines()
            chosen = " and ".join(f"not {name}" for name in LEFT_OUT)
            import pytest

            with Path(os.devnull).open("w") as silence, redirect_stdout(silence), redirect_stderr(silence):
                pytest.main(["-q", "-p", "no:cacheprovider", "--tb=no", "-k", chosen, str(TESTS)], plugins=[lines])
            Path(file.name).write_bytes(pickle.dumps((dict(lines.lines), lines.seconds, lines.failed)))
            os._exit(0)
        os.waitpid(pid, 0)
        found = Lines()
        found.lines, found.seconds, found.failed = pickle.loads(Path(file.name).read_bytes())
    return found


def main() -> int:
    """Makes the mutants, runs them, prints the score."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="*", default=[], help="file names in the room")
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests"))
    os.chdir(ROOT)
    for heavy in ("pytest", "hypothesis", "cryptography.hazmat.primitives.asymmetric.rsa", "numpy", "platformdirs"):
        importlib.import_module(heavy)
    known = learn()
    if known.failed:
        print(f"tests fail without any mutant: {known.failed[:5]}")
        return 1
    print(f"{len(known.seconds)} tests pass in {sum(known.seconds.values()):.0f} s under tracing", flush=True)
    by_line: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, lines in known.lines.items():
        for line in lines:
            by_line[line].append(name)
    files = options.only or sorted(path.name for path in ROOM.glob("*.py") if path.name != "__init__.py")
    todo = [mutant for file in files for mutant in mutants_of(file, options.kinds.split(","))]
    random.Random(0).shuffle(todo)
    print(f"{len(todo)} mutants of {len(files)} files", flush=True)
    results = drive(todo, by_line, known.seconds, options.jobs, time.monotonic() + options.seconds)
    show(results)
    if options.out:
        rows = [{"file": m.file, "line": m.line, "kind": m.kind, "what": m.what, "fate": fate} for m, fate in results]
        options.out.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def drive(
    todo: list[Mutant], by_line: dict[tuple[str, int], list[str]], seconds: dict[str, float], jobs: int, until: float
) -> list[tuple[Mutant, str]]:
    """Runs mutants, several at a time; a mutant whose line no test executes has survived without running."""
    results: list[tuple[Mutant, str]] = []
    running: dict[int, Mutant] = {}
    waiting = list(todo)
    while waiting or running:
        while waiting and len(running) < jobs and time.monotonic() < until:
            mutant = waiting.pop()
            names = sorted(by_line.get((mutant.file, mutant.line), []), key=seconds.__getitem__)
            if not names:
                results.append((mutant, "no test"))
                continue
            running[fork(mutant, names)] = mutant
        if not running:
            break
        pid, status = os.wait()
        mutant = running.pop(pid)
        results.append((mutant, "survived" if status == 0 else "killed"))
        if results[-1][1] != "killed":
            print(f"{results[-1][1]}: {mutant.file}:{mutant.line} {mutant.kind}: {mutant.what}", flush=True)
    return results


def show(results: list[tuple[Mutant, str]]) -> None:
    """Prints the score of each kind."""
    for kind in KINDS:
        fates = [fate for mutant, fate in results if mutant.kind == kind]
        if fates:
            killed = fates.count("killed")
            print(f"{kind}: {killed} of {len(fates)} killed ({100 * killed / len(fates):.1f} %)")
    for mutant, fate in sorted(results, key=lambda one: (one[0].file, one[0].line)):
        if fate == "no test":
            print(f"no test: {mutant.file}:{mutant.line} {mutant.kind}: {mutant.what}")


if __name__ == "__main__":
    sys.exit(main())
