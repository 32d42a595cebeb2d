"""Termux on Android: `termux-battery-status`, a command of the add-on Termux:API, asked while the phone discharges."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from dmafl.base.errors import BadInput
from dmafl.base.files import parse_json
from dmafl.machine.power import PowerIntegral
from dmafl.machine.system_files import NoReading

COMMAND = "data/data/com.termux/files/usr/bin/termux-battery-status"
NAME = "termux-battery-status"
PATIENCE_S = 15.0
"""It answers within a second on some phones and takes seven on others; without the app it never answers."""
EVERY_S = 20.0
LEAST_UA = 20_000
"""A phone that computes takes more than 20 mA. A smaller number is in milliamperes, as many phones give it."""
MV_MA, MV_UA = 1e-6, 1e-9
"""Watts of a millivolt times a milliampere, and times a microampere."""


def find(root: Path) -> PowerIntegral | None:
    """The phone's battery, if the command is there and gives power now."""
    command = root / COMMAND
    if not command.is_file():
        return None
    _power_W(command)
    return PowerIntegral(f"Termux {NAME}", lambda: _power_W(command), EVERY_S)


def _power_W(command: Path) -> float:
    status = _status(command)
    if status.get("plugged") != "UNPLUGGED" or status.get("status") not in ("DISCHARGING", "NOT_CHARGING"):
        raise NoReading(f"{NAME}: the phone is {status.get('plugged')}, {status.get('status')}")
    current, voltage_mV = status.get("current"), status.get("voltage")
    if type(voltage_mV) is not int:
        raise NoReading(f"{NAME} gives no voltage: a newer Termux:API does")
    if type(current) is not int or not current:
        raise NoReading(f"{NAME} gives no current")
    return abs(current) * voltage_mV * (MV_UA if abs(current) >= LEAST_UA else MV_MA)


def _status(command: Path) -> dict[str, Any]:
    try:
        # It reads no input; its own path, so that no other command of that name is run.
        answer = subprocess.run(
            [command], stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE_S, check=True
        ).stdout
        status = parse_json(answer, NAME, "status")
    except subprocess.TimeoutExpired:
        raise NoReading(f"{NAME} did not answer: is the app Termux:API installed?") from None
    except (OSError, subprocess.SubprocessError, BadInput):
        raise NoReading(f"{NAME} failed") from None
    if not isinstance(status, dict):
        raise NoReading(f"{NAME} failed")
    return status
