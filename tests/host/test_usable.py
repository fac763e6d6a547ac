"""What this process may use: affinity, cgroup v1 and v2, and what cannot be known (cases 15)."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from twotrees.host import Unknown, usable_cores
from twotrees.host.facts import cpu_list, cpu_numbers

V2 = "31 24 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "32 24 0:28 {root} /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
SCOPE = "user.slice/user-1000.slice/user@1000.service/app.slice/run-42.scope"


def _quota(facts: Any, host: Any, **files: str) -> Any:
    return facts("usable", host.files(files).sources())["quota_cores"]


@pytest.mark.parametrize(
    ("text", "quota"),
    [
        ("200000 100000\n", 2.0),
        ("150000 100000\n", 1.5),
        ("50000 100000\n", 0.5),
        ("max 100000\n", "unlimited"),
        ("max\n", "unlimited"),
        ("100000\n", 1.0),
    ],
)
def test_a_v2_quota_is_a_number_of_cores_or_unlimited(host: Any, facts: Any, text: str, quota: Any) -> None:
    host.files({"/proc/self/cgroup": "0::/box\n", "/proc/self/mountinfo": V2, "/sys/fs/cgroup/box/cpu.max": text})
    assert facts("usable", host.sources())["quota_cores"] == quota


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "/sys/fs/cgroup/box/cpu.max is empty"),
        ("\n", "/sys/fs/cgroup/box/cpu.max is empty"),
        ("lots 100000\n", "reads 'lots' in each '100000'"),
        ("100000 0\n", "reads '100000' in each '0'"),
        ("0 100000\n", "reads '0' in each '100000'"),
        ("-5 100000\n", "reads '-5'"),
    ],
)
def test_an_empty_or_senseless_v2_quota_is_unknown_with_its_reason(
    host: Any, facts: Any, text: str, reason: str
) -> None:
    host.files({"/proc/self/cgroup": "0::/box\n", "/proc/self/mountinfo": V2, "/sys/fs/cgroup/box/cpu.max": text})
    assert reason in facts("usable", host.sources())["quota_cores"]["unknown"]


def test_a_quota_on_a_slice_above_a_nested_scope_counts(host: Any, facts: Any) -> None:
    host.files(
        {
            "/proc/self/cgroup": f"0::/{SCOPE}\n",
            "/proc/self/mountinfo": V2,
            f"/sys/fs/cgroup/{SCOPE}/cpu.max": "max 100000\n",
            "/sys/fs/cgroup/user.slice/user-1000.slice/cpu.max": "300000 100000\n",
            "/sys/fs/cgroup/user.slice/cpu.max": "800000 100000\n",
        }
    )
    assert facts("usable", host.sources())["quota_cores"] == 3.0


def test_an_unreadable_level_makes_the_whole_quota_unknown(host: Any, facts: Any) -> None:
    host.files(
        {
            "/proc/self/cgroup": "0::/a/b\n",
            "/proc/self/mountinfo": V2,
            "/sys/fs/cgroup/a/b/cpu.max": "200000 100000\n",
            "/sys/fs/cgroup/a/cpu.max": "",
        }
    )
    assert "is empty" in facts("usable", host.sources())["quota_cores"]["unknown"]


def test_the_root_group_has_no_limit_files_and_is_unlimited(host: Any, facts: Any) -> None:
    host.files(
        {"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": V2, "/sys/fs/cgroup/cgroup.controllers": "cpu\n"}
    )
    assert facts("usable", host.sources())["quota_cores"] == "unlimited"


@pytest.mark.parametrize(("quota", "cores"), [("-1", "unlimited"), ("150000", 1.5), ("400000", 4.0)])
def test_a_v1_quota_is_read_with_its_period(host: Any, facts: Any, quota: str, cores: Any) -> None:
    host.files(
        {
            "/proc/self/cgroup": "3:cpu,cpuacct:/box\n0::/unified\n",
            "/proc/self/mountinfo": V1.format(root="/") + V2,
            "/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": quota,
            "/sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000",
            "/sys/fs/cgroup/unified/cpu.max": "100 100000",
        }
    )
    found = facts("usable", host.sources())
    assert (found["quota_cores"], found["cgroup"]) == (cores, "v1")


def test_a_v1_quota_without_its_period_is_unknown(host: Any, facts: Any) -> None:
    host.files(
        {
            "/proc/self/cgroup": "3:cpu:/\n",
            "/proc/self/mountinfo": V1.format(root="/"),
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "100000",
        }
    )
    assert "cpu.cfs_period_us" in facts("usable", host.sources())["quota_cores"]["unknown"]


def test_a_container_that_sees_the_hosts_path_finds_its_mounted_subtree(host: Any, facts: Any) -> None:
    host.files(
        {
            "/proc/self/cgroup": "4:cpu,cpuacct:/docker/abc/inner\n",
            "/proc/self/mountinfo": V1.format(root="/docker/abc"),
            "/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000",
            "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000",
            "/sys/fs/cgroup/cpu/inner/cpu.cfs_quota_us": "-1",
        }
    )
    assert facts("usable", host.sources())["quota_cores"] == 2.0


def test_a_path_outside_the_cgroup_namespace_falls_back_to_the_mount(host: Any, facts: Any) -> None:
    host.files(
        {
            "/proc/self/cgroup": "0::/../../other\n",
            "/proc/self/mountinfo": V2,
            "/sys/fs/cgroup/cpu.max": "250000 100000\n",
        }
    )
    assert facts("usable", host.sources())["quota_cores"] == 2.5


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({}, "/proc/self/cgroup: no such file or directory"),
        ({"/proc/self/cgroup": "0::/box\n"}, "/proc/self/mountinfo: no such file or directory"),
        (
            {"/proc/self/cgroup": "0::/b\n", "/proc/self/mountinfo": "junk\n"},
            "no cgroup v2 hierarchy for cpu",
        ),
        ({"/proc/self/cgroup": "1:name=systemd:/\n", "/proc/self/mountinfo": V2}, "names no group for cpu"),
        ({"/proc/self/cgroup": "0::/b\n", "/proc/self/mountinfo": V2}, "/sys/fs/cgroup is not there"),
    ],
)
def test_without_control_groups_the_quota_is_unknown_and_never_zero(
    host: Any, facts: Any, files: dict[str, str], reason: str
) -> None:
    found = facts("usable", host.files(files).sources())
    assert reason in found["quota_cores"]["unknown"]
    assert found["usable_cores"] == 4


def test_affinity_and_core_count_and_quota_are_told_apart(busy_box: Any, facts: Any) -> None:
    busy_box.file("/sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n")
    sources = busy_box.sources(affinity=lambda: frozenset({1, 3}))
    found = facts("usable", sources)
    assert (found["affinity"], found["affinity_count"], found["quota_cores"]) == ("1,3", 2, 1.5)
    assert facts("processor", sources)["threads"] == 2
    assert found["usable_cores"] == usable_cores(sources) == 1


@pytest.mark.parametrize(
    ("quota", "cores"), [("100 100000", 1), ("390000 100000", 3), ("900000 100000", 4), ("max 1", 4)]
)
def test_usable_cores_is_whole_and_at_least_one(busy_box: Any, quota: str, cores: int) -> None:
    busy_box.file("/sys/fs/cgroup/user.slice/cpu.max", quota)
    assert usable_cores(busy_box.sources()) == cores


def test_no_affinity_as_on_macos_still_gives_a_count(host: Any, facts: Any) -> None:
    sources = host.sources(system="Darwin", affinity=lambda: Unknown("Darwin has no CPU affinity"))
    found = facts("usable", sources)
    assert found["affinity"] == {"unknown": "Darwin has no CPU affinity"}
    assert found["quota_cores"] == {"unknown": "Darwin has no control groups"}
    assert found["usable_cores"] == os.cpu_count()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no CPU affinity on this system")
def test_a_process_pinned_to_one_cpu_may_use_one() -> None:
    code = "import os; os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])\n"
    code += "from twotrees.host import usable_cores; print(usable_cores())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    ("version", "text", "limit"),
    [
        (2, "max\n", "unlimited"),
        (2, "1073741824\n", 2**30),
        (1, "9223372036854771712\n", "unlimited"),
        (1, "4096\n", 4096),
    ],
)
def test_memory_limits(host: Any, facts: Any, version: int, text: str, limit: Any) -> None:
    mounts = "33 24 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" + V2
    groups = "4:memory:/box\n0::/\n" if version == 1 else "0::/box\n"
    name = "memory/box/memory.limit_in_bytes" if version == 1 else "box/memory.max"
    host.files({"/proc/self/cgroup": groups, "/proc/self/mountinfo": mounts, f"/sys/fs/cgroup/{name}": text})
    assert facts("usable", host.sources())["memory_limit_bytes"] == limit


LEVEL = st.one_of(st.just("max 100000"), st.integers(1000, 6_400_000).map(lambda quota: f"{quota} 100000"), st.none())


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(levels=st.lists(LEVEL, min_size=1, max_size=5))
def test_the_tightest_level_decides(host: Any, facts: Any, levels: list[str | None]) -> None:
    path = "/".join(f"l{depth}" for depth in range(len(levels)))
    host.files({"/proc/self/cgroup": f"0::/{path}\n", "/proc/self/mountinfo": V2})
    for depth, text in enumerate(levels):
        folder = "/sys/fs/cgroup/" + "/".join(path.split("/")[: depth + 1])
        host.file(f"{folder}/cgroup.type", "domain\n")
        (host.root / f"{folder[1:]}/cpu.max").unlink(missing_ok=True)
        if text is not None:
            host.file(f"{folder}/cpu.max", text)
    limits = [int(text.split()[0]) / 100000 for text in levels if text and not text.startswith("max")]
    expected = round(min(limits), 3) if limits else "unlimited"
    assert facts("usable", host.sources())["quota_cores"] == expected


@given(numbers=st.frozensets(st.integers(0, 300)))
def test_cpu_lists_read_back(numbers: frozenset[int]) -> None:
    assert cpu_numbers(cpu_list(numbers)) == numbers
