"""All tasks together: numbers of aggregations and prices that meet goals within limits, by quick plans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from dmafl.planning.decision import TaskDecision, used_J
from dmafl.planning.effort import CutOff
from dmafl.planning.goals.search_of_task import (
    at_slots,
    best_at_price,
    cheapest,
    first_price,
    largest_price,
)
from dmafl.planning.goals.trials import Prices, Trial, Trials
from dmafl.planning.goals.wanted import TaskGoal
from dmafl.planning.search.repair import fastest, whole_and_repaired
from dmafl.scenario.goals import Goals
from dmafl.theory.jobs import TaskJobs

TOGETHER = 4
"""How often tasks that disturb each other are planned again, with dearer batteries and higher prices of loss."""
DEARER = 8.0
"""By how much prices of limits change while only one side is known."""
MOST_STEPS, HALVINGS, NARROW = 10, 4, 1.3
MANY = 32
"""Aggregations with which the highest price of loss that changes anything is looked for."""
TIMES = 9
"""Steps of the search for the least time."""
ROOM = 1.0 - 1e-9
"""Share of a limit that quick plans use: sums differ in the last digits."""


@dataclass(frozen=True, eq=False)
class Choice:
    """Numbers of aggregations and prices, and the quick plans that they give together."""

    tasks: Mapping[str, Trial]
    prices: Prices
    unmet: tuple[str, ...]
    """Tasks whose goal is not met, and limits that are not kept, by name."""
    missed: float = 0.0
    """By how much all of them are missed, relative to what they should be."""

    @property
    def met(self) -> bool:
        """Whether all goals are met."""
        return not self.unmet

    @property
    def kept(self) -> bool:
        """Whether windows and batteries are kept."""
        return all(trial.kept for trial in self.tasks.values())

    @property
    def jobs(self) -> dict[str, TaskJobs]:
        """Jobs by task."""
        return {name: trial.jobs for name, trial in self.tasks.items()}

    @property
    def slots(self) -> dict[str, int]:
        """Aggregations by task."""
        return {name: trial.slots for name, trial in self.tasks.items()}

    @property
    def loss_prices(self) -> dict[str, float]:
        """Price of a unit of loss by task."""
        return {name: trial.price for name, trial in self.tasks.items()}

    @property
    def used_J(self) -> dict[str, float]:
        """What limits of fleet and station are about [J]."""
        return {
            "fleet_energy_J": sum(float(trial.device_J.sum()) for trial in self.tasks.values()),
            "station_energy_J": sum(trial.station_J for trial in self.tasks.values()),
        }

    @property
    def cost(self) -> float:
        """Of all tasks."""
        return sum(trial.cost for trial in self.tasks.values())


class Chooser:
    """Looks for the best choice; every step ends where the effort does."""

    def __init__(self, trials: Trials, goals: Goals, wanted: Mapping[str, TaskGoal]) -> None:
        self.trials, self.goals, self.wanted = trials, goals, wanted
        self.best: Choice | None = None
        """The best that meets all goals, for a cut-off."""
        self.nearest: Choice | None = None
        """The one that misses the fewest, and those by the least."""
        self.least_J: dict[str, float] = {}
        """Least energy of fleet or station with which everything else is met, where it is above its limit."""
        self._last: dict[str, Trial] = {}

    def choose(self) -> Choice:
        """The best choice found; where none meets the goals, one that comes near."""
        try:
            if self.goals.make_best == "accuracy":
                return self._within_limits(self._most_accurate())
            choice = self._within_limits(self._cheapest)
            if self.goals.make_best == "time" and choice.met:
                return self._quickest(choice)
            return choice
        except CutOff:
            if self.best is not None:
                return self.best
            raise

    # -- what to make best ----------------------------------------------------------------------------

    def _cheapest(self, prices: Prices) -> Choice:
        """Every task's goal at least cost."""
        for task in self.trials.world.task_names:
            self._last[task] = self._cheapest_of(task, prices)
        return self._together(prices, lambda task, higher: self._again(task, prices, higher))

    def _cheapest_of(self, task: str, prices: Prices) -> Trial:
        most = self.trials.world.scenario.tasks[task].slots
        goal = self.wanted.get(task)
        if goal is None:
            return self.trials.trial(task, most, first_price(self.trials, task), prices)
        tried = cheapest(self.trials, goal, most, prices, self._last.get(task))
        return tried.enough if tried.enough is not None else tried.nearest

    def _again(self, task: str, prices: Prices, higher: float) -> Trial:
        """The task with the same number of aggregations, at a price that is higher by this factor."""
        trial = self._last[task]
        goal = self.wanted.get(task)
        if goal is not None and higher == 1.0:
            tried = at_slots(self.trials, goal, trial.slots, trial.price, prices)
            return tried.enough if tried.enough is not None else tried.nearest
        return self.trials.trial(task, trial.slots, trial.price * higher, prices)

    def _most_accurate(self) -> Callable[[Prices], Choice]:
        """All tasks at the highest price of loss that changes anything, by their importance."""
        tasks, none = self.trials.world.scenario.tasks, Prices()
        highest = max(
            largest_price(self.trials, name, min(task.slots, MANY), none) / max(task.importance, 1e-12)
            for name, task in tasks.items()
        )

        def at(prices: Prices) -> Choice:
            for name, task in tasks.items():
                start = self._last[name].slots if name in self._last else None
                price = max(highest * task.importance, 1e-12)
                self._last[name] = best_at_price(self.trials, name, task.slots, price, prices, start)
            return self._together(
                prices,
                lambda name, higher: self.trials.trial(
                    name, self._last[name].slots, self._last[name].price * higher, prices
                ),
            )

        return at

    def _quickest(self, slow: Choice) -> Choice:
        """The earliest end with which the goals are still met, by bisection of its logarithm."""
        late = max(trial.end_s for trial in slow.tasks.values())
        early = max(self._soonest_s(task) for task in self.trials.world.task_names)
        best, low, high = slow, np.log(max(early * 0.999, 1e-12)), np.log(late)
        for _ in range(TIMES):
            if high - low < 0.02 or not self.trials.effort.leaves():
                break
            middle = 0.5 * (low + high)
            choice = self._within_limits(
                self._cheapest, replace(slow.prices, end_s=float(np.exp(middle))), few=True
            )
            if choice.met:
                best, high = choice, middle
            else:
                low = middle
        return best

    def _soonest_s(self, task: str) -> float:
        """When one aggregation of a task can end at the earliest."""
        problem = self.trials.problem(task, 1, Prices())
        of_task = problem.tasks[0]
        trial = self.trials.seen(problem, of_task, fastest(problem, of_task, self.trials.effort), 0.0)
        return trial.end_s

    # -- limits ---------------------------------------------------------------------------------------

    def _within_limits(
        self, at: Callable[[Prices], Choice], prices: Prices | None = None, *, few: bool = False
    ) -> Choice:
        """The choice at the lowest prices of fleet and station joules with which their limits hold."""
        prices = Prices() if prices is None else prices
        choice = at(prices)
        for name in ("fleet", "station"):
            if f"{name}_energy_J" in choice.unmet and not (few and self._goals_missed(choice)):
                choice = self._held(at, choice, name)
        return choice

    def _goals_missed(self, choice: Choice) -> bool:
        return any(name in self.wanted for name in choice.unmet)

    def _held(self, at: Callable[[Prices], Choice], before: Choice, name: str) -> Choice:
        """The choice at the lowest price of a limit's joules with which it holds, by bisection of its logarithm."""
        first = price = self._first_price_of_limit(before)
        low: float | None = None
        high: float | None = None
        tried = [before]
        for _ in range(MOST_STEPS + HALVINGS):
            tried.append(at(replace(before.prices, **{name: price})))
            if f"{name}_energy_J" in tried[-1].unmet:
                low = price
            else:
                high = price
            if low is not None and high is not None:
                if high / low < NARROW:
                    break
                price = float(np.sqrt(low * high))
            else:
                price = price / DEARER if high is not None else price * DEARER
            if not 1e-9 * first < price < 1e25:
                break
            if not self.trials.effort.leaves() and (high is not None or self.goals.make_best != "accuracy"):
                break  # made for accuracy alone a step is quick, and a price that holds the limit is needed
        return min(tried, key=lambda choice: (len(choice.unmet), choice.missed, getattr(choice.prices, name)))

    def _first_price_of_limit(self, choice: Choice) -> float:
        """A price of a joule of the size at which it begins to count beside loss and energy."""
        used = sum(float(trial.device_J.sum()) + trial.station_J for trial in choice.tasks.values())
        spent = sum(trial.cost for trial in choice.tasks.values())
        return max(spent / max(used, 1e-30), 1e-9)

    # -- tasks together -------------------------------------------------------------------------------

    def _together(self, prices: Prices, again: Callable[[str, float], Trial]) -> Choice:
        """The quick plans of all tasks, changed until they keep batteries together and goals are still met."""
        names = self.trials.world.task_names
        choice: Choice | None = None
        for turn in range(TOGETHER):
            now = self._joint(prices)
            choice = now if choice is None or len(now.unmet) <= len(choice.unmet) else choice
            if now.met or turn == TOGETHER - 1 or not self.trials.effort.leaves():
                break
            if len(names) == 1 or not self._disturbed(now):
                break
            for task in names:
                higher = 2.0 if task in now.unmet and task in self.wanted else 1.0
                self._last[task] = again(task, higher)
        assert choice is not None
        return choice

    def _joint(self, prices: Prices) -> Choice:
        """The quick plans of all tasks in whole numbers, within windows and batteries if they can be."""
        names = self.trials.world.task_names
        problem = self.trials.together({task: self._last[task].slots for task in names}, prices)
        weighted = tuple(replace(task, weight=self._last[task.name].price) for task in problem.tasks)
        problem = replace(problem, tasks=weighted)
        decisions: list[TaskDecision] = [self._last[task].decision for task in names]
        over = used_J(problem, decisions) / problem.world.devices.battery_J
        if len(names) > 1 and (over > 1.0).any():
            scale = sum(trial.cost for trial in self._last.values()) / float(
                problem.world.devices.battery_J.sum()
            )
            self.trials.press(over, max(scale, 1e-12))
            decisions = whole_and_repaired(problem, decisions, self.trials.effort).decisions
        tasks = self.trials.judged(problem, decisions)
        choice = self._judged(Choice(tasks, prices, ()))
        self._keep(choice)
        return choice

    def _disturbed(self, choice: Choice) -> bool:
        """Whether tasks that are good alone are not good together."""
        alone = [
            task
            for task in self.wanted
            if not (self._last[task].kept and self.wanted[task].met(self._last[task].error))
        ]
        return bool(set(choice.unmet) - set(alone) - {"fleet_energy_J", "station_energy_J"})

    def _judged(self, choice: Choice) -> Choice:
        """The choice with what it misses."""
        missed = {
            task: choice.tasks[task].error / goal.largest_error - 1.0
            for task, goal in self.wanted.items()
            if not goal.met(choice.tasks[task].error)
        }
        worst = max(trial.violation for trial in choice.tasks.values())
        if not all(trial.kept for trial in choice.tasks.values()):
            missed["limits"] = worst
        for name, joules in choice.used_J.items():
            limit = getattr(self.goals, name)
            if limit is not None and joules > limit * ROOM:
                missed[name] = joules / limit - 1.0
        return replace(choice, unmet=tuple(missed), missed=float(sum(missed.values())))

    def _keep(self, choice: Choice) -> None:
        if self.nearest is None or _nearness(choice) < _nearness(self.nearest):
            self.nearest = choice
        if len(choice.unmet) == 1 and choice.unmet[0] in choice.used_J:
            name = choice.unmet[0]
            self.least_J[name] = min(self.least_J.get(name, np.inf), choice.used_J[name])
        if choice.met and (self.best is None or self._value(choice) < self._value(self.best)):
            self.best = choice

    def _value(self, choice: Choice) -> float:
        """What is made best; smaller is better."""
        if self.goals.make_best == "time":
            return max(trial.end_s for trial in choice.tasks.values())
        if self.goals.make_best == "energy":
            return choice.cost
        tasks = self.trials.world.scenario.tasks
        return sum(tasks[name].importance * trial.error for name, trial in choice.tasks.items())


def _nearness(choice: Choice) -> tuple[int, float]:
    return len(choice.unmet), choice.missed
