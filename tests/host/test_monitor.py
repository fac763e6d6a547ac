"""The monitor: a separate small process that ends with its campaign, and what is made of its lines."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from twotrees.errors import UsageError
from twotrees.host import Monitor, monitor, summary_of


def _wait(condition: Any, seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return False


def _gone(pid: int) -> bool:
    """Whether a process has ended; one that only waits to be reaped has."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_it_writes_a_line_at_once_and_ends_with_the_block(busy_box: Any, tmp_path: Path) -> None:
    path = tmp_path / "monitor.jsonl"
    with Monitor(path, hz=1.0, root=busy_box.root) as running:
        assert running.pid is not None
        assert _wait(lambda: len(path.read_text().splitlines()) >= 2)
    assert _gone(running.pid)
    head, line, *_ = (json.loads(text) for text in path.read_text().splitlines())
    assert head == {"schema": "twotrees-monitor-v1", "hz": 1.0}
    assert line["frequency_mhz"] == {"0": 4700, "1": 4700, "2": 4700, "3": 4700}
    assert line["temperature_c"] == {"coretemp Package id 0": 41.0}
    assert line["load_1"] == 0.12
    assert line["throttle_counts"] == {"core": 12}
    assert line["quota_throttled"] == 2
    assert line["gpu"] == {"unknown": "no NVIDIA driver is loaded"}
    assert line["own_cpu_s"] > 0
    summary = running.summary()
    assert "fault" not in summary
    assert summary["lines"] >= 1
    assert summary["frequency_mhz"]["median"] == 4700
    assert summary["thermal_throttling"] == 0


def test_its_own_cost_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "monitor.jsonl"
    with Monitor(path) as running:
        assert _wait(lambda: path.read_text().count("\n") >= 3)
    cost = running.summary()["cost_pct_of_a_core"]
    assert 0 <= cost < 100


def test_it_writes_at_most_once_a_second(tmp_path: Path) -> None:
    path = tmp_path / "monitor.jsonl"
    with Monitor(path):
        assert _wait(lambda: path.read_text().count("\n") >= 3)
    times = [json.loads(text)["time"] for text in path.read_text().splitlines()[1:]]
    assert all(late - early > 0.9 for early, late in itertools.pairwise(times))


@pytest.mark.parametrize("hz", [0.0, -1.0, 1.5, float("nan")])
def test_a_rate_above_one_a_second_or_below_zero_is_refused(tmp_path: Path, hz: float) -> None:
    with pytest.raises(UsageError, match=r"host\.monitor_hz"):
        Monitor(tmp_path / "m", hz=hz)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_a_campaign_that_is_killed(tmp_path: Path, how: signal.Signals) -> None:
    code = "import sys, time\nfrom pathlib import Path\nfrom twotrees.host import Monitor\n"
    code += "with Monitor(Path(sys.argv[1])) as m:\n print(m.pid, flush=True)\n time.sleep(60)\n"
    path = tmp_path / "monitor.jsonl"
    campaign = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert campaign.stdout is not None
    pid = int(campaign.stdout.readline())
    assert _wait(lambda: path.exists() and path.read_text().count("\n") >= 2)
    assert not _gone(pid)
    campaign.send_signal(how)
    campaign.wait(timeout=10)
    campaign.stdout.close()
    assert _wait(lambda: _gone(pid))
    assert summary_of(path)["lines"] >= 1


def test_a_block_that_raises_ends_it_too(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Monitor(tmp_path / "m") as running:
        raise RuntimeError
    assert running.pid is not None
    assert _gone(running.pid)


def test_its_process_loads_no_numeric_library() -> None:
    code = "import sys, twotrees.host.monitor\nprint(sorted({m.partition('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, timeout=30)
    loaded = done.stdout
    assert "twotrees" in loaded
    for heavy in ("numpy", "scipy", "psutil", "pydantic", "rfc8785", "archspec", "pynvml"):
        assert f"'{heavy}'" not in loaded


def test_a_file_that_cannot_be_written_is_a_fault_in_the_summary_and_nothing_worse(tmp_path: Path) -> None:
    with Monitor(tmp_path / "missing/monitor.jsonl") as running:
        assert running._process is not None
        running._process.wait(timeout=10)
    summary = running.summary()
    assert summary["lines"] == 0
    assert "ended early with status 1" in summary["fault"]
    assert "No such file" in summary["fault"]


def test_a_resumed_campaign_appends_and_the_cost_counts_each_monitor(busy_box: Any, tmp_path: Path) -> None:
    path = tmp_path / "monitor.jsonl"
    for lines in (2, 4):
        with Monitor(path, root=busy_box.root):
            assert _wait(lambda lines=lines: path.read_text().count("\n") >= lines)
    summary = summary_of(path)
    assert (summary["lines"], summary["unreadable_lines"]) == (2, 0)


FAKE_PYNVML = """
import time
NVML_CLOCK_SM, NVML_TEMPERATURE_GPU = 1, 0
def nvmlInit(): time.sleep({pause})
def nvmlDeviceGetCount(): return 1
def nvmlDeviceGetHandleByIndex(index): return index
def nvmlDeviceGetUUID(handle): return "GPU-1"
def nvmlDeviceGetPowerUsage(handle): return 300000
def nvmlDeviceGetClockInfo(handle, kind): return 1200
def nvmlDeviceGetTemperature(handle, kind): return 85
def nvmlDeviceGetCurrentClocksThrottleReasons(handle): return 0x60
"""


@pytest.fixture
def fake_driver(busy_box: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A device file, and a pynvml whose start takes as long as asked."""
    busy_box.file("/dev/nvidiactl")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return lambda pause: (tmp_path / "pynvml.py").write_text(FAKE_PYNVML.format(pause=pause))


def test_gpu_clocks_and_throttle_reasons_are_followed_by_uuid(busy_box: Any, fake_driver: Any, tmp_path: Path) -> None:
    fake_driver(0)
    path = tmp_path / "monitor.jsonl"
    with Monitor(path, root=busy_box.root) as running:
        assert _wait(lambda: "GPU-1" in path.read_text())
    assert running.summary()["gpu_throttling"] == {
        "GPU-1": {"software thermal slowdown": 1.0, "hardware thermal slowdown": 1.0}
    }


def test_a_driver_that_hangs_costs_only_the_gpus_readings(busy_box: Any, fake_driver: Any, tmp_path: Path) -> None:
    fake_driver(60)
    path = tmp_path / "monitor.jsonl"
    with Monitor(path, root=busy_box.root) as running:
        assert _wait(lambda: path.read_text().count("\n") >= 3)
    summary = running.summary()
    assert summary["lines"] >= 2
    assert "fault" not in summary
    assert summary["gpu_throttling"] == {"unknown": "NVML has not answered yet"}


def _line(at: float, **changes: Any) -> str:
    return json.dumps({"time": at, "own_cpu_s": 0.02 + at / 1000, **changes})


def test_a_half_line_of_a_killed_monitor_is_counted_and_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text(f'{{"schema":"twotrees-monitor-v1","hz":1}}\n{_line(1)}\n{_line(2)}\n{{"time":3,"own_')
    summary = summary_of(path)
    assert (summary["lines"], summary["unreadable_lines"], summary["seconds"]) == (2, 1, 1)
    assert summary["cost_pct_of_a_core"] == 0.1


def test_an_empty_and_a_missing_file_are_unknown(tmp_path: Path) -> None:
    assert summary_of(tmp_path / "none")["unknown"] == "the monitor wrote no line"
    (tmp_path / "empty").touch()
    assert summary_of(tmp_path / "empty")["lines"] == 0


def test_a_falling_clock_shows_in_the_thirds(tmp_path: Path) -> None:
    path = tmp_path / "m"
    clocks = [4000] * 4 + [3500] * 4 + [3000] * 4
    path.write_text("\n".join(_line(at, frequency_mhz={"0": mhz, "1": 800}) for at, mhz in enumerate(clocks)))
    frequency = summary_of(path)["frequency_mhz"]
    assert (frequency["first_third"], frequency["last_third"], frequency["min"]) == (4000, 3000, 800)


def test_throttling_counts_from_the_first_line_on(tmp_path: Path) -> None:
    path = tmp_path / "m"
    path.write_text("\n".join(_line(at, throttle_counts={"core": 10 + at, "package": 5}, quota_throttled=at)
                              for at in range(4)))  # fmt: skip
    summary = summary_of(path)
    assert (summary["thermal_throttling"], summary["quota_throttling"]) == (3, 3)


@pytest.mark.parametrize(
    ("before", "after", "busy", "steal"),
    [
        ([0] * 8, [50, 0, 0, 50, 0, 0, 0, 0], 50.0, 0.0),
        ([0] * 8, [0, 0, 0, 90, 0, 0, 0, 10], 0.0, 10.0),
        ([9] * 8, [9] * 8, None, None),
        ([0] * 4, [1] * 4, None, None),
        (None, [0] * 8, None, None),
    ],
)
def test_busy_and_stolen_time_between_two_readings(before: Any, after: Any, busy: Any, steal: Any) -> None:
    assert monitor.shares(before, after) == (busy, steal)


@given(
    before=st.lists(st.integers(0, 10**9), min_size=8, max_size=10), step=st.lists(st.integers(0, 1000), min_size=10)
)
def test_shares_stay_between_0_and_100(before: list[int], step: list[int]) -> None:
    busy, steal = monitor.shares(before, [a + b for a, b in zip(before, step, strict=False)])
    assert busy is None or 0 <= busy <= 100
    assert steal is None or 0 <= steal <= 100


@pytest.mark.parametrize("text", ["", "cpu\n", "cpu a b\n", "intr 1 2\n"])
def test_a_proc_stat_without_numbers_gives_no_reading(host: Any, text: str) -> None:
    host.file("/proc/stat", text)
    ticks = monitor.cpu_ticks(host.root)
    assert monitor.shares(ticks, ticks) == (None, None)


@pytest.mark.parametrize("text", ["0", "-273200", "999000", "", "hot"])
def test_a_sensor_that_is_off_is_left_out(host: Any, text: str) -> None:
    host.file("/sys/class/thermal/thermal_zone0/temp", text).file("/sys/class/thermal/thermal_zone0/type", "acpitz")
    assert monitor.temperatures(monitor.temperature_sensors(host.root)) == {}


def test_a_nested_group_counts_its_own_throttling(host: Any) -> None:
    host.file("/proc/self/cgroup", "0::/a/b\n").file("/sys/fs/cgroup/a/cpu.stat", "nr_throttled 5\n")
    assert monitor.throttled_by_quota(monitor.quota_file(host.root)) == 5
    host.file("/proc/self/cgroup", "2:cpu,cpuacct:/c\n0::/\n")
    host.file("/sys/fs/cgroup/cpu,cpuacct/c/cpu.stat", "nr_periods 9\nnr_throttled 7\n")
    assert monitor.throttled_by_quota(monitor.quota_file(host.root)) == 7


def test_the_command_line_refuses_a_rate_out_of_range(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "twotrees.host.monitor", str(tmp_path / "m"), "--hz", "5"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert done.returncode == 2
    assert "--hz must be above 0 and at most 1" in done.stderr
