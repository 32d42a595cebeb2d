"""Rules of what devices were told to do: steps, batch and frequency, samples, and the plan that was followed."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Array, Found, largest, together
from dmafl.experiments.run.verification.opened import UnitRows
from dmafl.schedule.intervals import load_at_start
from dmafl.schemes.draws import Drawn
from dmafl.schemes.registry import BASELINES

_LATE = 1e-9
"""A planned job never starts earlier than planned, but for rounding."""


def orders(u: UnitRows) -> Found:
    """Steps, batch and frequency are those drawn for the device, or planned for the job."""
    if not u.ours:
        return Found()
    p = u.periods
    if u.scheme in BASELINES:
        return together([_as_drawn(u), _in_flight(u)])
    jobs = planned_jobs(u)
    if jobs is not None and u.plan is not None:
        plan, known = u.plan.plan.schedule, jobs >= 0
        job = np.maximum(jobs, 0)
        error = np.maximum.reduce(
            [
                np.abs(p["steps"] - plan.steps[job]),
                np.abs(p["batch"] - _cut(plan.batch[job], p["samples"])),
                # A job gets what is left of the CPU, never more than planned.
                (p["frequency_Hz"] - plan.frequency_Hz[job]) / plan.frequency_Hz[job] - REPLAY_TOLERANCE,
                plan.start_s[job] * (1 - _LATE) - p["start_s"],
            ]
        )
        return u.worst(np.where(known, error, 1.0))
    tasks = list(u.world.scenario.tasks.values())
    least, most, batch = (
        np.asarray([getattr(task, name) for task in tasks])[u.task]
        for name in ("steps_min", "steps_max", "batch_max")
    )
    error = np.maximum.reduce([least - p["steps"], p["steps"] - most, p["batch"] - batch]).astype(float)
    return u.worst(error)


def planned_jobs(u: UnitRows) -> Array | None:
    """The plan's job of each period, -1 where there is none; None where a run may have left its plan.

    A device carries out its jobs of a task in their order, unless devices are lost or the rest is planned anew.
    """
    if u.plan is None or u.losses or not u.ended or u.scheme == "dma-fl-online":
        return None
    plan, p, tasks = u.plan.plan.schedule, u.periods, u.world.task_count
    planned = np.lexsort((plan.slot, plan.start_s, plan.device * tasks + plan.task))
    begun = np.lexsort((p["start_s"], p["device"] * tasks + u.task))
    place = _number_in_stream((plan.device * tasks + plan.task)[planned])
    wanted = _number_in_stream((p["device"] * tasks + u.task)[begun])
    known = {
        (int(plan.device[k]), int(plan.task[k]), int(n)): int(k) for k, n in zip(planned, place, strict=True)
    }
    out = np.full(len(begun), -1, dtype=np.int64)
    for k, n in zip(begun, wanted, strict=True):
        out[k] = known.get((int(p["device"][k]), int(u.task[k]), int(n)), -1)
    return out


def planned_slots(u: UnitRows) -> Array:
    """The slot that each period was planned for, whose gain its upload has; -1 where that is not known."""
    jobs = planned_jobs(u)
    if jobs is None or u.plan is None:
        return np.full(len(u.task), -1, dtype=np.int64)
    return np.where(jobs >= 0, u.plan.plan.schedule.slot[np.maximum(jobs, 0)], -1)


def samples(u: UnitRows) -> Found:
    """A device has as many samples as its stream says when its computation starts; none where it never does."""
    p, w, device, task = u.periods, u.world, u.periods["device"], u.task
    own = np.isin(u.periods["task"].astype(str), u.own.streams)
    begun = p["samples"] > 0
    must = (u.taken | (p["compute_s"] > 0)) & ~begun
    early_s = p["start_s"] + p["download_s"]
    late_s = np.where(u.taken, early_s + p["wait_s"], p["end_s"] - p["compute_s"])
    computed_s = _computed_before(device * w.task_count + task, p["compute_s"])
    few, many = (
        w.samples(task, np.nan_to_num(w.stream_progress(device, task, p["version"], time_s, computed_s)))
        for time_s in (early_s * (1 - REPLAY_TOLERANCE), late_s * (1 + REPLAY_TOLERANCE))
    )
    error = np.maximum(few - p["samples"], p["samples"] - many).astype(float)
    cut = np.where(begun, p["batch"] - p["samples"], 0).astype(float)
    found = np.where(begun & ~own, error, 0.0) + np.where(own, 0.0, must)
    return together([u.worst(found), u.worst(np.where(own, 0.0, cut))])


def _as_drawn(u: UnitRows) -> Found:
    p, drawn = u.periods, Drawn.of(u.world)
    device, task = p["device"], u.task
    f = drawn.frequency_Hz[device, task]
    error = np.maximum.reduce(
        [
            np.abs(p["steps"] - drawn.steps[device, task]).astype(float),
            np.abs(p["batch"] - _cut(drawn.batch[device, task], p["samples"])).astype(float),
            np.abs(p["frequency_Hz"] - f) / f - REPLAY_TOLERANCE,
        ]
    )
    return u.worst(error)


def _in_flight(u: UnitRows) -> Found:
    """Asynchronous baselines have at most K+1 jobs of a task under way."""
    if u.scheme not in ("fedasync", "fedbuff"):
        return Found()
    p = u.periods
    length_s = p["end_s"] - p["start_s"]
    end_s = p["end_s"] - np.minimum(REPLAY_TOLERANCE * p["end_s"], length_s / 2)
    together_ = load_at_start(u.task, p["start_s"], end_s, np.ones(len(u.task)))
    return largest(together_ - (u.world.max_staleness[u.task] + 1.0), u.period, 0.5)


def _cut(batch: Array, samples_: Array) -> Array:
    """A batch as ordered, or all that the device had."""
    return np.where(samples_ > 0, np.minimum(batch, samples_), batch)


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
