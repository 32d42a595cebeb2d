"""Joules that devices have reported: sums of each task and phase, which are unknown as soon as a part of them is."""

from __future__ import annotations

from dmafl.server.messages import Period, Plain
from dmafl.simulation.ledger import TaskEnergy

NOTHING = (0.0, 0.0, 0.0)


class ReportedEnergy:
    """Uplink, computation and downlink energy of every task [J]."""

    def __init__(self, tasks: int) -> None:
        self._sums: list[list[float | None]] = [list(NOTHING) for _ in range(tasks)]

    def add(self, task: int, period: Period) -> None:
        """A job has ended."""
        sums = self._sums[task]
        for k, joules in enumerate((period.uplink_J, period.compute_J, period.downlink_J)):
            before = sums[k]
            sums[k] = None if before is None or joules is None else before + joules

    def of(self, task: int) -> TaskEnergy:
        """What is known."""
        uplink_J, compute_J, downlink_J = self._sums[task]
        return uplink_J, compute_J, downlink_J

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {"sums": [list(sums) for sums in self._sums]}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._sums = [list(sums) for sums in state["sums"]]
