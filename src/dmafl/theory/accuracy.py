"""Predicted accuracy: which accuracy goes with a predicted error, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.schedule.predicted_accuracy import CONFIDENCE

POINTS = 2001
"""Errors at which the curve is looked at for a given accuracy."""
CLOSEST = 1e-6
"""Knots nearer to each other than this tell no slope."""

LEAST_SPREAD = 0.002
"""Two trainings of a schedule hardly differ by less, on ten thousand test samples."""


@dataclass(frozen=True)
class AccuracyCurve:
    """Accuracy as a falling function of the predicted error, straight between knots, with errors of held-out runs.

    The predicted error is the error rate (`theory.error_rate`), or the loss for tasks without labels.
    """

    error: tuple[float, ...]
    """Predicted errors at the knots, rising."""
    accuracy: tuple[float, ...]
    """Accuracy reached in the middle at each knot, falling."""
    spread: tuple[float, ...]
    """Standard deviation of the accuracy reached at each knot."""
    levels: tuple[float, ...]
    """Levels of the quantiles of residuals, rising, from above 0 to below 1."""
    quantiles: tuple[float, ...]
    """These quantiles, in units of `spread`: of (accuracy reached - accuracy of the curve), rising."""

    def at(self, error: float) -> float:
        """Accuracy that goes with a predicted error; beyond the knots the slope near their end goes on."""
        first, last = (self._beyond(error, side) for side in (0, -1))
        return float(np.clip(np.interp(error, self.error, self.accuracy) + first + last, 0.0, 1.0))

    def _beyond(self, error: float, side: int) -> float:
        """What is added to the accuracy at the first or last knot for an error that lies beyond it."""
        past = min(error - self.error[0], 0.0) if side == 0 else max(error - self.error[-1], 0.0)
        inner = len(self.error) // 3 + 1  # one piece alone may be flat by chance
        inner = inner if side == 0 else -1 - inner
        if abs(inner) >= len(self.error):
            inner = -1 if side == 0 else 0
        apart = self.error[inner] - self.error[side]
        rise = self.accuracy[inner] - self.accuracy[side]
        return past * rise / apart if abs(apart) > CLOSEST else 0.0

    def quantile(self, error: float, level: float) -> float:
        """Accuracy that runs with this predicted error stay below with probability `level`, within 0 and 1."""
        spread = float(np.interp(error, self.error, self.spread))
        off = spread * float(np.interp(level, self.levels, self.quantiles))
        return float(np.clip(self.at(error) + off, 0.0, 1.0))

    def interval(self, error: float, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """The interval in the middle that covers this share of runs."""
        tail = (1.0 - confidence) / 2.0
        return self.quantile(error, tail), self.quantile(error, 1.0 - tail)

    def rehearsed(self, error: float, accuracies: FloatArray) -> AccuracyCurve:
        """The curve moved through the mean of what a schedule with this predicted error reached in a few trainings.

        By how much another training of it is off is Student's t.
        """
        mean = float(np.mean(accuracies))
        moved = np.clip(np.asarray(self.accuracy) + mean - self.at(error), 0.0, 1.0)
        place = int(np.searchsorted(self.error, error))
        same = place < len(self.error) and self.error[place] == error
        at = (*self.error[:place], error, *self.error[place + same :])
        accuracy = (*np.maximum(moved[:place], mean), mean, *np.minimum(moved[place + same :], mean))
        spread, quantiles = _of_trainings(accuracies, self.levels)
        return AccuracyCurve(
            at, tuple(float(value) for value in accuracy), (spread,) * len(at), self.levels, quantiles
        )

    def of_error_rates(self, accuracies: FloatArray, apart: float) -> AccuracyCurve:
        """The curve of error rates that are 1 less the accuracy, with the spread of a few trainings of one schedule.

        `apart`: by how much error rates of other schedules are off beside that, as a standard deviation.
        """
        spread, quantiles = _of_trainings(accuracies, self.levels)
        wider = float(np.hypot(spread, apart))
        return AccuracyCurve((0.0, 1.0), (1.0, 0.0), (wider, wider), self.levels, quantiles)

    def error_for(self, accuracy: float, confidence: float = CONFIDENCE) -> float | None:
        """The largest predicted error with which `confidence` of the runs reach `accuracy`; None: not even 0 does."""
        errors = np.linspace(0.0, self.error[-1], POINTS)
        enough = np.asarray([self.quantile(error, 1.0 - confidence) >= accuracy for error in errors])
        if not enough.any():
            return None
        return float(errors[np.flatnonzero(enough)[-1]])


def _of_trainings(accuracies: FloatArray, levels: tuple[float, ...]) -> tuple[float, tuple[float, ...]]:
    """By how much another training may be off the mean of these: its spread, and quantiles in units of it."""
    from scipy.special import stdtrit

    count = len(accuracies)
    spread = max(float(np.std(accuracies, ddof=1)), LEAST_SPREAD) * float(np.sqrt(1.0 + 1.0 / count))
    return spread, tuple(float(value) for value in stdtrit(count - 1, np.asarray(levels)))
