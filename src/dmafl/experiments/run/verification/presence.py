"""Rules of devices that leave and return: nobody does anything while away, and absences are those of the world."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import Array, Finding, named
from dmafl.experiments.run.verification.made import made_s
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.simulation.records import DEVICE_LEFT
from dmafl.world.availability import FAR_S, Availability, Stretch


def cut_off(rows: SchemeRunRows) -> Array:
    """Whether each period was ended by its device's leaving."""
    return np.asarray(rows.periods["outcome"] == DEVICE_LEFT, dtype=bool)


def availability(rows: SchemeRunRows) -> Finding:
    """Devices do nothing while they are away; periods that leaving ended end then; absences are those of the world."""
    if not rows.ended:
        return Finding()
    away: dict[int, list[Stretch]] = {}
    for absence in rows.absences:
        until_s = FAR_S if absence.joined_s is None else absence.joined_s
        away.setdefault(absence.device, []).append((absence.left_s, until_s))
    wrong = _periods(rows, away)
    if not rows.world.availability.always:
        wrong += _absences(rows, away)
    return named(wrong)


def _periods(rows: SchemeRunRows, away: dict[int, list[Stretch]]) -> list[str]:
    wrong = []
    start_s, end_s, cut = rows.periods["start_s"], rows.periods["end_s"], cut_off(rows)
    for device in np.unique(rows.periods["device"]).tolist():
        of_device = np.flatnonzero(rows.periods["device"] == device)
        left_s, joined_s = np.asarray(away.get(device, [])).reshape(-1, 2).T
        # The last absence that began before the period's end must be over by its start.
        last = np.searchsorted(left_s, end_s[of_device], side="left") - 1
        over_s = np.append(joined_s, 0.0)[last]
        active = of_device[(last >= 0) & ~(over_s <= start_s[of_device])]
        wrong += [f"{rows.period(k)}: its device was away" for k in active]
        by_leaving = np.isin(end_s[of_device], left_s)
        wrong += [
            f"{rows.period(k)}: ended by its device's leaving, which did not leave then"
            for k in of_device[cut[of_device] & ~by_leaving]
        ]
    return wrong


def _absences(rows: SchemeRunRows, away: dict[int, list[Stretch]]) -> list[str]:
    """What the manifest says of absences that is not so in the world, as far as the run came."""
    wrong, table = [], rows.world.availability
    for device in sorted(away):
        if device >= rows.world.device_count:
            return [f"{rows.name}: device {device} is none of the fleet's"]
    end_s = _end_s(rows)
    for device in range(rows.world.device_count):
        there = dict(_gaps(table, device))
        place = f"{rows.name}, device {device}"
        recorded = dict(away.get(device, []))
        wrong += [f"{place}: did not leave at {left_s:.12g} s" for left_s in recorded if left_s not in there]
        for left_s, joined_s in there.items():
            if left_s not in recorded:
                wrong += [f"{place}: left at {left_s:.12g} s, not recorded"] if left_s < end_s else []
            elif recorded[left_s] != joined_s and (recorded[left_s] < FAR_S or joined_s < end_s):
                wrong.append(f"{place}: returned at {joined_s:.12g} s, not as recorded")
    return wrong


def _gaps(table: Availability, device: int) -> list[Stretch]:
    """When the device is away, from time 0 on."""
    stretches = table.stretches(device)
    begins_s = [0.0, *(to_s for _, to_s in stretches)]
    ends_s = [*(from_s for from_s, _ in stretches), FAR_S]
    return [
        (begin_s, end_s)
        for begin_s, end_s in zip(begins_s, ends_s, strict=True)
        if begin_s < min(end_s, FAR_S)
    ]


def _end_s(rows: SchemeRunRows) -> float:
    """Until when absences must be recorded [s]: the last aggregation of a run with all its slots, else for ever."""
    if not rows.finished:
        return 0.0
    made = [made_s(rows, j) for j in range(rows.world.task_count)]
    if not all(task.exact for task in made):
        return 0.0
    complete = all(task.count == slots for task, slots in zip(made, rows.world.slots, strict=True))
    return max(float(task.times_s[-1]) for task in made) if complete else FAR_S
