"""The part of a study that one machine takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shard:
    """The part of the missing runs that this machine takes: those whose key falls to `number` of `count`."""

    number: int = 0
    count: int = 1

    def takes(self, key: str) -> bool:
        """Whether a key falls to this part."""
        return int(key[:8], 16) % self.count == self.number
