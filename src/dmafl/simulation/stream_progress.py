"""How far the data streams of devices, and of the test data, have come on the virtual clock."""

from __future__ import annotations

from collections.abc import Callable

from dmafl.world.physics.stream import progress_by_version, progress_in_time, sample_count
from dmafl.world.world import World

SampleCount = Callable[[int, int, float], int | None]
"""Samples of (device, task) at a progress of its stream, or None: as the scenario says."""


class StreamProgress:
    """Streams of all devices and tasks: time, the time spent computing, and the samples that have come."""

    def __init__(self, world: World, window_s: list[list[float]], samples: SampleCount) -> None:
        """`samples` overrides how many samples a device has, where it knows (a user's own stream)."""
        tasks = list(world.scenario.tasks.values())
        self._drift = [task.drift for task in tasks]
        self._slots = [task.slots for task in tasks]
        self._window_s, self._own_samples = window_s, samples
        grows = [task.drift.kind == "growth" for task in tasks]
        self._samples = [
            (task.samples_at_start, task.samples if grown else task.samples_at_start)
            for task, grown in zip(tasks, grows, strict=True)
        ]
        self._computed_s = [[0.0] * world.device_count for _ in tasks]

    def of(self, device: int, task: int, version: int, now: float) -> float:
        """How far a device's stream of a task has come for a job that has received `version`."""
        drift = self._drift[task]
        if drift.per_aggregation:
            progress = progress_by_version(version, self._slots[task])
        else:
            progress = progress_in_time(
                now,
                self._computed_s[task][device],
                self._window_s[task][device],
                drift.idle_rate,
                drift.active_rate,
            )
        return float(min(max(progress, 0.0), 1.0))

    def samples(self, device: int, task: int, progress: float) -> int:
        """How many samples the device has by then."""
        known = self._own_samples(device, task, progress)
        return known if known is not None else int(sample_count(*self._samples[task], progress))

    def computed(self, device: int, task: int, compute_s: float) -> None:
        """The device has computed for the task for `compute_s`."""
        self._computed_s[task][device] += compute_s

    def state(self) -> list[list[float]]:
        """As plain values, for a checkpoint: time spent computing by task and device [s]."""
        return self._computed_s

    def restore(self, state: list[list[float]]) -> None:
        """Go on from `state`."""
        self._computed_s = [list(row) for row in state]
