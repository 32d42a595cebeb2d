"""The jobs of a fixed schedule, all tasks side by side, with their limits; and the earliest times of their slots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import TaskDecision, Times, jobs_from
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.schedule.earliest_times import earliest_ends, one_after_another
from dmafl.theory.jobs import TaskJobs


@dataclass(frozen=True, eq=False)
class Point:
    """Steps e, samples computed q = e B and computing times T^C of all jobs, (n,) each."""

    steps: FloatArray
    work: FloatArray
    compute_s: FloatArray

    def towards(self, other: Point, step: float) -> Point:
        """self + step (other - self)."""
        return Point(
            self.steps + step * (other.steps - self.steps),
            self.work + step * (other.work - self.work),
            self.compute_s + step * (other.compute_s - self.compute_s),
        )


@dataclass(frozen=True, eq=False)
class FixedSchedule:
    """All jobs of a schedule, task after task and slot after slot; all arrays are (n,) if not said otherwise."""

    problem: Problem
    decisions: tuple[TaskDecision, ...]
    offset: IntArray
    """Where each task begins, (J + 1,)."""
    task: IntArray
    slot: IntArray
    version: IntArray
    device: IntArray
    steps: tuple[FloatArray, FloatArray]
    """Smallest and largest e."""
    batch: tuple[FloatArray, FloatArray]
    """Smallest and largest B."""
    s_per_sample: tuple[FloatArray, FloatArray]
    """Shortest and longest computing time of a sample, c / f."""
    download_s: FloatArray
    upload_s: FloatArray
    upload_J: FloatArray
    kappa: FloatArray
    """xi c^3: E^C = kappa q^3 / T^2."""
    price_of_J: FloatArray
    """Cost of a joule of the device."""
    price_of_end_s: FloatArray
    """Cost of a second of each slot's end: that of a task's time for its last slot, 0 for others."""
    window_s: FloatArray
    begun: NDArray[np.bool_]
    """Whether a job is done or under way: it stays as it is."""
    earliest_s: FloatArray
    """When a job can start at the earliest: now, where a plan is revised."""
    fixed_start_s: FloatArray
    fixed_end_s: FloatArray
    """When jobs that are begun started and end; 0 for others."""
    samples: FloatArray
    """D, held."""
    jobs: tuple[TaskJobs, ...]
    """The jobs of each task, with the samples and weights that belong to the versions received."""

    def __len__(self) -> int:
        return len(self.task)

    @cached_property
    def radio_s(self) -> FloatArray:
        """T^D + T^U."""
        return self.download_s + self.upload_s

    @cached_property
    def fresh(self) -> bool:
        """Whether every job receives the version of its own slot."""
        return bool((self.version == self.slot).all())

    @cached_property
    def waits_for(self) -> IntArray:
        """Job that makes the version received, v - 1 of the same task; -1 for the first version."""
        return np.where(self.version > 0, self.offset[self.task] + self.version - 1, -1)

    @cached_property
    def window_rows(self) -> IntArray:
        """Jobs whose window can bind: no later slot of the task has a window as short."""
        rows = []
        for j in range(len(self.jobs)):
            of_task = np.arange(self.offset[j], self.offset[j + 1])
            later = np.minimum.accumulate(self.window_s[of_task][::-1])[::-1]
            last = np.isfinite(later) & (self.window_s[of_task] < np.append(later[1:], np.inf))
            rows.append(of_task[last & ~self.begun[of_task]])
        return np.concatenate(rows)

    @cached_property
    def battery_J(self) -> FloatArray:
        """What each device has left for computing once its uploads are paid, (I,)."""
        spent = np.bincount(self.device, self.upload_J, minlength=self.problem.devices)
        return np.asarray(self.problem.world.devices.battery_J - spent)

    @cached_property
    def last_of_device(self) -> IntArray:
        """The job before of the same device and task; -1 for the first."""
        order = np.lexsort((self.slot, self.task, self.device))
        same = (self.device[order][1:] == self.device[order][:-1]) & (
            self.task[order][1:] == self.task[order][:-1]
        )
        last = np.full(len(self), -1)
        last[order[1:][same]] = order[:-1][same]
        return last

    def per_task(self, values: FloatArray) -> list[FloatArray]:
        """The part of each task."""
        return np.split(values, self.offset[1:-1])

    def compute_J(self, point: Point) -> FloatArray:
        """E^C."""
        return np.asarray(self.kappa * point.work**3 / point.compute_s**2)

    def spent_J(self, point: Point) -> FloatArray:
        """E^C of every device, (I,)."""
        return np.asarray(
            np.bincount(self.device, self.compute_J(point), minlength=self.problem.devices), dtype=np.float64
        )

    def ends_s(self, point: Point) -> FloatArray:
        """The earliest tau of rules S2 and S3, with the versions as they are."""
        length = self.radio_s + point.compute_s
        ends = []
        for j, of_task in enumerate(self.per_task(length)):
            version, past = self.jobs[j].version, self.problem.tasks[j].past
            in_turn = self.fresh and past is None
            ends.append(one_after_another(of_task)[1] if in_turn else earliest_ends(version, of_task, past))
        return np.concatenate(ends)

    def jobs_at(self, point: Point, ends_s: FloatArray) -> list[TaskJobs]:
        """The jobs of each task with the work of `point`."""
        start_s = np.where(self.begun, self.fixed_start_s, ends_s - (self.radio_s + point.compute_s))
        last = self.last_of_device
        idle = start_s - np.where(last >= 0, ends_s[last], 0.0)
        changed = {
            "idle_s": idle,
            "steps": point.steps,
            "batch": point.work / point.steps,
            "compute_s": point.compute_s,
            "start_s": start_s,
            "end_s": ends_s,
        }
        parts = {name: self.per_task(np.asarray(values)) for name, values in changed.items()}
        return [
            jobs.with_(**{name: part[j] for name, part in parts.items()}) for j, jobs in enumerate(self.jobs)
        ]

    def refreshed(self, point: Point) -> FixedSchedule:
        """The same with the samples that devices have at the times of `point`."""
        now = self.jobs_at(point, self.ends_s(point))
        tasks, decisions = self.problem.tasks, self.decisions_at(point)
        parts = []
        for task, decision, its_jobs in zip(tasks, decisions, now, strict=True):
            times = Times(
                its_jobs.version,
                its_jobs.start_s,
                its_jobs.download_s,
                its_jobs.compute_s,
                its_jobs.upload_s,
                its_jobs.end_s,
            )
            parts.append(jobs_from(self.problem, task, decision, times).samples)
        samples = np.concatenate(parts)
        if (samples == self.samples).all():
            return self
        jobs = tuple(its_jobs.with_(samples=part) for its_jobs, part in zip(self.jobs, parts, strict=True))
        return replace(self, samples=samples, jobs=jobs)

    def decisions_at(self, point: Point) -> tuple[TaskDecision, ...]:
        """The schedule with the work of `point`, kept within its ranges."""
        e = np.clip(point.steps, *self.steps)
        B = np.clip(point.work / e, *self.batch)
        per_sample = np.clip(point.compute_s / (e * B), *self.s_per_sample)
        parts = [self.per_task(np.asarray(values)) for values in (e, B, self.cycles / per_sample)]
        made = (
            decision.with_(version=jobs.version, steps=steps, batch=batch, frequency_Hz=frequency)
            for decision, jobs, steps, batch, frequency in zip(self.decisions, self.jobs, *parts, strict=True)
        )
        return tuple(
            decision.after(task.past) for task, decision in zip(self.problem.tasks, made, strict=True)
        )

    @cached_property
    def cycles(self) -> FloatArray:
        """c."""
        return np.concatenate(
            [
                t.cycles[decision.device]
                for t, decision in zip(self.problem.tasks, self.decisions, strict=True)
            ]
        )

    def point_of(self, decisions: Sequence[TaskDecision]) -> Point:
        """The work of `decisions`, brought into its ranges."""
        e = np.clip(np.concatenate([decision.steps for decision in decisions]), *self.steps)
        B = np.clip(np.concatenate([decision.batch for decision in decisions]), *self.batch)
        per_sample = self.cycles / np.concatenate([decision.frequency_Hz for decision in decisions])
        return Point(e, e * B, e * B * np.clip(per_sample, *self.s_per_sample))


def fixed_schedule(
    problem: Problem, decisions: Sequence[TaskDecision], times: Sequence[Times]
) -> FixedSchedule:
    """The jobs of `decisions` with the versions and samples of `times`; those that are begun stay as they are."""
    tasks = problem.tasks
    sizes = [task.slots for task in tasks]
    jobs = [
        jobs_from(problem, task, decision, when)
        for task, decision, when in zip(tasks, decisions, times, strict=True)
    ]
    parts = [
        _part(problem, task, its_jobs) | _past_part(task, its_jobs)
        for task, its_jobs in zip(tasks, jobs, strict=True)
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return FixedSchedule(
        problem=problem,
        decisions=tuple(decisions),
        offset=np.concatenate([[0], np.cumsum(sizes)]),
        task=np.repeat(np.arange(len(tasks)), sizes),
        slot=np.concatenate([its_jobs.slot for its_jobs in jobs]),
        version=np.concatenate([its_jobs.version for its_jobs in jobs]),
        device=np.concatenate([its_jobs.device for its_jobs in jobs]),
        steps=(columns["e_min"], columns["e_max"]),
        batch=(columns["B_min"], columns["B_max"]),
        s_per_sample=(columns["shortest"], columns["longest"]),
        download_s=columns["download_s"],
        upload_s=columns["upload_s"],
        upload_J=columns["upload_J"],
        kappa=columns["kappa"],
        price_of_J=columns["price"],
        price_of_end_s=columns["price_of_end_s"],
        window_s=columns["window_s"],
        begun=columns["begun"] > 0,
        earliest_s=columns["earliest_s"],
        fixed_start_s=columns["fixed_start_s"],
        fixed_end_s=columns["fixed_end_s"],
        samples=np.concatenate([its_jobs.samples for its_jobs in jobs]),
        jobs=tuple(jobs),
    )


def _part(problem: Problem, task: TaskProblem, jobs: TaskJobs) -> dict[str, FloatArray]:
    i, G = jobs.device, task.slots
    d, c = problem.world.devices, task.cycles[i]
    download_s, upload_s = task.download_s[i, jobs.version], task.upload_s[i, jobs.slot]
    return {
        "e_min": np.full(G, task.steps_range[0]),
        "e_max": np.full(G, task.steps_range[1]),
        "B_min": np.full(G, task.batch_range[0]),
        "B_max": np.full(G, task.batch_range[1]),
        "shortest": c / task.highest_Hz[i],
        "longest": c / task.lowest_Hz[i],
        "download_s": download_s,
        "upload_s": upload_s,
        "upload_J": d.uplink_power_W[i] * upload_s,
        "kappa": d.capacitance_Js2[i] * c**3,
        "price": np.full(G, task.price_of_J * problem.c2),
        "price_of_end_s": np.where(jobs.slot == G - 1, task.price_of_s, 0.0),
        "window_s": task.window_s[i],
    }


def _past_part(task: TaskProblem, jobs: TaskJobs) -> dict[str, FloatArray]:
    """Columns that say what has happened, and ranges of one number for the work of these jobs."""
    G, past = task.slots, task.past
    none = np.zeros(G)
    if past is None:
        return {"begun": none, "earliest_s": none, "fixed_start_s": none, "fixed_end_s": none}
    n, later = len(past), np.zeros(G - len(past))
    done = np.arange(G) < n
    frequency_Hz = np.concatenate([past.frequency_Hz, later + 1.0])
    steps, batch = (np.concatenate([values, later]) for values in (past.steps, past.batch))
    given = {"e": (steps, task.steps_range), "B": (batch, task.batch_range)}
    columns = {
        f"{name}_{end}": np.where(done, values, limits[k])
        for name, (values, limits) in given.items()
        for k, end in enumerate(("min", "max"))
    }
    c = task.cycles[jobs.device]
    for name, limit_Hz in (("shortest", task.highest_Hz), ("longest", task.lowest_Hz)):
        columns[name] = np.where(done, c / frequency_Hz, c / limit_Hz[jobs.device])
    return columns | {
        "begun": done.astype(np.float64),
        "earliest_s": np.full(G, past.now_s),
        "fixed_start_s": np.concatenate([past.start_s, later]),
        "fixed_end_s": np.concatenate([past.end_s, later]),
    }
