"""The plan that meets goals by predictions: quick plans choose numbers and prices, then one of all tasks is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.base.errors import Problem
from dmafl.planning.decision import TaskDecision
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.goals.choice import Choice, Chooser
from dmafl.planning.goals.shortfall import Looking, broken_by_placement
from dmafl.planning.goals.trials import Prices, Trials, with_slots
from dmafl.planning.goals.wanted import TaskGoal, goals_of
from dmafl.planning.incumbent import incumbent_of
from dmafl.planning.infeasibility import no_plan_in_time
from dmafl.planning.infeasible import Infeasible
from dmafl.planning.prediction import predicted_error
from dmafl.planning.problem import make_problem
from dmafl.planning.solve import finished, solve
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.scenario.by_task import ByTask
from dmafl.scenario.goals import Decided
from dmafl.schedule.goal_limits import limits_used
from dmafl.schedule.plan import Plan
from dmafl.schedule.plan_status import PlanStatus
from dmafl.theory.jobs import TaskJobs, jobs_of
from dmafl.world.world import World

SEARCH_SHARE = 0.5
"""Share of the effort for quick plans."""
ROUNDS = 4
"""How often the plan of all tasks is made, with prices of loss corrected in between."""
FIRST_ROUND = 0.5
"""Share of the effort left for each of them but the last."""
NEAR = 0.01
"""Share of the error by which a plan may be better than its goal before it is tried at a lower price."""
ROOM = 0.03
"""Share of a limit that a plan made for accuracy may leave before it is tried at a lower price of it."""
MOST_CHANGE = float(np.log(8.0))
"""Largest change of the logarithm of a price between two plans."""
EXPONENT = 3.0
"""How much prices change with the error they buy, while only one plan tells: it falls about like price^(-1/3)."""


@dataclass(frozen=True, eq=False)
class Nearest:
    """What comes nearest to goals that are not met."""

    choice: Choice
    least_J: Mapping[str, float]
    """Joules of fleet or station with which everything else is met."""
    looking: Looking

    def broken(self, making: Making) -> list[Problem]:
        """What is wrong by the predictions of `making`, and what would help."""
        looking = replace(self.looking, estimates=making.estimates, wanted=making.wanted)
        tasks = dict(self.choice.tasks)
        for task, goal in making.wanted.items():
            error = predicted_error(making.estimates[task], tasks[task].jobs, of_loss=goal.accuracy is None)
            assert error is not None
            tasks[task] = replace(tasks[task], error=error)
        return looking.broken(making.world, replace(self.choice, tasks=tasks), self.least_J)


@dataclass(eq=False)
class Making:
    """The making of one plan, with predictions as they are."""

    world: World
    estimates: Mapping[str, TaskEstimates]
    settings: Mapping[str, Any]
    wanted: Mapping[str, TaskGoal]
    solver: str
    seed: int
    constants: Mapping[str, Any]
    effort: Effort

    def _effort_of_its_own(self) -> Effort:
        """As much again, where goals are about to be called out of reach."""
        left_s = max(self.effort.time_left_s, 1e-3) if self.effort.timed else None
        return Effort(max(self.effort.amount, 1.0), left_s, stop_asked=self.effort.stop_asked)

    def with_estimates(self, estimates: Mapping[str, TaskEstimates], beyond: Mapping[str, float]) -> Making:
        """The same with other predictions; `beyond`: by how much goals of tasks may be above all of them."""
        wanted = goals_of(self.world.scenario, estimates, beyond)
        return replace(self, estimates=estimates, wanted=wanted)

    def plan(self) -> Plan:
        """The plan that meets the goals by their prediction; `Infeasible` where none is found."""
        found = self.found()
        if isinstance(found, Nearest):
            raise Infeasible(*found.broken(self))
        return found

    def found(self) -> Plan | Nearest:
        """The plan that meets the goals by their prediction, or what comes nearest to them."""
        return self.finished(*self.chosen())

    def finished(self, choice: Choice, least_J: Mapping[str, float]) -> Plan | Nearest:
        """The plan of a choice, if it meets the goals or another one does; else what comes nearest."""
        plan = self.planned(choice)
        if plan is None and not choice.met:
            looking = Looking(self.estimates, self.settings, self.wanted, self._effort_of_its_own())
            choice = looking.nearest(self.world, choice)
            if not choice.met:
                return Nearest(choice, least_J, looking)
            plan = self.planned(choice)
        plan = plan if plan is not None else self._of_quick_plans(choice)
        return replace(plan, solver_status=PlanStatus.CUT_OFF) if self.effort.cut_off else plan

    def chosen(self) -> tuple[Choice, dict[str, float]]:
        """Numbers of aggregations and prices that meet the goals, or come near; and the least joules that would do."""
        quick = self.effort.separate(SEARCH_SHARE)
        trials = Trials(self.world, self.estimates, self.settings, quick)
        chooser = Chooser(trials, self.world.scenario.goals, self.wanted)
        try:
            choice = chooser.choose()
        except CutOff:
            if chooser.nearest is None:
                raise Infeasible(no_plan_in_time(self.effort)) from None
            choice = chooser.nearest
        finally:
            self.effort.add(quick)
        if not choice.met and chooser.nearest is not None:
            choice = chooser.best if chooser.best is not None else chooser.nearest
        return choice, chooser.least_J

    def longest(self, nearest: Nearest) -> Choice | None:
        """The choice with all aggregations of tasks whose goal is not met, or as it is; None: limits break."""
        own, choice = self.effort.separate(SEARCH_SHARE), nearest.choice
        trials, tasks = Trials(self.world, self.estimates, self.settings, own), dict(choice.tasks)
        for task in set(choice.unmet) & set(self.wanted):
            slots = self.world.scenario.tasks[task].slots
            if slots > tasks[task].slots:
                tasks[task] = trials.trial(task, slots, tasks[task].price, choice.prices)
        self.effort.add(own)
        longer = choice if tasks == dict(choice.tasks) else replace(choice, tasks=tasks)
        return longer if longer.kept else None

    def searched(self, choice: Choice) -> Choice | None:
        """The choice with the decisions of a plan of its numbers and prices, whatever it reaches; None: no plan."""
        start = [trial.decision for trial in choice.tasks.values()]
        own = self._effort_of_its_own()
        making = replace(self, effort=own)
        plan = making._solved(choice.slots, choice.loss_prices, choice.prices, start, FIRST_ROUND)
        self.effort.add(own)
        return None if plan is None else as_planned(choice, plan)

    def of_first(self, choice: Choice, counts: Mapping[str, int]) -> Plan | None:
        """The plan of the first slots of a choice, whatever is predicted for it; None where a limit does not hold."""
        slots = {task: counts.get(task, trial.slots) for task, trial in choice.tasks.items()}
        world = self._decided(slots, choice.loss_prices, choice.prices)
        problem = make_problem(world, self.estimates, **self.settings)
        decisions = [trial.decision.first(slots[task]) for task, trial in choice.tasks.items()]
        found = dict(self.constants) | self._found(choice.loss_prices, choice.prices)
        try:
            plan = finished(problem, incumbent_of(problem, decisions), self.solver, self.seed, found)
        except Infeasible:
            return None
        return plan if all(limit.holds for limit in limits_used(plan)) else None

    def planned(self, choice: Choice) -> Plan | None:
        """The best plan of all tasks that meets the goals, at prices that are corrected until it just does."""
        best: Plan | None = None
        prices, limits = dict(choice.loss_prices), choice.prices
        start = [trial.decision for trial in choice.tasks.values()]
        known: dict[str, list[tuple[float, float]]] = {task: [] for task in self.wanted}
        for turn in range(ROUNDS):
            last = turn == ROUNDS - 1
            plan = self._solved(choice.slots, prices, limits, start, 1.0 if last else FIRST_ROUND)
            if plan is None:
                break
            errors = self.errors(plan)
            for task in self.wanted:
                known[task].append((float(np.log(prices[task])), errors[task]))
            if self._good(plan, errors) and (best is None or self.value(plan) < self.value(best)):
                best = plan
            prices, limits, changed = self._corrected(plan, errors, prices, limits, known)
            if not changed or not self.effort.leaves(0.05) or (best is not None and not self._worth_more()):
                break
        return best

    def _worth_more(self) -> bool:
        """Whether another plan at other prices may be better than one that meets the goals."""
        return self.world.scenario.goals.make_best != "time"

    def _decided(self, slots: Mapping[str, int], prices: Mapping[str, float], limits: Prices) -> World:
        """The world with what was found."""
        scenario = self.world.scenario
        decided = Decided(
            slots={name: task.slots for name, task in scenario.tasks.items()},
            loss_price_J=ByTask(None, tuple(prices.items())),
            fleet_price=limits.fleet,
            station_price=limits.station,
            end_s=limits.end_s,
        )
        world = with_slots(self.world, slots)
        goals = scenario.goals.model_copy(update={"decided": decided})
        settled = world.scenario.model_copy(update={"goals": goals}).in_folder(scenario.folder)
        return replace(world, scenario=settled)

    def _solved(
        self,
        slots: Mapping[str, int],
        prices: Mapping[str, float],
        limits: Prices,
        start: list[TaskDecision],
        share: float,
    ) -> Plan | None:
        """The plan at these prices, or None where there is none or no time for it."""
        own = self.effort.separate(share)
        try:
            world = self._decided(slots, prices, limits)
            problem = make_problem(world, self.estimates, look=own.look, **self.settings)
            found = dict(self.constants) | self._found(prices, limits)
            return solve(
                problem, solver=self.solver, effort=own, seed=self.seed, starts=[start], constants=found
            )
        except (CutOff, Infeasible):
            return None
        finally:
            self.effort.add(own)

    def _found(self, prices: Mapping[str, float], limits: Prices) -> dict[str, Any]:
        """What a plan file says of the search."""
        allowed = {name: task.slots for name, task in self.world.scenario.tasks.items()}
        return {
            "goals": {
                "loss_price_J": dict(prices),
                "fleet_price": limits.fleet,
                "station_price": limits.station,
                "end_s": limits.end_s,
                "allowed_slots": allowed,
                "largest_error": {task: goal.largest_error for task, goal in self.wanted.items()},
            }
        }

    def errors(self, plan: Plan) -> dict[str, float]:
        """The predicted error, or loss, of every task that has a goal."""
        errors = {}
        for task, jobs in jobs_by_task(plan).items():
            if task in self.wanted:
                of_loss = self.wanted[task].accuracy is None
                error = predicted_error(self.estimates[task], jobs, of_loss=of_loss)
                assert error is not None
                errors[task] = error
        return errors

    def _good(self, plan: Plan, errors: Mapping[str, float]) -> bool:
        met = all(goal.met(errors[task]) for task, goal in self.wanted.items())
        return met and all(limit.holds for limit in limits_used(plan))

    def value(self, plan: Plan) -> float:
        """What is made best; smaller is better."""
        scenario, best = self.world.scenario, self.world.scenario.goals.make_best
        if best == "time":
            return float(plan.timeline.end_s.max())
        if best == "accuracy":
            return sum(task.importance * plan.terms[name]["quality"] for name, task in scenario.tasks.items())
        weights = scenario.objective
        total = 0.0
        for number, (name, task) in enumerate(scenario.tasks.items()):
            terms = plan.terms[name]
            joules = weights.device_energy_weight * (terms["uplink_J"] + terms["compute_J"])
            joules += weights.station_energy_weight * terms["downlink_J"]
            of_task = plan.schedule.task == number
            joules += weights.time_price_W * float(plan.timeline.end_s[of_task].max())
            total += task.energy_weight * joules
        return total

    def _corrected(
        self,
        plan: Plan,
        errors: Mapping[str, float],
        prices: Mapping[str, float],
        limits: Prices,
        known: Mapping[str, list[tuple[float, float]]],
    ) -> tuple[dict[str, float], Prices, bool]:
        """Prices with which the next plan should just meet the goals; and whether any is another."""
        new, changed = dict(prices), False
        best = self.world.scenario.goals.make_best
        for task, goal in self.wanted.items():
            over = errors[task] / goal.largest_error - 1.0
            if not goal.met(errors[task]) or (best == "energy" and over < -NEAR):
                new[task], changed = _secant(known[task], goal.largest_error * (1.0 - 0.3 * NEAR)), True
        for each in limits_used(plan):
            name = {"fleet_energy_J": "fleet", "station_energy_J": "station"}.get(each.name)
            if name is None:
                continue
            before = getattr(limits, name)
            if not each.holds:
                dearer = max(before, 1.0) * (each.used / each.limit) ** 2 * 1.1
                limits, changed = replace(limits, **{name: min(dearer, 1e30)}), True
            elif best == "accuracy" and before > 0 and each.used < each.limit * (1.0 - ROOM):
                limits, changed = replace(limits, **{name: before * (each.used / each.limit) ** 2}), True
        return new, limits, changed

    def _of_quick_plans(self, choice: Choice) -> Plan:
        """The plan of the quick plans, which meet the goals; `Infeasible` where true times break a limit."""
        world = self._decided(choice.slots, choice.loss_prices, choice.prices)
        problem = make_problem(world, self.estimates, **self.settings)
        incumbent = incumbent_of(problem, [trial.decision for trial in choice.tasks.values()])
        found = dict(self.constants) | self._found(choice.loss_prices, choice.prices)
        plan = finished(problem, incumbent, self.solver, self.seed, found)
        if not self._good(plan, self.errors(plan)):
            raise Infeasible(*broken_by_placement(plan, self.wanted, self.errors(plan)))
        return plan


def as_planned(choice: Choice, plan: Plan) -> Choice:
    """The choice with the decisions of a plan of its numbers in place of quick ones."""
    tasks = dict(choice.tasks)
    for task, jobs in jobs_by_task(plan).items():
        rows = plan.schedule.rows_of_task(plan.world.task_names.index(task))
        decision = TaskDecision.of(plan.schedule.take(rows))
        tasks[task] = replace(tasks[task], decision=decision, jobs=jobs)
    return replace(choice, tasks=tasks)


def jobs_by_task(plan: Plan) -> dict[str, TaskJobs]:
    """The jobs of a plan, as the theory sees them."""
    seen = plan.world.as_planned()
    return {
        task: jobs_of(seen, plan.schedule, plan.timeline, number)
        for number, task in enumerate(plan.world.task_names)
    }


def _secant(known: list[tuple[float, float]], wanted: float) -> float:
    """The price at which the error should be the wanted one, by the last plans."""
    at, error = known[-1]
    step = EXPONENT * float(np.log(error / wanted))
    for before, error_before in reversed(known[:-1]):
        fall = np.log(error_before / error)
        if abs(at - before) > 1e-9 and fall * (at - before) > 1e-12:
            step = float(np.log(error / wanted) * (at - before) / fall)
            break
    return float(np.exp(np.clip(at + np.clip(step, -MOST_CHANGE, MOST_CHANGE), -60.0, 60.0)))
