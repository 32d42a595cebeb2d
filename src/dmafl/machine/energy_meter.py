"""The meter that tells how many joules this machine takes, of whatever kind it has; or why it has none."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dmafl.machine import battery, ina3221, rapl, termux
from dmafl.machine.sampled_meter import Joules, SampledMeter
from dmafl.machine.system_files import NoReading

KINDS = (rapl.find, ina3221.find, battery.find, termux.find)
"""Tried in this order: counters of energy first, since they miss nothing; a command that starts a process last."""
NOTHING_THERE = "no RAPL, no INA3221, no battery that discharges, no Termux"


class EnergyMeter(Protocol):
    """Joules of the whole machine, or of the part that `source` names."""

    @property
    def source(self) -> str:
        """What measures, as `RAPL package-0`; or `none` and the reason why nothing does."""
        ...

    def joules(self) -> float | None:
        """Energy since the meter was opened [J]; None where it was not measured, never 0 for that."""
        ...


@dataclass(frozen=True)
class NoMeter:
    """A machine that nobody measures."""

    source: str

    def joules(self) -> float | None:
        """Nobody knows."""
        return None


def find_energy_meter(root: Path = Path("/")) -> EnergyMeter:
    """The first meter that gives a number now, opened; `root` is where the files of the system are."""
    reasons = []
    for find in KINDS:
        try:
            joules: Joules | None = find(root)
            if joules is not None:
                return SampledMeter(joules)
        except NoReading as error:
            reasons.append(str(error))
    return NoMeter(f"none: {'; '.join(reasons) or NOTHING_THERE}")
