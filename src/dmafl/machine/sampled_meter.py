"""A meter that is read at every call and in between, so that no power and no turn of a counter is missed."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Protocol, Self

from dmafl.machine.system_files import NoReading


class Joules(Protocol):
    """A kind of meter: what was spent from one reading to the next."""

    source: str
    every_s: float
    """How often it must be read [s]."""

    def since_last_J(self, now_s: float) -> float:
        """Energy since the reading before [J], 0 for the first one; `NoReading` if it is not known."""
        ...


class SampledMeter:
    """Adds up the readings of a meter; a thread reads it every `every_s` and sleeps in between.

    Once a reading is missing the sum is unknown for good: a part of it was not measured. Open a new meter then.
    """

    def __init__(self, kind: Joules, clock: Callable[[], float] = time.monotonic) -> None:
        """Open it; `NoReading` if it cannot be read now."""
        self._kind, self._clock = kind, clock
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._total_J: float | None = kind.since_last_J(clock())
        arguments = (weakref.ref(self), self._closed, kind.every_s)
        threading.Thread(target=_read_now_and_then, args=arguments, daemon=True, name="energy meter").start()
        weakref.finalize(self, self._closed.set)

    @property
    def source(self) -> str:
        """What is measured."""
        return self._kind.source

    def joules(self) -> float | None:
        """Energy since it was opened [J]; None once a reading was missed, or after `close`."""
        with self._lock:
            if self._total_J is None or self._closed.is_set():
                return None
            try:
                self._total_J += self._kind.since_last_J(self._clock())
            except NoReading:
                self._total_J = None
            return self._total_J

    def close(self) -> None:
        """End its thread. One that is no longer used ends by itself."""
        self._closed.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_now_and_then(meter: weakref.ref[SampledMeter], closed: threading.Event, every_s: float) -> None:
    while not closed.wait(every_s):
        opened = meter()
        if opened is None or opened.joules() is None:
            return
        del opened  # else the meter would live as long as the thread sleeps
