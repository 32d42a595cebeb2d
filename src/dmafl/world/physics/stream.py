"""Progress of a device's data stream and its number of samples, for numbers or arrays."""

from __future__ import annotations

from dmafl.world.physics.quantity import Quantity

ROUNDING = 1e-9
"""Added before a count is rounded down, so that 0.3 of 1,000 is 300 in every order of operations."""


def progress_in_time(
    time_s: Quantity, computed_s: Quantity, window_s: Quantity, idle_rate: Quantity, active_rate: Quantity
) -> Quantity:
    """Progress of the stream at `time_s`, of which `computed_s` were spent computing; not yet limited to 1."""
    return (idle_rate * (time_s - computed_s) + active_rate * computed_s) / window_s


def progress_by_version(version: Quantity, slots: Quantity) -> Quantity:
    """Progress of a stream that follows the aggregations: 1 at the version that the last of `slots` begins with."""
    return version / (slots - 1 + (slots == 1))


def sample_count(at_start: Quantity, at_end: Quantity, progress: Quantity) -> Quantity:
    """Samples D of a device at the stream's `progress`: linear growth from D(0) to D, a whole number."""
    return (at_start + (at_end - at_start) * progress + ROUNDING) // 1
