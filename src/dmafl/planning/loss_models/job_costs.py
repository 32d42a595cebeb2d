"""What jobs of one task cost beside their loss: the energies and times that a lower bound may count on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class JobCosts:
    """Transfers and computation of every usable device, in units of the objective and in seconds; U devices."""

    upload: FloatArray
    """Cost of the uplink's energy by device and slot, (U, G)."""
    download: FloatArray
    """Cost of the downlink's energy by device and version, (U, G)."""
    upload_s: FloatArray
    download_s: FloatArray
    """Their times, (U, G) each."""
    sample: FloatArray
    """Cost of a sample's energy at 1 Hz, (U,): it grows with the square of the frequency."""
    cycles: FloatArray
    """CPU cycles of a sample, (U,)."""
    lowest_Hz: FloatArray
    highest_Hz: FloatArray
    """Frequencies that a job may have, (U,) each."""
    window_s: float
    """No slot is completed later."""
    most_in_flight: int
    """Jobs that can be under way at a time."""

    @property
    def cheapest_sample(self) -> float:
        """Cost of a sample where that is least."""
        return float((self.sample * self.lowest_Hz**2).min())

    def cheapest_transfers(self, most_stale: int) -> float:
        """The least that an uplink of every slot and any downlink of a version that it may receive cost, in all."""
        return float(np.sum(self.upload.min(axis=0) + _best_version(self.download.min(axis=0), most_stale)))

    def of_one_device(self) -> JobCosts:
        """Costs of an imaginary device that is the best one in every respect, which no schedule goes below."""
        return JobCosts(
            upload=self.upload.min(axis=0, keepdims=True),
            download=self.download.min(axis=0, keepdims=True),
            upload_s=self.upload_s.min(axis=0, keepdims=True),
            download_s=self.download_s.min(axis=0, keepdims=True),
            sample=self.sample.min(keepdims=True),
            cycles=self.cycles.min(keepdims=True),
            lowest_Hz=self.lowest_Hz.min(keepdims=True),
            highest_Hz=self.highest_Hz.max(keepdims=True),
            window_s=self.window_s,
            most_in_flight=self.most_in_flight,
        )


def _best_version(download: FloatArray, most_stale: int) -> FloatArray:
    padded = np.concatenate([np.full(most_stale, np.inf), download])
    return np.asarray(np.lib.stride_tricks.sliding_window_view(padded, most_stale + 1).min(axis=1))
