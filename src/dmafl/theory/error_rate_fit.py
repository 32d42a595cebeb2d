"""The fit of the error rate to the accuracies of probes, by least squares with a little shrinkage."""

from __future__ import annotations

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.theory.error_rate import ErrorRate, Handicaps
from dmafl.theory.logistic import sigmoid

SHRINKAGE = 5e-3
"""Weight of a class's own margin beside one row of a probe: classes that probes do not tell apart stay alike."""
OF_FLOOR = 2.0
"""How much more its own floor counts: accuracies tell less of it."""
EMPHASIS, SMALLEST_ERROR = 0.5, 0.02
"""Residuals are divided by (error rate + SMALLEST_ERROR)^EMPHASIS: plans are among the good schedules."""
MOST_STEPS = 60
FLOOR_POWER = 0.1
"""How fast the floor falls with N. Probes tell too little of it: fitted, it was 0 to 0.4. Of 0.1 to 0.3 this is the one
with which planned runs of the tuning seeds 100 to 102 were predicted best. docs/calibration.md."""
_GLOBAL = 5
"""Unknowns that all classes share: margin, training, exchange, log softness, log floor."""
_START = (0.0, 0.4, 0.2, -1.2, -1.5)
_LOW = (-8.0, 0.0, 0.0, -4.0, -6.0)
_HIGH = (8.0, 5.0, 5.0, 3.0, 1.0)
_OWN = 3.0
"""How far a class may differ from all."""


def fit_error_rate(
    seen: Handicaps, accuracies: FloatArray, asked: FloatArray, response: float
) -> tuple[ErrorRate, float]:
    """The weights with which accuracies are met best, and the mean squared error with its emphasis."""
    from scipy.optimize import least_squares

    squares = _Squares(seen, accuracies, asked)
    classes = len(asked)
    own = np.full(2 * classes, _OWN)
    solved = least_squares(
        squares.residuals,
        np.concatenate([_START, np.zeros(2 * classes)]),
        jac=squares.slopes,
        bounds=(np.concatenate([_LOW, -own]), np.concatenate([_HIGH, own])),
        max_nfev=MOST_STEPS,
    )
    margin, training, exchange, log_softness, log_floor = solved.x[:_GLOBAL].tolist()
    rate = ErrorRate(
        response=response,
        training=training,
        exchange=exchange,
        softness=float(np.exp(log_softness)),
        margin=tuple((margin + solved.x[_GLOBAL : _GLOBAL + classes]).tolist()),
        floor=tuple(np.exp(log_floor + solved.x[_GLOBAL + classes :]).tolist()),
        floor_power=FLOOR_POWER,
    )
    return rate, float(np.mean(solved.fun[: len(accuracies)] ** 2))


class _Squares:
    """Residuals and their derivatives: rows of probes first, then what classes have of their own."""

    def __init__(self, seen: Handicaps, accuracies: FloatArray, asked: FloatArray) -> None:
        self.seen, self.accuracies, self.asked = seen, accuracies, asked
        classes, weight = len(asked), SHRINKAGE * np.sqrt(len(accuracies))
        self.shrinkage = np.repeat([weight, OF_FLOOR * weight], classes)
        emphasis = (1.0 - accuracies + SMALLEST_ERROR) ** -EMPHASIS
        self.emphasis = emphasis / np.sqrt(np.mean(emphasis**2))

    def residuals(self, x: FloatArray) -> FloatArray:
        """(n + 2 C,)."""
        _, right, floor, _ = self._parts(x)
        rows = (self.asked * (1.0 - floor) * right).sum(axis=1) - self.accuracies
        return np.concatenate([self.emphasis * rows, self.shrinkage * x[_GLOBAL:]])

    def slopes(self, x: FloatArray) -> FloatArray:
        """(n + 2 C, 5 + 2 C)."""
        lead, right, floor, softness = self._parts(x)
        n, classes = len(self.accuracies), len(self.asked)
        of_lead = self.asked * (1.0 - floor) * right * (1.0 - right)
        of_margin = of_lead / softness
        shared = of_margin.sum(axis=1)
        of_floor = np.where(floor < 1.0, -self.asked * floor * right, 0.0)
        slopes = np.zeros((n + 2 * classes, _GLOBAL + 2 * classes))
        slopes[:n, 0] = shared
        slopes[:n, 1] = shared * self.seen.log_training
        slopes[:n, 2] = shared * self.seen.log_exchange
        slopes[:n, 3] = -(of_lead * lead).sum(axis=1)
        slopes[:n, 4] = of_floor.sum(axis=1)
        slopes[:n, _GLOBAL : _GLOBAL + classes] = of_margin
        slopes[:n, _GLOBAL + classes :] = of_floor
        slopes[:n] *= self.emphasis[:, None]
        slopes[n:, _GLOBAL:] = np.diag(self.shrinkage)
        return slopes

    def _parts(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """Lead and right answers by row and class, the floor there, and the softness."""
        classes, softness = len(self.asked), float(np.exp(x[3]))
        margin = x[0] + x[1] * self.seen.log_training + x[2] * self.seen.log_exchange
        lead = (x[_GLOBAL : _GLOBAL + classes] + margin[:, None] - self.seen.handicap) / softness
        log_floor = x[4] + x[_GLOBAL + classes :] - FLOOR_POWER * self.seen.log_training[:, None]
        return lead, sigmoid(lead), np.exp(np.minimum(log_floor, 0.0)), softness
