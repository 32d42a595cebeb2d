"""Who spent how much energy on what: exact sums by device, task and phase."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dmafl.randomness import FloatArray

Phase = Literal[0, 1, 2]
UPLINK: Phase = 0
COMPUTE: Phase = 1
DOWNLINK: Phase = 2

_PER_J = 10**18


class Ledger:
    """Energy in whole attojoules, so that sums over devices, tasks and phases agree to the last digit in any order."""

    def __init__(self, devices: int, tasks: int) -> None:
        self._entries = [[[0, 0, 0] for _ in range(tasks)] for _ in range(devices)]
        self._of_task = [[0, 0, 0] for _ in range(tasks)]
        self._own = [0] * devices

    def book(self, device: int, task: int, phase: Phase, energy_J: float) -> None:
        """A phase has ended and cost `energy_J`."""
        amount = round(energy_J * _PER_J)
        self._entries[device][task][phase] += amount
        self._of_task[task][phase] += amount
        if phase != DOWNLINK:
            self._own[device] += amount

    def task_J(self, task: int) -> tuple[float, float, float]:
        """Uplink, computation and downlink energy of a task so far [J]."""
        uplink, compute, downlink = self._of_task[task]
        return uplink / _PER_J, compute / _PER_J, downlink / _PER_J

    def device_J(self, device: int) -> float:
        """What a device has spent of its battery: uplink and computation of all tasks [J]."""
        return self._own[device] / _PER_J

    def table_J(self) -> FloatArray:
        """All entries [J], shape (devices, tasks, 3): uplink, compute, downlink."""
        return np.asarray(self._entries, dtype=object).astype(np.float64) / _PER_J

    def consistent(self) -> bool:
        """Whether sums over devices equal the tasks', and sums over tasks the devices'."""
        tasks = range(len(self._of_task))
        by_task = all(
            sum(row[task][phase] for row in self._entries) == self._of_task[task][phase]
            for task in tasks
            for phase in range(3)
        )
        return by_task and all(
            sum(row[task][0] + row[task][1] for task in tasks) == own
            for row, own in zip(self._entries, self._own, strict=True)
        )

    def state(self) -> list[list[list[str]]]:
        """The entries as text: JSON numbers are not exact at this size."""
        return [[[str(amount) for amount in cell] for cell in row] for row in self._entries]

    @classmethod
    def restored(cls, state: list[list[list[str]]]) -> Ledger:
        """From `state`."""
        ledger = cls(len(state), len(state[0]))
        ledger._entries = [[[int(amount) for amount in cell] for cell in row] for row in state]
        tasks = range(len(state[0]))
        ledger._of_task = [[sum(row[task][p] for row in ledger._entries) for p in range(3)] for task in tasks]
        ledger._own = [sum(cell[0] + cell[1] for cell in row) for row in ledger._entries]
        return ledger
