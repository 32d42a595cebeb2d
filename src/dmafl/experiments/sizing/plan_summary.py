"""A plan in a few numbers: joules, time, and what each task is predicted to reach for its joules."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from dmafl.schedule.plan import Plan


@dataclass(frozen=True)
class TaskSummary:
    """One task of a plan."""

    aggregations: int
    energy_J: float
    """Of devices and station."""
    accuracy: float | None
    low: float | None
    high: float | None
    """Predicted accuracy, and the interval in which it lies with the confidence of the goals."""


@dataclass(frozen=True)
class PlanSummary:
    """All of a plan."""

    fleet_J: float
    station_J: float
    end_s: float
    tasks: dict[str, TaskSummary]

    @classmethod
    def of(cls, plan: Plan) -> PlanSummary:
        """The numbers of a plan."""
        times, tasks = plan.timeline, {}
        joules = times.uplink_J + times.compute_J + times.downlink_J
        for number, name in enumerate(plan.world.task_names):
            of_task, expected = plan.schedule.task == number, plan.predicted.get(name)
            tasks[name] = TaskSummary(
                int(of_task.sum()),
                float(joules[of_task].sum()),
                None if expected is None else expected.accuracy,
                None if expected is None else expected.low,
                None if expected is None else expected.high,
            )
        return cls(
            float((times.uplink_J + times.compute_J).sum()),
            float(times.downlink_J.sum()),
            float(times.end_s.max(initial=0.0)),
            tasks,
        )

    @property
    def energy_J(self) -> float:
        """Of devices and station."""
        return self.fleet_J + self.station_J

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self) | {"energy_J": self.energy_J}
