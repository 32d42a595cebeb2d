"""Files in which Linux tells of a machine, below a folder of the test instead of `/`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from dmafl.machine import termux

Content = Mapping[str, object]


def put(root: Path, place: str, files: Content) -> Path:
    """Write each of `files` into the folder `place`."""
    folder = root / place
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(f"{content}\n")
    return folder


def package(
    root: Path, energy_uJ: object, number: int = 0, zone: str = "intel-rapl:0", **more: object
) -> Path:
    """A package of RAPL."""
    files = {"name": f"package-{number}", "max_energy_range_uj": 1000, "energy_uj": energy_uJ}
    return put(root, f"sys/class/powercap/{zone}", {**files, **more})


def battery(root: Path, name: str = "BAT0", **files: object) -> Path:
    """A battery that discharges at 5 W."""
    usual = {"type": "Battery", "status": "Discharging", "power_now": 5_000_000}
    return put(root, f"sys/class/power_supply/{name}", {**usual, **files})


def charger(root: Path, online: object, **files: object) -> Path:
    """A socket for a plug."""
    return put(root, "sys/class/power_supply/AC", {"type": "Mains", "online": online, **files})


def ina3221(root: Path, rails: Mapping[str, tuple[object, object]], number: int = 0) -> Path:
    """A chip with rails: millivolts and milliamperes by name."""
    files: dict[str, object] = {"name": "ina3221"}
    for channel, (label, (voltage_mV, current_mA)) in enumerate(rails.items(), start=1):
        files |= {f"in{channel}_label": label, f"in{channel}_input": voltage_mV}
        files |= {f"curr{channel}_input": current_mA}
    return put(root, f"sys/class/hwmon/hwmon{number}", files)


def cores(root: Path, *clocks_kHz: object) -> None:
    """Cores with a clock each."""
    for number, clock_kHz in enumerate(clocks_kHz):
        put(root, f"sys/devices/system/cpu/cpu{number}/cpufreq", {"scaling_cur_freq": clock_kHz})


def phone(root: Path, script: str) -> Path:
    """A phone whose `termux-battery-status` is this script of the shell."""
    path = root / termux.COMMAND
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
