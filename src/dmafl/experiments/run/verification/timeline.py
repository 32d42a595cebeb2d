"""Rules of time: the clock, versions and staleness, how long phases last, windows, CPU and radio."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Array, Found, apart, named, together
from dmafl.experiments.run.verification.made import made_s
from dmafl.experiments.run.verification.opened import UnitRows
from dmafl.experiments.run.verification.orders import planned_slots
from dmafl.schedule.checks import TOLERANCE
from dmafl.schedule.intervals import load_at_start
from dmafl.simulation.records import NOT_AGGREGATED
from dmafl.world.mobility import Static

PHASES = ("download_s", "compute_s", "upload_s", "wait_s")


def clock(u: UnitRows) -> Found:
    """Rows are in the order of time; phases follow one another, and fill a period that the server took."""
    p = u.periods
    end_s = p["end_s"]
    backwards = -np.diff(end_s, prepend=0.0)
    spent_s = p["start_s"] + sum(p[name] for name in PHASES) - end_s
    gap = np.where(u.taken, np.abs(spent_s), spent_s)
    negative = np.maximum.reduce([-p[name] for name in ("idle_s", *PHASES)])
    return together(
        u.worst(excess, REPLAY_TOLERANCE * end_s) for excess in (np.maximum(backwards, 0.0), gap, negative)
    )


def versions(u: UnitRows) -> Found:
    """Slots of a task are completed one after another (a round: by one or more), versions are current when sent."""
    wrong: list[str] = []
    for j, name in enumerate(u.world.task_names):
        own = np.flatnonzero((u.task == j) & u.taken)
        slot, version = u.periods["slot"][own], u.periods["version"][own]
        step = np.diff(slot, prepend=-1)
        allowed = (step == 1) | ((step == 0) & (np.arange(len(step)) > 0)) if u.rounds else step == 1
        broken = own[~allowed | (version > slot)]
        wrong += [f"{u.period(k)}, task {name}, slot {u.periods['slot'][k]}" for k in broken]
        wrong += _not_current(u, j)
    return named(wrong)


def _not_current(u: UnitRows, j: int) -> list[str]:
    """Periods whose version was not there yet when they started, or was replaced before."""
    p, own = u.periods, np.flatnonzero(u.task == j)
    made = made_s(u, j)
    start_s, version = p["start_s"][own], p["version"][own]
    slack_s = REPLAY_TOLERANCE * start_s
    # A version that nobody made is at infinity: nothing can start with it, if it is known what was made.
    never_s = np.inf if made.exact else made.times_s[-1]
    there_s = np.append(made.times_s, never_s)[np.minimum(version, len(made.times_s))]
    early = ~(start_s >= there_s - slack_s)
    out = [f"{u.period(k)}: version {p['version'][k]} was not there yet" for k in own[early]]
    # With a shared radio a download may queue while its version is replaced.
    if made.exact and u.world.scenario.channel.radio == "own":
        gone_s = np.append(made.times_s, [np.inf, np.inf])[np.minimum(version, len(made.times_s)) + 1]
        late = ~(start_s <= gone_s + slack_s)
        out += [f"{u.period(k)}: version {p['version'][k]} was replaced before" for k in own[late]]
    return out


def staleness(u: UnitRows) -> Found:
    """Staleness is slot minus version; a period that the server did not take has neither slot nor staleness."""
    p = u.periods
    expected = np.where(u.taken, p["slot"] - p["version"], NOT_AGGREGATED)
    slot = np.where(u.taken, np.where(p["slot"] < 0, 1, 0), np.abs(p["slot"] - NOT_AGGREGATED))
    return u.worst(np.maximum(np.abs(p["staleness"] - expected), slot).astype(float))


def durations(u: UnitRows) -> Found:
    """Phases last as long as the physics says; idle time is what lies between two periods of a device and task."""
    p, w, device, task = u.periods, u.world, u.periods["device"], u.task
    computed = u.taken | (p["compute_s"] > 0)
    compute_s = np.where(computed, w.compute_s(device, task, p["steps"], p["batch"], p["frequency_Hz"]), 0.0)
    previous_s = previous_end_s(device * w.task_count + task, p["end_s"])
    errors = [
        apart(p["compute_s"], compute_s),
        apart(p["start_s"] - previous_s, p["idle_s"], np.abs(p["end_s"])),
    ]
    if not u.own.world:  # a channel of the user's own is in no file
        sent = u.taken | (p["download_s"] > 0)
        download_s = np.where(sent, w.download_s(device, task, p["version"], p["start_s"]), 0.0)
        errors += [apart(p["download_s"], download_s), _uploads(u)]
    never = np.where(p["outcome"] == "unfinished", np.abs(p["upload_s"]), 0.0)
    return together(u.worst(error) for error in (*errors, never))


def _uploads(u: UnitRows) -> Array:
    """By how much uploads that the server took differ from the physics [s], where the row tells when they began."""
    p, w = u.periods, u.world
    slot = planned_slots(u) if u.planned else p["slot"]
    sure = u.taken & (slot >= 0)
    if not isinstance(w.mobility, Static):
        # The distance counts when the upload begins; a period that waited does not say before which phase.
        sure &= p["wait_s"] == 0
    begin_s = p["start_s"] + p["download_s"] + p["compute_s"]
    upload_s = w.upload_s(p["device"], u.task, np.maximum(slot, 0), begin_s)
    return np.where(sure, apart(p["upload_s"], upload_s), 0.0)


def previous_end_s(stream: Array, end_s: Array) -> Array:
    """When the period before each one of the same (device, task) ended; 0 for the first."""
    order = np.lexsort((np.arange(len(stream)), stream))
    out = np.zeros(len(stream))
    same = stream[order[1:]] == stream[order[:-1]]
    out[order[1:]] = np.where(same, end_s[order[:-1]], 0.0)
    return out


def window(u: UnitRows) -> Found:
    """Uploads that count end within their window."""
    p = u.periods
    limit_s = u.world.devices.window_s[p["device"], u.task]
    return u.worst(np.where(u.taken, p["end_s"] - limit_s, 0.0), TOLERANCE * limit_s)


def cpu(u: UnitRows) -> Found:
    """Frequencies on a device stay within its CPU at every instant."""
    p, d = u.periods, u.world.devices
    f_max, f_min = d.frequency_max_Hz[p["device"]], d.frequency_min_Hz[p["device"]]
    f = p["frequency_Hz"]
    ran = u.taken | ~(p["compute_s"] <= 0)
    # Where a period waited, its row does not say before which phase: only its own frequency is checked.
    sure = np.flatnonzero(ran & (p["wait_s"] == 0))
    begin_s, length_s = (p["start_s"] + p["download_s"])[sure], p["compute_s"][sure]
    slack_s = TOLERANCE * float(p["end_s"][np.isfinite(p["end_s"])].max(initial=0.0))
    end_s = begin_s + length_s - np.minimum(slack_s, length_s / 2)
    load_Hz = np.zeros(len(f))
    load_Hz[sure] = load_at_start(p["device"][sure], begin_s, end_s, f[sure])
    return together(
        u.worst(excess, TOLERANCE * f_max)
        for excess in (load_Hz - f_max, np.where(ran, f - f_max, 0.0), np.where(ran, f_min - f, 0.0))
    )


def radio(u: UnitRows) -> Found:
    """On a shared radio the transfers of a device follow one another; holds by itself otherwise."""
    if u.world.scenario.channel.radio == "own":
        return Found()
    p = u.periods
    down = np.flatnonzero(p["download_s"] > 0)
    # Where a period waited, its row does not say when the upload began.
    up = np.flatnonzero(u.taken & (p["wait_s"] == 0))
    which = np.concatenate([down, up])
    begin_s = np.concatenate([p["start_s"][down], (p["end_s"] - p["upload_s"])[up]])
    end_s = np.concatenate([(p["start_s"] + p["download_s"])[down], p["end_s"][up]])
    order = np.lexsort((end_s, begin_s, p["device"][which]))
    device = p["device"][which][order]
    same = device[1:] == device[:-1]
    over_s = np.where(same, end_s[order][:-1] - begin_s[order][1:], 0.0)
    excess = np.zeros(len(p["device"]))
    np.maximum.at(excess, which[order][1:], over_s)
    return u.worst(excess, REPLAY_TOLERANCE * p["end_s"])
