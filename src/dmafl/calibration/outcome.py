"""The outcome of a probe, as it is cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """Loss and accuracy that a probe reached, and its CPU time; no loss where its numbers were not finite."""

    loss: float | None
    accuracy: float | None
    cpu_s: float

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_plain(cls, given: Any) -> Outcome | None:
        """From a file's values; None if they are not an outcome."""
        if not isinstance(given, Mapping) or set(given) != {"loss", "accuracy", "cpu_s"}:
            return None
        numbers = [value for value in given.values() if value is not None]
        return cls(**given) if all(isinstance(value, float) for value in numbers) else None
