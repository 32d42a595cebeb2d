"""The battery of every device: what is spent, reserved for jobs that were ordered, and committed to computations."""

from __future__ import annotations

from dmafl.base.arrays import FloatArray
from dmafl.server.messages import Plain
from dmafl.simulation.ledger import Ledger


class Batteries:
    """Energies [J]. A reservation is an estimate made with the order; a commitment is exact, from its start on."""

    def __init__(self, capacity_J: FloatArray, tasks: int, ledger: Ledger) -> None:
        self._capacity_J, self._ledger = capacity_J.tolist(), ledger
        devices = len(self._capacity_J)
        self._reserved_J = [0.0] * devices
        self._committed_J = [0.0] * devices
        self._quote_J = [[0.0] * devices for _ in range(tasks)]

    def left_J(self, device: int) -> float:
        """What is not spent."""
        return float(self._capacity_J[device] - self._ledger.device_J(device))

    def uncommitted_J(self, device: int) -> float:
        """Energy that computations under way do not need [J]."""
        return self.left_J(device) - self._committed_J[device]

    def quote(self, device: int, task: int, cost_J: float) -> bool:
        """Whether an order of that cost can be paid for beside the jobs under way; if so the cost is remembered."""
        if cost_J > self.left_J(device) - self._reserved_J[device]:
            return False
        self._quote_J[task][device] = cost_J
        return True

    def reserve(self, device: int, task: int) -> float:
        """A job begins: its expected cost is reserved."""
        quote_J = self._quote_J[task][device]
        self._reserved_J[device] += quote_J
        return quote_J

    def unreserve(self, device: int, reserved_J: float) -> None:
        """A job has ended."""
        self._reserved_J[device] -= reserved_J

    def commit(self, device: int, cost_J: float) -> None:
        """A computation of that cost begins."""
        self._committed_J[device] += cost_J

    def uncommit(self, device: int, cost_J: float, computing: int) -> None:
        """A computation has ended; `computing` jobs computed until then."""
        self._committed_J[device] = self._committed_J[device] - cost_J if computing > 1 else 0.0

    def state(self) -> Plain:
        """As plain values, for a checkpoint; what is spent is in the ledger."""
        return {
            "reserved_J": self._reserved_J,
            "committed_J": self._committed_J,
            "quote_J": self._quote_J,
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._reserved_J = list(state["reserved_J"])
        self._committed_J = list(state["committed_J"])
        self._quote_J = [list(row) for row in state["quote_J"]]
