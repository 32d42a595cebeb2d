"""Observers of a scheme run: they receive what the server receives, and decide nothing."""

from __future__ import annotations

from typing import Protocol

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Arrays, Plain


class Observer(Protocol):
    """Looks at every local model and every test of a scheme's run; its state is part of the run's."""

    def on_update(self, task: int, device: int, received: Vector, local: Vector, steps: int) -> None:
        """A device made `local` of `received`."""
        ...

    def on_period(
        self, task: int, device: int, steps: int, batch: int, frequency_Hz: float, compute_s: float
    ) -> None:
        """A job of `device` came back that computed for `compute_s`."""
        ...

    def on_test(self, task: int, aggregation: int, time_s: float, loss: float) -> None:
        """A global model was tested; in the order of tests."""
        ...

    def state(self) -> tuple[Plain, Arrays]:
        """Everything, as plain values and arrays by name."""
        ...

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Go on from `state`."""
        ...


class Nobody:
    """An observer that looks away."""

    def on_update(self, task: int, device: int, received: Vector, local: Vector, steps: int) -> None:
        """Nothing."""

    def on_period(
        self, task: int, device: int, steps: int, batch: int, frequency_Hz: float, compute_s: float
    ) -> None:
        """Nothing."""

    def on_test(self, task: int, aggregation: int, time_s: float, loss: float) -> None:
        """Nothing."""

    def state(self) -> tuple[Plain, Arrays]:
        """Nothing."""
        return {}, {}

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Nothing."""
