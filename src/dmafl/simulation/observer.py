"""Who looks on while a unit runs: sees what the server sees anyway, and decides nothing."""

from __future__ import annotations

from typing import Any, Protocol

from numpy.typing import NDArray

from dmafl.learning.arrays import Vector
from dmafl.server.messages import Plain


class Observer(Protocol):
    """Looks at every local model and every test of a unit; its state is part of the unit's."""

    def on_update(self, task: int, device: int, received: Vector, local: Vector, steps: int) -> None:
        """A device made `local` of `received`."""
        ...

    def on_test(self, task: int, aggregation: int, time_s: float, loss: float) -> None:
        """A global model was tested; in the order of tests."""
        ...

    def state(self) -> tuple[Plain, dict[str, NDArray[Any]]]:
        """Everything, as plain values and arrays by name."""
        ...

    def restore(self, plain: Plain, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from `state`."""
        ...


class Nobody:
    """An observer that looks away."""

    def on_update(self, task: int, device: int, received: Vector, local: Vector, steps: int) -> None:
        """Nothing."""

    def on_test(self, task: int, aggregation: int, time_s: float, loss: float) -> None:
        """Nothing."""

    def state(self) -> tuple[Plain, dict[str, NDArray[Any]]]:
        """Nothing."""
        return {}, {}

    def restore(self, plain: Plain, arrays: dict[str, NDArray[Any]]) -> None:
        """Nothing."""
