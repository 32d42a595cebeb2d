"""What a schedule is worth: the objective with every term, from a replay of its timeline in the world."""

from __future__ import annotations

from dataclasses import dataclass

from dmafl.planning.problem import Problem
from dmafl.schedule.checks import Check
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.rules import check_schedule
from dmafl.schedule.timeline import replay
from dmafl.theory.jobs import jobs_of


@dataclass(frozen=True)
class Evaluation:
    """The objective of a schedule, term by term, and the rules it keeps or breaks."""

    objective: float
    terms: dict[str, dict[str, float]]
    """By task: the terms of its quality, then `quality` (their sum), and its energies [J] by phase."""
    checks: tuple[Check, ...]

    @property
    def executable(self) -> bool:
        """Whether every rule holds."""
        return all(check.ok for check in self.checks)


def evaluate(problem: Problem, schedule: Schedule) -> Evaluation:
    """Evaluate `schedule` as the planner knows the world. Eq. (Example1), with one sum over tasks."""
    world = problem.world.as_planned()
    timeline = replay(world, schedule)
    total, terms = 0.0, {}
    for task in problem.tasks:
        of_task = schedule.task == task.number
        jobs = jobs_of(world, schedule, timeline, task.number)
        parts = task.loss_model.terms(jobs)
        quality = sum(parts.values())
        uplink, compute, downlink = (
            float(column[of_task].sum())
            for column in (timeline.uplink_J, timeline.compute_J, timeline.downlink_J)
        )
        energy = task.price_of_J * (problem.c2 * (uplink + compute) + problem.c3 * downlink)
        total += task.weight * quality + energy
        terms[task.name] = parts | {
            "quality": quality,
            "uplink_J": uplink,
            "compute_J": compute,
            "downlink_J": downlink,
        }
    return Evaluation(total, terms, check_schedule(world, schedule))
