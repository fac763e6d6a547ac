"""A host that is not quiet: each reason one sentence."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from twotrees.host import findings, fingerprint_of
from twotrees.host.sources import other_processes


@pytest.fixture
def quiet(busy_box: Any) -> dict[str, Any]:
    return fingerprint_of(busy_box.sources())


def _with(taken: dict[str, Any], facet: str, **changes: Any) -> dict[str, Any]:
    other = copy.deepcopy(taken)
    other["facets"][facet].update(changes)
    return other


def test_a_quiet_host_has_no_findings(quiet: dict[str, Any]) -> None:
    assert findings(quiet, copy.deepcopy(quiet), {"steal_pct": {"min": 0, "median": 0, "max": 0.1}}) == []


def test_an_unknown_host_has_no_findings_either(host: Any) -> None:
    blank = fingerprint_of(host.sources())
    assert findings(blank, blank, {"steal_pct": {"unknown": "x"}, "frequency_mhz": {"unknown": "x"}}) == []


@pytest.mark.parametrize(
    ("facet", "changes", "kind", "words"),
    [
        ("load", {"load_1": 3.5}, "load", "the load average is 3.5 on 2 CPUs"),
        ("load", {"busy_pct": 40.0}, "load", "40 % of all CPU time was in use"),
        ("load", {"steal_pct": 4.2}, "steal", "the hypervisor gave 4.2 %"),
        ("load", {"cpu_pressure_some_pct": 33.0}, "pressure", "waiting for a CPU"),
        ("memory", {"pressure_some_pct": 33.0}, "pressure", "waiting for memory"),
        ("load", {"heavy_processes": [{"name": "chrome", "core_pct": 88.1}]}, "processes", "chrome uses 88.1 %"),
        ("frequency", {"governor": "powersave"}, "governor", "is powersave with the energy preference performance"),
        ("frequency", {"governor": {"0": "performance", "1": "powersave"}}, "governor", "is powersave"),
        ("power", {"supply": "battery"}, "power", "runs on its battery"),
        ("power", {"temperatures_c": {"coretemp Package": 97.0}}, "heat", "coretemp Package reads 97 °C"),
        ("memory", {"available_bytes": 2**30}, "memory", "only 1.0 of 31.2 GiB"),
    ],
)
def test_each_disturbance_is_one_sentence_with_its_numbers(
    quiet: dict[str, Any], facet: str, changes: dict[str, Any], kind: str, words: str
) -> None:
    (finding,) = findings(_with(quiet, facet, **changes))
    assert finding.kind == kind
    assert words in finding.sentence
    assert "\n" not in finding.sentence


def test_a_gpu_that_holds_its_clocks_down_is_named_by_uuid(quiet: dict[str, Any]) -> None:
    state = {"GPU-1": {"throttle_reasons": ["idle", "hardware thermal slowdown"]}, "GPU-2": {"throttle_reasons": []}}
    (finding,) = findings(_with(quiet, "gpu", state=state))
    assert finding.sentence == "the GPU GPU-1 holds its clocks down: hardware thermal slowdown"


def test_what_changed_between_before_and_after_is_told(quiet: dict[str, Any]) -> None:
    after = _with(quiet, "frequency", governor="powersave", current_mhz=3900)
    told = [finding.sentence for finding in findings(quiet, after)]
    assert told == [
        "the host changed during the campaign: frequency governor: performance against powersave",
        "the fastest core ran at 4700 MHz before the campaign and at 3900 MHz after it, 17 % less",
    ]


def test_a_small_change_of_frequency_is_not_told(quiet: dict[str, Any]) -> None:
    assert findings(quiet, _with(quiet, "frequency", current_mhz=4400)) == []


@pytest.mark.parametrize(
    ("summary", "words"),
    [
        ({"steal_pct": {"min": 0, "median": 2.5, "max": 8}}, "2.5 % of the CPU time to other guests at the median"),
        ({"steal_pct": {"min": 0, "median": 0, "max": 12}}, "12 % at worst"),
        ({"thermal_throttling": 7}, "the processor slowed itself for heat 7 times"),
        ({"quota_throttling": 3}, "the CPU quota stopped this campaign 3 times"),
        ({"gpu_throttling": {"GPU-1": {"software power cap": 0.25}}}, "software power cap in 25 % of the readings"),
        ({"frequency_mhz": {"first_third": 4000, "last_third": 3000}}, "4000 MHz in the campaign's first third"),
        ({"unknown": "the monitor wrote no line"}, "the monitor wrote no line, so that nothing is known"),
        ({"fault": "the monitor ended early with status 1"}, "ended early with status 1"),
    ],
)
def test_what_the_monitor_saw_is_told(quiet: dict[str, Any], summary: dict[str, Any], words: str) -> None:
    (finding,) = findings(quiet, None, summary)
    assert words in finding.sentence


def test_a_heavy_foreign_process_is_seen_and_our_own_child_is_not(busy_box: Any) -> None:
    """The burner is a grandchild whose parent has gone, as a foreign program is; it ends by itself."""
    code = "import time\nend = time.time() + 8\nwhile time.time() < end: pass"
    silent = "stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL"
    spawn = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', {code!r}], {silent}).pid)"
    done = subprocess.run([sys.executable, "-c", spawn], capture_output=True, text=True, timeout=20)
    foreign = int(done.stdout)
    own = subprocess.Popen([sys.executable, "-c", code])
    try:
        time.sleep(0.3)
        listed = other_processes()
        assert isinstance(listed, list)
        pids = {usage.pid for usage in listed}
        assert foreign in pids
        assert not pids & {own.pid, os.getpid(), os.getppid()}
        sources = busy_box.sources(processes=other_processes, interval_s=0.6)
        kinds = {finding.kind for finding in findings(fingerprint_of(sources))}
        assert "processes" in kinds
    finally:
        os.kill(foreign, signal.SIGKILL)
        own.kill()
        own.wait()
