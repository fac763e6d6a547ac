"""What goes wrong in a campaign: one clear line, the documented exit code, and nothing lost."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from own_study import OwnStudy

FEW = ("scale=smoke", "protocol.phase_runs=2", "protocol.terms_runs=2")
SMOKE = ("ab", "study=tiny", *FEW)
Make = Callable[..., OwnStudy]


def started(study: OwnStudy, *words: str) -> subprocess.Popen[str]:
    """A campaign in the background."""
    return subprocess.Popen(
        [sys.executable, "-m", "twotrees.cli", *words],
        cwd=study.folder,
        env=study.env(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def journal(study: OwnStudy) -> list[dict]:
    """The lines of the unfinished campaign's journal."""
    found = list((study.folder / "results" / ".work").glob("*/data/journal.jsonl"))
    return [json.loads(line) for line in found[0].read_text().splitlines()] if found else []


def wait_for(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)


def in_run(study: OwnStudy, number: int) -> Callable[[], bool]:
    def running() -> bool:
        with contextlib.suppress(ValueError):
            lines = journal(study)
            return bool(lines) and lines[-1]["event"] == "start" and lines[-1]["attempt"] == number
        return False

    return running


def measured_children(study: OwnStudy) -> list[int]:
    """Processes that still run a profiler of this study."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        words = process.info["cmdline"] or []
        if any("profile_update_state.py" in word and str(study.folder) in word for word in words):
            found.append(process.pid)
    return found


def test_a_campaign_killed_in_a_run_is_resumed_and_the_bundle_shows_it(own_study: Make) -> None:
    study = own_study()
    campaign = started(study, *SMOKE)
    wait_for(in_run(study, 4), "the fourth run")
    campaign.kill()
    campaign.communicate()
    wait_for(lambda: not measured_children(study), "the killed campaign's run ends")
    kept = len([line for line in journal(study) if line["event"] == "end"])
    study.twotrees("resume", check=0)
    runs = [json.loads(path.read_text()) for path in sorted((study.bundles()[0] / "data" / "runs").iterdir())]
    statuses = [run["status"] for run in runs]
    assert statuses.count("interrupted") == 1
    assert statuses.count("ok") == 10
    assert statuses[:kept] == ["ok"] * kept
    assert "interrupted" in study.twotrees("report", str(study.bundles()[0]), check=0).stdout
    study.twotrees("verify", str(study.bundles()[0]), check=0)


def test_ctrl_c_ends_the_run_keeps_what_is_done_and_says_how_to_go_on(own_study: Make) -> None:
    study = own_study()
    campaign = started(study, *SMOKE)
    wait_for(in_run(study, 3), "the third run")
    campaign.send_signal(signal.SIGINT)
    _, err = campaign.communicate(timeout=60)
    assert campaign.returncode == 130
    assert "nox -s resume" in err
    assert "Traceback" not in err
    assert measured_children(study) == []
    assert [line["status"] for line in journal(study) if line["event"] == "end"] == ["ok", "ok", "interrupted"]
    study.twotrees("resume", check=0)
    study.twotrees("verify", str(study.bundles()[0]), check=0)


def test_a_second_campaign_on_the_host_is_refused_while_the_first_measures(own_study: Make) -> None:
    study = own_study({"hang_at": 2}, {})
    campaign = started(study, *SMOKE)
    try:
        wait_for(in_run(study, 1), "the first run")
        refused = study.twotrees(*SMOKE, check=3)
        assert "this host is being measured by tiny-mujoco-" in refused.stderr
    finally:
        campaign.send_signal(signal.SIGTERM)
        campaign.communicate(timeout=60)


@pytest.mark.parametrize(
    ("knobs", "said"),
    [
        ({"crash_at": 2}, "failed: exit status 1: RuntimeError"),
        ({"kill_at": 2}, "failed: ended by SIGKILL"),
        ({"fake_time": (2, "update_state_ms", "nan")}, "update_state_ms"),
        ({"fake_time": (2, "update_state_ms", -1.0)}, "update_state_ms"),
        ({"fake_time": (2, "env_step_total_ms", 0.0)}, "env_step_total_ms"),
        ({"absent_key": "reset_done_ms"}, "reset_done_ms"),
    ],
)
def test_a_run_without_a_usable_result_stops_the_campaign_and_keeps_it(own_study: Make, knobs: dict, said: str) -> None:
    study = own_study({}, knobs)
    stopped = study.twotrees(*SMOKE, check=4)
    assert said in stopped.stderr
    assert "run 2 (after parity 1)" in stopped.stderr
    assert "nox -s resume" in stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert next(line["status"] for line in journal(study) if line["event"] == "end") == "ok"


def test_a_run_that_hangs_is_ended_at_its_limit(own_study: Make) -> None:
    study = own_study({}, {"hang_at": 2})
    stopped = study.twotrees(*SMOKE, "protocol.timeout_s=4", check=4)
    assert "timeout: it was ended after" in stopped.stderr
    assert measured_children(study) == []


def test_a_failing_arm_can_be_sealed_as_not_comparable_with_its_traceback(own_study: Make) -> None:
    study = own_study({}, {"crash_at": 2})
    sealed = study.twotrees(*SMOKE, "protocol.on_failure=seal", check=1)
    assert "not comparable" in sealed.stderr
    data = study.bundles()[0] / "data"
    logs = [path.read_text() for path in (data / "logs").glob("*.err")]
    assert any("Traceback" in log for log in logs)
    runs = [json.loads(path.read_text()) for path in sorted((data / "runs").iterdir())]
    assert [run["status"] for run in runs if run["arm"] == "after"] == ["failed"]
    study.twotrees("verify", str(study.bundles()[0]), check=0)


def test_junk_on_standard_output_does_not_reach_the_result(own_study: Make) -> None:
    study = own_study({"junk": True}, {"junk": True, "update_us": 1000})
    study.twotrees(*SMOKE, check=0)


def test_arms_that_compute_different_rewards_are_not_comparable(own_study: Make) -> None:
    study = own_study({}, {"wrong_reward": 0.5})
    told = study.twotrees(*SMOKE, check=1)
    assert "not comparable" in told.stderr
    parity = json.loads((study.bundles()[0] / "data" / "parity.json").read_text())
    wrong = [line["name"] for line in parity["terms"] if not line["ok"]]
    assert "reward/motion_body_pos" in wrong
    assert "reward/action_rate" not in wrong
    aggregate = json.loads((study.bundles()[0] / "data" / "aggregate.json").read_text())
    assert {effect["verdict"] for effect in aggregate["twotrees"]["effects"]} == {"not comparable"}


def test_an_arm_that_resets_nothing_does_other_work_and_is_not_comparable(own_study: Make) -> None:
    study = own_study({}, {"dead_resets": True})
    told = study.twotrees(*SMOKE, "scale.num_envs=64", "scale.measure=30", check=1)
    assert "not comparable" in told.stderr


def test_a_tuner_that_decides_otherwise_in_one_arm_confounds_the_comparison(own_study: Make) -> None:
    study = own_study({"chunk_size": 8}, {"chunk_size": 16})
    assert "decisions" in study.twotrees(*SMOKE, check=1).stderr


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ab", "study=tinny"), 2, "did you mean tiny?"),
        (("ab", "study=tiny", "scale=huge"), 2, "there is no scale 'huge'"),
        (("ab", "study=tiny", "scale=smoke,quick"), 2, "a sweep"),
        (("ab", "study=tiny", "scale.num_env=4"), 2, "did you mean scale.num_envs?"),
        (("ab", "study=tiny", "results=conf/study/tiny.yaml"), 2, "cannot be written"),
        (("ab", "study=tiny", "study.environment=nowhere/python"), 2, "no such interpreter"),
        (("ab", "study=tiny", "study.scripts.profiler=nowhere.py"), 2, "no such script"),
        (("ab", "study=tiny", "study.trees.after.commit=" + "1" * 40), 2, "1" * 40),
        (("ab", "study=tiny", "+study.scripts.profiler_sha256=" + "0" * 64), 3, "SHA-256"),
        (("resume",), 2, "no unfinished campaign"),
        (("verify", "nowhere"), 2, "nowhere"),
        (("report", "nowhere"), 5, "nowhere"),
    ],
)
def test_bad_input_is_one_clear_line_and_its_exit_code(
    own_study: Make, words: tuple[str, ...], code: int, said: str
) -> None:
    study = own_study()
    told = study.twotrees(*words, check=code)
    assert said in told.stderr + told.stdout
    assert "Traceback" not in told.stderr
    assert len(told.stderr.strip().splitlines()) <= 2


def test_without_git_a_campaign_says_so(own_study: Make, tmp_path: Path) -> None:
    study = own_study()
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("ssh-keygen", "uname"):
        (bare / program).symlink_to(f"/usr/bin/{program}")
    told = study.twotrees(*SMOKE, PATH=str(bare), check=2)
    assert "git is not installed" in told.stderr


def test_a_changed_profiler_during_the_campaign_does_not_reach_a_run(own_study: Make) -> None:
    study = own_study()
    (study.folder / "tools").mkdir()
    own = study.folder / "tools" / "profile_update_state.py"
    own.write_bytes((Path(__file__).parents[2] / "tools" / "profile_update_state.py").read_bytes())
    campaign = started(study, *SMOKE)
    wait_for(in_run(study, 2), "the second run")
    own.write_text("raise SystemExit('edited')\n")
    out, err = campaign.communicate(timeout=120)
    assert campaign.returncode == 0, out + err


def test_a_dirty_local_tree_is_refused_and_on_request_labelled_with_its_diff(own_study: Make) -> None:
    study = own_study()
    worktree = study.folder / "local"
    subprocess.run(["git", "clone", "-q", "subject", "local"], cwd=study.folder, check=True)
    entry = worktree / "src" / "tiny_subject" / "entry.py"
    entry.write_text(entry.read_text() + "\n# edited\n")
    before = {"kind": "git", "url": "subject", "commit": study.commits["after"]}
    study.change(trees={"before": before, "after": {"kind": "path", "path": "local"}})
    refused = study.twotrees(*SMOKE)
    assert refused.returncode in (2, 3)
    assert "src/tiny_subject/entry.py" in refused.stderr
    study.twotrees(*SMOKE, "--allow-dirty", check=0)
    data = study.bundles()[0] / "data"
    assert any("dirty" in label for label in json.loads((data / "plan.json").read_text())["labels"])
    assert "+# edited" in (data / "trees" / "after.diff").read_text()
    study.twotrees("verify", str(study.bundles()[0]), check=0)
