"""The published aggregator's numbers, to the last bit, from the same run files."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

PUBLISHED_SHA256 = "500d5f239782776013611fd4224c2166ac8df76af26907efc7259cd8f958dea0"
NAMES = {"phase": ("phase", "phase_r2", "phase_r3"), "terms": ("terms_r2", "terms_r3", "terms_r4")}


def write_published_layout(folder: Path, build: Any, backends: tuple[str, ...] = ("mujoco", "mjwarp")) -> None:
    rng = np.random.default_rng(7)
    for backend in backends:
        for arm, prefix in enumerate(("base", "final")):
            for mode, suffixes in NAMES.items():
                for suffix in suffixes:
                    result = build.child_result(
                        rng, arm, instrument=mode == "terms", factor=float(np.exp(rng.normal(0, 0.02)))
                    )
                    result["backend"] = backend
                    (folder / f"{prefix}_{backend}_{suffix}.json").write_text(json.dumps(result))


def run_tool(tool: ModuleType, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(tool.__file__), *argv], capture_output=True, text=True, check=False)


@pytest.fixture
def published_script(tmp_path: Path) -> Path:
    """The published aggregator, cut from the post, checked by its hash, with only its paths adapted."""
    post = Path(__file__).resolve().parents[3] / "shared" / "reference" / "post.txt"
    if not post.exists():
        pytest.skip("the published post is not on this machine")
    block = post.read_text(encoding="utf-8").rsplit("/tmp/aggregate_update_state.py", 1)[1].split("\n", 1)[1]
    source = block.strip("\n") + "\n"
    assert hashlib.sha256(source.encode()).hexdigest() == PUBLISHED_SHA256
    script = tmp_path / "published.py"
    script.write_text(source.replace('"/tmp/', f'"{tmp_path}/'), encoding="utf-8")
    return script


def test_the_published_layout_gives_the_published_aggregate_byte_for_byte(
    tmp_path: Path, tool: ModuleType, build: Any, published_script: Path
) -> None:
    write_published_layout(tmp_path, build)
    theirs = subprocess.run([sys.executable, str(published_script)], capture_output=True, text=True, check=True).stdout
    ours = run_tool(tool, "--published", str(tmp_path))
    assert ours.returncode == 0, ours.stderr
    assert ours.stdout == theirs


def test_a_campaign_and_the_published_layout_of_the_same_results_agree_to_the_last_bit(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    write_published_layout(tmp_path, build, backends=("mujoco",))
    matrix = build.documented_matrix()
    results = [
        json.loads((tmp_path / f"{prefix}_mujoco_{NAMES[mode][repeat - 1]}.json").read_text())
        for prefix, arm in (("base", "before"), ("final", "after"))
        for planned, mode, repeat in matrix
        if planned == arm
    ]
    data = build.write_campaign(tmp_path / "data", results, matrix)
    campaign = json.loads(run_tool(tool, "--data", str(data)).stdout)
    published = json.loads(run_tool(tool, "--published", str(tmp_path)).stdout)
    assert campaign["mujoco"] == published["mujoco"]


def test_one_backend_alone_is_enough(tmp_path: Path, tool: ModuleType, build: Any) -> None:
    write_published_layout(tmp_path, build, backends=("mjwarp",))
    assert list(json.loads(run_tool(tool, "--published", str(tmp_path)).stdout)) == ["mjwarp"]


def test_an_incomplete_published_layout_is_refused_and_names_the_file(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    write_published_layout(tmp_path, build, backends=("mujoco",))
    (tmp_path / "final_mujoco_terms_r3.json").unlink()
    ended = run_tool(tool, "--published", str(tmp_path))
    assert ended.returncode == 4
    assert "final_mujoco_terms_r3.json" in ended.stderr


def test_a_nan_summary_in_the_published_layout_is_refused_and_names_its_metric(
    tmp_path: Path, tool: ModuleType, build: Any
) -> None:
    write_published_layout(tmp_path, build, backends=("mujoco",))
    path = tmp_path / "base_mujoco_phase_r2.json"
    result = json.loads(path.read_text())
    result["timing"]["reset_done_ms"]["median_ms"] = float("nan")
    path.write_text(json.dumps(result))
    ended = run_tool(tool, "--published", str(tmp_path))
    assert ended.returncode == 4
    assert "base_mujoco_phase_r2.json" in ended.stderr
    assert "reset_done_ms" in ended.stderr


@pytest.mark.parametrize("n", [1, 7, 8, 9, 100, 128, 129, 500, 1000])
def test_summaries_have_numpys_bits(tool: ModuleType, build: Any, n: int) -> None:
    values = np.exp(np.random.default_rng(n).normal(0.0, 2.0, n))
    assert tool.summarise([float(value) for value in values]) == build.summary(values)


def test_both_ways_of_summing_are_those_of_python_before_and_after_3_12(tool: ModuleType) -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        values = [float(value) for value in rng.normal(0.0, 1.0, 40) * 10.0 ** rng.integers(-8, 8, 40)]
        native = tool.compensated_sum if sys.version_info >= (3, 12) else tool.plain_sum
        assert native(values) == sum(values)
    assert tool.compensated_sum([1.0, 1e100, 1.0, -1e100]) == 2.0
    assert tool.plain_sum([1.0, 1e100, 1.0, -1e100]) == 0.0
