"""One task alone: the number of aggregations and the price of loss that meet its goal at least cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from dmafl.planning.goals.trials import Prices, Trial, Trials
from dmafl.planning.goals.wanted import TaskGoal

STEP, MOST_STEP = float(np.log(2.0)), float(np.log(16.0))
"""By how much the logarithm of a price changes while only one side of the goal is known: more every time."""
MOST_STEPS, HALVINGS = 14, 5
IN_VAIN = 2e-3
"""Share by which the error must fall for a higher price to be worth a try, and the cost for a lower one."""
NEAR = 0.01
"""Share of the error above the goal's that is near enough."""
STRIDES = (2.0, 2.0**0.5, 2.0**0.25, 2.0**0.1)
"""Factors between numbers of aggregations that are compared, coarse to fine."""
FIRST_SHARE = 4
"""The search begins at this part of the allowed number, where that is large."""
LEAST = 3
"""Numbers of aggregations that are tried at a fixed price even where no effort is left: one and its neighbours."""
PATIENCE = 3
"""Prices that are tried at least, with more than `ALL` aggregations, before higher ones are given up."""
ALL = 8
"""Aggregations up to which all numbers and prices are tried before none is good enough: plans of few slots jump."""
MOST_NUMBERS = 12
"""Numbers of aggregations that are tried in the search for the fewest."""
CLOSE = 1.12
"""Factor between a number that is too few and one that is enough, at which that search ends."""
MORE = (1.15, 1.4, 2.0)
"""Factors by which more aggregations than the fewest are tried, each with less work."""
LITTLE = 0.02
"""Share by which the error must fall for a price to be called high too early."""
FEW = 16
"""Numbers of aggregations up to which the search begins with all of them."""


@dataclass(frozen=True, eq=False)
class Tried:
    """The best trials with one number of aggregations."""

    enough: Trial | None
    """The cheapest that meets the goal."""
    nearest: Trial
    """The one of the smallest error that keeps the limits, if any does."""

    @property
    def rank(self) -> tuple[bool, float]:
        """Those that meet the goal first, by cost; others by error."""
        if self.enough is not None:
            return False, self.enough.cost
        return True, self.nearest.error + (0.0 if self.nearest.kept else 1e6 * (1.0 + self.nearest.violation))


def cheapest(trials: Trials, goal: TaskGoal, most: int, prices: Prices, start: Trial | None = None) -> Tried:
    """The cheapest trial that meets the goal with at most `most` aggregations; and the nearest, if none does.

    Joules grow with aggregations more than with the work of each. So the fewest are looked for that meet the goal at
    a price of loss at which work is no object, and from there on prices fall and numbers rise while that pays.
    """
    price = [start.price if start is not None else first_price(trials, goal.task)]

    def evaluate(slots: int) -> Tried:
        tried = at_slots(trials, goal, slots, price[0], prices)
        if tried.enough is not None:
            price[0] = tried.enough.price
        return tried

    few = None if most <= ALL else fewest(trials, goal, most, prices, start)
    if few is None:
        tried = climbed(evaluate, most, trials, None if start is None else start.slots)
        shorter = None if tried.enough is not None else trials.shortened(goal.task, tried.nearest, prices)
        return tried if shorter is None or not _good(goal, shorter) else Tried(shorter, shorter)
    price[0] = few.price
    best = evaluate(few.slots)
    if best.enough is None:
        best = Tried(few, few)
    for factor in MORE:
        slots = min(most, round(few.slots * factor))
        if slots == few.slots or not trials.effort.leaves():
            break
        tried = evaluate(slots)
        if tried.rank >= best.rank:
            break
        best = tried
    return best


def fewest(trials: Trials, goal: TaskGoal, most: int, prices: Prices, start: Trial | None) -> Trial | None:
    """The trial with about the fewest aggregations that meets the goal at a high price of loss; None if none does."""
    at = min(most, start.slots if start is not None else max(1, most // FIRST_SHARE))
    price = start.price if start is not None else _high_price(trials, goal.task, at, prices)
    low, cap, good = 0, most, None  # too few for the goal; not too many for the limits
    for _ in range(MOST_NUMBERS):
        trial = trials.trial(goal.task, at, price, prices)
        if _good(goal, trial):
            good = trial
        elif trial.kept:
            low = at
        else:
            cap = at - 1
        top = cap if good is None else good.slots
        if low >= top or (good is not None and good.slots <= max(low + 1, round(low * CLOSE))):
            break
        if good is None:
            at = min(cap, 4 * low) if low else max(1, cap // 2)
        else:
            at = min(good.slots - 1, max(low + 1, round((max(low, 1) * good.slots) ** 0.5)))
    return good


def _high_price(trials: Trials, task: str, slots: int, prices: Prices) -> float:
    """A price of loss near which a higher one hardly lowers the error any more."""
    price, least = first_price(trials, task), np.inf
    for _ in range(MOST_STEPS):
        trial = trials.trial(task, slots, price, prices)
        if trial.error > least * (1.0 - LITTLE):
            break
        least = min(least, trial.error)
        price *= 8.0
    return price


def best_at_price(
    trials: Trials, task: str, most: int, price: float, prices: Prices, start: int | None = None
) -> Trial:
    """The trial of least error and cost together at a price of loss, with at most `most` aggregations."""

    def evaluate(slots: int) -> _Valued:
        trial = trials.trial(task, slots, price, prices)
        return _Valued(
            trial, (not trial.kept, price * trial.error + trial.cost if trial.kept else trial.violation)
        )

    return climbed(evaluate, most, trials, start, LEAST).trial


@dataclass(frozen=True, eq=False)
class _Valued:
    trial: Trial
    rank: tuple[bool, float]


T = TypeVar("T", Tried, _Valued)


def climbed(
    evaluate: Callable[[int], T], most: int, trials: Trials, start: int | None = None, least: int = 1
) -> T:
    """The best number of aggregations by steps to neighbours, coarse to fine.

    Ends where the effort does, but not before `least` numbers are tried.
    """
    first = start if start is not None else most if most <= FEW else max(1, most // FIRST_SHARE)
    known: dict[int, T] = {}

    def of(slots: int) -> T:
        if slots not in known:
            known[slots] = evaluate(slots)
        return known[slots]

    at = first
    of(at)
    if known[at].rank[0] and at != most:
        of(most)
        at = min(known, key=lambda slots: known[slots].rank)
    near_start = start is not None and not known[at].rank[0] and least == 1
    for stride in STRIDES[1:] if near_start else STRIDES:
        while trials.effort.leaves() or len(known) < least:
            near = {max(1, min(most, round(at * factor))) for factor in (1 / stride, stride)} - {at}
            better = min(sorted(near), key=lambda slots: of(slots).rank, default=at)
            if better == at or of(better).rank >= of(at).rank:
                break
            at = better
    if known[at].rank[0] and most <= ALL:  # with so few, more may be worse: a device more trains once
        at = min(range(1, most + 1), key=lambda slots: of(slots).rank)
    return known[at]


def at_slots(trials: Trials, goal: TaskGoal, slots: int, price: float, prices: Prices) -> Tried:
    """The price at which a number of aggregations just meets the goal, by bisection of its logarithm."""
    seen: list[Trial] = []

    def tried(log_price: float) -> Trial:
        trial = trials.trial(goal.task, slots, float(np.exp(log_price)), prices)
        seen.append(trial)
        return trial

    at, step = float(np.log(price)), STEP
    trial = tried(at)
    low, high = (None, (at, trial)) if _good(goal, trial) else ((at, trial), None)
    for _ in range(MOST_STEPS):
        if low is not None and high is not None:
            break
        at += step if high is None else -step
        step = min(2.0 * step, MOST_STEP)
        before, trial = trial, tried(at)
        if _good(goal, trial):
            high = (at, trial)
            if low is None and trial.cost > before.cost * (1.0 - IN_VAIN):
                break
        else:
            low = (at, trial)
            in_vain = trial.error > before.error * (1.0 - IN_VAIN)
            if high is None and in_vain and len(seen) > (PATIENCE if slots > ALL else MOST_STEPS):
                break
    if low is not None and high is not None:
        _bisected(goal, tried, low, high)
    good = [each for each in seen if _good(goal, each)]
    nearest = min(seen, key=lambda each: (not each.kept, each.error if each.kept else each.violation))
    return Tried(min(good, key=lambda each: each.cost, default=None), nearest)


def _bisected(
    goal: TaskGoal,
    tried: Callable[[float], Trial],
    low: tuple[float, Trial],
    high: tuple[float, Trial],
) -> None:
    for _ in range(HALVINGS):
        if high[1].error >= goal.largest_error * (1.0 - NEAR) or high[0] - low[0] < NEAR:
            return
        fall = low[1].error - high[1].error
        share = (low[1].error - goal.largest_error) / fall if fall > 0 and low[1].kept else 0.5
        at = low[0] + float(np.clip(share, 0.2, 0.8)) * (high[0] - low[0])
        trial = tried(at)
        if _good(goal, trial):
            high = (at, trial)
        else:
            low = (at, trial)


def largest_price(trials: Trials, task: str, slots: int, prices: Prices) -> float:
    """A price of loss above which a higher one does not lower the error any more."""
    price, least, in_vain = first_price(trials, task), np.inf, 0
    for _ in range(MOST_STEPS):
        trial = trials.trial(task, slots, price, prices)
        in_vain = in_vain + 1 if trial.error > least * (1.0 - IN_VAIN) else 0
        least = min(least, trial.error)
        if in_vain > 1:
            break
        price *= 8.0
    return price


def first_price(trials: Trials, task: str) -> float:
    """A price of loss to begin with: that of the scenario, in total joules."""
    scenario = trials.world.scenario
    of_task = scenario.tasks[task]
    weight = getattr(scenario.objective, f"quality_weight_{trials.settings['quality']}", 1.0)
    return float(np.clip(weight * of_task.importance * of_task.slots, 1e-6, 1e9)) if weight else 1.0


def _good(goal: TaskGoal, trial: Trial) -> bool:
    return trial.kept and goal.met(trial.error)
