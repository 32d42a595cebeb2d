"""When each version of a task was made, as far as the periods show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.experiments.run.verification.findings import Array
from dmafl.experiments.run.verification.gone import round_sizes
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows


@dataclass(frozen=True)
class Made:
    """Times at which versions 0, 1, 2, ... of a task were made [s]."""

    times_s: Array
    exact: bool
    """False where a round may have been completed by a loss that is not known: then they are the earliest times."""

    @property
    def count(self) -> int:
        """Aggregations."""
        return len(self.times_s) - 1


def made_s(rows: SchemeRunRows, j: int) -> Made:
    """Of task number `j`; version 0 is there from the start."""
    taken = rows.periods.where(rows.taken_of_task(j))
    slot, end_s = taken["slot"], taken["end_s"]
    if not rows.rounds:
        return Made(np.concatenate([[0.0], end_s]), exact=True)
    count = int(slot.max(initial=-1)) + 1
    last_s = np.zeros(count)
    np.maximum.at(last_s, slot[slot >= 0], end_s[slot >= 0])
    last_s = np.maximum.accumulate(last_s) if count else last_s
    arrivals = np.bincount(slot[slot >= 0], minlength=count)
    complete, rule = count, rows.round_rule
    if rows.ended:
        complete = min(count, rows.outcome(j).aggregations)
    elif count and arrivals[-1] < (len(rows.periods) + 1 if rule is None else rule.size):
        complete = count - 1  # the last round is still open, or may be
    name = rows.world.task_names[j]
    fewer = bool(rows.absences) or any(loss.task == name for loss in rows.losses)
    exact = rows.ended and (not fewer or rule is not None)
    if fewer and exact and rule is not None and rule.of_those_left:
        last_s = _with_losses(last_s, arrivals, *round_sizes(rows, name, rule.size))
    return Made(np.concatenate([[0.0], last_s[:complete]]), exact)


def _with_losses(last_s: Array, arrivals: Array, changes_s: Array, wanted: Array) -> Array:
    """A round that waited for lost devices only was complete when the last of them was lost.

    `wanted`: arrivals of a round before, and from each of `changes_s` on.
    """
    out = last_s.copy()
    for k in range(len(out)):
        before = int(np.searchsorted(changes_s, out[k], side="right"))
        enough = np.flatnonzero(wanted[before:] <= arrivals[k])
        if len(enough) and enough[0] > 0:
            out[k] = max(out[k], changes_s[before + enough[0] - 1])
    return out
