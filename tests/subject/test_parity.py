"""The arms against one another: equal seeds give equal physics, and equal terms to the last digits of float32."""

import shutil

import numpy as np
import pytest
from subject_trees import Tree

RELATIVE, ABSOLUTE = 1e-5, 2e-6


def worst(reference, other, prefix):
    """The largest excess over the tolerance among the recorded arrays of a kind, and where."""
    found = (-np.inf, "")
    for name in sorted(reference):
        if name.startswith(prefix):
            a, b = reference[name].astype(float), other[name].astype(float)
            assert a.shape == b.shape, name
            found = max(found, (float((np.abs(a - b) - ABSOLUTE - RELATIVE * np.abs(a)).max()), name))
    return found


@pytest.mark.parametrize("arm", ["after", "next"])
def test_equal_seeds_give_bit_identical_physics_and_the_same_endings(recordings, arm):
    reference, other = recordings["before"], recordings[arm]
    for name in ("joint_pos", "joint_vel", "terminated", "truncated"):
        assert np.array_equal(reference[f"state/{name}"], other[f"state/{name}"]), name
    assert np.array_equal(reference["timing/reset_done_count"], other["timing/reset_done_count"])


def test_the_compared_runs_contain_resets(recordings):
    assert recordings["before"]["timing/reset_done_count"].sum() > 10
    assert recordings["before"]["state/terminated"].any()


@pytest.mark.parametrize("arm", ["after", "next"])
@pytest.mark.parametrize("prefix", ["reward/", "termination/", "obs/", "state/"])
def test_every_term_agrees_within_the_tolerance(recordings, arm, prefix):
    excess, name = worst(recordings["before"], recordings[arm], prefix)
    assert excess <= 0.0, name


def test_a_wrong_kernel_is_seen(trees, recordings, tmp_path):
    wrong = Tree(tmp_path / "tree", tmp_path / "caches")
    shutil.copytree(trees["after"].path, wrong.path)
    wrong.caches.mkdir()
    kernels = wrong.path / "src" / "g1_tracking" / "kernels.py"
    source = kernels.read_text()
    assert source.count("total += error * error") == 1
    kernels.write_text(source.replace("total += error * error", "total += error * error * np.float32(1.001)"))
    other = wrong.drive(tmp_path / "wrong.npz", num_envs=48, steps=3)
    reference = {name: values[:3] for name, values in recordings["before"].items()}
    excess, name = worst(reference, other, "reward/")
    assert excess > 0.0
    assert name.startswith("reward/motion_body_")


def test_kernels_in_parallel_are_the_kernels_on_one_thread(trees, tmp_path):
    program = (
        "import sys, numpy as np\n"
        "from g1_tracking import kernels\n"
        "rng = np.random.default_rng(0)\n"
        "a, b = rng.normal(size=(2, 300, 42)).astype(np.float32)\n"
        "one, all_ = np.empty(300, np.float32), np.empty(300, np.float32)\n"
        "k = kernels.mean_squared_distance\n"
        "k._serial(a, b, 14, np.float32(-1.0), one)\n"
        "k._parallel(a, b, 14, np.float32(-1.0), all_)\n"
        "assert np.allclose(one, all_, rtol=1e-6) and np.isfinite(one).all()\n"
        "assert np.allclose(one, -((a - b).astype(float) ** 2).sum(1) / 14, rtol=1e-5)\n"
        "import numba; print(numba.threading_layer())\n"
    )
    finished = trees["after"].run("-c", program)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.strip() == "workqueue"
