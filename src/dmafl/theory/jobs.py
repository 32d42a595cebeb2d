"""The jobs of one task as the theory sees them: slot after slot, with weights, work and times."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.learning.aggregation import mix_weight
from dmafl.schedule.jobs import Schedule
from dmafl.schedule.timeline import Timeline
from dmafl.theory.mixing import staleness_factor
from dmafl.world.world import World

TIMES = ("idle_s", "start_s", "download_s", "compute_s", "upload_s", "end_s")


@dataclass(frozen=True, eq=False)
class TaskJobs:
    """Job k completes slot k, k = 0..G-1. Times are only needed by the terms of drift."""

    device: IntArray
    version: IntArray
    steps: FloatArray
    batch: FloatArray
    samples: FloatArray
    mix: FloatArray
    """alpha_k: weight of the local model."""
    rate: FloatArray
    """eta_k: learning rate."""
    proximal: float
    """rho_p."""
    idle_s: FloatArray
    start_s: FloatArray
    download_s: FloatArray
    compute_s: FloatArray
    upload_s: FloatArray
    end_s: FloatArray

    @classmethod
    def untimed(cls, **columns: Any) -> TaskJobs:
        """Jobs of a schedule without a clock: all its times are 0."""
        times: dict[str, Any] = dict.fromkeys(TIMES, np.zeros(len(columns["device"])))
        return cls(**columns, **times)

    def __len__(self) -> int:
        return len(self.device)

    @property
    def slot(self) -> IntArray:
        """0, 1, ..., G-1."""
        return np.arange(len(self))

    @property
    def staleness(self) -> IntArray:
        """s_k = k - v_k."""
        return self.slot - self.version

    @property
    def horizon_s(self) -> float:
        """H: when the last slot completes."""
        return float(self.end_s.max(initial=0.0))

    def with_(self, **changes: Any) -> TaskJobs:
        """The same jobs with some columns changed."""
        return replace(self, **changes)

    def first(self, count: int) -> TaskJobs:
        """The jobs of the first `count` slots."""
        columns = {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}
        return self.with_(**{name: value[:count] for name, value in columns.items()})


def jobs_of(world: World, schedule: Schedule, timeline: Timeline, task: int) -> TaskJobs:
    """The jobs of `task` in the order of their slots; the schedule must complete every slot once (rule S1)."""
    settings = list(world.scenario.tasks.values())[task]
    rows = schedule.rows_of_task(task)
    slot, version = schedule.slot[rows], schedule.version[rows]
    mix = mix_weight(
        settings.mixing, staleness_factor(settings), slot - version, slot, settings.mix_decay or None
    )
    return TaskJobs(
        device=schedule.device[rows],
        version=version,
        steps=schedule.steps[rows],
        batch=schedule.batch[rows],
        samples=timeline.samples[rows].astype(np.float64),
        mix=mix,
        rate=np.full(len(rows), settings.learning_rate),
        proximal=settings.proximal,
        idle_s=timeline.idle_s[rows],
        start_s=schedule.start_s[rows],
        download_s=timeline.download_s[rows],
        compute_s=timeline.compute_s[rows],
        upload_s=timeline.upload_s[rows],
        end_s=timeline.end_s[rows],
    )
