"""From choices to a schedule: the earliest executable start of every job, with the world's own times.

Jobs of different tasks meet on a device: their frequencies share its CPU (S5), and where the radio is shared their
transfers take turns (S8). Jobs are placed in the order in which they would end, each as early as all rules allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dmafl.planning.choice import Choice, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.problem import Problem
from dmafl.schedule.jobs import Schedule
from dmafl.world.mobility import Static

MOST_SHIFTS = 200
ROUNDING = 1e-12


def settle(problem: Problem, choices: Sequence[Choice], effort: Effort = UNLIMITED) -> Schedule:
    """The schedule of these choices; steps and batches may be real numbers."""
    world = problem.world
    simple = (
        isinstance(world.mobility, Static)
        and not problem.one_after_another
        and world.scenario.channel.radio == "own"
    )
    parts = []
    if simple:
        for task, choice in zip(problem.tasks, choices, strict=True):
            times = times_of(task, choice)
            parts.append((choice, times.version, times.start_s))
    else:
        parts = _placed(problem, choices, effort)
    slots = [np.arange(task.slots) for task in problem.tasks]
    return Schedule.from_columns(
        {
            "task": np.concatenate([np.full(len(one), j) for j, one in enumerate(slots)]),
            "device": np.concatenate([choice.device for choice, _, _ in parts]),
            "version": np.concatenate([version for _, version, _ in parts]),
            "slot": np.concatenate(slots),
            "steps": np.concatenate([choice.steps for choice, _, _ in parts]),
            "batch": np.concatenate([choice.batch for choice, _, _ in parts]),
            "frequency_Hz": np.concatenate([choice.frequency_Hz for choice, _, _ in parts]),
            "start_s": np.concatenate([start for _, _, start in parts]),
        }
    )


@dataclass
class _Device:
    """What a device is busy with: transfers (begin, end) and computations (begin, end, Hz)."""

    transfers: list[tuple[float, float]] = field(default_factory=list)
    computations: list[tuple[float, float, float]] = field(default_factory=list)


class _Placing:
    """Places job after job."""

    def __init__(self, problem: Problem, choices: Sequence[Choice]) -> None:
        self.problem, self.choices = problem, choices
        self.world = problem.world.as_planned()
        self.shared = problem.world.scenario.channel.radio == "shared"
        self.limit_Hz = problem.world.devices.frequency_max_Hz
        self.devices = [_Device() for _ in range(problem.devices)]
        self.tau = [[0.0] * (task.slots + 1) for task in problem.tasks]
        self.version = [choice.version.copy() for choice in choices]
        self.start_s = [np.zeros(task.slots) for task in problem.tasks]

    def place(self, j: int, g: int, *, keep: bool) -> float:
        """When slot g of task j completes at the earliest; with `keep`, the job is placed."""
        choice, tau = self.choices[j], self.tau[j]
        i = int(choice.device[g])
        v = int(self.version[j][g])
        while True:
            begin, down, work, up = self._earliest(j, g, i, v, tau)
            if v == g or begin <= tau[v + 1] * (1 + ROUNDING):
                break
            v += 1
        end = begin + down + work + up
        if keep:
            self.version[j][g], self.start_s[j][g], tau[g + 1] = v, begin, end
            busy = self.devices[i]
            busy.transfers += [(begin, begin + down), (end - up, end)]
            busy.computations.append((begin + down, begin + down + work, float(choice.frequency_Hz[g])))
        return end

    def _earliest(
        self, j: int, g: int, i: int, v: int, tau: list[float]
    ) -> tuple[float, float, float, float]:
        choice = self.choices[j]
        one, task = np.asarray([i]), np.asarray([j])
        f = float(choice.frequency_Hz[g])
        work = float(self.world.compute_s(one, task, choice.steps[g], choice.batch[g], f)[0])
        begin = tau[v]
        down = up = 0.0
        for _ in range(MOST_SHIFTS):
            down = float(self.world.download_s(one, task, np.asarray([v]), np.asarray([begin]))[0])
            up = float(self.world.upload_s(one, task, np.asarray([g]), np.asarray([begin + down + work]))[0])
            end = begin + down + work + up
            shift = max(tau[g] * (1 - ROUNDING) - end, 0.0)
            shift = max(shift, self._cpu_shift(i, begin + down, begin + down + work, f))
            if self.shared:
                shift = max(shift, self._radio_shift(i, begin, begin + down))
                shift = max(shift, self._radio_shift(i, end - up, end))
            if shift <= 0:
                break
            begin += shift * (1 + ROUNDING)
        return begin, down, work, up

    def _cpu_shift(self, i: int, begin: float, end: float, f: float) -> float:
        """How much later a computation must begin so that the CPU has room for it at its first clash."""
        during = [one for one in self.devices[i].computations if one[0] < end and one[1] > begin]
        edges = sorted({begin, *(one[0] for one in during if one[0] > begin)})
        for edge in edges:
            running = [one for one in during if one[0] <= edge < one[1]]
            if sum(one[2] for one in running) + f > self.limit_Hz[i] * (1 + ROUNDING):
                return min(one[1] for one in running) - begin
        return 0.0

    def _radio_shift(self, i: int, begin: float, end: float) -> float:
        clash = [one for one in self.devices[i].transfers if one[0] < end and one[1] > begin]
        return max((one[1] for one in clash), default=begin) - begin


def _placed(
    problem: Problem, choices: Sequence[Choice], effort: Effort
) -> list[tuple[Choice, np.ndarray, np.ndarray]]:
    placing = _Placing(problem, choices)
    following = [0] * len(choices)
    while True:
        effort.look()
        ends = {
            j: placing.place(j, following[j], keep=False)
            for j, task in enumerate(problem.tasks)
            if following[j] < task.slots
        }
        if not ends:
            break
        j = min(ends, key=lambda one: (ends[one], one))
        placing.place(j, following[j], keep=True)
        following[j] += 1
    return [
        (choice, version, start)
        for choice, version, start in zip(choices, placing.version, placing.start_s, strict=True)
    ]
