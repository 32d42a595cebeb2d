"""Whether a schedule can be executed: rules S0-S8, each with size, unit and place of its violation (docs/schedules.md).

S0 staleness, S1 cover, S2 overlap, S3 causality, S4 window, S5 cpu, S6 energy, S7 ranges, S8 radio.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.schedule.checks import TOLERANCE, Check, exceeds, worst_check
from dmafl.schedule.intervals import load_at_start
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.replayed import Replayed
from dmafl.schedule.timeline import stream_order
from dmafl.world.world import World


def check_schedule(world: World, schedule: Schedule) -> tuple[Check, ...]:
    """All rules, evaluated on a fresh replay of the timeline."""
    with np.errstate(
        invalid="ignore"
    ):  # numbers that are not finite are reported by the rules, not by warnings
        replayed = Replayed.of(world, schedule)
        return tuple(rule(replayed) for rule in RULES)


def check_staleness(r: Replayed) -> Check:
    """S0: every job receives an existing version and has staleness 0 <= g - v <= K_j."""
    s = r.schedule
    stale = s.staleness
    excess = np.maximum.reduce([stale - r.world.max_staleness[s.task], -stale, -s.version])
    return worst_check(
        "S0_staleness",
        "0 <= slot - version <= max_staleness",
        excess,
        exceeds(excess),
        "slots",
        r.job,
        "Let the device receive a fresher version or complete an earlier slot.",
    )


def check_cover(r: Replayed) -> Check:
    """S1: every slot is completed by exactly one job, and no job completes a slot that does not exist."""
    s = r.schedule
    exists = (s.slot >= 0) & (s.slot < r.world.slots[s.task])
    key = (r.offsets[s.task] + s.slot)[exists]
    error = np.abs(np.bincount(key, minlength=int(r.offsets[-1])) - 1)
    outside = np.flatnonzero(~exists)

    def place(k: int) -> str:
        if k >= len(error):
            return r.job(int(outside[k - len(error)])) + " (no such slot)"
        task = int(np.searchsorted(r.offsets, k, side="right")) - 1
        jobs = int(np.count_nonzero(key == k))
        return f"task {r.world.task_names[task]}, slot {k - r.offsets[task]} ({jobs} jobs)"

    excess = np.concatenate([error, np.ones(len(outside), dtype=error.dtype)])
    return worst_check(
        "S1_cover",
        "every slot is completed by exactly one job",
        excess,
        exceeds(excess),
        "jobs",
        place,
        "Give every slot of the task one job.",
    )


def check_overlap(r: Replayed) -> Check:
    """S2: the next job of a (device, task) receives a version newer than the slot its last one completed."""
    s = r.schedule
    order, continues = stream_order(s, r.world.task_count)
    earlier, later = order[:-1], order[1:]
    excess = np.where(continues[1:] == 1, s.slot[earlier] + 1 - s.version[later], 0)
    return worst_check(
        "S2_overlap",
        "a device's next job of a task receives a version after its last slot",
        excess,
        exceeds(excess),
        "slots",
        lambda k: r.job(int(later[k])),
        "Let the device upload before it receives again.",
    )


def check_causality(r: Replayed) -> Check:
    """S3: versions exist and are current when sent, slots complete in order, idle times are not negative."""
    s, start_s = r.schedule, r.schedule.start_s
    before, now = r.slot_time_s(s.task, s.version - 1), r.slot_time_s(s.task, s.version)
    # A slot that no job completes breaks S1, not S3.
    too_early = np.where(np.isfinite(before), before - start_s, -np.inf)
    too_late = np.where(np.isfinite(now), start_s - now, -np.inf)
    disorder = _disorder(r)
    parts: list[tuple[FloatArray, Callable[[int], str]]] = [
        (too_early, lambda k: f"{r.job(k)} (starts before its version exists)"),
        (too_late, lambda k: f"{r.job(k)} (starts after its version is replaced)"),
        (-r.timeline.idle_s, lambda k: f"{r.job(k)} (starts before its last upload ends)"),
        (-start_s, lambda k: f"{r.job(k)} (starts before time 0)"),
        (disorder, lambda k: f"{_slot_name(r, k)} (completes before the slot before it)"),
    ]
    excess = np.concatenate([part for part, _ in parts])
    starts = np.cumsum([0] + [len(part) for part, _ in parts])

    def place(k: int) -> str:
        which = int(np.searchsorted(starts, k, side="right")) - 1
        return parts[which][1](k - int(starts[which]))

    return worst_check(
        "S3_causality",
        "downloads start while their version is current; slots complete in order",
        excess,
        exceeds(excess, r.slack_s),
        "s",
        place,
        "Shift the start, or receive the version current at the start.",
    )


def check_window(r: Replayed) -> Check:
    """S4: every upload ends within the window of its device and task. Eq. (QoE), as an upper limit."""
    excess = r.timeline.end_s - r.world.devices.window_s[r.schedule.device, r.schedule.task]
    return worst_check(
        "S4_window",
        "uploads end within window_s",
        excess,
        exceeds(excess, r.slack_s),
        "s",
        r.job,
        "Lengthen window_s, or use fewer steps, higher frequencies or more jobs in flight.",
    )


def check_cpu(r: Replayed) -> Check:
    """S5: at every instant the frequencies of a device's computing jobs add up to at most f^max; each is >= f^min.

    Differs from Eq. (CPU_lower_upper), whose sum over tasks of slot g has no meaning in time.
    """
    s, t, d = r.schedule, r.timeline, r.world.devices
    f_max = d.frequency_max_Hz[s.device]
    # Intervals are half-open and shortened by the tolerance, at most by half, so that touching ones do not overlap.
    end_s = t.upload_start_s - np.minimum(r.slack_s, t.compute_s / 2)
    together = np.maximum(load_at_start(s.device, t.compute_start_s, end_s, s.frequency_Hz), s.frequency_Hz)
    # Without an interval the load is not known.
    together = np.where(np.isnan(end_s - t.compute_start_s), np.nan, together)
    excess = np.concatenate([together - f_max, d.frequency_min_Hz[s.device] - s.frequency_Hz])
    n = len(s)

    def place(k: int) -> str:
        return f"{r.job(k % n)} ({'sum over its tasks' if k < n else 'its own frequency'})"

    return worst_check(
        "S5_cpu",
        "frequencies on a device sum to at most frequency_max_Hz, each >= frequency_min_Hz",
        excess,
        exceeds(excess, TOLERANCE * np.tile(f_max, 2)),
        "Hz",
        place,
        "Lower the frequency of overlapping jobs, or separate them in time.",
    )


def check_energy(r: Replayed) -> Check:
    """S6: uplink and computation of a device cost at most its battery. Eq. (energy_budget)."""
    spent_J = np.bincount(
        r.schedule.device, r.timeline.uplink_J + r.timeline.compute_J, minlength=r.world.device_count
    )
    battery_J = r.world.devices.battery_J
    excess = spent_J - battery_J
    return worst_check(
        "S6_energy",
        "uplink and computation stay within battery_J",
        excess,
        exceeds(excess, TOLERANCE * battery_J),
        "J",
        lambda k: f"device {r.world.devices.id[k]}",
        "Give the device fewer jobs, steps or a lower frequency, or a larger battery_J.",
    )


def check_ranges(r: Replayed) -> Check:
    """S7: e_min <= e <= e_max and 1 <= B <= D, integers. Eq. (num_local_SGD_lower), Eq. (sample_size_lower_upper)."""
    s = r.schedule
    tasks = list(r.world.scenario.tasks.values())
    e_min, e_max = (
        np.asarray([getattr(t, name) for t in tasks])[s.task] for name in ("steps_min", "steps_max")
    )
    excess = np.maximum.reduce(
        [
            e_min - s.steps,
            s.steps - e_max,
            1.0 - s.batch,
            s.batch - r.timeline.samples,
            np.abs(s.steps - np.rint(s.steps)),
            np.abs(s.batch - np.rint(s.batch)),
        ]
    )
    return worst_check(
        "S7_ranges",
        "steps within [steps_min, steps_max], batch within [1, samples], both whole",
        excess,
        exceeds(excess),
        "",
        lambda k: (
            f"{r.job(k)} (steps {s.steps[k]:g}, batch {s.batch[k]:g} of {r.timeline.samples[k]} samples)"
        ),
        "Round or clip steps and batch.",
    )


def check_radio(r: Replayed) -> Check:
    """S8: with radio = "shared", transfers of a device do not overlap; always holds otherwise."""
    s, t = r.schedule, r.timeline
    if r.world.scenario.channel.radio == "own":
        begin_s = end_s = np.empty(0)
        device = np.empty(0, dtype=np.int64)
    else:
        begin_s = np.concatenate([s.start_s, t.upload_start_s])
        end_s = np.concatenate([t.compute_start_s, t.end_s])
        device = np.tile(s.device, 2)
    order = np.lexsort((end_s, begin_s, device))
    busy_until = _running_max(end_s[order], device[order])
    same = device[order[1:]] == device[order[:-1]]
    excess = np.where(same, busy_until[:-1] - begin_s[order[1:]], -np.inf)
    return worst_check(
        "S8_radio",
        "transfers of a device on a shared radio do not overlap",
        excess,
        exceeds(excess, r.slack_s),
        "s",
        lambda k: r.job(int(order[k + 1]) % len(s)),
        "Separate the transfers in time.",
    )


RULES: tuple[Callable[[Replayed], Check], ...] = (
    check_staleness,
    check_cover,
    check_overlap,
    check_causality,
    check_window,
    check_cpu,
    check_energy,
    check_ranges,
    check_radio,
)


def _disorder(r: Replayed) -> FloatArray:
    """By how much each slot completes before the one before it [s]; -inf for first slots and missing ones."""
    out = np.full(len(r.tau_s), -np.inf)
    first = np.zeros(len(r.tau_s), dtype=bool)
    first[r.offsets[:-1]] = True
    comparable = np.isfinite(r.tau_s[1:]) & np.isfinite(r.tau_s[:-1]) & ~first[1:]
    out[1:][comparable] = r.tau_s[:-1][comparable] - r.tau_s[1:][comparable]
    return out


def _slot_name(r: Replayed, k: int) -> str:
    task = int(np.searchsorted(r.offsets, k, side="right")) - 1
    return f"task {r.world.task_names[task]}, slot {k - r.offsets[task]}"


def _running_max(values: FloatArray, group: IntArray) -> FloatArray:
    """Largest value so far within each run of equal `group`."""
    if not len(values):
        return values
    # Shift each group above all before it, so that one running maximum serves all groups.
    rank = np.concatenate([[0], np.cumsum(group[1:] != group[:-1])])
    span = float(values.max() - values.min()) + 1.0
    return np.asarray(np.maximum.accumulate(values + rank * span) - rank * span)
