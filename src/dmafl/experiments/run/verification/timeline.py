"""Rules of time: the clock, versions and staleness, how long phases last, windows, CPU and radio."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import (
    REPLAY_TOLERANCE,
    Array,
    Finding,
    apart,
    named,
    together,
)
from dmafl.experiments.run.verification.made import made_s
from dmafl.experiments.run.verification.orders import planned_slots
from dmafl.experiments.run.verification.presence import cut_off
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.schedule.checks import TOLERANCE
from dmafl.schedule.intervals import load_at_start
from dmafl.server.updates import UpdateCheck
from dmafl.simulation.records import NOT_AGGREGATED
from dmafl.world.mobility import Static

PHASES = ("download_s", "compute_s", "upload_s", "wait_s")


def clock(rows: SchemeRunRows) -> Finding:
    """Rows are in the order of time; phases follow each other, and fill a period that the server took."""
    periods = rows.periods
    end_s = periods["end_s"]
    backwards = -np.diff(end_s, prepend=0.0)
    spent_s = periods["start_s"] + sum(periods[name] for name in PHASES) - end_s
    gap = np.where(periods.taken, np.abs(spent_s), spent_s)
    negative = np.maximum.reduce([-periods[name] for name in ("idle_s", *PHASES)])
    return together(
        rows.worst(excess, REPLAY_TOLERANCE * end_s) for excess in (np.maximum(backwards, 0.0), gap, negative)
    )


def versions(rows: SchemeRunRows) -> Finding:
    """Slots of a task are completed one after another (a round: by one or more), versions are current when sent."""
    wrong: list[str] = []
    for j, name in enumerate(rows.world.task_names):
        taken = np.flatnonzero(rows.taken_of_task(j))
        slot, version = rows.periods["slot"][taken], rows.periods["version"][taken]
        step = np.diff(slot, prepend=-1)
        allowed = (step == 1) | ((step == 0) & (np.arange(len(step)) > 0)) if rows.rounds else step == 1
        broken = taken[~allowed | (version > slot)]
        wrong += [f"{rows.period(k)}, task {name}, slot {rows.periods['slot'][k]}" for k in broken]
        wrong += _not_current(rows, j)
    return named(wrong)


def _not_current(rows: SchemeRunRows, j: int) -> list[str]:
    """Periods whose version was not there yet when they started, or was replaced before."""
    periods, of_task = rows.periods, np.flatnonzero(rows.task == j)
    made = made_s(rows, j)
    start_s, version = periods["start_s"][of_task], periods["version"][of_task]
    slack_s = REPLAY_TOLERANCE * start_s
    # A version that was not made is at infinity: no period can start with it, if all versions made are known.
    never_s = np.inf if made.exact else made.times_s[-1]
    there_s = np.append(made.times_s, never_s)[np.minimum(version, len(made.times_s))]
    early = ~(start_s >= there_s - slack_s)
    out = [f"{rows.period(k)}: version {periods['version'][k]} was not there yet" for k in of_task[early]]
    # With a shared radio a download may queue while its version is replaced.
    if made.exact and rows.world.scenario.channel.radio == "own":
        gone_s = np.append(made.times_s, [np.inf, np.inf])[np.minimum(version, len(made.times_s)) + 1]
        late = ~(start_s <= gone_s + slack_s) & ~_without_times(rows)[of_task]
        out += [
            f"{rows.period(k)}: version {periods['version'][k]} was replaced before" for k in of_task[late]
        ]
    return out


def _without_times(rows: SchemeRunRows) -> Array:
    """Whether the server could not believe what was reported of a period, and put its end for its start."""
    return np.asarray(rows.periods["outcome"] == f"refused: {UpdateCheck.WRONG_REPORT.value}", dtype=bool)


def staleness(rows: SchemeRunRows) -> Finding:
    """Staleness is slot minus version; a period that the server did not take has neither slot nor staleness."""
    periods = rows.periods
    expected = np.where(periods.taken, periods["slot"] - periods["version"], NOT_AGGREGATED)
    slot = np.where(
        periods.taken, np.where(periods["slot"] < 0, 1, 0), np.abs(periods["slot"] - NOT_AGGREGATED)
    )
    return rows.worst(np.maximum(np.abs(periods["staleness"] - expected), slot).astype(float))


def durations(rows: SchemeRunRows) -> Finding:
    """Phases last as long as the physics says; idle time is what lies between two periods of a device and task."""
    periods, world, device, task = rows.periods, rows.world, rows.periods["device"], rows.task
    computed = periods.computed
    if rows.real:
        return rows.worst(np.where(_without_times(rows), 0.0, _idle_times(rows)))
    compute_s = np.where(
        computed,
        world.compute_s(device, task, periods["steps"], periods["batch"], periods["frequency_Hz"]),
        0.0,
    )
    cut, ends_s = cut_off(rows), periods["end_s"]
    downloaded_s = periods["start_s"] + periods["download_s"]
    errors = [
        _as_long(periods["compute_s"], compute_s, downloaded_s + periods["wait_s"], ends_s, cut),
        _idle_times(rows),
    ]
    if not rows.own.world:  # a channel of the user's own is in no file
        sent = periods.taken | (periods["download_s"] > 0)
        download_s = np.where(
            sent, world.download_s(device, task, periods["version"], periods["start_s"]), 0.0
        )
        errors += [
            _as_long(periods["download_s"], download_s, periods["start_s"], ends_s, cut & ~computed),
            _uploads(rows),
        ]
    never = np.where(periods["outcome"] == "unfinished", np.abs(periods["upload_s"]), 0.0)
    return together(rows.worst(error) for error in (*errors, never))


def _idle_times(rows: SchemeRunRows) -> Array:
    """By how much idle times differ from what lies between two periods of a device and task [s]."""
    periods = rows.periods
    previous_s = previous_end_s(periods["device"] * rows.world.task_count + rows.task, periods["end_s"])
    return apart(periods["start_s"] - previous_s, periods["idle_s"], np.abs(periods["end_s"]))


def _as_long(length_s: Array, whole_s: Array, begin_s: Array, end_s: Array, cut: Array) -> Array:
    """By how much phases differ from the physics [s]; one that is cut off may be shorter, and ends with its period."""
    whole = apart(length_s, whole_s)
    shorter = cut & (length_s > 0) & (length_s < whole_s * (1 - REPLAY_TOLERANCE))
    return np.where(shorter, apart(begin_s + length_s, end_s), whole)


def _uploads(rows: SchemeRunRows) -> Array:
    """By how much uploads that the server took differ from the physics [s], where the row shows when they began."""
    periods, world = rows.periods, rows.world
    slot = planned_slots(rows) if rows.planned else periods["slot"]
    sure = periods.taken & (slot >= 0)
    if not isinstance(world.mobility, Static):
        # The distance counts when the upload begins; a period that waited does not say before which phase.
        sure &= periods["wait_s"] == 0
    begin_s = periods["start_s"] + periods["download_s"] + periods["compute_s"]
    upload_s = world.upload_s(periods["device"], rows.task, np.maximum(slot, 0), begin_s)
    return np.where(sure, apart(periods["upload_s"], upload_s), 0.0)


def previous_end_s(stream: Array, end_s: Array) -> Array:
    """When the period before each one of the same (device, task) ended; 0 for the first."""
    order = np.lexsort((np.arange(len(stream)), stream))
    out = np.zeros(len(stream))
    same = stream[order[1:]] == stream[order[:-1]]
    out[order[1:]] = np.where(same, end_s[order[:-1]], 0.0)
    return out


def window(rows: SchemeRunRows) -> Finding:
    """Uploads that count end within their window."""
    periods = rows.periods
    limit_s = rows.world.devices.window_s[periods["device"], rows.task]
    return rows.worst(np.where(periods.taken, periods["end_s"] - limit_s, 0.0), TOLERANCE * limit_s)


def cpu(rows: SchemeRunRows) -> Finding:
    """Frequencies on a device stay within its CPU at every instant; a real one need not tell its frequency."""
    if rows.real:
        return Finding()
    periods, devices = rows.periods, rows.world.devices
    f_max, f_min = devices.frequency_max_Hz[periods["device"]], devices.frequency_min_Hz[periods["device"]]
    f = periods["frequency_Hz"]
    ran = periods.taken | ~(periods["compute_s"] <= 0)
    # Where a period waited, its row does not say before which phase: only its own frequency is checked.
    sure = np.flatnonzero(ran & (periods["wait_s"] == 0))
    begin_s, length_s = (periods["start_s"] + periods["download_s"])[sure], periods["compute_s"][sure]
    slack_s = TOLERANCE * float(periods["end_s"][np.isfinite(periods["end_s"])].max(initial=0.0))
    end_s = begin_s + length_s - np.minimum(slack_s, length_s / 2)
    load_Hz = np.zeros(len(f))
    load_Hz[sure] = load_at_start(periods["device"][sure], begin_s, end_s, f[sure])
    return together(
        rows.worst(excess, TOLERANCE * f_max)
        for excess in (load_Hz - f_max, np.where(ran, f - f_max, 0.0), np.where(ran, f_min - f, 0.0))
    )


def radio(rows: SchemeRunRows) -> Finding:
    """On a shared radio the transfers of a device follow one another; holds by itself otherwise."""
    if rows.real or rows.world.scenario.channel.radio == "own":
        return Finding()
    periods = rows.periods
    down = np.flatnonzero(periods["download_s"] > 0)
    # Where a period waited, its row does not say when the upload began.
    up = np.flatnonzero(periods.taken & (periods["wait_s"] == 0))
    which = np.concatenate([down, up])
    begin_s = np.concatenate([periods["start_s"][down], (periods["end_s"] - periods["upload_s"])[up]])
    end_s = np.concatenate([(periods["start_s"] + periods["download_s"])[down], periods["end_s"][up]])
    order = np.lexsort((end_s, begin_s, periods["device"][which]))
    device = periods["device"][which][order]
    same = device[1:] == device[:-1]
    over_s = np.where(same, end_s[order][:-1] - begin_s[order][1:], 0.0)
    excess = np.zeros(len(periods["device"]))
    np.maximum.at(excess, which[order][1:], over_s)
    return rows.worst(excess, REPLAY_TOLERANCE * periods["end_s"])
