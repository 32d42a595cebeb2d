"""The plan: a schedule, the world it is for, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from dmafl.base.files import sha256_of
from dmafl.base.showing import Rows, counted, html_of, line
from dmafl.schedule.checks import Check
from dmafl.schedule.device_use import DeviceUse, devices_of
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.plan_quality import NO_QUALITY, PlanQuality
from dmafl.schedule.plan_status import PlanStatus
from dmafl.schedule.predicted_accuracy import PredictedAccuracy
from dmafl.schedule.rules import check_schedule
from dmafl.schedule.timeline import Timeline, replay
from dmafl.world.world import World

SCHEMA = 2
ENERGIES = ("uplink_J", "compute_J", "downlink_J")
TIME = "time_s"
SUM = "quality"
"""Terms of a task beside the parts of its quality: energies, time where it has a price, and the sum of these parts."""


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """Who trains what when, in which world, made how, worth how much."""

    world: World
    schedule: Schedule
    solver: str = "manual"
    quality: PlanQuality = NO_QUALITY
    solver_status: PlanStatus | None = None
    """What the solver says, or the file that the plan was read from; None: nothing beyond the rules."""
    seed: int = 0
    objective: float | None = None
    terms: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    predicted: Mapping[str, PredictedAccuracy] = field(default_factory=dict)
    """By task: the accuracy that goes with its predicted loss; empty where nothing measured tells it."""
    lower_bound: float | None = None
    """A value that no plan of this problem can go below; None where none is proved."""

    @cached_property
    def timeline(self) -> Timeline:
        """Times and energies of the jobs, as the planner knows the channel."""
        return replay(self.world.as_planned(), self.schedule)

    @cached_property
    def checks(self) -> tuple[Check, ...]:
        """Rules S0-S8, evaluated on a replay."""
        return check_schedule(self.world.as_planned(), self.schedule)

    def quality_parts(self, task: str) -> dict[str, float]:
        """The terms that add up to the quality of a task."""
        return {term: value for term, value in self.terms[task].items() if term not in (*ENERGIES, TIME, SUM)}

    @property
    def executable(self) -> bool:
        """Whether every rule holds."""
        return all(check.ok for check in self.checks)

    @property
    def status(self) -> PlanStatus:
        """What the solver says, or else whether the plan is executable."""
        return PlanStatus.of_rules(self.executable) if self.solver_status is None else self.solver_status

    @property
    def gap(self) -> float | None:
        """Share of the objective that a better plan could save at most; None where no lower bound is proved."""
        if self.lower_bound is None or not self.objective:
            return None
        return max(0.0, (self.objective - self.lower_bound) / abs(self.objective))

    @cached_property
    def devices(self) -> tuple[DeviceUse, ...]:
        """What the plan asks of every device: jobs, joules, share of the battery, and which limits bind."""
        return devices_of(self.world, self.schedule, self.timeline)

    def table(self) -> Rows:
        """One row per task: what is done, what it costs, and what it is predicted to bring."""
        return Rows.of(
            "The tasks of the plan", [self._row(*task) for task in enumerate(self.world.task_names)]
        )

    def device_table(self) -> Rows:
        """`devices` as a table, one row per device."""
        rows = [
            {
                "device": use.device,
                "jobs": use.jobs,
                "energy_J": use.energy_J,
                "battery_share": use.battery_share,
                "busy_min": use.busy_min,
                "binds": use.binds,
            }
            for use in self.devices
        ]
        return Rows.of("What the plan asks of each device", rows)

    def plot(self, path: str | Path | None = None) -> Any:
        """The timeline as a matplotlib figure: who idles, downloads, computes and uploads when; saved in `path`."""
        figure = import_module("dmafl.reports.figures.timeline").timeline_figure(
            self.world, self.schedule, self.timeline
        )
        return import_module("dmafl.reports.figures.saving").kept(figure, path)

    def _row(self, number: int, task: str) -> dict[str, Any]:
        of_task, times, expected = self.schedule.task == number, self.timeline, self.predicted.get(task)
        row: dict[str, Any] = {
            "task": task,
            "aggregations": int(of_task.sum()),
            "devices": len(np.unique(self.schedule.device[of_task])),
            "steps": float(self.schedule.steps[of_task].mean()) if of_task.any() else 0.0,
            "device_J": float((times.uplink_J + times.compute_J)[of_task].sum()),
            "station_J": float(times.downlink_J[of_task].sum()),
            "end_s": float(times.end_s[of_task].max(initial=0.0)),
        }
        if self.predicted:
            row["accuracy"] = None if expected is None else expected.accuracy
            row["between"] = None if expected is None else f"{expected.low:.3f} to {expected.high:.3f}"
        return row

    def _in_short(self) -> str:
        times = self.timeline
        gap = "" if self.gap is None else f"gap at most {self.gap:.1%}"
        spent_J = float((times.uplink_J + times.compute_J + times.downlink_J).sum())
        return ", ".join(
            part
            for part in (
                f"{counted(len(self.schedule), 'job')} of {counted(self.world.task_count, 'task')} on "
                f"{counted(self.world.device_count, 'device')}",
                f"{spent_J:.4g} J",
                f"{float(times.end_s.max(initial=0.0)):.4g} s",
                str(self.status),
                gap,
            )
            if part
        )

    def __repr__(self) -> str:
        return line("Plan", self._in_short())

    def _repr_html_(self) -> str:
        return html_of(f"Plan: {self._in_short()}", self.table())


def jobs_checksum(plan: Plan) -> str:
    """SHA-256 of a plan's world and jobs."""
    jobs = b"".join(column.tobytes() for column in plan.schedule.columns().values())
    return sha256_of(plan.world.sha256.encode() + jobs)
