"""From goals to a plan: by their prediction, which rehearsals of plans correct."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.effort import Effort
from dmafl.planning.goals.making import Making
from dmafl.planning.goals.rehearsals import Rehearsals, Rehearsing
from dmafl.planning.goals.rehearsed_plan import RehearsedPlan
from dmafl.planning.goals.wanted import goals_of
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.plan import Plan
from dmafl.world.world import World

BEYOND = 0.05
"""By how much a goal may be above every predicted accuracy and still be tried."""


@one_thread()
def plan_for_goals(
    world: World,
    estimates: Mapping[str, TaskEstimates],
    *,
    effort: Effort | None = None,
    solver: str = "auto",
    seed: int = 0,
    quality: str = "calibrated",
    dissimilarity: str = "gram",
    participation: float = 0.0,
    constants: Mapping[str, Any] | None = None,
    rehearsing: Rehearsing | None = None,
) -> Plan:
    """The plan that meets the goals of the world's scenario and makes the rest best.

    Its world has the numbers of aggregations that were chosen, and its goals what was found for them (`decided`).
    `Infeasible` names goals that contradict each other, by how much, and what would help. With `rehearsing` plans for
    an accuracy are trained before they are given, or before a goal is called infeasible, and predictions corrected.
    """
    effort = Effort() if effort is None else effort
    settings = {"quality": quality, "dissimilarity": dissimilarity, "participation": participation}
    rehearsed = set() if rehearsing is None else _rehearsed_tasks(world, estimates, rehearsing)
    wanted = goals_of(world.scenario, estimates, dict.fromkeys(rehearsed, BEYOND))
    making = Making(world, estimates, settings, wanted, solver, seed, constants or {}, effort)
    if rehearsing is None or not rehearsed:
        return making.plan()
    return RehearsedPlan(making, Rehearsals(rehearsing, rehearsed, wanted, estimates, effort)).plan()


def _rehearsed_tasks(
    world: World, estimates: Mapping[str, TaskEstimates], rehearsing: Rehearsing
) -> set[str]:
    """Tasks with a goal of accuracy that can be trained in seconds, and whose accuracy follows from an error rate."""
    accuracy, tasks = world.scenario.goals.accuracy, set()
    for task in world.task_names:
        calibration = estimates[task].calibration
        known = calibration is not None and calibration.error_rate is not None
        if accuracy is not None and accuracy.of(task) is not None and known and rehearsing.rehearses(task):
            tasks.add(task)
    return tasks
