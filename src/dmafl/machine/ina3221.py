"""INA3221: the power sensors of NVIDIA's Jetson boards, as Linux shows them under hwmon (mV and mA of three rails)."""

from __future__ import annotations

from pathlib import Path

from dmafl.machine.power import PowerIntegral
from dmafl.machine.system_files import NoReading, folders, number_in, word_in

SENSORS = "sys/class/hwmon"
CHIP = "ina3221"
RAILS = (1, 2, 3)
"""Channels of a chip; higher numbers under hwmon are voltages of its shunts, and their sum."""
INPUTS = {"VDD_IN", "POM_5V_IN", "5V_IN", "VDD_MUX"}
"""Rails through which all the power of a module or of its carrier comes; the others lie behind them."""
UNUSED = {"", "NC"}
EVERY_S = 0.5
UW = 1e-6


def find(root: Path) -> PowerIntegral | None:
    """The inputs of the board, where a chip watches them; else the sum of all rails that have a name."""
    rails = {
        label: (folder, channel)
        for folder in folders(root, SENSORS)
        if word_in(folder / "name") == CHIP
        for channel in RAILS
        if (label := word_in(folder / f"in{channel}_label")) not in UNUSED
    }
    used = {name: rail for name, rail in rails.items() if name in INPUTS} or rails
    if not used:
        return None

    def power_W() -> float:
        return sum(_power_W(folder, channel) for folder, channel in used.values())

    try:
        power_W()
    except NoReading as error:
        raise NoReading(f"INA3221: {error}") from None
    return PowerIntegral(f"INA3221 {' + '.join(used)}", power_W, EVERY_S)


def _power_W(folder: Path, channel: int) -> float:
    return number_in(folder / f"in{channel}_input") * number_in(folder / f"curr{channel}_input") * UW
