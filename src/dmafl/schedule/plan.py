"""The plan: a schedule, the world it is for, and what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dmafl.base.files import sha256_of
from dmafl.schedule.checks import Check
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


@dataclass(frozen=True, eq=False)
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


def jobs_checksum(plan: Plan) -> str:
    """SHA-256 of a plan's world and jobs."""
    jobs = b"".join(column.tobytes() for column in plan.schedule.columns().values())
    return sha256_of(plan.world.sha256.encode() + jobs)
