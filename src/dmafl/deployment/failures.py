"""Why jobs on real machines end without an upload, and what that says of their devices."""

from __future__ import annotations

from dmafl.server.messages import LEFT
from dmafl.simulation.records import CRASHED, DEADLINE, DECLINED

WINDOW = "window"
OF_ERROR = {
    1: CRASHED,  # the device could not load the app
    2: CRASHED,  # the app raised an exception
    3: DEADLINE,  # the message's time is over
    4: CRASHED,  # the reply was lost
    5: LEFT,  # the device is not there any more
    6: DECLINED,  # a modifier of the device refused it
    7: CRASHED,  # the device got another app than the server's
    8: CRASHED,  # the process of the app ended
}
"""Flower's numbers of errors."""
MOST_IN_A_ROW = 3
"""A device of which so many jobs of a task in a row have failed is lost to the task, so that nothing waits for it."""


def reason_of(error: int) -> str:
    """In the words of a run's rows."""
    return OF_ERROR.get(error, CRASHED)


class Failures:
    """Failures in a row of each device and task."""

    def __init__(self) -> None:
        self._counts: dict[tuple[int, int], int] = {}

    def count(self, device: int, task: int) -> bool:
        """A job has failed; whether its device is to be lost to the task."""
        self._counts[device, task] = self._counts.get((device, task), 0) + 1
        if self._counts[device, task] < MOST_IN_A_ROW:
            return False
        del self._counts[device, task]
        return True

    def forget(self, device: int, task: int) -> None:
        """A job has come back."""
        self._counts.pop((device, task), None)

    def state(self) -> list[list[int]]:
        """As plain values, for a checkpoint."""
        return [[device, task, count] for (device, task), count in self._counts.items()]

    def restore(self, state: list[list[int]]) -> None:
        """Go on from `state`."""
        self._counts = {(device, task): count for device, task, count in state}
