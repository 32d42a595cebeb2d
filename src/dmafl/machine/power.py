"""Energy from power: the trapezoid rule between one reading and the next."""

from __future__ import annotations

from collections.abc import Callable

from dmafl.machine.system_files import NoReading

MOST_W = 10_000.0
"""No device of a fleet takes more; a reading above it is a fault of the sensor or of its driver."""


class PowerIntegral:
    """Readings of power [W], added up over time as straight lines between them."""

    def __init__(self, source: str, power_W: Callable[[], float], every_s: float) -> None:
        self.source, self.every_s = source, every_s
        self._power_W = power_W
        self._last: tuple[float, float] | None = None

    def since_last_J(self, now_s: float) -> float:
        """Energy since the reading before [J]."""
        power_W = self._power_W()
        if not 0 < power_W <= MOST_W:  # a machine that computes takes more than nothing
            raise NoReading(f"{self.source} says {power_W:g} W")
        before_s, before_W = self._last or (now_s, power_W)
        self._last = now_s, power_W
        return (now_s - before_s) * (before_W + power_W) / 2
