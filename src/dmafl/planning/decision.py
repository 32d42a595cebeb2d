"""What a solver chooses for one task, the times that follow, and the jobs they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.problem import Past, Problem, TaskProblem
from dmafl.schedule.earliest_times import earliest_times, one_after_another
from dmafl.schedule.jobs import Schedule
from dmafl.theory.jobs import TaskJobs
from dmafl.world.physics.computation import compute_s

COLUMNS = ("device", "version", "steps", "batch", "frequency_Hz")


@dataclass(frozen=True, eq=False)
class TaskDecision:
    """Device and version received of every slot of a task, and the work; all (G,).

    `batch_of` puts decisions of one task together: then all columns are (n, G).
    """

    device: IntArray
    version: IntArray
    steps: FloatArray
    batch: FloatArray
    frequency_Hz: FloatArray

    def with_(self, **changes: Any) -> TaskDecision:
        """The same with some columns changed."""
        return replace(self, **changes)

    def first(self, count: int) -> TaskDecision:
        """The first `count` slots."""
        columns: Any = (getattr(self, name)[..., :count] for name in COLUMNS)
        return TaskDecision(*columns)

    @classmethod
    def of(cls, schedule: Schedule) -> TaskDecision:
        """The decision that makes the jobs of one task, given in the order of their slots."""
        s = schedule
        return cls(s.device, s.version, s.steps, s.batch, s.frequency_Hz)

    @classmethod
    def batch_of(cls, decisions: Sequence[TaskDecision]) -> TaskDecision:
        """Several decisions of one task, one row for each."""
        columns: Any = (np.stack([getattr(each, name) for each in decisions]) for name in COLUMNS)
        return cls(*columns)

    @property
    def in_flight(self) -> int:
        """Jobs that may be under way at a time: the largest staleness, and one."""
        return int((np.arange(len(self.device)) - self.version).max(initial=0)) + 1

    def after(self, past: Past | None) -> TaskDecision:
        """The same with what has happened in its first slots."""
        if past is None or not len(past):
            return self
        return TaskDecision(
            **{
                name: np.concatenate([getattr(past, name), getattr(self, name)[len(past) :]])
                for name in COLUMNS
            }
        )

    @property
    def work(self) -> FloatArray:
        """e B: samples computed."""
        return np.asarray(self.steps * self.batch)


def all_past(task: TaskProblem) -> TaskDecision:
    """The decision of a task of which every slot has happened."""
    past = task.past
    assert past is not None and len(past) == task.slots
    return TaskDecision(past.device, past.version, past.steps, past.batch, past.frequency_Hz)


@dataclass(frozen=True, eq=False)
class GivenWork:
    """Steps, batch and frequency that a device has in a task whatever the plan, (I,) each."""

    steps: FloatArray
    batch: FloatArray
    frequency_Hz: FloatArray

    def given_to(self, decision: TaskDecision) -> TaskDecision:
        """The decision with every job's work as its device has it."""
        i = decision.device
        return decision.with_(steps=self.steps[i], batch=self.batch[i], frequency_Hz=self.frequency_Hz[i])


@dataclass(frozen=True, eq=False)
class Times:
    """When each job of a decision starts and ends, and how long its phases are; shaped like the decision's columns."""

    version: IntArray
    """The version received: fresher than decided where a job starts after that one was replaced."""
    start_s: FloatArray
    download_s: FloatArray
    compute_s: FloatArray
    upload_s: FloatArray
    end_s: FloatArray


def times_of(task: TaskProblem, decision: TaskDecision) -> Times:
    """The earliest times of a decision, (G,), or of a batch of decisions, (n, G). Rules S2 and S3."""
    slot = np.arange(task.slots)
    i = decision.device
    compute = np.asarray(compute_s(task.cycles[i], decision.steps, decision.batch, decision.frequency_Hz))
    upload = task.upload_s[i, slot]
    if task.past is None and (decision.version == slot).all():
        download = task.download_s[i, slot]
        start, end = one_after_another(download + compute + upload)
        return Times(decision.version, start, download, compute, upload, end)
    earliest = earliest_times(i, decision.version, compute + upload, task.download_s, task.past)
    return Times(earliest.version, earliest.start_s, earliest.download_s, compute, upload, earliest.end_s)


def jobs_from(problem: Problem, task: TaskProblem, decision: TaskDecision, times: Times) -> TaskJobs:
    """The jobs of a decision, as the theory sees them."""
    slot = np.arange(task.slots)
    begun = times.start_s + times.download_s
    number = np.full(task.slots, task.number)
    idle, computed = since_last(decision.device, times)
    share = problem.world.stream_progress(decision.device, number, times.version, begun, computed)
    samples = problem.world.samples(number, share).astype(np.float64)
    return TaskJobs(
        device=decision.device,
        version=times.version,
        steps=decision.steps,
        batch=np.minimum(decision.batch, samples),
        samples=samples,
        mix=task.mix_weights[slot, slot - times.version],
        rate=np.full(task.slots, task.settings.learning_rate),
        proximal=task.settings.proximal,
        idle_s=idle,
        start_s=times.start_s,
        download_s=times.download_s,
        compute_s=times.compute_s,
        upload_s=times.upload_s,
        end_s=times.end_s,
    )


def since_last(device: IntArray, times: Times) -> tuple[FloatArray, FloatArray]:
    """Idle time before each job, and how long its device has computed the task before it [s]."""
    order = np.argsort(device, kind="stable")
    goes_on = np.concatenate([[False], device[order][1:] == device[order][:-1]])
    last_end = np.where(goes_on, np.concatenate([[0.0], times.end_s[order][:-1]]), 0.0)
    total = np.cumsum(times.compute_s[order]) - times.compute_s[order]
    first = np.maximum.accumulate(np.where(goes_on, 0, np.arange(len(device))))
    idle, computed = np.empty(len(device)), np.empty(len(device))
    idle[order] = times.start_s[order] - last_end
    computed[order] = np.maximum(total - total[first], 0.0)
    return idle, computed


@dataclass(frozen=True)
class Cost:
    """What a decision of one task costs in the objective."""

    loss: float
    """c_1 gamma_j Loss_j."""
    energy: float
    """Weighted energy."""
    time: float
    """Of the time until the last upload has ended."""

    @property
    def total(self) -> float:
        """Their sum."""
        return self.loss + self.energy + self.time


def cost_of(problem: Problem, task: TaskProblem, decision: TaskDecision) -> Cost:
    """The part of the objective that one task makes."""
    return cost_at(problem, task, decision, times_of(task, decision))


def cost_at(problem: Problem, task: TaskProblem, decision: TaskDecision, times: Times) -> Cost:
    """The same where the times are known already."""
    jobs = jobs_from(problem, task, decision, times)
    return Cost(
        loss=task.weight * task.loss_model.value(jobs),
        energy=energy_cost(problem, task, decision, times),
        time=float(task.time_cost(times.end_s)),
    )


def late_s(task: TaskProblem, decision: TaskDecision, times: Times | None = None) -> float:
    """How much the latest upload misses its window [s]; <= 0 if none does."""
    end_s = (times if times is not None else times_of(task, decision)).end_s
    return float((end_s - task.window_s[decision.device]).max())


def energy_cost(problem: Problem, task: TaskProblem, decision: TaskDecision, times: Times) -> float:
    """(chi_j / G_j) sum_jobs [c_2 (E^U + E^C) + c_3 E^D]."""
    of_device_J = uplink_and_compute_J(problem, task, decision)
    downlink = problem.world.download_J(decision.device, times.download_s)
    return float(task.price_of_J * (problem.c2 * of_device_J + problem.c3 * downlink).sum())


def device_J(problem: Problem, task: TaskProblem, decision: TaskDecision) -> FloatArray:
    """E^U + E^C of every device in this task [J], (I,)."""
    of_jobs_J = uplink_and_compute_J(problem, task, decision)
    return np.asarray(np.bincount(decision.device, of_jobs_J, minlength=problem.devices), dtype=np.float64)


def uplink_and_compute_J(problem: Problem, task: TaskProblem, decision: TaskDecision) -> FloatArray:
    """E^U + E^C of every job [J], (G,)."""
    i, world = decision.device, problem.world
    number = np.full(task.slots, task.number)
    uplink = world.upload_J(i, task.upload_s[i, np.arange(task.slots)])
    return np.asarray(
        uplink + world.compute_J(i, number, decision.steps, decision.batch, decision.frequency_Hz)
    )


def used_J(problem: Problem, decisions: Sequence[TaskDecision]) -> FloatArray:
    """E^U + E^C of every device in all tasks [J], (I,)."""
    used = np.zeros(problem.devices)
    for task, decision in zip(problem.tasks, decisions, strict=True):
        used += device_J(problem, task, decision)
    return used
