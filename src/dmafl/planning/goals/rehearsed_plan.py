"""The making of a plan that is rehearsed: trained before it is given, and made again where that says it should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dmafl.planning.effort import CutOff
from dmafl.planning.goals.choice import Choice
from dmafl.planning.goals.making import Making, Nearest, jobs_by_task
from dmafl.planning.goals.rehearsals import Rehearsal, Rehearsals
from dmafl.planning.goals.shortfall import missed_in_rehearsals
from dmafl.planning.goals.trials import with_slots
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


@dataclass(eq=False)
class RehearsedPlan:
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
            return found if found is not None else self.making.plan()
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
