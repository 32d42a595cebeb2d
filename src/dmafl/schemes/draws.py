"""Resources that a scheme does not choose: drawn once for each device and task, the same in every scheme of a seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.randomness import uniform
from dmafl.server.messages import Dispatch
from dmafl.world.world import World


@dataclass(frozen=True, eq=False)
class Drawn:
    """Steps, batch and frequency of every device and task, shape (I, J)."""

    steps: IntArray
    batch: IntArray
    frequency_Hz: FloatArray

    @classmethod
    def of(cls, world: World) -> Drawn:
        """e and B uniform on the task's ranges, f uniform on [f^min, f^max / J]."""
        I, J = world.device_count, world.task_count  # noqa: E741
        device, task = np.meshgrid(np.arange(I), np.arange(J), indexing="ij")
        seed = world.scenario.seed
        low_Hz, high_Hz = world.devices.frequency_min_Hz, world.devices.frequency_max_Hz / J
        if (low_Hz > high_Hz).any():
            i = int(np.argmax(low_Hz > high_Hz))
            raise bad_input(
                "fleet.frequency_min_Hz",
                "must be at most frequency_max_Hz / J, so that all tasks can compute at once",
                ShownAsIs(f"{low_Hz[i]:g} > {high_Hz[i]:g} on device {world.devices.id[i]}"),
                "Lower frequency_min_Hz, raise frequency_max_Hz or have fewer tasks.",
            )
        u = uniform(seed, "draw.frequency", device, task)
        return cls(
            steps=_whole(world, "steps", uniform(seed, "draw.steps", device, task)),
            batch=_whole(world, "batch", uniform(seed, "draw.batch", device, task)),
            frequency_Hz=low_Hz[:, None] + (high_Hz - low_Hz)[:, None] * u,
        )

    def order(self, device: int, task: int, start_s: float) -> Dispatch:
        """The order to `device` with its drawn resources."""
        return Dispatch(
            task,
            device,
            start_s,
            int(self.steps[device, task]),
            int(self.batch[device, task]),
            float(self.frequency_Hz[device, task]),
        )


def _whole(world: World, name: str, u: FloatArray) -> IntArray:
    tasks = list(world.scenario.tasks.values())
    low = np.asarray([getattr(task, f"{name}_min") for task in tasks])
    high = np.asarray([getattr(task, f"{name}_max") for task in tasks])
    return np.asarray(low + np.floor(u * (high - low + 1)), dtype=np.int64)
