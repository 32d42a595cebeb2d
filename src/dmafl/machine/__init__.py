"""The machine that this process runs on: the energy that it takes, its clock, and how fast it trains."""

from dmafl.machine.energy_meter import EnergyMeter, find_energy_meter

__all__ = ["EnergyMeter", "find_energy_meter"]
