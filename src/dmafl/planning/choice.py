"""What a solver chooses for one task, the times that follow, and the jobs they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.physics.computation import compute_s
from dmafl.planning.problem import Past, Problem, TaskProblem
from dmafl.randomness import FloatArray
from dmafl.schedule.jobs import Schedule
from dmafl.theory.jobs import TaskJobs
from dmafl.world.mobility import IntArray


@dataclass(frozen=True, eq=False)
class Choice:
    """Device and version received of every slot of a task, and the work; all (G,)."""

    device: IntArray
    version: IntArray
    steps: FloatArray
    batch: FloatArray
    frequency_Hz: FloatArray

    def with_(self, **changes: Any) -> Choice:
        """The same with some columns changed."""
        return replace(self, **changes)

    @classmethod
    def of(cls, schedule: Schedule) -> Choice:
        """The choice that makes the jobs of one task, given in the order of their slots."""
        s = schedule
        return cls(s.device, s.version, s.steps, s.batch, s.frequency_Hz)

    @property
    def in_flight(self) -> int:
        """Jobs that may be under way at a time: the largest staleness, and one."""
        return int((np.arange(len(self.device)) - self.version).max(initial=0)) + 1

    def after(self, past: Past | None) -> Choice:
        """The same with what has happened in its first slots."""
        if past is None or not len(past):
            return self
        names = ("device", "version", "steps", "batch", "frequency_Hz")
        return Choice(
            **{
                name: np.concatenate([getattr(past, name), getattr(self, name)[len(past) :]])
                for name in names
            }
        )

    @property
    def work(self) -> FloatArray:
        """e B: samples computed."""
        return np.asarray(self.steps * self.batch)


def all_past(task: TaskProblem) -> Choice:
    """The choice of a task of which every slot has happened."""
    past = task.past
    assert past is not None and len(past) == task.slots
    return Choice(past.device, past.version, past.steps, past.batch, past.frequency_Hz)


@dataclass(frozen=True, eq=False)
class Drawn:
    """Steps, batch and frequency that a device has in a task whatever the plan, (I,) each."""

    steps: FloatArray
    batch: FloatArray
    frequency_Hz: FloatArray

    def given_to(self, choice: Choice) -> Choice:
        """The choice with every job's work as its device has it."""
        i = choice.device
        return choice.with_(steps=self.steps[i], batch=self.batch[i], frequency_Hz=self.frequency_Hz[i])


@dataclass(frozen=True, eq=False)
class Times:
    """When each job of a choice starts and ends, and how long its phases are; all (G,)."""

    version: IntArray
    """The version received: fresher than chosen where a job starts after the next one is there."""
    start_s: FloatArray
    download_s: FloatArray
    compute_s: FloatArray
    upload_s: FloatArray
    end_s: FloatArray


def times_of(task: TaskProblem, choice: Choice) -> Times:
    """The earliest times of rules S2 and S3, slot after slot; a job waits so that it ends with its slot.

    A job that would start after its version has been replaced receives the fresher one.
    """
    G = task.slots
    slot = np.arange(G)
    compute = np.asarray(
        compute_s(task.cycles[choice.device], choice.steps, choice.batch, choice.frequency_Hz)
    )
    upload = task.upload_s[choice.device, slot]
    if (choice.version == slot).all() and task.past is None:
        download = task.download_s[choice.device, slot]
        end = np.cumsum(download + compute + upload)
        start = np.concatenate([[0.0], end[:-1]])
        return Times(slot, start, download, compute, upload, end)
    busy, down = (compute + upload).tolist(), task.download_s
    tau = [0.0] * (G + 1)
    received = choice.version.tolist()
    starts, downloads = [0.0] * G, [0.0] * G
    devices = choice.device.tolist()
    now_s = 0.0
    if task.past is not None:
        n, now_s = task.first_free, task.past.now_s
        tau[1 : n + 1] = task.past.end_s.tolist()
        starts[:n] = task.past.start_s.tolist()
        downloads[:n] = down[choice.device[:n], choice.version[:n]].tolist()
    for g in range(task.first_free, G):
        row, v = down[devices[g]], received[g]
        while True:
            length = float(row[v]) + busy[g]
            end_s = max(tau[g], max(tau[v], now_s) + length)
            start_s = end_s - length
            if v == g or start_s <= tau[v + 1]:
                break
            v += 1
        received[g], starts[g], downloads[g], tau[g + 1] = v, start_s, float(row[v]), end_s
    return Times(
        np.asarray(received), np.asarray(starts), np.asarray(downloads), compute, upload, np.asarray(tau[1:])
    )


def jobs_from(problem: Problem, task: TaskProblem, choice: Choice, times: Times) -> TaskJobs:
    """The jobs of a choice, as the theory sees them."""
    slot = np.arange(task.slots)
    begun = times.start_s + times.download_s
    number = np.full(task.slots, task.number)
    idle, computed = since_last(choice.device, times)
    share = problem.world.stream_share(choice.device, number, times.version, begun, computed)
    samples = problem.world.samples(number, share).astype(np.float64)
    return TaskJobs(
        device=choice.device,
        version=times.version,
        steps=choice.steps,
        batch=np.minimum(choice.batch, samples),
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
    """What a choice of one task costs in the objective."""

    quality: float
    """c_1 gamma_j Quality_j."""
    energy: float
    """Weighted energy."""

    @property
    def total(self) -> float:
        """Their sum."""
        return self.quality + self.energy


def cost_of(problem: Problem, task: TaskProblem, choice: Choice) -> Cost:
    """The part of the objective that one task makes."""
    return cost_at(problem, task, choice, times_of(task, choice))


def cost_at(problem: Problem, task: TaskProblem, choice: Choice, times: Times) -> Cost:
    """The same where the times are known already."""
    jobs = jobs_from(problem, task, choice, times)
    return Cost(task.weight * task.quality.value(jobs), energy_cost(problem, task, choice, times))


def late_s(task: TaskProblem, choice: Choice, times: Times | None = None) -> float:
    """How much the latest upload misses its window [s]; <= 0 if none does."""
    end_s = (times if times is not None else times_of(task, choice)).end_s
    return float((end_s - task.window_s[choice.device]).max())


def energy_cost(problem: Problem, task: TaskProblem, choice: Choice, times: Times) -> float:
    """(chi_j / G_j) sum_jobs [c_2 (E^U + E^C) + c_3 E^D]."""
    own = uplink_and_compute_J(problem, task, choice)
    downlink = problem.world.download_J(choice.device, times.download_s)
    return float(task.price_of_J * (problem.c2 * own + problem.c3 * downlink).sum())


def device_J(problem: Problem, task: TaskProblem, choice: Choice) -> FloatArray:
    """E^U + E^C of every device in this task [J], (I,)."""
    own = uplink_and_compute_J(problem, task, choice)
    return np.asarray(np.bincount(choice.device, own, minlength=problem.devices), dtype=np.float64)


def uplink_and_compute_J(problem: Problem, task: TaskProblem, choice: Choice) -> FloatArray:
    """E^U + E^C of every job [J], (G,)."""
    i, world = choice.device, problem.world
    number = np.full(task.slots, task.number)
    uplink = world.upload_J(i, task.upload_s[i, np.arange(task.slots)])
    return np.asarray(uplink + world.compute_J(i, number, choice.steps, choice.batch, choice.frequency_Hz))


def used_J(problem: Problem, choices: Sequence[Choice]) -> FloatArray:
    """E^U + E^C of every device in all tasks [J], (I,)."""
    used = np.zeros(problem.devices)
    for task, choice in zip(problem.tasks, choices, strict=True):
        used += device_J(problem, task, choice)
    return used
