"""Rules of what devices were ordered to do: steps, batch and frequency, samples, and the plan that was followed."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Array, Finding, largest, together
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.schedule.intervals import load_at_start
from dmafl.schemes.draws import Drawn

_LATE = 1e-9
"""A planned job never starts earlier than planned, but for rounding."""


def orders(rows: SchemeRunRows) -> Finding:
    """Steps, batch and frequency are those drawn for the device, or planned for the job."""
    if rows.known_scheme is None:
        return Finding()
    periods = rows.periods
    if rows.known_scheme.group == "baseline":
        return together([_as_drawn(rows), _in_flight(rows)])
    jobs = planned_jobs(rows)
    if jobs is not None and rows.plan is not None:
        plan, known = rows.plan.plan.schedule, jobs >= 0
        job = np.maximum(jobs, 0)
        error = np.maximum.reduce(
            [
                np.abs(periods["steps"] - plan.steps[job]),
                np.abs(periods["batch"] - _cut(plan.batch[job], periods["samples"])),
                # A job gets what is left of the CPU, never more than planned.
                (periods["frequency_Hz"] - plan.frequency_Hz[job]) / plan.frequency_Hz[job]
                - REPLAY_TOLERANCE,
                plan.start_s[job] * (1 - _LATE) - periods["start_s"],
            ]
        )
        return rows.worst(np.where(known, error, 1.0))
    tasks = list(rows.world.scenario.tasks.values())
    least, most, batch = (
        np.asarray([getattr(task, name) for task in tasks])[rows.task]
        for name in ("steps_min", "steps_max", "batch_max")
    )
    error = np.maximum.reduce(
        [least - periods["steps"], periods["steps"] - most, periods["batch"] - batch]
    ).astype(float)
    return rows.worst(error)


def planned_jobs(rows: SchemeRunRows) -> Array | None:
    """The plan's job of each period, -1 where there is none; None where a run may have left its plan.

    A device carries out its jobs of a task in their order, unless devices are lost or leave, or the rest is planned
    anew.
    """
    revises = rows.known_scheme is not None and rows.known_scheme.revises
    if rows.plan is None or rows.losses or rows.absences or not rows.ended or revises:
        return None
    if rows.real and not rows.periods.taken.all():  # a job that fails is done again
        return None
    plan, periods, tasks = rows.plan.plan.schedule, rows.periods, rows.world.task_count
    planned = np.lexsort((plan.slot, plan.start_s, plan.device * tasks + plan.task))
    begun = np.lexsort((periods["start_s"], periods["device"] * tasks + rows.task))
    place = _number_in_stream((plan.device * tasks + plan.task)[planned])
    wanted = _number_in_stream((periods["device"] * tasks + rows.task)[begun])
    known = {
        (int(plan.device[k]), int(plan.task[k]), int(n)): int(k) for k, n in zip(planned, place, strict=True)
    }
    out = np.full(len(begun), -1, dtype=np.int64)
    for k, n in zip(begun, wanted, strict=True):
        out[k] = known.get((int(periods["device"][k]), int(rows.task[k]), int(n)), -1)
    return out


def planned_slots(rows: SchemeRunRows) -> Array:
    """The slot that each period was planned for, whose gain its upload has; -1 where that is not known."""
    jobs = planned_jobs(rows)
    if jobs is None or rows.plan is None:
        return np.full(len(rows.task), -1, dtype=np.int64)
    return np.where(jobs >= 0, rows.plan.plan.schedule.slot[np.maximum(jobs, 0)], -1)


def samples(rows: SchemeRunRows) -> Finding:
    """A device has as many samples as its stream says when its computation starts; none where it never does."""
    periods, world, device, task = rows.periods, rows.world, rows.periods["device"], rows.task
    if rows.real:  # its owner knows; a batch is of at most all
        over = periods["batch"] - periods["samples"]
        return rows.worst(np.where(periods["samples"] > 0, over, 0).astype(float))
    own_stream = np.isin(periods["task"].astype(str), rows.own.streams)
    begun = periods["samples"] > 0
    must = periods.computed & ~begun
    early_s = periods["start_s"] + periods["download_s"]
    late_s = np.where(periods.taken, early_s + periods["wait_s"], periods["end_s"] - periods["compute_s"])
    computed_s = _computed_before(device * world.task_count + task, periods["compute_s"])
    few, many = (
        world.samples(
            task, np.nan_to_num(world.stream_progress(device, task, periods["version"], time_s, computed_s))
        )
        for time_s in (early_s * (1 - REPLAY_TOLERANCE), late_s * (1 + REPLAY_TOLERANCE))
    )
    error = np.maximum(few - periods["samples"], periods["samples"] - many).astype(float)
    cut = np.where(begun, periods["batch"] - periods["samples"], 0).astype(float)
    excess = np.where(begun & ~own_stream, error, 0.0) + np.where(own_stream, 0.0, must)
    return together([rows.worst(excess), rows.worst(np.where(own_stream, 0.0, cut))])


def _as_drawn(rows: SchemeRunRows) -> Finding:
    periods, drawn = rows.periods, Drawn.of(rows.world)
    device, task = periods["device"], rows.task
    f = drawn.frequency_Hz[device, task]
    error = np.maximum.reduce(
        [
            np.abs(periods["steps"] - drawn.steps[device, task]).astype(float),
            np.abs(periods["batch"] - _cut(drawn.batch[device, task], periods["samples"])).astype(float),
            np.abs(periods["frequency_Hz"] - f) / f - REPLAY_TOLERANCE,
        ]
    )
    return rows.worst(error)


def _in_flight(rows: SchemeRunRows) -> Finding:
    """Asynchronous baselines have at most K+1 jobs of a task under way."""
    if rows.known_scheme is None or not rows.known_scheme.fills_places:
        return Finding()
    periods = rows.periods
    length_s = periods["end_s"] - periods["start_s"]
    end_s = periods["end_s"] - np.minimum(REPLAY_TOLERANCE * periods["end_s"], length_s / 2)
    under_way = load_at_start(rows.task, periods["start_s"], end_s, np.ones(len(rows.task)))
    return largest(under_way - (rows.world.max_staleness[rows.task] + 1.0), rows.period, 0.5)


def _cut(batch: Array, available: Array) -> Array:
    """A batch as ordered, or all that the device had."""
    return np.where(available > 0, np.minimum(batch, available), batch)


def _number_in_stream(stream: Array) -> Array:
    """0, 1, 2, ... within each run of equal entries."""
    new = np.concatenate([[True], stream[1:] != stream[:-1]])[: len(stream)]
    first = np.maximum.accumulate(np.where(new, np.arange(len(stream)), 0)) if len(stream) else stream
    return np.asarray(np.arange(len(stream)) - first)


def _computed_before(stream: Array, compute_s: Array) -> Array:
    """Computing time of each (device, task) before its period [s]."""
    order = np.lexsort((np.arange(len(stream)), stream))
    total = np.cumsum(compute_s[order]) - compute_s[order]
    first = order[np.arange(len(order)) - _number_in_stream(stream[order])] if len(order) else order
    at_first = np.zeros(len(stream))
    at_first[order] = total
    out = np.zeros(len(stream))
    out[order] = np.maximum(total - at_first[first], 0.0)
    return out
