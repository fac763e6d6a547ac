"""Exports read back by the tools they are for, as people call them."""

from __future__ import annotations

import base64
import csv
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from report.browser import CHROMIUM, Browser

from twotrees.errors import UsageError
from twotrees.report.exports import EXPORTERS, export
from twotrees.report.exports.table import harmless
from twotrees.report.facts import read_campaign

Make = Callable[..., Path]
SPEEDSCOPE = shutil.which("speedscope")
GOOGLE_COMPARE = Path("/usr/share/benchmark/compare.py")
AGGREGATOR = Path(__file__).resolve().parents[2] / "tools" / "aggregate_update_state.py"


def needs(tool: bool) -> Callable[[Any], Any]:
    """Marks a test that needs a tool which no Python package brings: without the tool it is slow, not gone."""
    return (lambda test: test) if tool else pytest.mark.slow


def run(*argv: str | Path, cwd: Path | None = None, **env: str) -> str:
    done = subprocess.run(
        [str(word) for word in argv], cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **env}
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def effect(data: Path, metric: str) -> dict[str, Any]:
    effects = json.loads((data / "aggregate.json").read_text())["twotrees"]["effects"]
    return next(one for one in effects if one["metric"] == metric)


@pytest.mark.parametrize("name", sorted(EXPORTERS))
def test_every_export_writes_files_and_says_what_it_is(published: Path, tmp_path: Path, name: str) -> None:
    done = export(published, name, tmp_path / "out")
    assert done.files and all(path.is_file() for path in done.files)
    assert EXPORTERS[name].WHAT


def test_an_unknown_export_names_the_known_ones(published: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="asv, google-benchmark"):
        export(published, "pyperv", tmp_path)


def test_pyperf_compares_the_arms_and_finds_the_published_factor(published: Path, tmp_path: Path) -> None:
    export(published, "pyperf", tmp_path)
    told = run(sys.executable, "-m", "pyperf", "compare_to", "before.json", "after.json", "--table", cwd=tmp_path)
    row = next(line for line in told.splitlines() if "| update_state " in line)
    assert "29." in row and "ms" in row and "1.52x faster" in row
    assert "reward/motion_body_pos" in told
    run(sys.executable, "-m", "pyperf", "stats", "-b", "update_state", "after.json", cwd=tmp_path)
    run(sys.executable, "-m", "pyperf", "hist", "-b", "update_state", "after.json", cwd=tmp_path)
    told = run(sys.executable, "-m", "pyperf", "dump", "-b", "update_state", "after.json", cwd=tmp_path)
    assert len(re.findall(r"^Run \d+:", told, re.M)) == 3


def test_pyperf_gets_every_sample_exactly(published: Path, tmp_path: Path) -> None:
    import pyperf

    export(published, "pyperf", tmp_path)
    suite = pyperf.BenchmarkSuite.load(str(tmp_path / "before.json"))
    ours = read_campaign(published).attempts[0].result
    assert ours is not None
    expected = [ns / 1e6 / 1e3 for ns in ours["twotrees"]["samples"]["update_state_ms"]["values"]]
    assert list(suite.get_benchmark("update_state").get_runs()[0].values) == expected


def test_a_metric_with_zeros_is_left_out_of_pyperf_and_told(make: Make, tmp_path: Path) -> None:
    def no_resets(attempt: dict[str, Any]) -> None:
        result = attempt["result"]
        result["twotrees"]["samples"]["reset_done_ms"]["values"] = [0] * 40
        result["timing"]["reset_done_ms"] = {"count": 40, "mean_ms": 0.0, "median_ms": 0.0, "p95_ms": 0.0}

    done = export(make(edit_attempt=no_resets), "pyperf", tmp_path / "out")
    told = run(sys.executable, "-m", "pyperf", "show", done.files[0])
    assert "update_state" in told and "reset_done" not in told


def test_asv_compares_two_real_commits(make: Make, tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    git = ("git", "-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.org")
    run("git", "init", "-q", "-b", "main", repo)
    commits = []
    for message in ("before", "after"):
        run(*git, "commit", "-q", "--allow-empty", "-m", message)
        commits.append(run(*git, "rev-parse", "HEAD").strip())

    def real(plan: dict[str, Any]) -> None:
        for arm, commit in zip(plan["arms"], commits, strict=True):
            arm["commit"] = commit

    data = make(edit_plan=real)
    export(data, "asv", tmp_path / "out")
    configuration = tmp_path / "out" / "asv.conf.json"
    configuration.write_text(json.dumps({**json.loads(configuration.read_text()), "repo": str(repo)}))
    home = {"HOME": str(tmp_path)}
    told = run(sys.executable, "-m", "asv", "compare", *commits, "--no-stats", cwd=tmp_path / "out", **home)
    row = next(line for line in told.splitlines() if "phase.update_state" in line)
    expected = effect(data, "update_state_ms")
    assert f"{expected['before_ms']:.1f}" in row and f"{expected['after_ms']:.1f}" in row and "0.66" in row
    assert "term.reward.motion_body_pos" in told
    told = run(sys.executable, "-m", "asv", "show", commits[1], cwd=tmp_path / "out", **home)
    assert "phase.update_state" in told
    run(sys.executable, "-m", "asv", "publish", cwd=tmp_path / "out", **home)
    assert (tmp_path / "out" / "html" / "index.html").is_file()


def test_asv_refuses_arms_that_share_a_commit(make: Make, tmp_path: Path) -> None:
    def same(plan: dict[str, Any]) -> None:
        plan["arms"][1]["commit"] = plan["arms"][0]["commit"]

    with pytest.raises(UsageError, match="the same commit"):
        export(make(edit_plan=same), "asv", tmp_path / "out")


def test_google_benchmark_files_hold_what_its_own_reader_asks_for(published: Path, tmp_path: Path) -> None:
    done = export(published, "google-benchmark", tmp_path)
    for path in done.files:
        document = json.loads(path.read_text())
        iterations = [row for row in document["benchmarks"] if row["run_type"] == "iteration"]
        update = [row for row in iterations if row["run_name"] == "update_state"]
        assert [row["repetition_index"] for row in update] == [0, 1, 2]
        assert all(row["time_unit"] == "ms" and row["real_time"] > 0 for row in iterations)


@needs(GOOGLE_COMPARE.exists())
def test_google_benchmarks_compare_reads_both_arms(published: Path, tmp_path: Path) -> None:
    export(published, "google-benchmark", tmp_path)
    told = run(sys.executable, GOOGLE_COMPARE, "--no-color", "benchmarks", "before.json", "after.json", cwd=tmp_path)
    row = next(line for line in told.splitlines() if line.startswith("update_state_median"))
    assert "-0.34" in row


def test_bencher_files_are_names_to_measures_to_bounded_values(published: Path, tmp_path: Path) -> None:
    done = export(published, "bencher", tmp_path)
    assert [path.name for path in done.files] == ["before.json", "after.json"]
    for path, key in zip(done.files, ("before_ms", "after_ms"), strict=True):
        metrics = json.loads(path.read_text())
        latency = metrics["update_state"]["latency"]
        assert latency["value"] == pytest.approx(effect(published, "update_state_ms")[key] * 1e6)
        for measures in metrics.values():
            assert list(measures) == ["latency"]
            assert (
                measures["latency"]["lower_value"] <= measures["latency"]["value"] <= measures["latency"]["upper_value"]
            )


def test_the_samples_in_csv_give_the_reported_medians(published: Path, tmp_path: Path) -> None:
    export(published, "csv", tmp_path)
    with (tmp_path / "samples.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    per_run: dict[str, list[float]] = {}
    for row in rows:
        if (row["arm"], row["metric"], row["mode"]) == ("after", "update_state_ms", "phase"):
            per_run.setdefault(row["run"], []).append(float(row["ms"]))
    assert median(median(values) for values in per_run.values()) == effect(published, "update_state_ms")["after_ms"]
    with (tmp_path / "effects.csv").open(newline="") as stream:
        line = next(row for row in csv.DictReader(stream) if row["metric"] == "update_state_ms")
    assert float(line["ratio_low"]) == effect(published, "update_state_ms")["ratio_low"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@sum"])
def test_a_spreadsheet_runs_no_cell(text: str) -> None:
    assert harmless(text) == f"'{text}"
    assert harmless(-1.5) == -1.5


def test_parquet_holds_the_rows_of_csv_with_types(published: Path, tmp_path: Path) -> None:
    from pyarrow import parquet

    export(published, "parquet", tmp_path)
    export(published, "csv", tmp_path)
    table = parquet.read_table(tmp_path / "samples.parquet")
    with (tmp_path / "samples.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert table.num_rows == len(rows)
    assert table.column("ms").to_pylist() == [float(row["ms"]) for row in rows]
    assert table.column("metric").to_pylist() == [row["metric"] for row in rows]
    assert table.schema.metadata[b"twotrees.study_root"] == b"5" * 64


def test_without_pyarrow_parquet_says_how_to_get_it(
    published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UsageError, match=r"twotrees\[parquet\]"):
        export(published, "parquet", tmp_path)


def test_a_trace_has_every_run_where_it_ran_and_steps_inside_it(published: Path, tmp_path: Path) -> None:
    export(published, "chrome-trace", tmp_path)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    runs = [event for event in events if event.get("cat") == "run"]
    assert len(runs) == 12
    assert [event["ts"] for event in runs][:3] == [0, 60e6, 120e6]
    steps = [event for event in events if event["name"] == "env.step"]
    assert len(steps) == 6 * 40
    for step in steps:
        assert any(r["ts"] <= step["ts"] and step["ts"] + step["dur"] <= r["ts"] + r["dur"] + 1 for r in runs)
    assert {"frequency_mhz", "load_1", "steal_pct"} <= {event["name"] for event in events if event["ph"] == "C"}


def test_lost_attempts_are_on_the_trace_or_told(make: Make, tmp_path: Path) -> None:
    data = make(extra_attempts=({"status": "failed", "reason": "boom"}, {"status": "interrupted", "start": None}))
    done = export(data, "chrome-trace", tmp_path / "out")
    assert any("lost" in event.get("cat", "") for event in json.loads(done.files[0].read_text())["traceEvents"])
    assert done.left_out == ("attempt 14: it is not known when it ran",)


@pytest.fixture
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


@needs(bool(CHROMIUM and SPEEDSCOPE))
def test_speedscope_opens_the_trace_with_its_runs_and_steps(browser: Browser, published: Path, tmp_path: Path) -> None:
    path = export(published, "chrome-trace", tmp_path).files[0]
    page = Path(str(SPEEDSCOPE)).resolve().parents[1] / "dist" / "release" / "index.html"
    # What speedscope's own command line does with a file.
    loader = tmp_path / "load.js"
    packed = base64.b64encode(path.read_bytes()).decode()
    loader.write_text(f"speedscope.loadFileFromBase64('trace.json', '{packed}')")
    browser.visit(f"{page.as_uri()}#localProfilePath={loader}")
    told = browser.ask(
        "new Promise(done => { const look = () => { const shown = document.body.innerText;"
        " if (shown.includes('pid')) done(shown); else setTimeout(look, 50); }; look(); })"
    )
    assert "before (pid 2), runs (tid 1) (1/4)" in told
    assert not [event for event in browser.events if event.get("method") == "Runtime.exceptionThrown"]


def test_the_published_layout_is_what_the_aggregator_reads_to_the_last_bit(published: Path, tmp_path: Path) -> None:
    done = export(published, "published-layout", tmp_path)
    assert sorted(path.name for path in done.files)[:3] == [
        "base_mujoco_phase.json",
        "base_mujoco_phase_r2.json",
        "base_mujoco_phase_r3.json",
    ]
    told = json.loads(run(sys.executable, AGGREGATOR, "--published", tmp_path))
    assert told["mujoco"] == json.loads((published / "aggregate.json").read_text())["mujoco"]


def test_too_few_runs_for_the_published_layout_are_an_error_and_too_many_are_told(make: Make, tmp_path: Path) -> None:
    data = make(repeats=4)
    done = export(data, "published-layout", tmp_path / "four")
    assert len(done.files) == 12 and len(done.left_out) == 4
    shutil.rmtree(data)
    with pytest.raises(UsageError, match="arm before has 2 phase runs that count"):
        export(make(repeats=2), "published-layout", tmp_path / "two")


@pytest.mark.parametrize("name", sorted(EXPORTERS))
def test_hostile_names_stay_inside_the_folder(make: Make, tmp_path: Path, name: str) -> None:
    def hostile(plan: dict[str, Any]) -> None:
        plan["backend"] = plan["device"] = "../../evil\n"
        plan["arms"][0]["commit"] = "../../../x"

    out = tmp_path / "deep" / "out"
    data = make(edit_plan=hostile)
    before = set(tmp_path.rglob("*"))
    done = export(data, name, out)
    assert all(path.resolve().is_relative_to(out.resolve()) for path in done.files)
    written = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert all(path.is_relative_to(out) for path in written)
