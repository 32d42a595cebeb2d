"""Large-scale attenuation between a device and the base station."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.arrays import FloatArray

REFERENCE_DISTANCE_M = 1.0


def path_loss_dB(distance_m: ArrayLike, at_1m_dB: float = -30.0, exponent: float = 3.0) -> FloatArray:
    """Path gain of a device [dB], a negative number. Paper Sec. VI-A.

    Differs from the paper: distances below the reference of 1 m count as 1 m, so that the gain stays bounded.
    """
    d = np.maximum(np.asarray(distance_m, dtype=np.float64), REFERENCE_DISTANCE_M)
    return at_1m_dB - 10.0 * exponent * np.log10(d / REFERENCE_DISTANCE_M)


def linear(gain_dB: ArrayLike) -> FloatArray:
    """A gain in dB as a power ratio.

    Differs from the paper, which multiplies by the dB value itself.
    """
    return np.asarray(10.0 ** (np.asarray(gain_dB, dtype=np.float64) / 10.0))


def noise_W_per_Hz(noise_dBm_Hz: ArrayLike) -> FloatArray:
    """Noise power spectral density N_0 [W/Hz] from its value in dBm/Hz."""
    return linear(np.asarray(noise_dBm_Hz, dtype=np.float64) - 30.0)
