"""The processor: what it is, how much it has of what, caches, memory nodes; from lscpu, sysfs, cpuinfo, sysctl."""

from __future__ import annotations

from typing import Any

from twotrees.host.facet import Facet
from twotrees.host.facets import lscpu
from twotrees.host.facts import Facts, Kind, Unknown, cpu_list, first_known, positive
from twotrees.host.sources import Sources

CPU = "/sys/devices/system/cpu"


def collect(sources: Sources) -> Facts:
    """Each fact from the best source that knows it."""
    table = lscpu.fields(sources)

    def field(name: str) -> str | Unknown:
        if isinstance(table, Unknown):
            return Unknown(f"lscpu: {table.reason}")
        value = table.get(name, "-")
        return Unknown(f"lscpu gives no {name!r}") if value in {"-", ""} else value

    def text(name: str, *cpuinfo: str, sysctl: str = "") -> Any:
        return first_known(
            (
                lambda: field(name),
                lambda: sources.cpuinfo_value(*cpuinfo) if cpuinfo else field(name),
                lambda: sources.sysctl_value(sysctl) if sysctl else field(name),
            ),
            f"no source gives {name}",
        )

    def count(name: str, sysctl: str) -> Any:
        return first_known(
            (lambda: positive(field(name), name), lambda: positive(sources.sysctl_value(sysctl), sysctl)),
            f"no source counts {name}",
        )

    sockets = count("Socket(s)", "hw.packages")
    return {
        "architecture": sources.machine or Unknown("the system names no architecture"),
        "vendor": text("Vendor ID", "vendor_id", "CPU implementer", sysctl="machdep.cpu.vendor"),
        "model_name": text("Model name", "model name", "Hardware", sysctl="machdep.cpu.brand_string"),
        "family": text("CPU family", "cpu family", "CPU architecture", sysctl="machdep.cpu.family"),
        "model": text("Model", "model", "CPU part", sysctl="machdep.cpu.model"),
        "stepping": text("Stepping", "stepping", "CPU revision", sysctl="machdep.cpu.stepping"),
        "microcode": sources.cpuinfo_value("microcode"),
        "microarchitecture": sources.microarchitecture(),
        "instruction_sets": instruction_sets(text("Flags", "flags", "Features", sysctl="machdep.cpu.features")),
        "sockets": sockets,
        "cores": cores(count("Core(s) per socket", "hw.physicalcpu"), sockets, sources),
        "threads": first_known(
            (lambda: count("CPU(s)", "hw.logicalcpu"), lambda: listed_threads(sources)), "no source counts CPUs"
        ),
        "threads_per_core": threads_per_core(field("Thread(s) per core"), sources),
        "smt": smt(sources),
        "hybrid_cores": hybrid_cores(sources),
        "caches": caches(sources),
        "numa_nodes": numa_nodes(sources),
        "online": sources.text(f"{CPU}/online"),
    }


def instruction_sets(text: str | Unknown) -> list[str] | Unknown:
    """The sorted flags."""
    return text if isinstance(text, Unknown) else sorted(set(text.lower().split()))


def cores(per_socket: Any, sockets: Any, sources: Sources) -> Any:
    """Physical cores in the whole host."""
    if sources.system == "Darwin" or isinstance(per_socket, Unknown):
        return per_socket
    if isinstance(sockets, Unknown):
        # util-linux leaves out the sockets of ARM boards that report clusters instead.
        return Unknown(f"{per_socket} in each socket, but the number of sockets is not known")
    return per_socket * sockets


def listed_threads(sources: Sources) -> int | Unknown:
    """Logical CPUs counted as blocks of cpuinfo."""
    blocks = sources.cpuinfo
    if isinstance(blocks, Unknown):
        return blocks
    count = sum("processor" in block for block in blocks)
    return count or Unknown("/proc/cpuinfo lists no processor")


def threads_per_core(text: str | Unknown, sources: Sources) -> Any:
    """Hardware threads of one core."""
    if sources.system != "Darwin":
        return positive(text, "threads per core")
    logical = positive(sources.sysctl_value("hw.logicalcpu"), "hw.logicalcpu")
    physical = positive(sources.sysctl_value("hw.physicalcpu"), "hw.physicalcpu")
    if isinstance(logical, Unknown) or isinstance(physical, Unknown):
        return Unknown("sysctl gives no hw.logicalcpu and hw.physicalcpu")
    return int(logical // physical)


def smt(sources: Sources) -> str | Unknown:
    """Simultaneous multithreading as the kernel's switch has it: on, off, forceoff, notsupported."""
    return sources.text(f"{CPU}/smt/control")


def hybrid_cores(sources: Sources) -> Any:
    """CPU list for each kind of core, or `none` where all cores are of one kind.

    Intel registers one PMU for each kind; ARM gives each CPU a capacity relative to the fastest (1024); macOS counts
    performance levels.
    """
    kinds = {kind: sources.text(f"/sys/devices/cpu_{kind}/cpus") for kind in ("core", "atom", "lowpower")}
    known = {kind: cpus for kind, cpus in kinds.items() if not isinstance(cpus, Unknown)}
    if len(known) > 1:
        return known
    capacities: dict[str, list[int]] = {}
    for path in sources.glob(f"{CPU}/cpu[0-9]*/cpu_capacity"):
        capacity = sources.number(path)
        if not isinstance(capacity, Unknown):
            number = int(path.split("/")[-2].removeprefix("cpu"))
            capacities.setdefault(str(capacity), []).append(number)
    if len(capacities) > 1:
        return {f"capacity {capacity}": cpu_list(numbers) for capacity, numbers in capacities.items()}
    levels = positive(sources.sysctl_value("hw.nperflevels"), "hw.nperflevels")
    if not isinstance(levels, Unknown) and levels > 1:
        return {
            str(sources.sysctl.get(f"hw.perflevel{level}.name", f"level {level}")): positive(
                sources.sysctl_value(f"hw.perflevel{level}.physicalcpu"), "cores"
            )
            for level in range(int(levels))
        }
    if known or capacities or not isinstance(levels, Unknown):
        return "none"
    if sources.machine == "x86_64" and sources.at(CPU).is_dir():
        # Every x86 kernel that runs on a hybrid processor registers cpu_core and cpu_atom.
        return "none"
    return Unknown("the kernel gives neither core kinds nor capacities")


def caches(sources: Sources) -> Any:
    """Each cache level: the size of one instance in KiB, and how many instances there are."""
    seen: dict[str, dict[str, Any]] = {}
    shared: dict[str, set[str]] = {}
    for folder in sources.glob(f"{CPU}/cpu[0-9]*/cache/index[0-9]*"):
        level, kind = sources.text(f"{folder}/level"), sources.text(f"{folder}/type")
        if isinstance(level, Unknown) or isinstance(kind, Unknown):
            continue
        name = f"L{level}{ {'Data': 'd', 'Instruction': 'i'}.get(kind, '') }"
        size = sources.text(f"{folder}/size")
        seen.setdefault(name, {"kib": size if isinstance(size, Unknown) else positive(size.rstrip("K"), "size")})
        shared.setdefault(name, set()).add(str(sources.text(f"{folder}/shared_cpu_list")))
    for name, entry in seen.items():
        entry["instances"] = len(shared[name])
    if seen:
        return dict(sorted(seen.items()))
    for key, name in (("hw.l1dcachesize", "L1d"), ("hw.l1icachesize", "L1i"), ("hw.l2cachesize", "L2")):
        kib = positive(sources.sysctl_value(key), key, 1024)
        if not isinstance(kib, Unknown):
            seen[name] = {"kib": kib, "instances": Unknown("sysctl does not count caches")}
    return seen or Unknown("neither sysfs nor sysctl lists caches")


def numa_nodes(sources: Sources) -> Any:
    """CPU list for each memory node."""
    nodes = {
        path.split("/")[-2].removeprefix("node"): sources.text(path)
        for path in sources.glob("/sys/devices/system/node/node[0-9]*/cpulist")
    }
    return nodes or Unknown(f"{sources.system} lists no memory nodes")


FACET = Facet(
    "processor",
    collect,
    dict.fromkeys(
        (
            *("architecture", "vendor", "model_name", "family", "model", "stepping", "microcode", "microarchitecture"),
            *("instruction_sets", "sockets", "cores", "threads", "threads_per_core", "smt", "hybrid_cores"),
            *("caches", "numa_nodes", "online"),
        ),
        Kind.SPEED,
    ),
)
