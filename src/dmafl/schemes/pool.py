"""Devices that are idle on a task, from which one is drawn uniformly."""

from __future__ import annotations

from dmafl.randomness import purpose_word, uniform_one
from dmafl.server.messages import Plain


class IdlePool:
    """A set of devices with a uniform draw; every operation takes constant time."""

    def __init__(self, devices: int, seed: int, purpose: str, task: int) -> None:
        self._members = list(range(devices))
        self._place = {device: place for place, device in enumerate(self._members)}
        self._seed, self._word, self._task = seed, purpose_word(purpose), task
        self._draws = 0

    def __len__(self) -> int:
        return len(self._members)

    def draw(self) -> tuple[int, float]:
        """Take a device out, drawn uniformly; and a second uniform number of the same draw."""
        pick = uniform_one(self._seed, self._word, self._draws, 0, self._task)
        other = uniform_one(self._seed, self._word, self._draws, 1, self._task)
        self._draws += 1
        device = self._members[int(pick * len(self._members))]
        self.remove(device)
        return device, other

    def remove(self, device: int) -> None:
        """Take `device` out; nothing happens if it is not in."""
        place = self._place.pop(device, None)
        if place is not None:
            last = self._members.pop()
            if last != device:
                self._members[place] = last
                self._place[last] = place

    def put_back(self, device: int) -> None:
        """Put `device` in."""
        if device not in self._place:
            self._place[device] = len(self._members)
            self._members.append(device)

    def state(self) -> Plain:
        """What a checkpoint needs."""
        return {"members": list(self._members), "draws": self._draws}

    def restore(self, state: Plain) -> None:
        """Go on from `state`."""
        self._members, self._draws = list(state["members"]), state["draws"]
        self._place = {device: place for place, device in enumerate(self._members)}
