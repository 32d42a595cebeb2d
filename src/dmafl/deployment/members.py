"""Which connected device is which device of the world, also after it or the server has been away."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from dmafl.deployment.link import Node
from dmafl.server.messages import Joined, Left, Plain

log = logging.getLogger(__name__)


class Members:
    """Devices by their numbers in the world.

    A device that was registered with the name of one in the world is that one; others take the lowest number that
    nobody has had, or else that of a device that is away.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._number: dict[str, int] = {}
        """Of every key that was seen."""
        self._present: dict[int, Node] = {}
        self._strangers: set[str] = set()

    @property
    def present(self) -> frozenset[int]:
        """Numbers of those that are there."""
        return frozenset(self._present)

    def node(self, device: int) -> int:
        """The address of a device that is there."""
        return self._present[device].id

    def drop(self, device: int) -> None:
        """A device has turned out not to be there; it joins anew when it is connected."""
        self._present.pop(device, None)

    def update(self, nodes: Sequence[Node]) -> list[Left | Joined]:
        """Who has left and who has joined, now that these are connected."""
        connected = {node.key: node for node in nodes}
        changes: list[Left | Joined] = []
        for device, before in sorted(self._present.items()):
            now = connected.get(before.key)
            if now is None or (now.id, now.since) != (before.id, before.since):
                del self._present[device]
                changes.append(Left(device))
        # Those that are known, or named, come first: a new one must not take the number of one that comes with it.
        for node in sorted(
            connected.values(),
            key=lambda node: (node.key not in self._number, node.name not in self._names, node.id),
        ):
            if any(there.key == node.key for there in self._present.values()):
                continue
            number = self._number_for(node)
            if number is None:
                self._note_stranger(node)
                continue
            self._number = {key: of_key for key, of_key in self._number.items() if of_key != number}
            self._number[node.key] = number
            self._present[number] = node
            self._strangers.discard(node.key)
            changes.append(Joined(number))
            log.info(
                "device %s is node %d%s", self._names[number], node.id, f" ({node.name})" if node.name else ""
            )
        return changes

    def state(self) -> Plain:
        """As plain values, for a checkpoint: who is who, and who was there."""
        return {"numbers": dict(self._number), "present": sorted(self._present)}

    def restore(self, state: Plain, nodes: Sequence[Node]) -> list[Left | Joined]:
        """Go on from `state` with those that are connected now; who has left or joined since."""
        self._number, self._present = dict(state["numbers"]), {}
        there = set(state["present"])
        changes = self.update(nodes)
        joined = [change for change in changes if change.device not in there]
        return [*map(Left, sorted(there - self.present)), *joined]

    def _number_for(self, node: Node) -> int | None:
        known = self._number.get(node.key)
        if known is not None and known not in self._present:
            return known
        if node.name in self._names:
            named = self._names.index(node.name)
            return named if named not in self._present else None
        everyone = range(len(self._names))
        had = set(self._number.values())
        new = (device for device in everyone if device not in had)
        away = (device for device in everyone if device not in self._present)
        return next(new, next(away, None))

    def _note_stranger(self, node: Node) -> None:
        if node.key not in self._strangers:
            self._strangers.add(node.key)
            log.warning(
                "node %d gets no jobs: all %d devices of the world are there", node.id, len(self._names)
            )
