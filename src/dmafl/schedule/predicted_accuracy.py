"""What a plan is predicted to reach: a loss, the accuracy that goes with it, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

CONFIDENCE = 0.8
"""Share of runs that an interval is to cover, where nothing else is asked for."""


@dataclass(frozen=True)
class PredictedAccuracy:
    """The loss that a schedule is predicted to reach, the accuracy that goes with it, and an interval for that."""

    loss: float
    accuracy: float
    low: float
    high: float
    confidence: float = CONFIDENCE
    """Share of runs that end between `low` and `high`."""
