"""Rehearsed plans: what training the jobs of plans says of the accuracies that runs of them, and of others, reach."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.calibration.progress import Streams
from dmafl.planning.decision import Times, since_last
from dmafl.planning.effort import Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.goals.wanted import TaskGoal
from dmafl.planning.prediction import errors_after
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.theory.accuracy import AccuracyCurve
from dmafl.theory.error_model import MeasuredModel
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.rehearsed_model import RehearsedModel
from dmafl.world.world import World

SHARES = 2.0 ** (-np.arange(11) / 6.0)
"""Parts of a schedule after which its model is tested: all of it, down to a third."""


class Rehearsing(Protocol):
    """Trains the jobs of a plan."""

    def rehearses(self, task: str) -> bool:
        """Whether a task's jobs can be trained in seconds."""

    def accuracies(self, task: str, jobs: TaskJobs, progress: Streams, counts: IntArray) -> FloatArray:
        """What several trainings reach after these numbers of slots, (trainings, counts)."""


@dataclass(frozen=True, eq=False)
class Rehearsal:
    """What trainings of the jobs of one task reached after some of its slots, the last among them."""

    counts: IntArray
    """Numbers of slots, rising."""
    accuracies: FloatArray
    """After each of them, (trainings, counts)."""
    off: FloatArray
    """Their means, less the accuracies that were predicted from what was measured."""
    rooms: FloatArray
    """By how much runs are above the goal then, at the confidence asked for."""
    curve: AccuracyCurve
    """Accuracies that go with measured predictions of all of these jobs."""

    @property
    def reached(self) -> FloatArray:
        """What the trainings reached at their end."""
        return self.accuracies[:, -1]

    @property
    def room(self) -> float:
        """By how much runs of all jobs are above the goal."""
        return float(self.rooms[-1])

    @property
    def fewest(self) -> int:
        """The fewest slots after which runs are above the goal; all of them where none are."""
        enough = self.counts[self.rooms >= 0.0]
        return int(enough[0]) if len(enough) else int(self.counts[-1])

    @property
    def best(self) -> tuple[float, int]:
        """The largest room, and after how many slots: a model is better after some of them than after others."""
        at = int(np.argmax(self.rooms))
        return float(self.rooms[at]), int(self.counts[at])


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
    known: dict[tuple[str, bytes], Rehearsal] = field(default_factory=dict)
    """By what decides them: the same jobs are trained once."""

    def rehearse(self, world: World, jobs: Mapping[str, TaskJobs]) -> dict[str, Rehearsal]:
        """Train the jobs of all tasks that are rehearsed."""
        return {
            task: self._rehearsed(world, task, jobs[task], goal)
            for task, goal in self.wanted.items()
            if task in self.tasks
        }

    def _rehearsed(self, world: World, task: str, jobs: TaskJobs, goal: TaskGoal) -> Rehearsal:
        columns = (jobs.device, jobs.version, jobs.steps, jobs.batch, jobs.start_s, jobs.compute_s)
        key = task, b"".join(column.tobytes() for column in columns)
        if key in self.known:
            return self.known[key]
        self.effort.spend(Work.REHEARSAL, "calibrated", len(jobs), int(jobs.steps.sum()))
        _, curve = self._parts(task)
        counts = np.unique(np.maximum(1, np.rint(len(jobs) * SHARES).astype(np.int64)))
        errors = errors_after(self.measured[task], jobs, counts)
        assert errors is not None and goal.accuracy is not None
        accuracies = self.rehearsing.accuracies(task, jobs, _progress(world, task, jobs), counts)
        curves = [curve.rehearsed(error, accuracies[:, k]) for k, error in enumerate(errors.tolist())]
        rehearsal = Rehearsal(
            counts,
            accuracies,
            accuracies.mean(axis=0) - np.asarray([curve.at(error) for error in errors.tolist()]),
            np.asarray(
                [
                    replace(goal, curve=moved).reached(error) - goal.accuracy
                    for moved, error in zip(curves, errors.tolist(), strict=True)
                ]
            ),
            curves[-1],
        )
        self.known[key] = rehearsal
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
                tuple(np.concatenate([rehearsal.counts for rehearsal in rehearsals]).tolist()),
                tuple(np.concatenate([rehearsal.off for rehearsal in rehearsals]).tolist()),
            )
            wider = curve.of_error_rates(rehearsals[-1].reached, apart)
            estimates[task] = _with(estimates[task], error_rate=corrected, accuracy=wider)
        return estimates

    def _parts(self, task: str) -> tuple[MeasuredModel, AccuracyCurve]:
        calibration = self.measured[task].calibration
        assert calibration is not None and calibration.accuracy is not None
        model = calibration.error_rate
        assert model is not None and not isinstance(model, RehearsedModel)
        return model, calibration.accuracy


def _with(estimates: TaskEstimates, **changes: Any) -> TaskEstimates:
    assert estimates.calibration is not None
    return replace(estimates, calibration=replace(estimates.calibration, **changes))


def _progress(world: World, task: str, jobs: TaskJobs) -> Streams:
    """How far the streams have come when the jobs of a plan train, and when its last model is tested."""
    number = world.task_names.index(task)
    times = Times(jobs.version, jobs.start_s, jobs.download_s, jobs.compute_s, jobs.upload_s, jobs.end_s)
    _, computed_s = since_last(jobs.device, times)
    begun_s = jobs.start_s + jobs.download_s
    of_jobs = world.stream_progress(
        jobs.device, np.full(len(jobs), number), jobs.version, begun_s, computed_s
    )
    of_tests = [world.progress_of_test(number, k + 1, end_s) for k, end_s in enumerate(jobs.end_s.tolist())]
    return Streams(of_jobs, np.asarray(of_tests))
