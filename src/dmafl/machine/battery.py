"""Batteries of laptops, phones and boards: what the whole machine takes, while they alone feed it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dmafl.machine.power import PowerIntegral
from dmafl.machine.system_files import NoReading, folders, number_in, word_in

SUPPLIES = "sys/class/power_supply"
EVERY_S = 1.0
UW, PVA = 1e-6, 1e-12
"""Watts of a microwatt, and of a microvolt times a microampere."""


def find(root: Path) -> PowerIntegral | None:
    """All batteries of the machine itself together, if they discharge."""
    supplies = folders(root, SUPPLIES)
    batteries = [
        supply
        for supply in supplies
        # A mouse or a headset has a battery too; the scope of those is "Device".
        if word_in(supply / "type") == "Battery" and word_in(supply / "scope") != "Device"
    ]
    if not batteries:
        return None
    chargers = [supply for supply in supplies if supply not in batteries]

    def power_W() -> float:
        return _power_W(batteries, chargers)

    power_W()
    return PowerIntegral(f"battery {' + '.join(battery.name for battery in batteries)}", power_W, EVERY_S)


def _power_W(batteries: Sequence[Path], chargers: Sequence[Path]) -> float:
    """What the batteries give; unknown while something charges them, since that feeds the machine too."""
    for charger in chargers:
        if word_in(charger / "scope") != "Device" and word_in(charger / "online") not in ("", "0"):
            raise NoReading(f"battery: {charger.name} is plugged in")
    states = {battery: word_in(battery / "status") for battery in batteries}
    giving = [battery for battery, state in states.items() if state == "Discharging"]
    if not giving or "Charging" in states.values():
        said = ", ".join(f"{battery.name} is {state or 'silent'}" for battery, state in states.items())
        raise NoReading(f"battery: {said}")
    return sum(map(_given_W, giving))


def _given_W(battery: Path) -> float:
    """Drivers do not agree on the sign of a current that flows out."""
    if (battery / "power_now").exists():
        power_W = abs(number_in(battery / "power_now")) * UW
    else:
        power_W = abs(number_in(battery / "current_now")) * number_in(battery / "voltage_now") * PVA
    if not power_W > 0:
        raise NoReading(f"battery: {battery.name} discharges and says {power_W:g} W")
    return power_W
