"""The front energy against accuracy: which goals below and above the one asked for are planned for."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dmafl.scenario.asking import asked_for
from dmafl.scenario.goals import LIMITS, WANTED, Goals
from dmafl.scenario.model import Scenario
from dmafl.schedule.plan import Plan

CHEAP = 2.0
"""By how much the error at the cheap end of the front is larger than the one asked for."""
LARGEST_ERROR = 0.9


def aimed_tasks(scenario: Scenario) -> list[str]:
    """Tasks that have a goal; all of them where accuracy is made best and none has one."""
    goals = scenario.goals
    wanted = [name for name in scenario.tasks if _wants(goals, name)]
    return wanted if wanted else list(scenario.tasks)


def most_accurate(scenario: Scenario) -> Scenario:
    """The scenario that asks for its goals and the best accuracy within its limits, or its windows without any."""
    goals = scenario.goals
    plain = {name: getattr(goals, name) for name in (*WANTED, *LIMITS)}
    if not goals.limited:
        plain["deadline_s"] = max(task.window_s.high for task in scenario.tasks.values())
    return _with(scenario, plain | {"make_best": "accuracy", "confidence": goals.confidence})


def aims(chosen: Plan, best: Plan, count: int) -> list[dict[str, float]]:
    """Accuracies by task from the cheap end to a little below the best possible, `count` times."""
    goals, tasks = chosen.world.scenario.goals, aimed_tasks(chosen.world.scenario)
    ends: dict[str, tuple[float, float]] = {}
    for task in tasks:
        if task not in best.predicted or task not in chosen.predicted:
            continue
        asked = None if goals.accuracy is None else goals.accuracy.of(task)
        asked = chosen.predicted[task].low if asked is None else asked
        cheap = 1.0 - min(CHEAP * (1.0 - asked), LARGEST_ERROR)
        ends[task] = min(cheap, asked), max(best.predicted[task].low, asked)
    steps = np.linspace(0.0, 1.0, count + 1)[:-1].tolist() if ends else []
    return [
        {task: round(low + step * (high - low), 4) for task, (low, high) in ends.items()} for step in steps
    ]


def aiming_at(scenario: Scenario, accuracies: Mapping[str, float]) -> Scenario:
    """The scenario that asks for these accuracies at least energy, within the same limits."""
    goals = scenario.goals
    plain = {name: getattr(goals, name) for name in LIMITS}
    return _with(scenario, plain | {"accuracy": dict(accuracies), "confidence": goals.confidence})


def label(accuracies: Mapping[str, float]) -> str:
    """Accuracies for a person."""
    return ", ".join(f"{task} {accuracy:.3f}" for task, accuracy in accuracies.items())


def _with(scenario: Scenario, goals: Mapping[str, object]) -> Scenario:
    """The scenario with exactly these goals."""
    asked = scenario.as_asked
    bare = asked.model_copy(update={"goals": Goals()}).in_folder(asked.folder)
    return asked_for(bare, goals)


def _wants(goals: Goals, task: str) -> bool:
    return any(table is not None and table.of(task) is not None for table in (goals.accuracy, goals.loss))
