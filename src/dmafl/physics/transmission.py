"""Rate, delay and energy of sending a model over the air, uplink and downlink alike."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dmafl.randomness import FloatArray


def snr(gain: ArrayLike, power_W: ArrayLike, bandwidth_Hz: ArrayLike, noise_W_Hz: ArrayLike) -> FloatArray:
    """Signal-to-noise ratio |h|² p / (N_0 BW). Inside Eq. (rateUP) and Eq. (rateDOWN)."""
    h2, p, N0, BW = (np.asarray(part, dtype=np.float64) for part in (gain, power_W, noise_W_Hz, bandwidth_Hz))
    return np.asarray(h2 * p / (N0 * BW))


def rate_bit_s(
    gain: ArrayLike, power_W: ArrayLike, bandwidth_Hz: ArrayLike, noise_W_Hz: ArrayLike
) -> FloatArray:
    """Data rate of a link [bit/s]. Eq. (rateUP), Eq. (rateDOWN), with the logarithm to base 2."""
    h2_p_over_noise = snr(gain, power_W, bandwidth_Hz, noise_W_Hz)
    return np.asarray(np.asarray(bandwidth_Hz) * np.log1p(h2_p_over_noise) / np.log(2.0))


def mean_rayleigh_rate_bit_s(
    path_gain: ArrayLike, power_W: ArrayLike, bandwidth_Hz: ArrayLike, noise_W_Hz: ArrayLike
) -> FloatArray:
    """Mean of Eq. (rateUP) over Rayleigh fading [bit/s]: BW e^(1/s) E_1(1/s) / ln 2 at mean SNR s."""
    from scipy.special import hyperu

    mean_snr = snr(path_gain, power_W, bandwidth_Hz, noise_W_Hz)
    # e^x E_1(x) = U(1, 1, x): one call that neither overflows nor cancels.
    return np.asarray(np.asarray(bandwidth_Hz) * hyperu(1.0, 1.0, 1.0 / mean_snr) / np.log(2.0))


def transfer_s(payload_bit: ArrayLike, rate: ArrayLike) -> FloatArray:
    """Time to send a model, T^U or T^D [s]. Eq. (uplink_transmission), Eq. (downlink_transmission)."""
    return np.asarray(np.asarray(payload_bit, dtype=np.float64) / np.asarray(rate))


def transfer_J(power_W: ArrayLike, delay_s: ArrayLike) -> FloatArray:
    """Energy to send a model, E^U or E^D [J]. Eq. (uplink_transmission), Eq. (downlink_transmission)."""
    return np.asarray(np.asarray(power_W) * np.asarray(delay_s, dtype=np.float64))
