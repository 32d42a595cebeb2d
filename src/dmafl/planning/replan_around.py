"""The rest of a task planned anew without the devices that are away; what has happened stays as it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.processes.one_thread import one_thread
from dmafl.planning.decision import TaskDecision
from dmafl.planning.effort import Effort
from dmafl.planning.placement import place_jobs
from dmafl.planning.problem import Past, Problem, make_problem
from dmafl.planning.replan import State
from dmafl.planning.search.assignment import valid_versions
from dmafl.planning.search.auto import auto
from dmafl.planning.task_estimates import TaskEstimates
from dmafl.schedule.jobs import Schedule
from dmafl.world.physics.computation import compute_s
from dmafl.world.world import World


@one_thread()
def replan_around(
    world: World,
    jobs: Schedule,
    task: int,
    ends_s: Sequence[float],
    now: float,
    away: Collection[int],
    estimates: Mapping[str, TaskEstimates],
    effort: float,
) -> Schedule:
    """The jobs of a task, those after the first `len(ends_s)` planned anew from `now` on for devices that are not away.

    `jobs` are those of all tasks as they were planned, those of the task's first slots as they happened; `ends_s` are
    the ends of these. The other tasks go on. The best plan that is found is given even if it breaks a limit,
    since something must be done: the clock or the devices enforce limits anyway.
    """
    problem = make_problem(world, estimates)
    pasts = State(now, jobs).pasts(world.as_planned())
    past = as_happened(problem, task, jobs.of_task(task), np.asarray(ends_s), now)
    there = np.setdiff1d(np.arange(world.device_count), np.asarray(sorted(away), dtype=np.int64))
    tasks = tuple(
        replace(of_task, past=past, usable=there) if j == task else replace(of_task, past=pasts[j])
        for j, of_task in enumerate(problem.tasks)
    )
    problem = replace(problem, tasks=tasks)
    start = [TaskDecision.of(jobs.of_task(j)) for j in range(world.task_count)]
    start[task] = _of_those_there(problem, task, start[task])
    counted = Effort(effort)
    found = auto(problem, counted, starts=[start])
    schedule = place_jobs(problem, found.decisions, counted)
    return schedule.take(schedule.task == task)


def as_happened(problem: Problem, task: int, jobs: Schedule, ends_s: FloatArray, now: float) -> Past:
    """The first jobs of a task with the ends that they had, or will have.

    When they began is what the physics says; a version is the one that was there then, or as stale as a plan may be.
    """
    first, settings = jobs.take(jobs.slot < len(ends_s)), problem.tasks[task]
    slot = np.arange(len(first))
    ends_s = np.maximum.accumulate(ends_s) if len(ends_s) else ends_s
    i, cycles = first.device, settings.cycles[first.device]
    work_s = np.asarray(compute_s(cycles, first.steps, first.batch, first.frequency_Hz))
    length_s = settings.download_s[i, slot] + work_s + settings.upload_s[i, slot]
    start_s = np.maximum(ends_s - length_s, 0.0)
    there = np.searchsorted(ends_s, start_s, side="right")
    version = np.clip(there, slot - settings.most_stale, slot)
    return Past(
        i,
        np.maximum(version, 0),
        first.steps,
        first.batch,
        first.frequency_Hz,
        start_s,
        ends_s,
        now,
    )


def _of_those_there(problem: Problem, task: int, planned: TaskDecision) -> TaskDecision:
    """The jobs as they were planned, those of devices that are away given to the others in turn."""
    of_task = problem.tasks[task]
    decision = planned.after(of_task.past)
    gone = ~np.isin(decision.device, of_task.usable)
    gone[: of_task.first_free] = False
    device, frequency_Hz = decision.device.copy(), decision.frequency_Hz.copy()
    device[gone] = np.resize(of_task.usable, int(gone.sum()))
    within = np.clip(frequency_Hz, of_task.lowest_Hz[device], of_task.highest_Hz[device])
    frequency_Hz[gone] = within[gone]
    version = np.maximum(decision.version, np.arange(of_task.slots) - of_task.most_stale)
    moved = decision.with_(device=device, frequency_Hz=frequency_Hz, version=version)
    return valid_versions(moved, problem.devices, of_task.first_free)
