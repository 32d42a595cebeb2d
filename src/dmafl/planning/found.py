"""What solvers find, how much time they have, and whoever watches."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from dmafl.planning.choice import Choice, cost_at, times_of, used_J
from dmafl.planning.problem import Problem


@dataclass(frozen=True)
class Progress:
    """What a watcher is told: how long, how good, how far from the limits, and what is known below."""

    seconds: float
    stage: str
    objective: float
    violation: float


Watch = Callable[[Progress], None]


@dataclass
class Budget:
    """Computing time, and whoever watches it pass.

    It is this process's CPU time: plans do not get worse because the machine has other work to do.
    """

    seconds: float
    watch: Watch = lambda progress: None
    begun: float = field(default_factory=time.process_time)

    @property
    def used(self) -> float:
        """Seconds since the start."""
        return time.process_time() - self.begun

    @property
    def left(self) -> float:
        """Seconds that remain."""
        return self.seconds - self.used

    def part(self, share: float) -> Budget:
        """A budget that ends after this share of what is left."""
        return Budget(self.used + share * self.left, self.watch, self.begun)


@dataclass(frozen=True, eq=False)
class Found:
    """Whole choices for all tasks, and what they cost."""

    choices: list[Choice]
    objective: float
    violation: float
    """The largest relative overrun of a window or battery."""


def found_of(problem: Problem, choices: list[Choice]) -> Found:
    """What these choices cost, and by how much they miss limits."""
    objective = 0.0
    violation = float(np.max(used_J(problem, choices) / problem.world.devices.battery_J)) - 1.0
    for task, choice in zip(problem.tasks, choices, strict=True):
        times = times_of(task, choice)
        objective += cost_at(problem, task, choice, times).total
        violation = max(violation, float((times.end_s / task.window_s[choice.device] - 1.0).max()))
    return Found(choices, objective, max(violation, 0.0))


def better(a: Found, b: Found) -> Found:
    """The one that keeps the limits, or breaks them less, or costs less."""
    return min(a, b, key=order)


def order(one: Found) -> tuple[float, float]:
    """Those that keep the limits first, then by cost."""
    return max(one.violation - 1e-9, 0.0), one.objective
