"""What a probe came to, as it is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    """What a probe reached, and its CPU time; no loss where its numbers left the finite range."""

    loss: float | None
    accuracy: float | None
    cpu_s: float

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        return asdict(self)

    @classmethod
    def from_plain(cls, given: Any) -> Outcome | None:
        """From a file's values; None where they are something else."""
        if not isinstance(given, Mapping) or set(given) != {"loss", "accuracy", "cpu_s"}:
            return None
        numbers = [value for value in given.values() if value is not None]
        return cls(**given) if all(isinstance(value, float) for value in numbers) else None
