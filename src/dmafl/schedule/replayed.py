"""A schedule with the timeline that its replay gives: what the rules are evaluated on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.schedule.checks import TOLERANCE
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import Timeline, completion_s, replay
from dmafl.world.world import World


@dataclass(frozen=True, eq=False)
class Replayed:
    """A schedule with its timeline and completion times, as the rules need it."""

    world: World
    schedule: Schedule
    timeline: Timeline

    @classmethod
    def of(cls, world: World, schedule: Schedule) -> Replayed:
        """Replay `schedule` in `world`."""
        return cls(world, schedule, replay(world, schedule))

    @cached_property
    def tau_s(self) -> FloatArray:
        """Completion times of all slots, task after task."""
        return completion_s(self.world, self.schedule, self.timeline.end_s)[0]

    @cached_property
    def offsets(self) -> IntArray:
        """Where each task begins in `tau_s`."""
        return np.concatenate([[0], np.cumsum(self.world.slots)])

    @cached_property
    def slack_s(self) -> float:
        """Tolerance of times [s], relative to the largest finite one."""
        end_s = self.timeline.end_s
        return TOLERANCE * float(end_s[np.isfinite(end_s)].max(initial=0.0))

    def slot_time_s(self, task: IntArray, slot: IntArray) -> FloatArray:
        """tau of each (task, slot); -inf below slot 0, inf for a slot that no job completes or that does not exist."""
        exists = (slot >= 0) & (slot < self.world.slots[task])
        where = np.where(exists, self.offsets[task] + slot, 0)
        return np.where(exists, self.tau_s[where], np.where(slot < 0, -np.inf, np.inf))

    def job(self, k: int) -> str:
        """Job k in words."""
        s, w = self.schedule, self.world
        return (
            f"device {w.devices.id[s.device[k]]}, task {w.task_names[s.task[k]]}, "
            f"version {s.version[k]}, slot {s.slot[k]}"
        )
