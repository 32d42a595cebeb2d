"""Rate, delay and energy of sending a model over the air, in the uplink and the downlink.

All functions take and return numbers or arrays of one shape: planner, checker and clock share them.
"""

from __future__ import annotations

import math

import numpy as np

from dmafl.world.physics.quantity import Quantity

LN2 = math.log(2.0)


def snr(gain: Quantity, power_W: Quantity, bandwidth_Hz: Quantity, noise_W_Hz: Quantity) -> Quantity:
    """Signal-to-noise ratio |h|² p / (N_0 BW). Inside Eq. (rateUP) and Eq. (rateDOWN)."""
    return gain * power_W / (noise_W_Hz * bandwidth_Hz)


def rate_bit_s(gain: Quantity, power_W: Quantity, bandwidth_Hz: Quantity, noise_W_Hz: Quantity) -> Quantity:
    """Data rate of a link [bit/s]. Eq. (rateUP), Eq. (rateDOWN), with the logarithm to base 2."""
    nat = np.log1p(snr(gain, power_W, bandwidth_Hz, noise_W_Hz))
    # Back to a Python float where it was one: the same value, and several times faster in sums and products.
    return bandwidth_Hz * (float(nat) if isinstance(nat, float) else nat) / LN2


def mean_rayleigh_rate_bit_s(
    path_gain: Quantity, power_W: Quantity, bandwidth_Hz: Quantity, noise_W_Hz: Quantity
) -> Quantity:
    """Mean of Eq. (rateUP) over Rayleigh fading [bit/s]: BW e^(1/s) E_1(1/s) / ln 2 at mean SNR s."""
    from scipy.special import hyperu

    mean_snr = snr(path_gain, power_W, bandwidth_Hz, noise_W_Hz)
    # e^x E_1(x) = U(1, 1, x): one call that neither overflows nor cancels.
    return bandwidth_Hz * hyperu(1.0, 1.0, 1.0 / mean_snr) / LN2


def transfer_s(payload_bit: Quantity, rate: Quantity) -> Quantity:
    """Time to send a model, T^U or T^D [s]. Eq. (uplink_transmission), Eq. (downlink_transmission)."""
    return payload_bit / rate


def transfer_J(power_W: Quantity, delay_s: Quantity) -> Quantity:
    """Energy to send a model, E^U or E^D [J]. Eq. (uplink_transmission), Eq. (downlink_transmission)."""
    return power_W * delay_s
