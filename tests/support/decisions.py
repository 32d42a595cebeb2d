"""Decisions of made-up planning problems: random ones, and devices in turn."""

from __future__ import annotations

import numpy as np

from dmafl.planning.decision import TaskDecision
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.assignment import in_flight_versions, valid_versions


def random_decision(problem: Problem, task: TaskProblem, seed: int, in_flight: int) -> TaskDecision:
    """Random devices and work with so many jobs in flight."""
    rng = np.random.default_rng(seed)
    G = task.slots
    device = rng.integers(0, problem.devices, G)
    decision = TaskDecision(
        device,
        in_flight_versions(G, in_flight),
        rng.integers(1, 41, G).astype(float),
        rng.integers(4, 65, G).astype(float),
        rng.uniform(task.lowest_Hz[device], task.highest_Hz[device]),
    )
    return valid_versions(decision, problem.devices)


def devices_in_turn(
    problem: Problem, stale: int, steps: float = 8.0, batch: float = 16.0
) -> list[TaskDecision]:
    """Devices take turns, `stale` + 1 of them at a time, at the highest frequency."""
    decisions = []
    for task in problem.tasks:
        slot = np.arange(task.slots)
        device = (slot + task.number) % problem.devices
        late = min(stale, task.most_stale, problem.devices - 1)
        work = np.full(task.slots, steps), np.full(task.slots, batch)
        decisions.append(
            TaskDecision(device, np.maximum(0, slot - late), *work, task.highest_Hz[device] * 1.0)
        )
    return decisions
