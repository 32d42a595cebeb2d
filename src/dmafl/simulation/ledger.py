"""The energy ledger: exact sums by device, task and phase."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.server.messages import Plain

Phase = Literal[0, 1, 2]
UPLINK: Phase = 0
COMPUTE: Phase = 1
DOWNLINK: Phase = 2

TaskEnergy = tuple[float | None, float | None, float | None]
"""Uplink, computation and downlink energy [J]; None where a part of it was not measured."""

_PHASES = 3
_PER_J = 10**18
RESOLUTION_J = 1 / _PER_J
"""What a phase costs is rounded to a multiple of this [J]."""


def sum_J(energies_J: Iterable[float]) -> float:
    """The sum of phases as a ledger books them, to the last digit [J]."""
    return sum(_amount(energy_J) for energy_J in energies_J) / _PER_J


class Ledger:
    """Energy in whole attojoules, so that sums over devices, tasks and phases agree to the last digit in any order."""

    def __init__(self, devices: int, tasks: int) -> None:
        self._entries = [[[0] * devices for _ in range(_PHASES)] for _ in range(tasks)]
        self._of_task = [[0, 0, 0] for _ in range(tasks)]
        self._of_device = [0] * devices
        self._unmeasured: set[tuple[int, int]] = set()  # (task, phase)

    def book(self, device: int, task: int, phase: Phase, energy_J: float | None) -> None:
        """A phase has ended and cost `energy_J`; None: it was not measured, so that the sum is not known either."""
        if energy_J is None:
            self._unmeasured.add((task, phase))
            return
        amount = _amount(energy_J)
        self._entries[task][phase][device] += amount
        self._of_task[task][phase] += amount
        if phase != DOWNLINK:
            self._of_device[device] += amount

    def task_J(self, task: int) -> TaskEnergy:
        """Uplink, computation and downlink energy of a task so far [J]."""
        uplink, compute, downlink = (
            None if (task, phase) in self._unmeasured else amount / _PER_J
            for phase, amount in enumerate(self._of_task[task])
        )
        return uplink, compute, downlink

    def device_J(self, device: int) -> float:
        """What a device has spent of its battery, as far as measured: uplink and computation of all tasks [J]."""
        return self._of_device[device] / _PER_J

    def table_J(self) -> FloatArray:
        """All entries [J], shape (devices, tasks, 3): uplink, compute, downlink."""
        return np.moveaxis(np.asarray(self._entries, dtype=object).astype(np.float64), 2, 0) / _PER_J

    def consistent(self) -> bool:
        """Whether sums over devices equal the tasks', and sums over tasks the devices'."""
        return _task_sums(self._entries) == self._of_task and _device_sums(self._entries) == self._of_device

    def state(self) -> Plain:
        """The entries as text, by device, task and phase: JSON numbers are not exact at this size."""
        by_device = zip(*(zip(*task, strict=True) for task in self._entries), strict=True)
        return {
            "amounts": [[[str(amount) for amount in cell] for cell in row] for row in by_device],
            "unmeasured": sorted(self._unmeasured),
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        by_task = zip(*state["amounts"], strict=True)
        self._entries = [
            [[int(amount) for amount in column] for column in zip(*cells, strict=True)] for cells in by_task
        ]
        self._of_task = _task_sums(self._entries)
        self._of_device = _device_sums(self._entries)
        self._unmeasured = {(task, phase) for task, phase in state["unmeasured"]}


Entries = list[list[list[int]]]
"""By task, phase and device."""


def _task_sums(entries: Entries) -> list[list[int]]:
    return [[sum(column) for column in task] for task in entries]


def _device_sums(entries: Entries) -> list[int]:
    """Uplink and computation, over all tasks."""
    columns = [column for task in entries for column in (task[UPLINK], task[COMPUTE])]
    return [sum(amounts) for amounts in zip(*columns, strict=True)]


def _amount(energy_J: float) -> int:
    """An energy in whole attojoules."""
    return round(energy_J * _PER_J)
