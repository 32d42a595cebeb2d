"""What the phases of a job cost, one job at a time."""

from __future__ import annotations

from dmafl.world.devices import Devices
from dmafl.world.physics.computation import compute_J, compute_s
from dmafl.world.physics.transmission import transfer_J


class PhaseCosts:
    """Times [s] and energies [J] of computations and transfers, from the columns of the devices."""

    def __init__(self, devices: Devices) -> None:
        self._cycles = devices.cycles_per_sample.tolist()
        self._capacitance = devices.capacitance_Js2.tolist()
        self._uplink_W, self._downlink_W = devices.uplink_power_W.tolist(), devices.downlink_power_W.tolist()

    def compute_s(self, device: int, task: int, steps: int, batch: int, frequency_Hz: float) -> float:
        """T^C."""
        return float(compute_s(self._cycles[device][task], steps, batch, frequency_Hz))

    def compute_J(self, device: int, task: int, steps: int, batch: int, frequency_Hz: float) -> float:
        """E^C."""
        cycles = self._cycles[device][task]
        return float(compute_J(cycles, steps, batch, frequency_Hz, self._capacitance[device]))

    def upload_J(self, device: int, upload_s: float) -> float:
        """E^U of a transfer of that length."""
        return float(transfer_J(self._uplink_W[device], upload_s))

    def download_J(self, device: int, download_s: float) -> float:
        """E^D of a transfer of that length, which the base station pays."""
        return float(transfer_J(self._downlink_W[device], download_s))
