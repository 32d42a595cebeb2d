"""The global models of a task: the current one, and those that jobs under way have received."""

from __future__ import annotations

from dmafl.learning.arrays import Vector


class Versions:
    """Keeps a version for as long as it is current or borrowed, and no longer."""

    def __init__(self, first: Vector) -> None:
        self.number = 0
        self.current = first
        self.borrowed: dict[int, int] = {}
        self._received: dict[int, Vector] = {}

    @classmethod
    def restored(cls, number: int, kept: dict[int, Vector], borrowed: dict[int, int]) -> Versions:
        """As saved: `kept` holds the current model and those borrowed."""
        made = cls(kept[number])
        made.number = number
        made.borrowed = borrowed
        made._received = {version: kept[version] for version in borrowed}
        return made

    def borrow(self) -> Vector:
        """The current model, for a job that now begins with it."""
        self.borrowed[self.number] = self.borrowed.get(self.number, 0) + 1
        self._received[self.number] = self.current
        return self.current

    def received(self, version: int) -> Vector:
        """The model that a job received."""
        return self._received[version]

    def give_back(self, version: int) -> None:
        """A job does not need the model any more that it received."""
        self.borrowed[version] -= 1
        if not self.borrowed[version]:
            del self.borrowed[version], self._received[version]

    def replace(self, model: Vector) -> None:
        """Make `model` the next version."""
        self.current = model
        self.number += 1

    def forget_received(self) -> None:
        """Drop all but the current model."""
        self.borrowed.clear()
        self._received.clear()

    def kept(self) -> dict[int, Vector]:
        """Every model that is kept, by version."""
        return {**self._received, self.number: self.current}
