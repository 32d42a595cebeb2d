"""The radio of every device: who transfers on it and, where transfers share it, who waits."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from typing import Any, Literal

from dmafl.server.messages import Dispatch, Plain

Use = Literal["wake", "download", "upload"]
"""What a radio is wanted for: an order that is to start, or a transfer of a job."""
NOBODY = -1


class RadioQueues:
    """With a radio of their own transfers do not meet; on a shared one they queue, first come, first served."""

    def __init__(self, devices: int, shared: bool) -> None:
        self._shared = shared
        self._user = [NOBODY] * devices
        self._queues: dict[int, deque[tuple[Use, Any]]] = {}

    def free(self, device: int, use: Use, subject: Any) -> bool:
        """Whether `subject`, an order or the id of a job, may use it now; otherwise it queues."""
        if not self._shared or self._user[device] < 0:
            return True
        self._queues.setdefault(device, deque()).append((use, subject))
        return False

    def take(self, device: int, job_id: int) -> None:
        """A transfer of the job begins."""
        self._user[device] = job_id

    def used_by(self, device: int) -> int:
        """The job that transfers."""
        return self._user[device]

    def release(self, device: int) -> deque[tuple[Use, Any]] | None:
        """A transfer has ended: those that wait, to be taken from the left until one transfers; None if nobody can."""
        self._user[device] = NOBODY
        return self._queues.get(device) if self._shared else None

    def forget_device(self, device: int) -> None:
        """A device has left: nobody waits for its radio any more."""
        self._queues.pop(device, None)

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {
            "user": self._user,
            "queues": {
                str(i): [[use, asdict(subject) if use == "wake" else subject] for use, subject in queue]
                for i, queue in self._queues.items()
                if queue
            },
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._user = list(state["user"])
        self._queues = {
            int(i): deque((use, Dispatch(**subject) if use == "wake" else subject) for use, subject in queue)
            for i, queue in state["queues"].items()
        }
