"""Wall and CPU time side by side: on a busy machine only their ratios to other rows of the same run mean much.

Needs nothing but Python, so that the scripts of other libraries use it too.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

PARENT, FIRST_TIME, AFTER_TIMES = 1, 11, 15
"""Fields of /proc/PID/stat after the name: the parent, and user and system time of a process and of its dead."""


class Stopwatch:
    """Seconds since it was made; `family` adds the CPU time of child processes, dead or alive."""

    def __init__(self, *, family: bool = False) -> None:
        self._cpu = family_cpu_s if family else time.process_time
        self._began_cpu_s = self._cpu()
        self._began_s = time.perf_counter()

    def read(self) -> dict[str, float]:
        """Wall and CPU seconds."""
        return {
            "seconds": time.perf_counter() - self._began_s,
            "cpu_seconds": self._cpu() - self._began_cpu_s,
        }


def family_cpu_s() -> float:
    """CPU time of this process and all its descendants, in ticks of 10 ms; of this process only without /proc."""
    parent: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        process = int(entry.parent.name)
        parent[process] = int(fields[PARENT])
        ticks[process] = sum(map(int, fields[FIRST_TIME:AFTER_TIMES]))
    if os.getpid() not in ticks:
        return time.process_time()
    family = {os.getpid()}
    while True:
        more = {process for process, of in parent.items() if of in family} - family
        if not more:
            return sum(ticks[process] for process in family) / os.sysconf("SC_CLK_TCK")
        family |= more
