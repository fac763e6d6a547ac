"""Power and heat: mains or battery, the firmware's profile, temperatures in °C."""

from __future__ import annotations

from typing import Any

from twotrees.host import monitor
from twotrees.host.facet import Facet
from twotrees.host.facts import Facts, Kind, Unknown
from twotrees.host.sources import Sources

SUPPLY = "/sys/class/power_supply"


def collect(sources: Sources) -> Facts:
    """From sysfs; macOS tells its supply through `pmset`."""
    sensors = monitor.temperature_sensors(sources.root)
    read = monitor.temperatures(sensors)
    return {
        "supply": supply(sources),
        "profile": sources.text("/sys/firmware/acpi/platform_profile"),
        "temperatures_c": read or Unknown(f"{sources.system} shows no temperature sensor here"),
        "throttle_counts": monitor.throttle_counts(sources.root)
        or Unknown("the kernel counts no thermal throttling here"),
    }


def supply(sources: Sources) -> Any:
    """`mains` or `battery`."""
    if sources.system == "Darwin":
        text = sources.answer("pmset", "-g", "batt")
        if isinstance(text, Unknown):
            return text
        return "battery" if "'Battery Power'" in text else "mains"
    supplies = sources.glob(f"{SUPPLY}/*")
    if any(sources.text(f"{path}/type") == "Mains" and sources.text(f"{path}/online") == "1" for path in supplies):
        return "mains"
    # A mouse's battery is listed too, with the scope Device; a desktop's USB ports are listed as supplies that are off.
    own = [path for path in supplies if sources.text(f"{path}/scope") != "Device"]
    states = {sources.text(f"{path}/status") for path in own if sources.text(f"{path}/type") == "Battery"}
    if "Discharging" in states:
        return "battery"
    return "mains" if states & {"Charging", "Full", "Not charging"} else Unknown("no power supply tells its state")


FACET = Facet(
    "power",
    collect,
    {
        "supply": Kind.SPEED,
        "profile": Kind.SPEED,
        "temperatures_c": Kind.STATE,
        "throttle_counts": Kind.STATE,
    },
)
