"""From decisions to a schedule: the earliest executable start of every job, with the world's own times.

Jobs of different tasks meet on a device: their frequencies share its CPU (S5), and where the radio is shared their
transfers take turns (S8). Jobs are placed in the order in which they would end, each as early as all rules allow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from dmafl.planning.decision import TaskDecision, times_of
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.problem import Problem
from dmafl.schedule.earliest_times import ROUNDING, first_fit, still_current
from dmafl.schedule.jobs import Schedule
from dmafl.world.mobility import Static

MOST_SHIFTS = 200
"""How often a job may be shifted until it fits; after that it is left where it is, and the rules say what it breaks."""


def place_jobs(problem: Problem, decisions: Sequence[TaskDecision], effort: Effort = UNLIMITED) -> Schedule:
    """The schedule of these decisions; steps and batches may be real numbers."""
    world = problem.world
    simple = (
        isinstance(world.mobility, Static)
        and not problem.one_after_another
        and world.scenario.channel.radio == "own"
    )
    parts = []
    if simple:
        for task, decision in zip(problem.tasks, decisions, strict=True):
            times = times_of(task, decision)
            parts.append((decision, times.version, times.start_s))
    else:
        parts = _placed(problem, decisions, effort)
    slots = [np.arange(task.slots) for task in problem.tasks]
    return Schedule.from_columns(
        {
            "task": np.concatenate([np.full(len(of_task), j) for j, of_task in enumerate(slots)]),
            "device": np.concatenate([decision.device for decision, _, _ in parts]),
            "version": np.concatenate([version for _, version, _ in parts]),
            "slot": np.concatenate(slots),
            "steps": np.concatenate([decision.steps for decision, _, _ in parts]),
            "batch": np.concatenate([decision.batch for decision, _, _ in parts]),
            "frequency_Hz": np.concatenate([decision.frequency_Hz for decision, _, _ in parts]),
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

    def __init__(self, problem: Problem, decisions: Sequence[TaskDecision]) -> None:
        self.problem, self.decisions = problem, decisions
        self.world = problem.world.as_planned()
        self.shared = problem.world.scenario.channel.radio == "shared"
        self.limit_Hz = problem.world.devices.frequency_max_Hz
        self.devices = [_Device() for _ in range(problem.devices)]
        self.tau = [[0.0] * (task.slots + 1) for task in problem.tasks]
        self.version = [decision.version.copy() for decision in decisions]
        self.start_s = [np.zeros(task.slots) for task in problem.tasks]

    def place(self, j: int, g: int, *, keep: bool) -> float:
        """When slot g of task j completes at the earliest; with `keep`, the job is placed."""
        decision, tau = self.decisions[j], self.tau[j]
        i, v = int(decision.device[g]), int(self.version[j][g])
        f = float(decision.frequency_Hz[g])
        work = float(self._compute_s(j, g))
        while True:
            begin, down, up = self._fit(j, g, v, work)
            if still_current(v, g, begin, tau, ROUNDING):
                break
            v += 1
        end = begin + down + work + up
        if keep:
            self.version[j][g], self.start_s[j][g], tau[g + 1] = v, begin, end
            busy = self.devices[i]
            busy.transfers += [(begin, begin + down), (end - up, end)]
            busy.computations.append((begin + down, begin + down + work, f))
        return end

    def _compute_s(self, j: int, g: int) -> float:
        decision = self.decisions[j]
        work = (decision.steps[g], decision.batch[g], float(decision.frequency_Hz[g]))
        return float(self.world.compute_s(decision.device[g : g + 1], np.asarray([j]), *work)[0])

    def _fit(self, j: int, g: int, v: int, work: float) -> tuple[float, float, float]:
        """Start and transfer times of the job of slot g if it receives version v, beside the jobs that are placed."""
        decision, tau = self.decisions[j], self.tau[j]
        i, f = int(decision.device[g]), float(decision.frequency_Hz[g])
        device, task, version, slot = (np.asarray([number]) for number in (i, j, v, g))

        def transfers_s(begin: float) -> tuple[float, float]:
            down = float(self.world.download_s(device, task, version, np.asarray([begin]))[0])
            up = float(self.world.upload_s(device, task, slot, np.asarray([begin + down + work]))[0])
            return down, up

        def shift_s(begin: float, down: float, up: float, end: float) -> float:
            computing = begin + down
            shift = max(tau[g] * (1 - ROUNDING) - end, 0.0)
            shift = max(shift, self._cpu_shift(i, computing, computing + work, f))
            if self.shared:
                shift = max(shift, self._radio_shift(i, begin, computing))
                shift = max(shift, self._radio_shift(i, end - up, end))
            return shift * (1 + ROUNDING)

        return first_fit(tau[v], work, transfers_s, shift_s, MOST_SHIFTS)[:3]

    def _cpu_shift(self, i: int, begin: float, end: float, f: float) -> float:
        """How much later a computation must begin so that the CPU has room for it at its first clash."""
        during = [busy for busy in self.devices[i].computations if busy[0] < end and busy[1] > begin]
        edges = sorted({begin, *(busy[0] for busy in during if busy[0] > begin)})
        for edge in edges:
            running = [busy for busy in during if busy[0] <= edge < busy[1]]
            if sum(busy[2] for busy in running) + f > self.limit_Hz[i] * (1 + ROUNDING):
                return min(busy[1] for busy in running) - begin
        return 0.0

    def _radio_shift(self, i: int, begin: float, end: float) -> float:
        clash = [busy for busy in self.devices[i].transfers if busy[0] < end and busy[1] > begin]
        return max((busy[1] for busy in clash), default=begin) - begin


def _placed(
    problem: Problem, decisions: Sequence[TaskDecision], effort: Effort
) -> list[tuple[TaskDecision, np.ndarray, np.ndarray]]:
    placing = _Placing(problem, decisions)
    following = [0] * len(decisions)
    while True:
        effort.look()
        ends = {
            j: placing.place(j, following[j], keep=False)
            for j, task in enumerate(problem.tasks)
            if following[j] < task.slots
        }
        if not ends:
            break
        j = min(ends, key=lambda number: (ends[number], number))
        placing.place(j, following[j], keep=True)
        following[j] += 1
    return [
        (decision, version, start)
        for decision, version, start in zip(decisions, placing.version, placing.start_s, strict=True)
    ]
