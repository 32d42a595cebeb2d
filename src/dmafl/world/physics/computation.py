"""Time and energy of local training, for numbers or arrays."""

from __future__ import annotations

from dmafl.world.physics.quantity import Quantity


def compute_s(
    cycles_per_sample: Quantity, steps: Quantity, batch: Quantity, frequency_Hz: Quantity
) -> Quantity:
    """Time of e SGD steps of batch B at frequency f, T^C = c e B / f [s]. Eq. (local_computation_time)."""
    c, e, B, f = cycles_per_sample, steps, batch, frequency_Hz
    return c * e * B / f


def compute_J(
    cycles_per_sample: Quantity,
    steps: Quantity,
    batch: Quantity,
    frequency_Hz: Quantity,
    capacitance_Js2: Quantity,
) -> Quantity:
    """Energy of e steps of batch B at frequency f, E^C = ξ c e B f² [J]. Eq. (local_computation_energy)."""
    xi, c, e, B, f = capacitance_Js2, cycles_per_sample, steps, batch, frequency_Hz
    return xi * c * e * B * f**2
