"""How the run of one scheme and seed ended: aggregations of each task, devices that were lost and that were away."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class TaskOutcome:
    """The outcome of one task."""

    aggregations: int
    slots: int
    """Aggregations that the scenario asks for."""
    diverged: int
    """Local models that were not finite and changed nothing."""

    def plain(self) -> dict[str, int]:
        """As a file has it."""
        return {"aggregations": self.aggregations, "of": self.slots, "diverged": self.diverged}

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> TaskOutcome:
        """From `plain`."""
        return cls(given["aggregations"], given["of"], given["diverged"])


@dataclass(frozen=True)
class DeviceLoss:
    """A device that got no more orders of a task."""

    task: str
    device: int
    reason: str
    """battery, window or refused."""
    time_s: float


@dataclass(frozen=True)
class Absence:
    """A time in which a device was away."""

    device: int
    left_s: float
    joined_s: float | None
    """None: it had not returned when the run ended."""


@dataclass(frozen=True)
class SchemeOutcome:
    """How the run of one scheme and seed ended, or how far it had come when it was stopped."""

    tasks: Mapping[str, TaskOutcome]
    lost: tuple[DeviceLoss, ...]
    rounds: bool
    """Whether several local models may make one aggregation."""
    refused: Mapping[str, int] = field(default_factory=dict)
    """Local models that were left out, by reason; where there are none the file has no entry."""
    clipped: Mapping[str, int] = field(default_factory=dict)
    """Local models whose change was scaled down, by task; where there are none the file has no entry."""
    absences: tuple[Absence, ...] = ()
    """When devices were away, in the order in which they left; where none was the file has no entry."""

    def plain(self) -> dict[str, Any]:
        """As a file has it."""
        return {
            "tasks": {name: task.plain() for name, task in self.tasks.items()},
            "lost": [asdict(loss) for loss in self.lost],
            "rounds": self.rounds,
            **({"refused": dict(self.refused)} if self.refused else {}),
            **({"clipped": dict(self.clipped)} if self.clipped else {}),
            **({"absences": [asdict(absence) for absence in self.absences]} if self.absences else {}),
        }

    @classmethod
    def from_plain(cls, given: Mapping[str, Any]) -> SchemeOutcome:
        """From `plain`."""
        return cls(
            {name: TaskOutcome.from_plain(task) for name, task in given["tasks"].items()},
            tuple(DeviceLoss(**loss) for loss in given["lost"]),
            given["rounds"],
            given.get("refused", {}),
            clipped=given.get("clipped", {}),
            absences=tuple(Absence(**absence) for absence in given.get("absences", ())),
        )
