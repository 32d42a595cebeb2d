"""How many devices take no part in a task at each time: those lost to it, and those that are away."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import Array
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows


def gone_steps(rows: SchemeRunRows, task: str) -> tuple[Array, Array]:
    """Times at which the number of devices that are gone changes [s], and that number from each of them on."""
    spans: dict[int, list[tuple[float, float]]] = {}
    for absence in rows.absences:
        until_s = np.inf if absence.joined_s is None else absence.joined_s
        spans.setdefault(absence.device, []).append((absence.left_s, until_s))
    for loss in rows.losses:
        if loss.task == task:
            spans.setdefault(loss.device, []).append((loss.time_s, np.inf))
    steps: list[tuple[float, int]] = []
    for of_device in spans.values():
        whole: list[tuple[float, float]] = []
        for begin_s, until_s in sorted(of_device):
            if whole and begin_s <= whole[-1][1]:
                begin_s, until_s = whole[-1][0], max(until_s, whole.pop()[1])
            whole.append((begin_s, until_s))
        steps += [(begin_s, 1) for begin_s, _ in whole]
        steps += [(until_s, -1) for _, until_s in whole if until_s < np.inf]
    times_s = np.unique([time_s for time_s, _ in steps])
    change = np.zeros(len(times_s), dtype=np.int64)
    for time_s, by in steps:
        change[np.searchsorted(times_s, time_s)] += by
    return times_s, np.cumsum(change)


def round_sizes(rows: SchemeRunRows, task: str, size: int) -> tuple[Array, Array]:
    """Times at which rounds of `size`, or of as many devices as are left, change; sizes before and from each on."""
    times_s, gone = gone_steps(rows, task)
    left = rows.world.device_count - np.concatenate([[0], gone])
    return times_s, np.maximum(1, np.minimum(size, left))
