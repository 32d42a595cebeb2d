"""From goals to a plan: by their prediction, which rehearsals of plans correct."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.goals.choice import Choice
from dmafl.planning.goals.making import Making, Nearest, jobs_by_task
from dmafl.planning.goals.rehearsed import Rehearsal, Rehearsals, Rehearsing
from dmafl.planning.goals.shortfall import missed_in_rehearsals
from dmafl.planning.goals.trials import with_slots
from dmafl.planning.goals.wanted import goals_of
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.prediction import plain_calibrations, predicted_accuracy
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.plan import Plan
from dmafl.theory.jobs import TaskJobs
from dmafl.world.world import World

QUICK_TURNS = 3
"""How often quick plans are rehearsed before a plan is made, at most."""
QUICK_SHARE = 0.2
"""Share of the effort left for each of them."""
TURNS = 4
"""How often a plan is made, rehearsed and, with a better prediction, made again; at most."""
TURN_SHARE = 0.5
"""Share of the effort left for each of them but the last."""
SPARE = 0.004
"""Accuracy above the goal with which a rehearsed plan is good enough: a cheaper one is not looked for."""
APART = 0.004
"""By how much predictions of other plans of a fleet are off once one is rehearsed; more with every plan that fails."""
GAIN = 0.002
"""By how much trainings must be above the prediction for another search to be worth it, where goals are not met."""
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
        return _by_prediction(making)
    return _Rehearsed(making, Rehearsals(rehearsing, rehearsed, wanted, estimates, effort)).plan()


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


def _by_prediction(making: Making) -> Plan:
    found = making.found()
    if isinstance(found, Nearest):
        raise Infeasible(*found.broken(making))
    return found


@dataclass(eq=False)
class _Rehearsed:
    """The making of a plan that is rehearsed, and made again with a prediction that its rehearsals correct."""

    making: Making
    rehearsals: Rehearsals
    best: Plan | None = None
    """The best of those that meet the goals by their rehearsal."""
    nearest: tuple[float, Nearest] | None = None
    """What comes nearest by its rehearsal, and the accuracy by which it is above its goals."""
    start: Choice | None = None
    """A choice that meets the goals by its rehearsal, though not by its prediction: a plan is made of it next."""
    settled: bool = False
    """Whether quick plans met the goals in their rehearsal with hardly any room."""
    failed: int = 0
    """Rehearsals that did not meet the goals."""

    def plan(self) -> Plan:
        """The best plan. `Infeasible` if none is found."""
        effort, found = self.making.effort, None
        for turn in range(QUICK_TURNS + TURNS):
            quick = turn < QUICK_TURNS and not (self.settled or self.start or effort.timed)
            last = turn == QUICK_TURNS + TURNS - 1
            own = effort.separate(QUICK_SHARE if quick else 1.0 if last else TURN_SHARE)
            making, start, self.start = replace(self.making, effort=own), self.start, None
            try:
                choice, least_J = making.chosen() if start is None else (start, {})
                found = None if quick and choice.met else making.finished(choice, least_J)
                effort.add(own)
                again = self._tried(choice) if found is None else self._again(found)
            except (CutOff, Infeasible):
                if effort.timed or start is not None:
                    break
                raise
            self.making = self._corrected(APART * (1 + self.failed))
            if not again or effort.cut_off or (self.best is not None and not effort.leaves()):
                break
        return self._ended(found)

    def _ended(self, found: Plan | Nearest | None) -> Plan:
        """The best plan; where there is none, what is wrong."""
        if self.best is not None:
            return self.best
        if isinstance(found, Nearest):
            nearest = found if self.nearest is None else self.nearest[1]
            raise Infeasible(*nearest.broken(self._corrected(APART)))
        if found is None or self.making.effort.cut_off:  # the time was over before its rehearsal
            return found if found is not None else _by_prediction(self.making)
        rooms = {task: rehearsals[-1].room for task, rehearsals in self.rehearsals.seen.items()}
        raise Infeasible(*missed_in_rehearsals(self.making.wanted, rooms))

    def _corrected(self, apart: float) -> Making:
        """The making of plans with predictions that rehearsals correct; they are off by `apart` beside that."""
        estimates = self.rehearsals.of_others(apart)
        return self.making.with_estimates(estimates, dict.fromkeys(self.rehearsals.seen, 1.0))

    def _tried(self, choice: Choice) -> bool:
        """Rehearse quick plans; True, since a plan is made next, or another choice."""
        self.settled, _, _ = self._rehearsed(with_slots(self.making.world, choice.slots), choice.jobs)
        return True

    def _again(self, found: Plan | Nearest) -> bool:
        """Rehearse what was found, and keep it if it meets the goals; whether another search may find better."""
        if isinstance(found, Nearest):
            self.failed += 1
            return self._gains(found)
        settled, room, rehearsed = self._rehearsed(found.world, jobs_by_task(found))
        if room >= 0.0:
            self._keep(_as_rehearsed(found, rehearsed, self.rehearsals.of_plan(rehearsed)))
        return not settled

    def _rehearsed(
        self, world: World, jobs: Mapping[str, TaskJobs]
    ) -> tuple[bool, float, dict[str, Rehearsal]]:
        """Rehearse jobs: whether they meet the goals with hardly any room, or as before; that room; what was seen."""
        before = {task: rehearsals[-1] for task, rehearsals in self.rehearsals.seen.items()}
        rehearsed = self.rehearsals.rehearse(world, jobs)
        room = min(rehearsal.room for rehearsal in rehearsed.values())
        self.failed += room < 0.0
        same = all(
            task in before and (rehearsal.accuracies == before[task].accuracies).all()
            for task, rehearsal in rehearsed.items()
        )
        return room >= 0.0 and (room <= SPARE or same), room, rehearsed

    def _gains(self, nearest: Nearest) -> bool:
        """Whether what comes nearest, or the same with all aggregations, reaches more than was predicted."""
        gains, making = False, self.making
        for choice in (nearest.choice, making.longest(nearest)):
            if choice is None:
                continue
            rehearsed = self.rehearsals.rehearse(with_slots(making.world, choice.slots), choice.jobs)
            room = min(rehearsal.room for rehearsal in rehearsed.values())
            if self.nearest is None or room > self.nearest[0]:
                self.nearest = room, replace(nearest, choice=choice)
                meets = room >= 0.0 and set(choice.unmet) <= set(rehearsed)
                self.start = replace(choice, unmet=()) if meets else None
            for task, rehearsal in rehearsed.items():
                curve = making.wanted[task].curve
                assert curve is not None
                before = curve.at(choice.tasks[task].error)
                gains = gains or room >= 0.0 or float(rehearsal.accuracies.mean()) > before + GAIN
        return gains

    def _keep(self, plan: Plan) -> None:
        if self.best is None or self.making.value(plan) < self.making.value(self.best):
            self.best = plan


def _as_rehearsed(
    plan: Plan, rehearsed: Mapping[str, Rehearsal], estimates: Mapping[str, TaskEstimates]
) -> Plan:
    """The plan with predictions and calibrations as its rehearsal corrects them."""
    confidence, predicted, constants = plan.world.scenario.goals.confidence, {}, dict(plan.constants)
    for task, jobs in jobs_by_task(plan).items():
        expected = predicted_accuracy(estimates[task], jobs, confidence)
        if expected is not None:
            predicted[task] = expected
    accuracies = {task: rehearsal.accuracies.tolist() for task, rehearsal in rehearsed.items()}
    constants["goals"] = dict(constants["goals"]) | {"rehearsed": accuracies}
    if "tasks" in constants:
        constants["tasks"] = plain_calibrations(estimates)
    return replace(plan, predicted=predicted, constants=constants)
