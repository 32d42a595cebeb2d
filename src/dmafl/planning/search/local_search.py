"""Local search: random moves in batches, of each the best and those that go with it, judged by the objective."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.randomness import generator
from dmafl.planning.batched_costs import BatchedCosts, costs_of, how_many
from dmafl.planning.decision import TaskDecision, device_J, used_J
from dmafl.planning.effort import CutOff, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.moves import Moves, allowed, overlaid

MOVES_A_JOB = 60
"""Moves tried per job before the search ends, if the effort does not end first."""
LEAST_MOVES = 1500
"""The least number of moves for a task whose schedule may change."""
SOFT = 0.05
"""Share of a window by which it may be missed at about twice its price."""
TOGETHER = (2, 4, 8, 16)
"""How many moves of a batch are tried together."""


@dataclass(frozen=True, eq=False)
class LimitPrices:
    """What another second of each task's window, (J,), and another joule of each battery, (I,), would save."""

    window_s: FloatArray
    battery_J: FloatArray


def search(
    problem: Problem,
    decisions: Sequence[TaskDecision],
    effort: Effort,
    seed: int,
    *,
    schedule_too: bool = True,
    moves_a_job: int = MOVES_A_JOB,
    prices: LimitPrices | None = None,
) -> list[TaskDecision]:
    """Accept moves that lower a task's cost and keep windows and batteries, until moves or effort run out.

    Without `schedule_too`, devices and versions stay, and only work and frequencies move. With `prices`, limits that
    have one may be missed a little for it: exact resources bring them back.
    """
    best, rng = list(decisions), generator(seed, "planner.local_search")
    rooms = [
        _Room(problem, task, Moves(problem, task, rng, schedule_too=schedule_too), prices)
        for task in problem.tasks
    ]
    free = [j for j, task in enumerate(problem.tasks) if task.first_free < task.slots]
    least = LEAST_MOVES if schedule_too else 0
    left = {j: max(moves_a_job * problem.tasks[j].slots, least) for j in free}
    while any(count > 0 for count in left.values()) and effort.leaves():
        for j in free:
            if left[j] <= 0:
                continue
            task = problem.tasks[j]
            try:
                n, G = how_many(task), task.slots
                effort.spend(Work.NEIGHBOURS, problem.quality, G, n * G, calls=n)
            except CutOff:
                return best
            others = used_J(problem, best) - device_J(problem, task, best[j])
            best[j], tried = rooms[j].moved(best[j], others)
            left[j] -= tried
    return best


class _Room:
    """The search in one task while the others stand still."""

    def __init__(self, problem: Problem, task: TaskProblem, moves: Moves, prices: LimitPrices | None) -> None:
        self.problem, self.task, self.moves = problem, task, moves
        self.window_price = 0.0 if prices is None else float(prices.window_s[task.number])
        self.battery_price = np.zeros(problem.devices) if prices is None else prices.battery_J
        self.unit_s = SOFT * float(task.window_s.min())
        battery = problem.world.devices.battery_J
        self.room_J = np.where(self.battery_price > 0, battery * (1.0 + SOFT), battery)

    def moved(self, decision: TaskDecision, others_J: FloatArray) -> tuple[TaskDecision, int]:
        """The best of a batch of neighbours, or of several of them together; the decision itself if none is better."""
        drawn = self.moves.drawn(decision, how_many(self.task))
        if not drawn:
            return decision, how_many(self.task)
        costs = costs_of(self.problem, self.task, [decision, *drawn])
        used = self._used_J([decision, *drawn], costs) + others_J
        late_s, room_J = max(float(costs.late_s[0]), 0.0), np.maximum(self.room_J, used[0])
        value = self._value(costs, used, late_s, room_J)
        order = np.argsort(value[1:], kind="stable").tolist()
        good = [drawn[k] for k in order if value[1 + k] < value[0]]
        if not good:
            return decision, len(drawn)
        best, least = good[0], float(value[1:].min())
        together = [overlaid(decision, good[:count]) for count in TOGETHER if count < 2 * len(good)]
        together = [neighbour for neighbour in together if allowed(self.task, neighbour, decision)]
        if together:
            costs = costs_of(self.problem, self.task, together)
            value = self._value(costs, self._used_J(together, costs) + others_J, late_s, room_J)
            if value.min() < least:
                best = together[int(value.argmin())]
        return best, len(drawn) + len(together)

    def _used_J(self, decisions: list[TaskDecision], costs: BatchedCosts) -> FloatArray:
        """E^U + E^C of every device in this task, by decision, (n, I)."""
        n, devices = len(decisions), self.problem.devices
        rows = np.arange(n)[:, None] * devices + np.stack([decision.device for decision in decisions])
        used = np.bincount(rows.ravel(), costs.device_J.ravel(), minlength=n * devices)
        return np.asarray(used, dtype=np.float64).reshape(n, devices)

    def _value(
        self, costs: BatchedCosts, used_J: FloatArray, late_s: float, room_J: FloatArray
    ) -> FloatArray:
        """Cost with the prices of limits, (n,); infinite where a task is later or a device needs more than allowed."""
        late, value = costs.late_s, costs.total + used_J @ self.battery_price
        if self.window_price > 0:
            value += self.window_price * (late + np.maximum(late, 0.0) ** 2 / self.unit_s)
            late_s = max(late_s, self.unit_s)
        broken = (late > late_s) | (used_J > room_J * (1 + 1e-12)).any(axis=1)
        return np.asarray(np.where(broken, np.inf, value))
