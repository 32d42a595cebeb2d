"""Block descent for one task: prices, devices, work and frequencies in turn, for a number of jobs in flight."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import GivenWork, TaskDecision, cost_at, device_J, jobs_from, late_s, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.assignment import CHEAP, improve, in_flight_versions, start_order, valid_versions
from dmafl.planning.search.best_work import best_work
from dmafl.planning.search.prices import TaskPrices, UnitCosts, unit_costs
from dmafl.theory.jobs import TaskJobs

ROUNDS = 3
HALVINGS = 8
"""Steps of the search for the price of time at which the window is met."""
FACTOR, FEW = float(np.log(8.0)), 2
"""By how much the price changes while it is only known to be too low or too high, in logarithms; and how many such
steps below the first price it counts as none."""
MOST_RESTARTS = 20
"""How often the search for that price may begin again without one."""
PRICE_OF_FREE_J = 1e-12
"""Stands for the price of a joule where energy costs nothing: that of time begins somewhere."""
NEARLY = 0.02
"""Share of the window by which a candidate may miss it."""
EARLY = 0.04
"""Share of the window that may be left unused: exact resources come later."""


def middling(task: TaskProblem, device: IntArray, version: IntArray) -> TaskDecision:
    """A schedule with steps and batches in the middle of their ranges, at full speed."""
    G = task.slots
    steps, batch = (float(np.sqrt(np.prod(limits))) for limits in (task.steps_range, task.batch_range))
    return TaskDecision(device, version, np.full(G, steps), np.full(G, batch), task.highest_Hz[device])


@dataclass(frozen=True, eq=False)
class Candidate:
    """A decision for one task, and what it costs at the prices it was found with."""

    decision: TaskDecision
    cost: float
    """The task's part of the objective, without prices of limits."""
    late_s: float
    """How much the latest upload misses its window [s]; <= 0 if none does."""
    window_price: float
    """Price per second at which the window is met."""


class BlockDescent:
    """The search for one task with a given number of jobs in flight and prices of batteries."""

    def __init__(
        self,
        problem: Problem,
        task: TaskProblem,
        in_flight: int,
        battery_J: FloatArray,
        drawn: GivenWork | None = None,
        order: str = CHEAP,
        effort: Effort = UNLIMITED,
    ) -> None:
        self.problem, self.task, self.in_flight, self.battery_J = problem, task, in_flight, battery_J
        self.drawn, self.order, self.effort = drawn, order, effort
        self.window_price = 0.0

    def run(self, start: TaskDecision | None = None, rounds: int = ROUNDS) -> Candidate:
        """Descend from `start`, or from an `order` with middling work, while it helps; the best on the way."""
        decision = start if start is not None else self._start()
        best = self.candidate(decision)
        for _ in range(rounds):
            costs = self.costs(self.jobs(decision))
            decision, _ = improve(
                self.task, decision, self.jobs, self._priced, costs, self.drawn, self.effort
            )
            decision = self.meet_window(decision)
            candidate = self.candidate(decision)
            if self.rank(candidate) >= self.rank(best):
                break
            best = candidate
        return best

    def rank(self, candidate: Candidate) -> tuple[float, float]:
        """Those within their window first, then by cost, with prices of batteries."""
        late = max(candidate.late_s / float(self.task.window_s.min()) - NEARLY, 0.0)
        spent = 0.0
        if self.battery_J.any():
            spent = float(self.battery_J @ device_J(self.problem, self.task, candidate.decision))
        return late, candidate.cost + spent

    def candidate(self, decision: TaskDecision) -> Candidate:
        """What a decision costs, and how late it is."""
        self._spend(Work.EVALUATION)
        times = times_of(self.task, decision)
        cost = cost_at(self.problem, self.task, decision, times).total
        return Candidate(decision, cost, late_s(self.task, decision, times), self.window_price)

    def jobs(self, decision: TaskDecision) -> TaskJobs:
        """The jobs of a decision."""
        return jobs_from(self.problem, self.task, decision, times_of(self.task, decision))

    def costs(self, jobs: TaskJobs) -> UnitCosts:
        """Unit costs of all devices at the prices of this moment."""
        task, slopes = self.task, self.task.loss_model.time_slopes(jobs)
        prices = TaskPrices(
            end_s=task.weight * slopes.horizon_s + task.price_of_s + self.window_price,
            in_flight=self.in_flight,
            under_way_s=task.weight * float(slopes.under_way_s.mean()),
            compute_s=task.weight * slopes.compute_s,
            battery_J=self.battery_J,
        )
        return unit_costs(self.problem, task, prices)

    def _start(self) -> TaskDecision:
        task, G = self.task, self.task.slots
        flat = middling(task, np.resize(task.usable, G), np.arange(G))
        self._spend(Work.START, G * self.problem.devices)
        costs = self.costs(self.jobs(flat.after(task.past)))
        work = flat.work[0] if self.drawn is None else self.drawn.steps * self.drawn.batch
        works = np.broadcast_to(work, self.problem.devices)
        order = start_order(self.problem, task, self.in_flight, costs, works, self.order)
        version = in_flight_versions(G, self.in_flight)
        decision = TaskDecision(order, version, flat.steps, flat.batch, costs.frequency_Hz[order]).after(
            task.past
        )
        return self.meet_window(valid_versions(decision, self.problem.devices, task.first_free))

    def respond(self, decision: TaskDecision, slow_slopes: FloatArray) -> TaskDecision:
        """The best work and frequencies at the prices of this moment; `slow_slopes` as in `best_work`."""
        jobs = self.jobs(decision)
        return best_work(self.task, decision, jobs, self.costs(jobs), slow_slopes, self.effort)

    def meet_window(self, decision: TaskDecision, restarts: int = MOST_RESTARTS) -> TaskDecision:
        """Respond to prices; where the window is missed, raise the price of time until it is met, if it can be.

        The price is found by interpolation of how late the task ends over the logarithm of the price.
        """
        if self.drawn is not None:
            return self.drawn.given_to(decision)
        self._spend(Work.LABELS)
        slow_slopes = self.task.loss_model.slow_slopes(self.jobs(decision))
        early = -EARLY * float(self.task.window_s.min())
        missed: tuple[float, float] | None = None  # logarithm of a price that is too low, and how late
        met: tuple[float, float] | None = None
        best = decision
        if self.window_price == 0.0:
            best = self.respond(decision, slow_slopes)
            if late_s(self.task, best) <= 0:
                return best
            self.window_price = self._first_price(best)
        response = best
        for _ in range(HALVINGS):
            response = self.respond(response, slow_slopes)
            late, at = late_s(self.task, response), float(np.log(self.window_price))
            if late <= 0:
                met, best = (at, late), response
                if late > early:
                    return best
            else:
                missed = (at, late)
            if missed is not None and met is not None:
                if met[0] - missed[0] < 0.05:
                    break
                share = np.clip((missed[1] - 0.5 * early) / (missed[1] - met[1]), 0.15, 0.85)
                at = missed[0] + float(share) * (met[0] - missed[0])
            else:
                at += FACTOR if met is None else -FACTOR
            if met is not None and missed is None and met[0] < np.log(self._first_price(best)) - FEW * FACTOR:
                if not restarts:
                    break
                self.window_price = 0.0
                return self.meet_window(best, restarts - 1)
            self.window_price = float(np.exp(at))
        if met is None:
            return response
        self.window_price = float(np.exp(met[0]))
        return best

    def _first_price(self, decision: TaskDecision) -> float:
        """A price of time of the size at which computing faster begins to pay, beside the one that the task has."""
        task = self.task
        i = decision.device
        price_of_J = task.price_of_J * self.problem.c2 or PRICE_OF_FREE_J
        kappa = price_of_J * self.problem.energy_per_work(task)[i]
        price = float(np.median(2.0 * kappa * task.lowest_Hz[i] ** 3 / task.cycles[i])) * self.in_flight
        return max(price, task.price_of_s)

    def _spend(self, work: Work, items: int = 0) -> None:
        self.effort.spend(work, self.problem.quality, self.task.slots, items)

    def _priced(self, decision: TaskDecision) -> float:
        self._spend(Work.EVALUATION)
        times = times_of(self.task, decision)
        value = cost_at(self.problem, self.task, decision, times).total
        value += self.window_price * float(times.end_s[-1])
        if self.battery_J.any():
            value += float(self.battery_J @ device_J(self.problem, self.task, decision))
        return value
