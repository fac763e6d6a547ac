"""From a study to a bundle that a stranger accepts, and rejects once any byte is changed."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from own_study import OwnStudy

from twotrees.bundle.sign import strangers_check

SMOKE = ("ab", "study=tiny", "scale=smoke")


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory, make_own_study: Callable[..., OwnStudy]) -> OwnStudy:
    study = make_own_study(tmp_path_factory.mktemp("sealed"))
    study.twotrees(*SMOKE, check=0)
    return study


def read(study: OwnStudy, name: str) -> dict:
    return json.loads((study.bundles()[-1] / "data" / name).read_text())


def test_the_bundle_is_trusted_by_its_own_maker_and_unknown_to_a_stranger(sealed: OwnStudy) -> None:
    bundle = str(sealed.bundles()[0])
    assert "trusted" in sealed.twotrees("verify", bundle, check=0).stdout
    stranger = sealed.twotrees("verify", bundle, check=6, XDG_CONFIG_HOME=str(sealed.folder / "stranger"))
    assert "intact, unknown signer SHA256:" in stranger.stdout


def test_the_plan_holds_the_published_matrix_and_every_run_is_there(sealed: OwnStudy) -> None:
    matrix = [(run["arm"], run["mode"]) for run in read(sealed, "plan.json")["matrix"]]
    published = [(arm, mode) for arm in ("before", "after") for mode in ("phase",) * 3 + ("terms",) * 3]
    assert matrix == [("before", "parity"), ("after", "parity"), *published]
    runs = sorted((sealed.bundles()[0] / "data" / "runs").glob("*.json"))
    assert [json.loads(path.read_text())["status"] for path in runs] == ["ok"] * len(matrix)


def test_each_arm_is_measured_from_its_own_commit(sealed: OwnStudy) -> None:
    for arm, commit in sealed.commits.items():
        tree = read(sealed, f"trees/{arm}.json")
        assert tree["commit"] == commit
        assert {row["blob"] == row["commit_blob"] for row in tree["imported"]} == {True}


def test_no_path_of_this_machine_is_in_what_the_bundle_records(sealed: OwnStudy) -> None:
    data = sealed.bundles()[0] / "data"
    told = [path for path in data.rglob("*.json") if str(sealed.folder) in path.read_text()]
    assert told == []


def test_a_lookup_of_the_published_keys_finds_the_numbers(sealed: OwnStudy) -> None:
    published = read(sealed, "aggregate.json")["mujoco"]["update_state_ms"]
    assert published["saved_ms"] == published["before_ms"] - published["after_ms"]
    assert len(published["before_run_medians_ms"]) == 3


def test_a_stranger_with_a_bare_shell_accepts_it_and_rejects_it_after_any_change(
    sealed: OwnStudy, tmp_path: Path
) -> None:
    source = sealed.bundles()[0]
    bundle = tmp_path / source.name
    subprocess.run(["cp", "-r", str(source), str(bundle)], check=True)
    signature = next((bundle / "signatures").iterdir())
    trusted = (sealed.folder / "home" / "config" / "twotrees" / "allowed_signers").read_text()
    principal = trusted.split()[0]
    (tmp_path / "allowed_signers").write_text(trusted)
    lines = strangers_check(signature.name, principal).replace(
        "-f allowed_signers", f"-f {tmp_path / 'allowed_signers'}"
    )

    def accepts() -> bool:
        script = f"set -eo pipefail\ncd {bundle}\n{lines}"
        done = subprocess.run(
            ["bash", "-c", script], env={"PATH": "/usr/bin:/bin"}, capture_output=True, stdin=subprocess.DEVNULL
        )
        return done.returncode == 0

    assert accepts()
    for path in sorted(path for path in bundle.rglob("*") if path.is_file() and path.stat().st_size):
        original = path.read_bytes()
        middle = len(original) // 2
        path.write_bytes(original[:middle] + bytes([original[middle] ^ 1]) + original[middle + 1 :])
        assert not accepts(), f"a changed byte in {path.relative_to(bundle)} went unnoticed"
        path.write_bytes(original)
    assert signature.exists()
    assert accepts()


def test_work_folders_and_worktrees_are_gone_when_the_bundle_is_there(sealed: OwnStudy) -> None:
    assert list((sealed.folder / "results" / ".work").iterdir()) == []
    listed = subprocess.run(
        ["git", "worktree", "list"], cwd=sealed.folder / "subject", capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 1


def test_report_prints_the_tables_of_a_sealed_bundle(sealed: OwnStudy) -> None:
    bundle = str(sealed.bundles()[0])
    assert "update_state" in sealed.twotrees("report", bundle, check=0).stdout
    assert "| `update_state` |" in sealed.twotrees("report", bundle, "--format", "markdown", check=0).stdout


def test_a_commit_that_adds_ten_milliseconds_comes_out_at_least_that_much_slower(
    own_study: Callable[..., OwnStudy],
) -> None:
    study = own_study({"update_us": 0}, {"update_us": 10_000})
    study.twotrees(*SMOKE, check=0)
    update = read(study, "aggregate.json")["mujoco"]["update_state_ms"]
    assert update["after_ms"] >= 10.0
    effect = next(e for e in read(study, "aggregate.json")["twotrees"]["effects"] if e["metric"] == "update_state_ms")
    assert effect["verdict"] == "slower"


def test_three_arms_are_each_compared_with_the_first(own_study: Callable[..., OwnStudy]) -> None:
    study = own_study()
    third = {"kind": "git", "url": "subject", "commit": study.commits["before"]}
    trees = {arm: {"kind": "git", "url": "subject", "commit": commit} for arm, commit in study.commits.items()}
    study.change(arms=["before", "after", "third"], trees={**trees, "third": third})
    study.twotrees(*SMOKE, "protocol.phase_runs=2", "protocol.terms_runs=2", check=0)
    arms = {effect["arm"] for effect in read(study, "aggregate.json")["twotrees"]["effects"]}
    assert arms == {"after", "third"}


def test_calibrating_keeps_a_control_that_stands_in_the_next_plan(own_study: Callable[..., OwnStudy]) -> None:
    study = own_study()
    few = ("study=tiny", "scale=smoke", "protocol.phase_runs=2", "protocol.terms_runs=2")
    calibrated = study.twotrees("calibrate", *few, check=0)
    assert "control update_state_ms:" in calibrated.stdout
    study.twotrees("ab", *few, check=0)
    control = read(study, "plan.json")["control"]
    assert control["metrics"]["update_state_ms"]["n_before"] == 2


def test_a_dry_run_prints_every_command_and_makes_nothing(own_study: Callable[..., OwnStudy]) -> None:
    study = own_study()
    printed = study.twotrees("plan", "study=tiny", "scale=paper", check=0).stdout.splitlines()
    assert len(printed) == 14
    assert sum("--instrument" in line for line in printed) == 6
    assert all(line.startswith("PYTHONPATH=$WORK/trees/") and "--num-envs 8192" in line for line in printed)
    assert not (study.folder / "results").exists()
