"""The making of a plan that is rehearsed: trained before it is given, and made again where that says it should be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from dmafl.planning.effort import CutOff
from dmafl.planning.goals.choice import Choice
from dmafl.planning.goals.making import Making, Nearest, as_planned, jobs_by_task
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
    settled: bool = False
    """Whether quick plans met the goals in their rehearsal with hardly any room."""
    failed: int = 0
    """Rehearsals that did not meet the goals."""

    def plan(self) -> Plan:
        """The best plan. `Infeasible` if none is found."""
        effort, found = self.making.effort, None
        for turn in range(QUICK_TURNS + TURNS):
            quick = turn < QUICK_TURNS and not (self.settled or effort.timed)
            last = turn == QUICK_TURNS + TURNS - 1
            own = effort.separate(QUICK_SHARE if quick else 1.0 if last else TURN_SHARE)
            making = replace(self.making, effort=own)
            try:
                choice, least_J = making.chosen()
                found = None if quick and choice.met else making.finished(choice, least_J)
                effort.add(own)
                again = self._tried(choice) if found is None else self._again(choice, found)
            except (CutOff, Infeasible):
                if effort.timed:
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
        world = with_slots(self.making.world, choice.slots)
        self.settled, _, rehearsed = self._rehearsed(world, choice.jobs)
        self._shorten(choice, rehearsed)
        return True

    def _again(self, choice: Choice, found: Plan | Nearest) -> bool:
        """Rehearse what was found, and keep it if it meets the goals; whether another search may find better."""
        if isinstance(found, Nearest):
            self.failed += 1
            return self._gains(found)
        settled, room, rehearsed = self._rehearsed(found.world, jobs_by_task(found))
        if room >= 0.0:
            self._keep(_as_rehearsed(found, rehearsed, self.rehearsals.of_plan(rehearsed)))
        if found.world.slots.tolist() == list(choice.slots.values()):
            self._shorten(as_planned(choice, found), rehearsed)
        return not settled

    def _shorten(self, choice: Choice, rehearsed: Mapping[str, Rehearsal]) -> None:
        """Keep the plan of the first slots that are enough, where some of a schedule that was rehearsed are."""
        fewest = {task: rehearsal.fewest for task, rehearsal in rehearsed.items()}
        enough = all((rehearsal.rooms >= 0.0).any() for rehearsal in rehearsed.values())
        accurate = self.making.world.scenario.goals.make_best == "accuracy"
        if enough and not accurate and any(fewest[task] < choice.slots[task] for task in fewest):
            self._kept(choice, fewest)

    def _rehearsed(
        self, world: World, jobs: Mapping[str, TaskJobs]
    ) -> tuple[bool, float, dict[str, Rehearsal]]:
        """Rehearse jobs: whether they meet the goals with hardly any room, or as before; that room; what was seen."""
        before = len(self.rehearsals.known)
        rehearsed = self.rehearsals.rehearse(world, jobs)
        room = min(rehearsal.room for rehearsal in rehearsed.values())
        self.failed += room < 0.0
        same = len(self.rehearsals.known) == before
        return room >= 0.0 and (room <= SPARE or same), room, rehearsed

    def _gains(self, nearest: Nearest) -> bool:
        """Rehearse what comes nearest, and more; whether that reaches more than was predicted.

        More is the same with all aggregations, by quick plans and by a longer search; and the first slots of each.
        """
        gains, longest = False, self.making.longest(nearest)
        choices = [nearest.choice]
        if longest is not None:
            searched = self.making.searched(longest)
            choices += [] if longest is nearest.choice else [longest]
            choices += [] if searched is None else [searched]
        for choice in choices:
            rehearsed = self.rehearsals.rehearse(with_slots(self.making.world, choice.slots), choice.jobs)
            best = {task: rehearsal.best for task, rehearsal in rehearsed.items()}
            room = min(room for room, _ in best.values())
            if self.nearest is None or room > self.nearest[0]:
                self.nearest = room, replace(nearest, choice=choice)
            if room >= 0.0 and set(choice.unmet) <= set(rehearsed):
                gains = self._kept(choice, {task: count for task, (_, count) in best.items()}) or gains
            for task, rehearsal in rehearsed.items():
                curve = self.making.wanted[task].curve
                assert curve is not None
                before = curve.at(choice.tasks[task].error)
                gains = gains or float(rehearsal.reached.mean()) > before + GAIN
        return gains

    def _kept(self, choice: Choice, counts: Mapping[str, int]) -> bool:
        """Keep the plan of the first slots of a choice if it meets the goals in its own rehearsal; whether it does."""
        plan = self.making.of_first(choice, counts)
        if plan is None:
            return False
        rehearsed = self.rehearsals.rehearse(plan.world, jobs_by_task(plan))
        if min(rehearsal.room for rehearsal in rehearsed.values()) < 0.0:
            return False
        self._keep(_as_rehearsed(plan, rehearsed, self.rehearsals.of_plan(rehearsed)))
        return True

    def _keep(self, plan: Plan) -> None:
        if self.best is None or self._value(plan) < self._value(self.best):
            self.best = plan

    def _value(self, plan: Plan) -> float:
        """What is made best; smaller is better. Accuracies are those of trainings."""
        scenario = self.making.world.scenario
        if scenario.goals.make_best != "accuracy":
            return self.making.value(plan)
        reached = {name: known.accuracy for name, known in plan.predicted.items()}
        return -sum(task.importance * reached.get(name, 0.0) for name, task in scenario.tasks.items())


def _as_rehearsed(
    plan: Plan, rehearsed: Mapping[str, Rehearsal], estimates: Mapping[str, TaskEstimates]
) -> Plan:
    """The plan with predictions and calibrations as its rehearsal corrects them."""
    confidence, predicted, constants = plan.world.scenario.goals.confidence, {}, dict(plan.constants)
    for task, jobs in jobs_by_task(plan).items():
        expected = predicted_accuracy(estimates[task], jobs, confidence)
        if expected is not None:
            predicted[task] = expected
    accuracies = {task: rehearsal.reached.tolist() for task, rehearsal in rehearsed.items()}
    constants["goals"] = dict(constants["goals"]) | {"rehearsed": accuracies}
    if "tasks" in constants:
        constants["tasks"] = plain_calibrations(estimates)
    return replace(plan, predicted=predicted, constants=constants)
