"""Time and energy of local training."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dmafl.randomness import FloatArray


def compute_s(
    cycles_per_sample: ArrayLike, steps: ArrayLike, batch: ArrayLike, frequency_Hz: ArrayLike
) -> FloatArray:
    """Time of e SGD steps of batch B at frequency f, T^C = c e B / f [s]. Eq. (local_computation_time)."""
    c, e, B = np.asarray(cycles_per_sample), np.asarray(steps), np.asarray(batch)
    return np.asarray(c * e * B / np.asarray(frequency_Hz, dtype=np.float64))


def compute_J(
    cycles_per_sample: ArrayLike,
    steps: ArrayLike,
    batch: ArrayLike,
    frequency_Hz: ArrayLike,
    capacitance_Js2: ArrayLike,
) -> FloatArray:
    """Energy of e steps of batch B at frequency f, E^C = ξ c e B f² [J]. Eq. (local_computation_energy)."""
    c, e, B, f = np.asarray(cycles_per_sample), np.asarray(steps), np.asarray(batch), np.asarray(frequency_Hz)
    return np.asarray(np.asarray(capacitance_Js2) * c * e * B * f.astype(np.float64) ** 2)
