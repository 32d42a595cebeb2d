"""What the run of a scheme needs of a transport, besides what the server needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from dmafl.server.messages import Result
from dmafl.server.transport import Transport
from dmafl.simulation.ledger import TaskEnergy


class Meter(Protocol):
    """What the tests of a run note beside loss and accuracy."""

    @property
    def now(self) -> float:
        """The time [s]."""
        ...

    def energy_J(self, task: int) -> TaskEnergy:
        """Uplink, computation and downlink energy of a task so far [J]; None where it was not measured."""
        ...

    def stream_progress(self, task: int, devices: Iterable[int]) -> tuple[float, ...]:
        """How far the streams of `devices` have come by now, as a job would find them that starts to compute."""
        ...


class RunTransport(Transport, Meter, Protocol):
    """A transport whose run can be recorded and stopped."""

    def results(self) -> Iterable[Result]:
        """Results of the jobs under way, computed or not."""
        ...
