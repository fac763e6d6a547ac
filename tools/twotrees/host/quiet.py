"""Why a host is not quiet: each finding one sentence with its reason. The thresholds stand here.

In: fingerprints from before and after a campaign, and the monitor's summary. Out: findings; none means nothing was seen
that speaks against measuring here, which is less than a proof.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from twotrees.host.differ import differences
from twotrees.host.facts import unknown_reason

# pyperf's `system tune` and the kernel's documentation give rules, not numbers; these are set so that an idle desktop
# passes and a browser that plays a film does not.
LOAD_PER_CORE = 0.3
BUSY_PCT = 15.0
HEAVY_CORE_PCT = 20.0
PRESSURE_PCT = 10.0
# Stolen time adds to wall time directly: 1 % stolen is the whole of the smallest effect that is reported by default.
STEAL_PCT = 1.0
LOW_MEMORY_SHARE = 0.1
FREQUENCY_DROP = 0.1
FREQUENCY_DRIFT = 0.05
HOT_C = 90.0


@dataclass(frozen=True)
class Finding:
    """One reason to doubt that a host is quiet.

    Attributes:
        kind: A word to filter by: load, processes, steal, pressure, governor, power, memory, heat, throttling,
            frequency, changed, monitor.
        sentence: What was seen, with the numbers, and why it matters.
    """

    kind: str
    sentence: str

    def data(self) -> dict[str, str]:
        """The JSON form."""
        return {"kind": self.kind, "sentence": self.sentence}


def findings(
    before: dict[str, Any], after: dict[str, Any] | None = None, monitor: dict[str, Any] | None = None
) -> list[Finding]:
    """Everything that speaks against the host.

    Args:
        before: The fingerprint taken before the campaign.
        after: The one taken after it.
        monitor: The summary of the monitor that ran meanwhile.
    """
    found = list(_at_rest(before["facets"]))
    if after is not None:
        found += _between(before, after)
    if monitor is not None:
        found += _during(monitor)
    return found


def _number(facets: dict[str, Any], facet: str, fact: str) -> float | None:
    value = facets.get(facet, {}).get(fact)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _texts(facets: dict[str, Any], facet: str, fact: str) -> list[str]:
    """A fact's value, or all of them where CPUs differ; nothing when unknown."""
    value = facets.get(facet, {}).get(fact)
    if unknown_reason(value) is not None or value is None:
        return []
    return sorted({str(item) for item in value.values()}) if isinstance(value, dict) else [str(value)]


def _at_rest(facets: dict[str, Any]) -> Iterator[Finding]:
    yield from _load(facets)
    yield from _steering(facets)
    yield from _memory(facets)
    yield from _heat(facets)


def _load(facets: dict[str, Any]) -> Iterator[Finding]:
    cores = _number(facets, "processor", "threads") or _number(facets, "usable", "usable_cores") or 1.0
    load, busy = _number(facets, "load", "load_1"), _number(facets, "load", "busy_pct")
    if load is not None and load > LOAD_PER_CORE * cores:
        yield Finding("load", f"the load average is {load:g} on {cores:g} CPUs, so that runs would wait for other work")
    if busy is not None and busy > BUSY_PCT:
        yield Finding("load", f"{busy:g} % of all CPU time was in use while nothing was being measured")
    heavy = facets.get("load", {}).get("heavy_processes")
    for process in heavy if isinstance(heavy, list) else ():
        if process["core_pct"] >= HEAVY_CORE_PCT:
            yield Finding(
                "processes",
                f"the process {process['name']} uses {process['core_pct']:g} % of a core at the same time",
            )
    steal = _number(facets, "load", "steal_pct")
    if steal is not None and steal > STEAL_PCT:
        yield Finding(
            "steal", f"the hypervisor gave {steal:g} % of the CPU time to other guests, at times that cannot be seen"
        )
    for facet, fact, what in (("load", "cpu_pressure_some_pct", "a CPU"), ("memory", "pressure_some_pct", "memory")):
        pressure = _number(facets, facet, fact)
        if pressure is not None and pressure > PRESSURE_PCT:
            yield Finding("pressure", f"in {pressure:g} % of the last 10 s some task was waiting for {what}")


def _steering(facets: dict[str, Any]) -> Iterator[Finding]:
    governors = _texts(facets, "frequency", "governor")
    saving = [governor for governor in governors if governor in {"powersave", "conservative"}]
    if saving:
        preference = ", ".join(_texts(facets, "frequency", "energy_preference"))
        beside = f" with the energy preference {preference}" if preference else ""
        yield Finding(
            "governor",
            f"the CPU frequency governor is {', '.join(saving)}{beside}, so that the clock follows the load "
            "and early runs are slower",
        )
    if "battery" in _texts(facets, "power", "supply"):
        yield Finding("power", "the host runs on its battery, where firmware lowers clocks as it sees fit")


def _memory(facets: dict[str, Any]) -> Iterator[Finding]:
    total, available = _number(facets, "memory", "total_bytes"), _number(facets, "memory", "available_bytes")
    if total and available is not None and available < LOW_MEMORY_SHARE * total:
        yield Finding(
            "memory",
            f"only {available / 2**30:.1f} of {total / 2**30:.1f} GiB of memory are available, so that runs may swap",
        )


def _heat(facets: dict[str, Any]) -> Iterator[Finding]:
    read = facets.get("power", {}).get("temperatures_c")
    if isinstance(read, dict) and unknown_reason(read) is None:
        name, hottest = max(read.items(), key=lambda item: float(item[1]))
        if hottest >= HOT_C:
            yield Finding("heat", f"the sensor {name} reads {hottest:g} °C at rest, near the point of slowing down")
    gpus = facets.get("gpu", {}).get("state")
    for uuid, gpu in gpus.items() if isinstance(gpus, dict) and unknown_reason(gpus) is None else ():
        reasons = gpu.get("throttle_reasons")
        held = [why for why in reasons if "slowdown" in why or "brake" in why] if isinstance(reasons, list) else []
        if held:
            yield Finding("throttling", f"the GPU {uuid} holds its clocks down: {', '.join(held)}")


def _between(before: dict[str, Any], after: dict[str, Any]) -> Iterator[Finding]:
    for difference in differences(before, after):
        if difference.matters and difference.verdict == "different":
            yield Finding("changed", f"the host changed during the campaign: {difference.sentence}")
    early, late = (_fastest(side["facets"]) for side in (before, after))
    if early and late and late < early * (1 - FREQUENCY_DROP):
        yield Finding(
            "frequency",
            f"the fastest core ran at {early:g} MHz before the campaign and at {late:g} MHz after it, "
            f"{100 * (1 - late / early):.0f} % less",
        )


def _fastest(facets: dict[str, Any]) -> float | None:
    value = facets.get("frequency", {}).get("current_mhz")
    values = value.values() if isinstance(value, dict) else [value]
    known = [float(item) for item in values if isinstance(item, (int, float)) and not isinstance(item, bool)]
    return max(known) if known else None


def _during(summary: dict[str, Any]) -> Iterator[Finding]:
    if summary.get("fault"):
        yield Finding("monitor", f"{summary['fault']}, so that nothing is known of the host from then on")
    if unknown_reason({"unknown": summary["unknown"]} if "unknown" in summary else None) is not None:
        yield Finding("monitor", f"{summary['unknown']}, so that nothing is known of the host during the campaign")
        return
    steal = summary.get("steal_pct", {})
    if isinstance(steal.get("median"), (int, float)) and (steal["median"] > STEAL_PCT or steal["max"] > 10 * STEAL_PCT):
        yield Finding(
            "steal",
            f"the hypervisor gave {steal['median']:g} % of the CPU time to other guests at the median, "
            f"{steal['max']:g} % at worst",
        )
    for key, cause in (
        ("thermal_throttling", "the processor slowed itself for heat"),
        ("quota_throttling", "the CPU quota stopped this campaign"),
    ):
        count = summary.get(key)
        if isinstance(count, int) and count > 0:
            yield Finding("throttling", f"{cause} {count} times during the campaign")
    for uuid, reasons in _known(summary.get("gpu_throttling")).items():
        listed = ", ".join(f"{why} in {100 * share:.0f} % of the readings" for why, share in reasons.items())
        yield Finding("throttling", f"the GPU {uuid} held its clocks down during the campaign: {listed}")
    frequency = _known(summary.get("frequency_mhz"))
    first, last = frequency.get("first_third"), frequency.get("last_third")
    if first and last and last < first * (1 - FREQUENCY_DRIFT):
        yield Finding(
            "frequency",
            f"the fastest core ran at {first:g} MHz in the campaign's first third and at {last:g} MHz in its last, "
            f"{100 * (1 - last / first):.0f} % less",
        )


def _known(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) and unknown_reason(value) is None else {}
