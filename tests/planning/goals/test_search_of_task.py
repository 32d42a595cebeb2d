"""The search for the fewest aggregations, and the first slots of a trial."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dmafl.planning.decision import jobs_from, times_of
from dmafl.planning.effort import Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.goals.search_of_task import CLOSE, cheapest, fewest
from dmafl.planning.goals.trials import SHORTEST, Prices, Trials
from dmafl.planning.goals.wanted import TaskGoal, goals_of
from dmafl.planning.prediction import by_proxy, errors_after
from dmafl.world.world import World
from support.goal_problems import goal_estimates, goal_world, with_proxy

TASK, SLOTS = "task_0", 48
SETTINGS = {"quality": "calibrated", "dissimilarity": "gram", "participation": 0.0}


def searched(accuracy: float, *, proxy: bool = False) -> tuple[World, Trials, TaskGoal]:
    world = goal_world(5, 1, SLOTS, 2, {"accuracy": accuracy})
    known = goal_estimates(world, 2)
    known = with_proxy(known) if proxy else known
    trials = Trials(world, known, SETTINGS, Effort(20.0))
    return world, trials, goals_of(world.scenario, known)[TASK]


def test_the_fewest_are_enough_and_a_few_less_are_not() -> None:
    _, trials, goal = searched(0.6)
    few = fewest(trials, goal, SLOTS, Prices(), None)
    assert few is not None and few.kept and goal.met(few.error)
    less = round(few.slots / CLOSE) - 1
    assert less > 0 and not goal.met(trials.trial(TASK, less, few.price, Prices()).error)


def test_the_cheapest_costs_no_more_than_the_fewest() -> None:
    _, trials, goal = searched(0.6)
    few = fewest(trials, goal, SLOTS, Prices(), None)
    tried = cheapest(trials, goal, SLOTS, Prices())
    assert few is not None and tried.enough is not None and goal.met(tried.enough.error)
    assert tried.enough.cost <= few.cost


def test_there_are_no_fewest_where_all_are_too_few() -> None:
    _, trials, goal = searched(0.9)
    assert fewest(trials, goal, 10, Prices(), None) is None


@pytest.mark.parametrize("price", [1.0, 100.0])
def test_the_first_slots_of_a_trial_are_those_with_the_least_error(price: float) -> None:
    _, trials, _ = searched(0.6, proxy=True)
    trial = trials.trial(TASK, SLOTS, price, Prices())
    shorter = trials.shortened(TASK, trial, Prices())
    problem = trials.problem(TASK, SLOTS, Prices())
    of_task = problem.tasks[0]
    assert of_task.estimates is not None and by_proxy(of_task.estimates)
    jobs = jobs_from(problem, of_task, trial.decision, times_of(of_task, trial.decision))
    counts = np.arange(int(SLOTS * SHORTEST), SLOTS + 1)
    errors = errors_after(of_task.estimates, jobs, counts)
    assert errors is not None
    assert errors[-1] == pytest.approx(trial.error)
    if shorter is None:
        assert errors.argmin() == len(errors) - 1
    else:
        assert shorter.slots == counts[errors.argmin()]
        assert shorter.error == pytest.approx(errors.min())
        assert shorter.cost < trial.cost and shorter.kept


def test_a_trial_whose_accuracy_follows_from_its_loss_is_not_shortened() -> None:
    _, trials, _ = searched(0.6)
    trial = trials.trial(TASK, SLOTS, 1.0, Prices())
    assert trials.shortened(TASK, trial, Prices()) is None


@pytest.mark.parametrize("proxy", [False, True])
def test_training_a_proxy_is_counted_as_work(monkeypatch: pytest.MonkeyPatch, proxy: bool) -> None:
    works, spend = [], Effort.spend

    def counted(self: Effort, work: Work, *sizes: Any, **others: Any) -> None:
        works.append(work)
        spend(self, work, *sizes, **others)

    monkeypatch.setattr(Effort, "spend", counted)
    _, trials, _ = searched(0.6, proxy=proxy)
    assert 0.0 < trials.trial(TASK, 8, 1.0, Prices()).error < np.inf
    assert (Work.PROXY in works) is proxy
