"""Devices that are idle on a task, from which one is drawn uniformly."""

from __future__ import annotations

import numpy as np

from dmafl.base.randomness import uniform
from dmafl.server.messages import Plain

_BLOCK = 256
"""Draws computed at once: a number of a block costs a thirtieth of one computed alone."""
_OUT = -1
"""Place of a device that is not in the pool."""


class IdlePool:
    """A set of devices with a uniform draw; every operation takes constant time."""

    def __init__(self, devices: int, seed: int, purpose: str, task: int) -> None:
        self._members = list(range(devices))
        self._place = list(range(devices))
        self._seed, self._purpose, self._task = seed, purpose, task
        self._draws = 0
        self._ahead: list[list[float]] = []

    def __len__(self) -> int:
        return len(self._members)

    def draw(self) -> tuple[int, float]:
        """Take a device out, drawn uniformly; and a second uniform number of the same draw."""
        if not self._ahead:
            numbers = np.arange(self._draws, self._draws + _BLOCK)[::-1, None]
            self._ahead = uniform(self._seed, self._purpose, numbers, [0, 1], self._task).tolist()
        pick, other = self._ahead.pop()
        self._draws += 1
        device = self._members[int(pick * len(self._members))]
        self.remove(device)
        return device, other

    def remove(self, device: int) -> None:
        """Take `device` out; nothing happens if it is not in."""
        place = self._place[device]
        if place != _OUT:
            last = self._members.pop()
            if last != device:
                self._members[place] = last
                self._place[last] = place
            self._place[device] = _OUT

    def put_back(self, device: int) -> None:
        """Put `device` in."""
        if self._place[device] == _OUT:
            self._place[device] = len(self._members)
            self._members.append(device)

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {"members": list(self._members), "draws": self._draws}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._members, self._draws, self._ahead = list(state["members"]), state["draws"], []
        self._place = [_OUT] * len(self._place)
        for place, device in enumerate(self._members):
            self._place[device] = place
