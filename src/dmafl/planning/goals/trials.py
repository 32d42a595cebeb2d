"""Quick plans of one task: a few orders of devices with the best work at given prices, in whole numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.decision import TaskDecision, device_J, jobs_from, times_of
from dmafl.planning.effort import Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.incumbent import incumbent_of
from dmafl.planning.prediction import by_proxy, errors_after, predicted_error
from dmafl.planning.problem import Problem, TaskProblem, make_problem
from dmafl.planning.search.assignment import orders_to_try
from dmafl.planning.search.descent import BlockDescent, Candidate
from dmafl.planning.search.repair import fastest, whole_and_repaired
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.proxy_model import steps_of_jobs
from dmafl.world.world import World

BATTERY_ROUNDS = 6
"""How often the prices of overdrawn batteries are raised."""
DEARER = 4.0
"""By how much, at most."""
SHORTEST = 0.7
"""Share of its slots that a shortened trial has at least."""
KEPT = 1e-9
"""Largest relative overrun of a limit that counts as none."""


@dataclass(frozen=True)
class Prices:
    """What is being tried: prices of joules of fleet and station beside their weights, and an end of all tasks."""

    fleet: float = 0.0
    station: float = 0.0
    end_s: float | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """A quick plan of one task."""

    slots: int
    price: float
    """Of a unit of loss."""
    decision: TaskDecision
    error: float
    """Predicted: the loss where a goal is about that, else what the accuracy follows from."""
    device_J: FloatArray
    station_J: float
    end_s: float
    cost: float
    """Energy and time at their weights and prices."""
    violation: float
    jobs: TaskJobs
    """As the theory sees them."""

    @property
    def kept(self) -> bool:
        """Whether it keeps windows and batteries."""
        return self.violation <= KEPT


def with_slots(world: World, slots: Mapping[str, int]) -> World:
    """The world with other numbers of aggregations."""
    scenario = world.scenario
    tasks = {
        name: task.model_copy(update={"slots": slots.get(name, task.slots)})
        for name, task in scenario.tasks.items()
    }
    copy = scenario.model_copy(update={"tasks": type(scenario.tasks)(tasks)})
    return replace(world, scenario=copy.in_folder(scenario.folder))


@dataclass(eq=False)
class Trials:
    """Makes quick plans of the tasks of a world; keeps what they share."""

    world: World
    estimates: Mapping[str, TaskEstimates]
    settings: Mapping[str, Any]
    """Quality, dissimilarity and participation of problems."""
    effort: Effort
    _problems: dict[tuple[str, int], Problem] = field(default_factory=dict)
    _flights: dict[tuple[str, Prices], int] = field(default_factory=dict)
    _orders: dict[tuple[str, int, Prices], str] = field(default_factory=dict)
    _prices_of_batteries: dict[str, FloatArray] = field(default_factory=dict)

    def problem(self, task: str, slots: int, prices: Prices) -> Problem:
        """The problem of one task alone, with so many aggregations."""
        if (task, slots) not in self._problems:
            others = dict.fromkeys(self.world.task_names, 1)
            world = with_slots(self.world, others | {task: slots})
            self._problems[task, slots] = make_problem(
                world, self.estimates, look=self.effort.look, **self.settings
            )
        return _priced(self._problems[task, slots], (task,), prices)

    def together(self, slots: Mapping[str, int], prices: Prices) -> Problem:
        """The problem of all tasks."""
        alone = [self.problem(task, slots[task], prices) for task in self.world.task_names]
        return replace(
            alone[0], world=with_slots(alone[0].world, slots), tasks=tuple(one.tasks[0] for one in alone)
        )

    def trial(self, task: str, slots: int, price: float, prices: Prices) -> Trial:
        """A quick plan at this price of a unit of loss."""
        problem = self.problem(task, slots, prices)
        problem = replace(problem, tasks=(replace(problem.tasks[0], weight=price),))
        of_task = problem.tasks[0]
        battery = problem.world.devices.battery_J
        key = (task, slots, prices)
        pressed = self._prices_of_batteries.get(task, np.zeros(problem.devices))
        candidate = self._candidate(problem, key, pressed)
        for _ in range(BATTERY_ROUNDS):
            over = device_J(problem, of_task, candidate.decision) / battery
            if (over <= 1.0).all():
                break
            least = max(abs(candidate.cost), 1e-12) / float(battery.sum())
            pressed = np.where(over > 1.0, np.maximum(pressed, least) * np.clip(over, 1.5, DEARER), pressed)
            candidate = self._candidate(problem, key, pressed)
        if pressed.any():
            descent = BlockDescent(
                problem, of_task, candidate.decision.in_flight, pressed, effort=self.effort
            )
            descent.window_price = candidate.window_price
            candidate = descent.run(candidate.decision, rounds=1)
        incumbent = whole_and_repaired(problem, [candidate.decision], self.effort)
        return self.seen(problem, of_task, incumbent.decisions[0], incumbent.violation)

    def seen(self, problem: Problem, task: TaskProblem, decision: TaskDecision, violation: float) -> Trial:
        """What a decision of a task is predicted to reach, and costs."""
        self.effort.spend(Work.EVALUATION, problem.quality, task.slots)
        times = times_of(task, decision)
        of_devices = device_J(problem, task, decision)
        station = float(problem.world.download_J(decision.device, times.download_s).sum())
        end_s = float(times.end_s.max())
        assert task.estimates is not None
        jobs = jobs_from(problem, task, decision, times)
        if by_proxy(task.estimates):
            self.effort.spend(Work.PROXY, problem.quality, task.slots, steps_of_jobs(jobs))
        error = predicted_error(task.estimates, jobs, of_loss=self.by_loss(task.name))
        cost = problem.c2 * float(of_devices.sum()) + problem.c3 * station + task.time_price_W * end_s
        return Trial(
            task.slots,
            task.weight,
            decision,
            np.inf if error is None else error,
            of_devices,
            station,
            end_s,
            task.price_of_J * cost,
            violation,
            jobs,
        )

    def shortened(self, task: str, trial: Trial, prices: Prices) -> Trial | None:
        """The first slots of a trial, as many as have the least predicted error; None where that is not known.

        A model is better after some slots than after others, by which labels were trained last.
        """
        problem = self.problem(task, trial.slots, prices)
        of_task = problem.tasks[0]
        assert of_task.estimates is not None
        counts = np.arange(max(1, int(trial.slots * SHORTEST)), trial.slots + 1)
        jobs = jobs_from(problem, of_task, trial.decision, times_of(of_task, trial.decision))
        errors = None if self.by_loss(task) else errors_after(of_task.estimates, jobs, counts)
        if errors is None or counts[int(np.argmin(errors))] == trial.slots:
            return None
        count = int(counts[int(np.argmin(errors))])
        shorter = self.problem(task, count, prices)
        shorter = replace(shorter, tasks=(replace(shorter.tasks[0], weight=trial.price),))
        decision = trial.decision.first(count)
        return self.seen(shorter, shorter.tasks[0], decision, incumbent_of(shorter, [decision]).violation)

    def by_loss(self, task: str) -> bool:
        """Whether the goal of a task is a loss."""
        loss = self.world.scenario.goals.loss
        return loss is not None and loss.of(task) is not None

    def judged(self, problem: Problem, decisions: list[TaskDecision]) -> dict[str, Trial]:
        """The same of all tasks together; violations are those of all."""
        violation = incumbent_of(problem, decisions).violation
        return {
            task.name: self.seen(problem, task, decision, violation)
            for task, decision in zip(problem.tasks, decisions, strict=True)
        }

    def press(self, over: FloatArray, scale: float) -> None:
        """Raise the prices of batteries that all tasks together overdraw; `over`: what they use of each, as a share."""
        for task in self.world.task_names:
            before = self._prices_of_batteries.get(task, np.zeros(len(over)))
            raised = np.maximum(before, scale) * np.clip(over, 1.5, DEARER)
            self._prices_of_batteries[task] = np.where(over > 1.0, raised, before)

    def _candidate(self, problem: Problem, key: tuple[str, int, Prices], pressed: FloatArray) -> Candidate:
        """The best of a few starts: every number of jobs in flight for a task, every order for a number of slots."""
        task, tried = problem.tasks[0], []
        flights = [self._flights[key[::2]]] if key[::2] in self._flights else task.flights
        flights = [count for count in flights if count <= task.most_in_flight] or task.flights
        orders = (self._orders[key],) if key in self._orders else orders_to_try(task)
        for in_flight, order in product(flights, orders):
            descent = BlockDescent(problem, task, in_flight, pressed, order=order, effort=self.effort)
            candidate = descent.run(rounds=0)
            tried.append((descent.rank(candidate), in_flight, order, candidate))
        rank, in_flight, order, best = min(tried, key=lambda each: each[0])
        if best.late_s > 0 and key[::2] in self._flights and len(task.flights) > 1:
            del self._flights[key[::2]]  # another number of jobs in flight may be in time
            return self._candidate(problem, key, pressed)
        self._flights[key[::2]], self._orders[key] = in_flight, order
        if best.late_s > 0:
            quickest = BlockDescent(problem, task, 1, pressed, effort=self.effort)
            candidate = quickest.candidate(fastest(problem, task, self.effort))
            return candidate if quickest.rank(candidate) < rank else best
        return best


def _priced(problem: Problem, names: tuple[str, ...], prices: Prices) -> Problem:
    """Only these tasks, with these prices beside the weights, and an end."""
    end_s = np.inf if prices.end_s is None else prices.end_s
    tasks = tuple(
        replace(task, window_s=np.minimum(task.window_s, end_s))
        for task in problem.tasks
        if task.name in names
    )
    return replace(problem, tasks=tasks, c2=problem.c2 + prices.fleet, c3=problem.c3 + prices.station)
