"""The CPU of every device: who computes on it, and who waits for it."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from dmafl.base.arrays import FloatArray
from dmafl.server.messages import Plain

ROUNDING = 1e-9
"""A frequency this much above what is left, relative to it, is what is left but for rounding."""


class Cpus:
    """The frequencies of the jobs that compute on a device never add up to more than its f^max."""

    def __init__(self, frequency_min_Hz: FloatArray, frequency_max_Hz: FloatArray) -> None:
        self._min_Hz, self._max_Hz = frequency_min_Hz.tolist(), frequency_max_Hz.tolist()
        self._load_Hz = [0.0] * len(self._max_Hz)
        self._computing = [0] * len(self._max_Hz)
        self._queues: dict[int, deque[int]] = {}

    def frequency_Hz(self, device: int, wanted_Hz: float) -> float | None:
        """What a job gets that wants `wanted_Hz`, or None where too little is left and it must wait.

        A job gets what is left of the CPU, down to f^min: S5 holds at every instant whatever the plan was.
        """
        max_Hz = self._max_Hz[device]
        room_Hz = max_Hz - self._load_Hz[device] if self._computing[device] else max_Hz
        frequency_Hz = wanted_Hz if wanted_Hz <= room_Hz * (1 + ROUNDING) else room_Hz
        return None if frequency_Hz < min(self._min_Hz[device], wanted_Hz) else frequency_Hz

    def start(self, device: int, frequency_Hz: float) -> None:
        """A job computes from now on."""
        self._computing[device] += 1
        self._load_Hz[device] += frequency_Hz

    def end(self, device: int, frequency_Hz: float) -> Iterable[int]:
        """A job has ended its computation: the jobs that wait, in their order, to try again."""
        self._computing[device] -= 1
        self._load_Hz[device] = self._load_Hz[device] - frequency_Hz if self._computing[device] else 0.0
        return self._queues.pop(device, ())

    def busy(self, device: int) -> int:
        """How many jobs compute on the device."""
        return self._computing[device]

    def wait(self, device: int, job_id: int) -> None:
        """Let a job wait for the device's CPU."""
        self._queues.setdefault(device, deque()).append(job_id)

    def forget(self, device: int, job_id: int) -> None:
        """A job has ended, perhaps while it waited."""
        if job_id in self._queues.get(device, ()):
            self._queues[device].remove(job_id)

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {
            "load_Hz": self._load_Hz,
            "computing": self._computing,
            "queues": {str(i): list(queue) for i, queue in self._queues.items() if queue},
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._load_Hz, self._computing = list(state["load_Hz"]), list(state["computing"])
        self._queues = {int(i): deque(queue) for i, queue in state["queues"].items()}
