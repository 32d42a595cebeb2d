"""The clock of this machine's processor [Hz], where Linux tells it."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dmafl.machine.system_files import NoReading, folders, number_in

CORES = "sys/devices/system/cpu"
KHZ = 1e3
MOST_HZ = 1e11


def clock_Hz(root: Path = Path("/")) -> float:
    """The highest clock now of the cores that this process may use: the one that computes is the fastest of them.

    `NoReading` where the system does not tell, as in most virtual machines.
    """
    usable = _usable()
    clocks = []
    for core in folders(root, CORES):
        match = re.fullmatch(r"cpu(\d+)", core.name)
        if match and (usable is None or int(match[1]) in usable):
            now = core / "cpufreq" / "scaling_cur_freq"
            if now.exists():
                clocks.append(number_in(now) * KHZ)
    if not clocks:
        raise NoReading("this machine does not tell its clock (no cpufreq)")
    fastest = max(clocks)
    if not 0 < fastest <= MOST_HZ:
        raise NoReading(f"cpufreq says {fastest:g} Hz")
    return fastest


def _usable() -> set[int] | None:
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
