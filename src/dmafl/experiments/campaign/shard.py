"""The part of many pieces that one machine takes."""

from __future__ import annotations

from dataclasses import dataclass

from dmafl.base.errors import bad_input


@dataclass(frozen=True)
class Shard:
    """The part of the missing pieces that this machine takes: those whose key falls to `number` of `count`."""

    number: int = 0
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """From `K/N`, where K counts from 1."""
        number, _, count = text.partition("/")
        if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
            raise bad_input("shard", "must be K/N with 1 <= K <= N", text, "For two machines: 1/2 and 2/2.")
        return cls(int(number) - 1, int(count))

    def __str__(self) -> str:
        return f"{self.number + 1}/{self.count}"

    def takes(self, key: str) -> bool:
        """Whether a key falls to this part."""
        return int(key[:8], 16) % self.count == self.number
