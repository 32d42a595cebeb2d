"""When uploads under way end, and which of them completes a task's next slot.

An uplink's gain has the index of the slot it completes, so a new slot means new times for the uploads under way whose
slot is not planned. Those timed for the next slot are `due`; the others wait, ordered by the earliest time at which any
gain could let them end, and are timed when that comes up.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from typing import Any

from dmafl.server.messages import Plain
from dmafl.simulation.active_job import ActiveJob
from dmafl.simulation.event_heap import ARRIVE, DUE
from dmafl.world.radio import Radio

SAME_TIME = 1e-9
"""Relative difference below which two planned uploads end at the same time, and the earlier slot goes first."""

Push = Callable[[float, int, Any], None]
"""Enters an event: time, kind, subject."""


class Uploads:
    """Uploads of all tasks; `jobs` are the clock's jobs under way, `window_s` the windows by task and device."""

    def __init__(
        self, radio: Radio, window_s: list[list[float]], jobs: Mapping[int, ActiveJob], push: Push
    ) -> None:
        self._radio, self._window_s, self._jobs, self._push = radio, window_s, jobs, push
        tasks = len(window_s)
        self._due: list[list[tuple[float, int, float]]] = [[] for _ in range(tasks)]  # end, job, earliest end
        self._later: list[list[tuple[float, int]]] = [[] for _ in range(tasks)]  # earliest end, job
        self._mark = [0] * tasks  # the number of the last announcement: earlier ones do not count
        self.changed: dict[int, None] = {}
        """Tasks where another upload than the one announced may be due first."""
        self.version = [0] * tasks
        """Slots that each task has completed."""
        self._last_slot_s = [0.0] * tasks

    def begin(self, active: ActiveJob, now: float) -> None:
        """The upload of a job begins."""
        order, job_id = active.job.dispatch, active.job.id
        active.upload_start_s = now
        task, device = order.task, order.device
        if order.slot >= 0:
            active.upload_s = self._radio.upload_s(device, task, order.slot, now)
            self._push(min(now + active.upload_s, self._last_chance(task, device, now)), ARRIVE, job_id)
            return
        shortest_s = self._radio.shortest_upload_s(device, task)
        earliest_s = min(now + shortest_s, self._last_chance(task, device, now))
        heapq.heappush(self._later[task], (earliest_s, job_id))
        if not self._due[task] or earliest_s <= self._due[task][0][0]:
            self.changed[task] = None

    def announce(self, now: float) -> None:
        """Put the upload that is due first among the events, for each task where it may be another one now."""
        for task in self.changed:
            due, later = self._due[task], self._later[task]
            while later and (not due or later[0][0] <= due[0][0]):
                earliest_s, job_id = heapq.heappop(later)
                heapq.heappush(due, (self._end_s(task, job_id, now), job_id, earliest_s))
            self._mark[task] += 1
            if due:
                self._push(due[0][0], DUE, (task, self._mark[task]))
        self.changed.clear()

    def pop_due(self, task: int, mark: int) -> int | None:
        """The job whose upload ends with announcement `mark`; None if that does not count any more."""
        if mark != self._mark[task]:
            return None
        _, job_id, _ = heapq.heappop(self._due[task])
        self.changed[task] = None
        return job_id

    def planned_before(self, active: ActiveJob, now: float) -> ActiveJob | None:
        """A planned upload of an earlier slot that ends at the same time but for rounding."""
        order = active.job.dispatch
        if order.slot <= self.version[order.task]:
            return None
        limit_s = now * (1 + SAME_TIME)
        others = [
            other
            for other in self._jobs.values()
            if other.job.dispatch.task == order.task
            and 0 <= other.job.dispatch.slot < order.slot
            and other.upload_s
            and other.upload_start_s + other.upload_s <= limit_s
        ]
        return min(others, key=lambda other: other.job.dispatch.slot, default=None)

    def aggregated(self, task: int, version: int, now: float) -> None:
        """A slot is complete: uploads under way are timed anew, as those that complete the next one."""
        self.version[task] = version
        self._last_slot_s[task] = now
        for _, job_id, earliest_s in self._due[task]:
            heapq.heappush(self._later[task], (earliest_s, job_id))
        self._due[task] = []
        self.changed[task] = None

    def forget(self, active: ActiveJob) -> None:
        """The upload of a job, if it is under way, will not end."""
        if not active.upload_start_s:
            return
        task, job_id = active.job.dispatch.task, active.job.id
        self._due[task] = [entry for entry in self._due[task] if entry[1] != job_id]
        self._later[task] = [entry for entry in self._later[task] if entry[1] != job_id]
        heapq.heapify(self._due[task])
        heapq.heapify(self._later[task])
        self.changed[task] = None

    def finished(self, task: int) -> None:
        """The task has all its slots: none of its uploads counts."""
        self._due[task], self._later[task] = [], []
        self.changed[task] = None

    def _end_s(self, task: int, job_id: int, now: float) -> float:
        """When this upload ends if it completes the task's next slot; never before the slot before."""
        active = self._jobs[job_id]
        device, begin_s = active.job.dispatch.device, active.upload_start_s
        active.upload_s = self._radio.upload_s(device, task, self.version[task], begin_s)
        end_s = min(begin_s + active.upload_s, self._last_chance(task, device, now))
        return max(self._last_slot_s[task], end_s)

    def _last_chance(self, task: int, device: int, now: float) -> float:
        """The end of the window, at which an upload that is still under way fails."""
        return max(now, float(self._window_s[task][device]))

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {
            "due": [sorted(due) for due in self._due],
            "later": [sorted(later) for later in self._later],
            "mark": self._mark,
            "changed": list(self.changed),
            "version": self.version,
            "last_slot_s": self._last_slot_s,
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._due = [
            [(end_s, job_id, earliest_s) for end_s, job_id, earliest_s in due] for due in state["due"]
        ]
        self._later = [[(earliest_s, job_id) for earliest_s, job_id in later] for later in state["later"]]
        self._mark, self.version = list(state["mark"]), list(state["version"])
        self.changed = dict.fromkeys(state["changed"])
        self._last_slot_s = list(state["last_slot_s"])
