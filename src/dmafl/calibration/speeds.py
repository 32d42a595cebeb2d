"""How fast devices compute, from what their jobs took: the profile of a device may be wrong, or its machine busy."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.world.world import World

MEMORY = 5
"""Last jobs of a device and task that count: their median, so that one slow job says nothing."""
CLEAR = 1.25
"""A device is taken for faster or slower than its profile where it is by more than this factor."""


class Speeds:
    """Of every device and task, how many times longer jobs compute than the world says."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._factors: dict[tuple[int, int], deque[float]] = {}

    def on_period(
        self, task: int, device: int, steps: int, batch: int, frequency_Hz: float, compute_s: float
    ) -> None:
        """A job has computed for `compute_s` at this frequency; ignored where nobody has taken the time."""
        if not (compute_s > 0 and frequency_Hz > 0 and batch > 0):
            return
        i, j = np.asarray(device), np.asarray(task)
        expected_s = float(self._world.compute_s(i, j, steps, batch, frequency_Hz))
        if expected_s > 0:
            last = self._factors.setdefault((device, task), deque(maxlen=MEMORY))
            last.append(compute_s / expected_s)

    @property
    def factors(self) -> FloatArray:
        """Times longer than the world says, (I, J); of a task that a device has not trained yet, as for its others."""
        out = np.full((self._world.device_count, self._world.task_count), np.nan)
        for (device, task), last in self._factors.items():
            out[device, task] = float(np.median(last))
        for device in range(len(out)):
            known = out[device][np.isfinite(out[device])]
            out[device] = np.where(
                np.isfinite(out[device]), out[device], np.median(known) if len(known) else 1.0
            )
        clear = (out > CLEAR) | (out < 1 / CLEAR)
        return np.where(clear, out, 1.0)

    def world(self) -> World:
        """The world with devices as fast as they have been; itself where all are as it says.

        Cycles stand for time; energy stays that of the profile, for a slow machine need not take more.
        """
        factors = self.factors
        if (factors == 1.0).all():
            return self._world
        devices = self._world.devices
        of_device = np.median(factors, axis=1)
        return replace(
            self._world,
            devices=replace(
                devices,
                cycles_per_sample=devices.cycles_per_sample * factors,
                capacitance_Js2=devices.capacitance_Js2 / of_device,
            ),
        )

    def state(self) -> list[list[Any]]:
        """As plain values."""
        return [[device, task, list(last)] for (device, task), last in self._factors.items()]

    def restore(self, state: list[list[Any]]) -> None:
        """Go on from `state`."""
        self._factors = {(device, task): deque(last, maxlen=MEMORY) for device, task, last in state}
