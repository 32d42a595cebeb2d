"""Rehearsed plans: what training the jobs of plans says of the accuracies that runs of them, and of others, reach."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.calibration.progress import Streams
from dmafl.planning.decision import Times, since_last
from dmafl.planning.effort import Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.goals.wanted import TaskGoal
from dmafl.planning.prediction import predicted_error
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.theory.accuracy import AccuracyCurve
from dmafl.theory.calibrated import Calibration
from dmafl.theory.error_model import MeasuredModel
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.rehearsed_model import RehearsedModel
from dmafl.world.world import World


class Rehearsing(Protocol):
    """Trains the jobs of a plan."""

    def rehearses(self, task: str) -> bool:
        """Whether a task's jobs can be trained in seconds."""

    def accuracies(self, task: str, jobs: TaskJobs, progress: Streams) -> FloatArray:
        """What several trainings reach."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What trainings of the jobs of one task reached."""

    slots: int
    accuracies: FloatArray
    off: float
    """Their mean, less the accuracy that was predicted from what was measured."""
    curve: AccuracyCurve
    """Accuracies that go with measured predictions of these jobs."""
    room: float
    """By how much runs of these jobs are above the goal, at the confidence asked for."""


@dataclass(eq=False)
class Rehearsals:
    """All rehearsals of plans for the goals of a world."""

    rehearsing: Rehearsing
    tasks: Set[str]
    """Those that are rehearsed."""
    wanted: Mapping[str, TaskGoal]
    measured: Mapping[str, TaskEstimates]
    """What is known without them."""
    effort: Effort
    seen: dict[str, list[Rehearsal]] = field(default_factory=dict)
    """By task, in order."""

    def rehearse(self, world: World, jobs: Mapping[str, TaskJobs]) -> dict[str, Rehearsal]:
        """Train the jobs of all tasks that are rehearsed."""
        return {
            task: self._rehearsed(world, task, jobs[task], goal)
            for task, goal in self.wanted.items()
            if task in self.tasks
        }

    def _rehearsed(self, world: World, task: str, jobs: TaskJobs, goal: TaskGoal) -> Rehearsal:
        self.effort.spend(Work.REHEARSAL, "calibrated", len(jobs), int(jobs.steps.sum()))
        _, curve = self._parts(task)
        error = predicted_error(self.measured[task], jobs)
        assert error is not None and goal.accuracy is not None
        accuracies = self.rehearsing.accuracies(task, jobs, _progress(world, task, jobs))
        moved = curve.rehearsed(error, accuracies)
        room = replace(goal, curve=moved).reached(error) - goal.accuracy
        rehearsal = Rehearsal(len(jobs), accuracies, float(accuracies.mean()) - curve.at(error), moved, room)
        self.seen.setdefault(task, []).append(rehearsal)
        return rehearsal

    def of_plan(self, rehearsed: Mapping[str, Rehearsal]) -> dict[str, TaskEstimates]:
        """Estimates that predict runs of a plan that was rehearsed."""
        estimates = dict(self.measured)
        for task, rehearsal in rehearsed.items():
            estimates[task] = _with(estimates[task], accuracy=rehearsal.curve)
        return estimates

    def of_others(self, apart: float) -> dict[str, TaskEstimates]:
        """Estimates that predict other plans of the same fleet; their error rates are off by `apart` more."""
        estimates = dict(self.measured)
        for task, rehearsals in self.seen.items():
            model, curve = self._parts(task)
            corrected = RehearsedModel(
                model,
                curve,
                tuple(rehearsal.slots for rehearsal in rehearsals),
                tuple(rehearsal.off for rehearsal in rehearsals),
            )
            wider = curve.of_error_rates(rehearsals[-1].accuracies, apart)
            estimates[task] = _with(estimates[task], error_rate=corrected, accuracy=wider)
        return estimates

    def _parts(self, task: str) -> tuple[MeasuredModel, AccuracyCurve]:
        calibration = self.measured[task].calibration
        assert calibration is not None and calibration.accuracy is not None
        model = calibration.error_rate
        assert model is not None and not isinstance(model, RehearsedModel)
        return model, calibration.accuracy


def _with(estimates: TaskEstimates, **changes: object) -> TaskEstimates:
    assert estimates.calibration is not None
    calibration: Calibration = replace(estimates.calibration, **changes)  # type: ignore[arg-type]
    return replace(estimates, calibration=calibration)


def _progress(world: World, task: str, jobs: TaskJobs) -> Streams:
    """How far the streams have come when the jobs of a plan train, and when its last model is tested."""
    number = world.task_names.index(task)
    times = Times(jobs.version, jobs.start_s, jobs.download_s, jobs.compute_s, jobs.upload_s, jobs.end_s)
    _, computed_s = since_last(jobs.device, times)
    begun_s = jobs.start_s + jobs.download_s
    of_jobs = world.stream_progress(
        jobs.device, np.full(len(jobs), number), jobs.version, begun_s, computed_s
    )
    return Streams(of_jobs, world.progress_of_test(number, len(jobs), jobs.horizon_s))
