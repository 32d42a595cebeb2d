"""When devices are there: stretches of time, the same for all schemes of a seed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.world.devices import Devices

FAR_S = 1e12
"""The end of a stretch in which the device's longest window ends: nothing can happen after that."""
NEVER_S = float("inf")

Stretch = tuple[float, float]
"""A device is there from the first time [s] on, and until the second, at which it is away."""


class OwnAvailability(Protocol):
    """A user's own availability."""

    def stretches(self, device: int, until_s: float) -> Iterable[Stretch]:
        """When `device` is there between 0 and `until_s`, in the order of time; later stretches do not matter."""
        ...


@dataclass(frozen=True, eq=False)
class Availability:
    """Stretches of device i are rows `offsets[i]` to `offsets[i+1]` of `from_s` and `to_s`; between them it is away.

    They neither touch nor overlap, and begin before `until_s`, the end of a device's longest window.
    """

    offsets: IntArray
    from_s: FloatArray
    to_s: FloatArray
    until_s: FloatArray
    given: bool = False
    """Whether it came from a file or from Python, so that the settings alone do not describe it."""

    @property
    def always(self) -> bool:
        """Whether devices never leave."""
        return len(self.offsets) == 0

    def stretches(self, device: int) -> list[Stretch]:
        """When the device is there; of one that never leaves, all of the time."""
        if self.always:
            return [(0.0, NEVER_S)]
        rows = slice(*self._rows(device))
        return list(zip(self.from_s[rows].tolist(), self.to_s[rows].tolist(), strict=True))

    def there(self, device: int, time_s: float) -> bool:
        """Whether the device is there."""
        if self.always:
            return True
        first, end = self._rows(device)
        row = bisect_right(self.from_s, time_s, first, end) - 1
        return bool(row >= first and time_s < self.to_s[row])

    def next_change_s(self, device: int, time_s: float) -> float:
        """When the device leaves or returns next, after `time_s`; infinity where it never does."""
        if self.always:
            return NEVER_S
        first, end = self._rows(device)
        row = bisect_right(self.from_s, time_s, first, end)
        if row > first and time_s < self.to_s[row - 1]:
            change_s = float(self.to_s[row - 1])
            return change_s if change_s < FAR_S else NEVER_S
        return NEVER_S if row == end else float(self.from_s[row])

    def last_change_s(self) -> float:
        """The last time at which any device leaves or returns; 0 where none does."""
        if self.always:
            return 0.0
        return float(np.concatenate([self.from_s, self.to_s[self.to_s < FAR_S]]).max(initial=0.0))

    def share(self) -> FloatArray:
        """Of its longest window, the share that each device is there."""
        if self.always:
            return np.ones(len(self.until_s))
        device = np.repeat(np.arange(len(self.until_s)), np.diff(self.offsets))
        until_s = self.until_s[device]
        there_s = np.minimum(self.to_s, until_s) - self.from_s
        return np.bincount(device, there_s, minlength=len(self.until_s)) / self.until_s

    def plain(self) -> dict[str, Any]:
        """As lists, for a file."""
        return {name: getattr(self, name).tolist() for name in ("offsets", "from_s", "to_s")}

    def _rows(self, device: int) -> tuple[int, int]:
        return int(self.offsets[device]), int(self.offsets[device + 1])


def always_there(devices: Devices) -> Availability:
    """Nobody leaves."""
    none = np.empty(0)
    return Availability(np.empty(0, dtype=np.int64), none, none, devices.window_s.max(axis=1))


def of_stretches(
    stretches: Sequence[Sequence[Stretch]], devices: Devices, given: bool = False
) -> Availability:
    """From the stretches of every device, in the order of time; those that touch are one."""
    until_s = devices.window_s.max(axis=1)
    kept = [
        list(_joined(of_device, last_s))
        for of_device, last_s in zip(stretches, until_s.tolist(), strict=True)
    ]
    offsets = np.concatenate([[0], np.cumsum([len(of_device) for of_device in kept])])
    flat = np.asarray([pair for of_device in kept for pair in of_device], dtype=np.float64).reshape(-1, 2)
    return Availability(offsets.astype(np.int64), flat[:, 0].copy(), flat[:, 1].copy(), until_s, given)


def _joined(stretches: Iterable[Stretch], until_s: float) -> Iterator[Stretch]:
    """Stretches that begin before `until_s`, those that touch as one."""
    before: Stretch | None = None
    for from_s, end_s in stretches:
        if from_s >= until_s:
            break
        to_s = end_s if end_s < until_s else FAR_S
        if before is not None and from_s <= before[1]:
            before = (before[0], max(before[1], to_s))
            continue
        if before is not None:
            yield before
        before = (from_s, to_s)
    if before is not None:
        yield before
