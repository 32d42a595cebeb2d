"""Block descent for one task: prices, devices, work and frequencies in turn, for a number of jobs in flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.planning.assignment import improve, in_flight_versions, start_order, valid_versions
from dmafl.planning.choice import Choice, Drawn, cost_at, device_J, jobs_from, late_s, times_of
from dmafl.planning.prices import Prices, UnitCosts, unit_costs
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.work import best_work
from dmafl.randomness import FloatArray
from dmafl.theory.jobs import TaskJobs
from dmafl.world.mobility import IntArray

ROUNDS = 3
HALVINGS = 8
"""Steps of the search for the price of time at which the window is met."""
EARLY = 0.04
"""Share of the window that may be left unused: exact resources come later."""


def middling(task: TaskProblem, device: IntArray, version: IntArray) -> Choice:
    """A schedule with steps and batches in the middle of their ranges, at full speed."""
    G = task.slots
    steps, batch = (float(np.sqrt(np.prod(limits))) for limits in (task.steps_range, task.batch_range))
    return Choice(device, version, np.full(G, steps), np.full(G, batch), task.highest_Hz[device])


@dataclass(frozen=True, eq=False)
class Candidate:
    """A choice for one task, and what it costs at the prices it was found with."""

    choice: Choice
    cost: float
    """The task's part of the objective, without prices of limits."""
    late_s: float
    """How much the latest upload misses its window [s]; <= 0 if none does."""
    window_price: float
    """Price per second at which the window is met."""


class Descent:
    """The search for one task with a given number of jobs in flight and prices of batteries."""

    def __init__(
        self,
        problem: Problem,
        task: TaskProblem,
        in_flight: int,
        battery_J: FloatArray,
        drawn: Drawn | None = None,
    ) -> None:
        self.problem, self.task, self.in_flight, self.battery_J = problem, task, in_flight, battery_J
        self.drawn = drawn
        self.window_price = 0.0

    def run(self, start: Choice | None = None, rounds: int = ROUNDS) -> Candidate:
        """Descend from `start`, or from a balanced order with middling work."""
        choice = start if start is not None else self._start()
        for _ in range(rounds):
            jobs = self.jobs(choice)
            costs = self.costs(jobs)
            choice, _ = improve(self.task, choice, self.jobs, self._priced, costs, self.drawn)
            choice = self.meet_window(choice)
        return self.candidate(choice)

    def candidate(self, choice: Choice) -> Candidate:
        """What a choice costs, and how late it is."""
        times = times_of(self.task, choice)
        cost = cost_at(self.problem, self.task, choice, times).total
        return Candidate(choice, cost, late_s(self.task, choice, times), self.window_price)

    def jobs(self, choice: Choice) -> TaskJobs:
        """The jobs of a choice."""
        return jobs_from(self.problem, self.task, choice, times_of(self.task, choice))

    def costs(self, jobs: TaskJobs) -> UnitCosts:
        """Unit costs of all devices at the prices of this moment."""
        task, slopes = self.task, self.task.quality.time_slopes(jobs)
        per_device = np.full(self.problem.devices, float(slopes.compute_s.mean()))
        per_device[jobs.device] = slopes.compute_s
        prices = Prices(
            end_s=task.weight * slopes.horizon_s + self.window_price,
            in_flight=self.in_flight,
            compute_s=task.weight * (per_device + float(slopes.under_way_s.mean())),
            battery_J=self.battery_J,
        )
        return unit_costs(self.problem, task, prices)

    def _start(self) -> Choice:
        task, G = self.task, self.task.slots
        flat = middling(task, np.resize(task.usable, G), np.arange(G))
        costs = self.costs(self.jobs(flat.after(task.past)))
        work = flat.work[0] if self.drawn is None else self.drawn.steps * self.drawn.batch
        order = start_order(
            self.problem, task, self.in_flight, costs, np.broadcast_to(work, self.problem.devices)
        )
        version = in_flight_versions(G, self.in_flight)
        choice = Choice(order, version, flat.steps, flat.batch, costs.frequency_Hz[order]).after(task.past)
        return self.meet_window(valid_versions(choice, self.problem.devices, task.first_free))

    def respond(self, choice: Choice) -> Choice:
        """The best work and frequencies at the prices of this moment."""
        if self.drawn is not None:
            return self.drawn.given_to(choice)
        jobs = self.jobs(choice)
        return best_work(self.task, choice, jobs, self.costs(jobs))

    def meet_window(self, choice: Choice) -> Choice:
        """Respond to prices; where the window is missed, raise the price of time until it is met, if it can be."""
        before, self.window_price = self.window_price, 0.0
        found = self.respond(choice)
        if late_s(self.task, found) <= 0 or self.drawn is not None:
            return found
        price = before if before > 0 else self._first_price(found)
        self.window_price = price
        found = self.respond(found)
        low, high = 0.0, np.inf
        for _ in range(HALVINGS):
            late = late_s(self.task, found)
            if late > 0:
                low = price
            else:
                high = price
                if late > -EARLY * float(self.task.window_s.min()) or high < 1.05 * low:
                    return found
            price = (
                np.sqrt(low * high) if np.isfinite(high) and low > 0 else (low * 8 if low > 0 else high / 8)
            )
            self.window_price = price
            found = self.respond(found)
        if late_s(self.task, found) > 0 and np.isfinite(high):
            self.window_price = high
            found = self.respond(found)
        return found

    def _first_price(self, choice: Choice) -> float:
        """A price of time of the size at which computing faster begins to pay."""
        task = self.task
        i = choice.device
        kappa = task.price_of_J * self.problem.c2 * self.problem.energy_per_work(task)[i]
        return float(np.median(2.0 * kappa * task.lowest_Hz[i] ** 3 / task.cycles[i])) * self.in_flight

    def _priced(self, choice: Choice) -> float:
        times = times_of(self.task, choice)
        value = cost_at(self.problem, self.task, choice, times).total
        value += self.window_price * float(times.end_s[-1])
        if self.battery_J.any():
            value += float(self.battery_J @ device_J(self.problem, self.task, choice))
        return value
