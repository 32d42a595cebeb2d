"""What a schedule is worth: the objective with every term, from a replay of its timeline in the world."""

from __future__ import annotations

from dataclasses import dataclass

from dmafl.planning.prediction import predicted_accuracy
from dmafl.planning.problem import Problem
from dmafl.schedule.checks import Check
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.predicted_accuracy import PredictedAccuracy
from dmafl.schedule.rules import check_schedule
from dmafl.schedule.timeline import replay
from dmafl.theory.jobs import jobs_of


@dataclass(frozen=True)
class Evaluation:
    """The objective of a schedule, term by term, and the rules it keeps or breaks."""

    objective: float
    terms: dict[str, dict[str, float]]
    """By task: the terms of its quality, then `quality` (their sum), its energies [J] by phase, and where time has a
    price its `time_s`, when the last upload ends."""
    checks: tuple[Check, ...]
    predicted: dict[str, PredictedAccuracy]
    """By task, where its calibration knows accuracies."""

    @property
    def executable(self) -> bool:
        """Whether every rule holds."""
        return all(check.ok for check in self.checks)


def evaluate(problem: Problem, schedule: Schedule) -> Evaluation:
    """Evaluate `schedule` as the planner knows the world.

    Differs from Eq. (Example1): one sum over tasks, and time may have a price.
    """
    world = problem.world.as_planned()
    timeline = replay(world, schedule)
    total, terms, predicted = 0.0, {}, {}
    confidence = problem.world.scenario.goals.confidence
    for task in problem.tasks:
        of_task = schedule.task == task.number
        jobs = jobs_of(world, schedule, timeline, task.number)
        parts = task.loss_model.terms(jobs)
        quality = sum(parts.values())
        expected = None if task.estimates is None else predicted_accuracy(task.estimates, jobs, confidence)
        if expected is not None:
            predicted[task.name] = expected
        uplink, compute, downlink = (
            float(column[of_task].sum())
            for column in (timeline.uplink_J, timeline.compute_J, timeline.downlink_J)
        )
        energy = task.price_of_J * (problem.c2 * (uplink + compute) + problem.c3 * downlink)
        end_s = timeline.end_s[of_task]
        total += task.weight * quality + energy + float(task.time_cost(end_s))
        terms[task.name] = parts | {
            "quality": quality,
            "uplink_J": uplink,
            "compute_J": compute,
            "downlink_J": downlink,
        }
        if task.time_price_W:
            terms[task.name]["time_s"] = float(end_s.max(initial=0.0))
    return Evaluation(total, terms, check_schedule(world, schedule), predicted)
