"""The monitor's own process: one JSON line at most once a second while a campaign runs; standard library only.

In: standard input, which the campaign keeps open and which ends when the campaign does, however it dies. Out: JSON
lines: time, frequencies, temperatures, load, stolen time, throttling, and the CPU time the monitor itself has used.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import select
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

SCHEMA = "twotrees-monitor-v1"
MAX_HZ = 1.0
MAX_SENSORS = 32
GPU_DEVICES = ("dev/nvidiactl", "dev/dxg")

Ticks = list[int]


def cpu_ticks(root: Path) -> Ticks | None:
    """The first line of `/proc/stat` (proc(5)): clock ticks by state, over all CPUs; None where there is none."""
    text = _read(root / "proc/stat")
    fields = text.split("\n", 1)[0].split() if text else []
    return [int(field) for field in fields[1:]] if fields[:1] == ["cpu"] and all(map(str.isdigit, fields[1:])) else None


def shares(before: Ticks | None, after: Ticks | None) -> tuple[float | None, float | None]:
    """Busy and stolen time between two readings, in per cent of all CPUs' time.

    Fields: user nice system idle iowait irq softirq steal guest guest_nice; guest time is counted within user already.
    """
    if before is None or after is None or len(before) < 8 or len(after) < 8:
        return None, None
    spent = [max(0, late - early) for early, late in zip(before[:8], after[:8], strict=True)]
    total = sum(spent)
    if not total:
        return None, None
    idle, steal = spent[3] + spent[4], spent[7]
    return round(100.0 * (total - idle - steal) / total, 2), round(100.0 * steal / total, 2)


def temperature_sensors(root: Path) -> dict[str, Path]:
    """The files that hold a temperature in thousandths of a degree, by a name for people."""
    sensors: dict[str, Path] = {}
    for path in sorted((root / "sys/class/hwmon").glob("hwmon*/temp*_input")):
        chip = _read(path.parent / "name") or path.parent.name
        label = _read(path.with_name(path.name.replace("_input", "_label"))) or path.name.removesuffix("_input")
        sensors.setdefault(f"{chip} {label}", path)
    for path in sorted((root / "sys/class/thermal").glob("thermal_zone*/temp")):
        sensors.setdefault(f"{path.parent.name} {_read(path.parent / 'type') or ''}".strip(), path)
    return dict(list(sensors.items())[:MAX_SENSORS])


def temperatures(sensors: dict[str, Path]) -> dict[str, float]:
    """Degrees Celsius of the sensors that answer with a sane value; a sensor that is off reads 0 or below -200."""
    read: dict[str, float] = {}
    for name, path in sensors.items():
        with contextlib.suppress(ValueError):
            degrees = int(_read(path) or "") / 1000
            if -60 < degrees < 150 and degrees != 0:
                read[name] = degrees
    return read


def throttle_counts(root: Path) -> dict[str, int]:
    """How often the processor has slowed itself for heat since boot, summed over cores and packages (x86)."""
    counts: dict[str, int] = {}
    for kind in ("core", "package"):
        paths = (root / "sys/devices/system/cpu").glob(f"cpu[0-9]*/thermal_throttle/{kind}_throttle_count")
        values = [int(text) for text in map(_read, paths) if text is not None and text.isdigit()]
        if values:
            counts[kind] = sum(values)
    return counts


def frequency_files(root: Path) -> dict[str, Path]:
    """CPU number to the file with its present frequency in kHz."""
    found = (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq")
    files = {path.parts[-3].removeprefix("cpu"): path for path in found}
    return dict(sorted(files.items(), key=lambda item: int(item[0])))


def frequencies(files: dict[str, Path]) -> dict[str, Any]:
    """MHz by CPU number, or why there are none; a core that reads 0 or nothing is left out."""
    texts = {cpu: _read(path) for cpu, path in files.items()}
    read = {cpu: int(text) // 1000 for cpu, text in texts.items() if text and text.isdigit() and int(text) > 0}
    if read:
        return read
    return _unknown("the kernel gives no cpufreq here" if not files else "no core tells its frequency")


def quota_file(root: Path) -> Path | None:
    """The `cpu.stat` of our own control group, v2 or v1, or of the nearest one above it."""
    for line in (_read(root / "proc/self/cgroup") or "").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounts = [controllers, "cpu"] if controllers else [".", "unified"]
        for mount in mounts:
            base = root / "sys/fs/cgroup" / mount
            own = Path(os.path.normpath(f"{base}/{path}"))
            for folder in (own, *own.parents):
                if (folder / "cpu.stat").is_file() and "nr_throttled" in (_read(folder / "cpu.stat") or ""):
                    return folder / "cpu.stat"
                if folder == base:
                    break
    return None


def throttled_by_quota(path: Path | None) -> int | None:
    """How often the quota has stopped our group so far."""
    for line in (_read(path) or "").splitlines() if path else ():
        key, _, value = line.partition(" ")
        if key == "nr_throttled" and value.isdigit():
            return int(value)
    return None


class Gpus:
    """Asks NVML in a thread, so that a driver that hangs costs the GPU's readings and nothing else."""

    def __init__(self, root: Path) -> None:
        self.latest: Any = _unknown("no NVIDIA driver is loaded")
        self._asked = threading.Event()
        self._pending_since: float | None = None
        if any((root / device).exists() for device in GPU_DEVICES):
            self.latest = _unknown("NVML has not answered yet")
            threading.Thread(target=self._work, daemon=True).start()

    def reading(self) -> Any:
        """The newest reading, and a request for the next one."""
        now = time.monotonic()
        since, self._pending_since = self._pending_since, self._pending_since or now
        self._asked.set()
        if since is not None and now - since > 5:
            return _unknown(f"NVML has not answered for {now - since:.0f} s")
        return self.latest

    def _work(self) -> None:
        try:
            import pynvml

            from twotrees.host import nvml

            pynvml.nvmlInit()
            while self._asked.wait():
                self._asked.clear()
                self.latest = nvml.sample(pynvml)
                self._pending_since = None
        except Exception as fault:
            # Whatever the driver does, the CPU's readings go on, and the reason stands in every line.
            self.latest = _unknown(f"NVML: {fault}")
            while self._asked.wait():
                self._asked.clear()
                self._pending_since = None


class Sampler:
    """What is looked up once, and the counters of the last reading."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.sensors = temperature_sensors(root)
        self.frequency_files = frequency_files(root)
        self.quota_file = quota_file(root)
        self.gpus = Gpus(root)
        self.ticks = cpu_ticks(root)

    def sample(self) -> dict[str, Any]:
        """One line."""
        ticks = cpu_ticks(self.root)
        busy, steal = shares(self.ticks, ticks)
        self.ticks = ticks
        unread = _unknown("no difference between two readings of /proc/stat")
        quota = throttled_by_quota(self.quota_file)
        return {
            "time": round(time.time(), 3),
            "frequency_mhz": frequencies(self.frequency_files),
            "temperature_c": temperatures(self.sensors) or _unknown("no sensor answers"),
            "load_1": load(self.root),
            "busy_pct": unread if busy is None else busy,
            "steal_pct": unread if steal is None else steal,
            "throttle_counts": throttle_counts(self.root) or _unknown("the kernel counts no thermal throttling here"),
            "quota_throttled": _unknown("no control group counts it") if quota is None else quota,
            "gpu": self.gpus.reading(),
            "own_cpu_s": round(time.process_time(), 4),
        }


def load(root: Path) -> Any:
    """The load average over one minute."""
    text = _read(root / "proc/loadavg")
    try:
        return float(text.split()[0]) if text else round(os.getloadavg()[0], 2)
    except (ValueError, OSError) as fault:
        return _unknown(f"load average: {fault}")


def watch(root: Path, hz: float, out: TextIO, parent: int) -> None:
    """Writes a line now and every 1/hz s, until standard input ends or the parent is another process.

    The wait for input is the sleep between lines: the end of the campaign wakes it at once.
    """
    sampler = Sampler(root)
    out.write(json.dumps({"schema": SCHEMA, "hz": hz}) + "\n")
    due = time.monotonic()
    while True:
        out.write(json.dumps(sampler.sample(), separators=(",", ":")) + "\n")
        out.flush()
        # A suspended host is not made up for with a burst of lines.
        due = max(due + 1.0 / hz, time.monotonic())
        ready, _, _ = select.select([sys.stdin], [], [], max(0.0, due - time.monotonic()))
        if ready or os.getppid() != parent:
            return


def _read(path: Path | None) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace").strip() if path else None
    except OSError:
        return None


def _unknown(reason: str) -> dict[str, str]:
    return {"unknown": reason}


def main(argv: list[str] | None = None) -> None:
    """Reads the arguments and watches."""
    parser = argparse.ArgumentParser(prog="python -m twotrees.host.monitor", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--hz", type=float, default=MAX_HZ)
    parser.add_argument("--root", type=Path, default=Path("/"))
    arguments = parser.parse_args(argv)
    if not 0 < arguments.hz <= MAX_HZ:
        parser.error(f"--hz must be above 0 and at most {MAX_HZ:g}")
    parent = os.getppid()
    with contextlib.suppress(OSError):
        # The measured process goes first wherever the two meet.
        os.nice(10)
    with arguments.out.open("a", encoding="utf-8") as out:
        watch(arguments.root, arguments.hz, out, parent)


if __name__ == "__main__":
    main()
