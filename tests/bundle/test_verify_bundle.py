"""`tools/verify_bundle.py`, the one file that a reviewer reads, gives the verdicts of the package."""

from __future__ import annotations

import ast
import importlib.util
import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest
from synthetic.campaign import AGGREGATOR, Incident
from synthetic.corpus import KEY, PRINCIPAL, SECOND_KEY, Bench, Case
from synthetic.forge import TestKey, ecdsa_key, hardware_key, make_bundle, rsa_key, sign_bundle
from synthetic.hostile import CASES

from twotrees.bundle.seal import write_tar
from twotrees.bundle.trust import Trust
from twotrees.bundle.verify import verify

SCRIPT = AGGREGATOR.with_name("verify_bundle.py")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("verify_bundle", SCRIPT)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def check(script: ModuleType, bench: Bench, capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str]]:
    def checked(source: Path | None = None) -> tuple[int, str]:
        argv = [str(source or bench.bundle), "-f", str(bench.allowed)]
        for flag, name in (("-r", "revoked"), ("-I", "identity"), ("-n", "require_signers")):
            if name in bench.options:
                argv += [flag, str(bench.options[name])]
        capsys.readouterr()
        return script.main(argv), capsys.readouterr().out

    return checked


def test_it_is_one_file_under_400_lines_with_nothing_but_the_standard_library() -> None:
    source = SCRIPT.read_text()
    assert len(source.splitlines()) < 400
    imported = [
        name.name.partition(".")[0] if isinstance(node, ast.Import) else str(node.module).partition(".")[0]
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in node.names
    ]
    assert set(imported) - sys.stdlib_module_names == {"aggregate_update_state"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_it_refuses_what_the_package_refuses(case: Case, bench: Bench, check: Callable[..., tuple[int, str]]) -> None:
    source = case.change(bench) or bench.bundle
    if not source.exists():  # the case renamed the folder
        (source,) = bench.bundle.parent.iterdir()
    exit_code, message = check(source)
    assert exit_code == case.exit, message
    assert "Traceback" not in message


def test_it_trusts_what_the_package_trusts(bench: Bench, check: Callable[..., tuple[int, str]]) -> None:
    assert check() == (0, "trusted\n")
    with (bench.folder / "a.tar").open("wb") as stream:
        write_tar(bench.bundle, stream)
    assert check(bench.folder / "a.tar") == (0, "trusted\n")
    bench.allowed.write_text(SECOND_KEY.allowed(PRINCIPAL))
    assert check() == (6, f"intact, unknown signer {KEY.fingerprint}\n")


def test_it_says_of_another_archive_that_it_is_to_be_unpacked(
    bench: Bench, check: Callable[..., tuple[int, str]]
) -> None:
    subprocess.run(["tar", "-cf", bench.folder / "a.tar", bench.bundle.name], cwd=bench.bundle.parent, check=True)
    assert check(bench.folder / "a.tar")[0] == 5
    assert "unpack it" in check(bench.folder / "a.tar")[1]


KEYS: dict[str, Callable[[], TestKey]] = {
    "ECDSA P-256": ecdsa_key,
    "ECDSA P-521": lambda: ecdsa_key(521),
    "RSA": rsa_key,
    "FIDO Ed25519": lambda: hardware_key("ed25519"),
    "FIDO ECDSA": lambda: hardware_key("ecdsa"),
}


@pytest.mark.parametrize("kind", KEYS)
def test_it_takes_every_kind_of_key(kind: str, bench: Bench, check: Callable[..., tuple[int, str]]) -> None:
    key = KEYS[kind]()
    bench.unsign()
    sign_bundle(bench.bundle, key)
    bench.allowed.write_text(key.allowed(PRINCIPAL))
    assert check() == (0, "trusted\n")


CAMPAIGNS: dict[str, dict[str, object]] = {
    "an environment for each arm": {"per_arm": True},
    "three arms": {"arms": ("before", "after", "next")},
    "lockstep": {"protocol": "lockstep", "steps": 16},
    "lockstep rounds tried again": {
        "protocol": "lockstep",
        "steps": 16,
        "incidents": [Incident(4), Incident(5, "interrupted", "killed")],
    },
    "failures and a resume": {"incidents": [Incident(3), Incident(4, "interrupted", "killed"), Incident(4, "timeout")]},
    "labels and an original": {"labels": ["Läufe mit Abweichung"], "replicates": "0" * 64},
}


@pytest.mark.parametrize("what", CAMPAIGNS)
def test_it_takes_every_kind_of_campaign(what: str, bench: Bench, check: Callable[..., tuple[int, str]]) -> None:
    bundle = make_bundle(bench.folder / "other", KEY, **CAMPAIGNS[what])
    assert verify(bundle, Trust(bench.allowed)).word == "trusted"
    assert check(bundle) == (0, "trusted\n")


def test_it_refuses_to_run_without_the_aggregator_beside_it(bench: Bench, tmp_path: Path) -> None:
    alone = tmp_path / "alone" / "verify_bundle.py"
    alone.parent.mkdir()
    alone.write_bytes(SCRIPT.read_bytes())
    done = subprocess.run([sys.executable, "-I", "-S", alone, bench.bundle], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "verify_bundle.py: aggregate_update_state.py must lie beside it\n"


def test_it_writes_nothing_beside_itself_or_the_bundle(bench: Bench, tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    for script in (SCRIPT, AGGREGATOR):
        (beside / script.name).write_bytes(script.read_bytes())
    before = {path: path.stat().st_mtime_ns for path in bench.bundle.rglob("*")}
    argv = [sys.executable, "-S", beside / SCRIPT.name, "-f", bench.allowed, bench.bundle]
    assert subprocess.run(argv, capture_output=True).stdout == b"trusted\n"
    assert {path: path.stat().st_mtime_ns for path in bench.bundle.rglob("*")} == before
    assert sorted(path.name for path in beside.iterdir()) == sorted([SCRIPT.name, AGGREGATOR.name])


def test_it_runs_from_anywhere_and_reads_a_tar_from_a_pipe(bench: Bench, tmp_path: Path) -> None:
    out = io.BytesIO()
    write_tar(bench.bundle, out)
    argv = [sys.executable, "-I", "-S", SCRIPT, "-f", bench.allowed]
    done = subprocess.run([*argv, "-"], input=out.getvalue(), capture_output=True, cwd="/")
    assert (done.returncode, done.stdout) == (0, b"trusted\n"), done.stderr
    done = subprocess.run([*argv, "nothing"], capture_output=True, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"nothing: no such bundle\n")
