"""What is to happen on the virtual clock, in the order of (time, kind, sequence)."""

from __future__ import annotations

import heapq
from dataclasses import asdict
from typing import Any

from dmafl.server.messages import Dispatch, Plain

PLANNED, ARRIVE, DUE, LEAVE, JOIN, COMPUTED, DOWNLOADED, READY, WAKE, TICK = range(10)
"""Kinds of events, in the order in which they happen at one instant.

A planned order comes first and waits at the server for the version that it names: at an instant at which several
slots complete it must not miss it. A device leaves after its upload has ended, but before anything new begins.
"""
ORDERS = frozenset((PLANNED, WAKE))
"""Kinds whose subject is a `Dispatch`."""
OF_A_JOB = frozenset((ARRIVE, COMPUTED, DOWNLOADED, READY))
"""Kinds whose subject is the id of a job."""


class EventHeap:
    """Entries (time, kind, sequence, subject): at one time and of one kind, first come, first served."""

    def __init__(self) -> None:
        self.entries: list[tuple[float, int, int, Any]] = []
        self._sequence = 0

    def push(self, time_s: float, kind: int, subject: Any) -> None:
        """Let something happen at `time_s`."""
        heapq.heappush(self.entries, (time_s, kind, self._sequence, subject))
        self._sequence += 1

    def drop_orders(self, device: int) -> None:
        """Forget the orders of a device."""
        kept = [entry for entry in self.entries if entry[1] not in ORDERS or entry[3].device != device]
        if len(kept) < len(self.entries):
            self.entries[:] = kept
            heapq.heapify(self.entries)

    def state(self) -> Plain:
        """As plain values, for a checkpoint."""
        return {
            "sequence": self._sequence,
            "entries": [
                [time_s, kind, sequence, asdict(subject) if kind in ORDERS else subject]
                for time_s, kind, sequence, subject in sorted(self.entries)
            ],
        }

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._sequence = state["sequence"]
        self.entries = [
            (time_s, kind, sequence, _subject(kind, subject))
            for time_s, kind, sequence, subject in state["entries"]
        ]
        heapq.heapify(self.entries)


def _subject(kind: int, saved: Any) -> Any:
    if kind in ORDERS:
        return Dispatch(**saved)
    return tuple(saved) if kind == DUE else saved
