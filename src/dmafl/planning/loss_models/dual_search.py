"""The best prices of a dual function, and the least of its values over all pieces of A."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.planning.loss_models.calibrated_bound import DualFunction, Prices

PIECES = 4
"""Of the range of A to begin with."""
NARROW = 1.04
"""Ratio of the ends of a piece at which it is not divided any more."""
MOST_PIECES = 60
"""That are looked at; the bound holds wherever the search ends."""
HEATS = (1e-2, 1e-3, 1e-4)
"""Of the smoothed function, in units of what the task costs by slot, while prices are searched from nothing."""
WARM_HEATS = (1e-3, 1e-4)
"""The same from prices of another piece."""
STEPS, WARM_STEPS = 60, 12
"""Of the search for prices at each heat."""


@dataclass(frozen=True, eq=False)
class DualSearch:
    """Searches prices of one task."""

    dual: DualFunction

    def bound(self) -> float:
        """The least over pieces: the lowest one gets better prices, then it is divided, again and again."""
        low, high = self.dual.work_range
        ends = np.geomspace(low, high, PIECES + 1).tolist()
        x = self._best((ends[-2], ends[-1]), self._start(ends[-2]), HEATS, STEPS)[1]
        lowest = [self._known((a, b), x, k) for k, (a, b) in enumerate(pairwise(ends))]
        heapq.heapify(lowest)
        for number in range(PIECES, MOST_PIECES):
            value, _, piece, x, improved = heapq.heappop(lowest)
            if not improved:
                better, x = self._best(piece, x, WARM_HEATS, WARM_STEPS)
                heapq.heappush(lowest, (max(better, value), number, piece, x, True))
            elif piece[1] / piece[0] > NARROW:
                middle = float(np.sqrt(piece[0] * piece[1]))
                for half in ((piece[0], middle), (middle, piece[1])):
                    heapq.heappush(lowest, self._known(half, x, 2 * number + (half[0] == middle)))
            else:
                heapq.heappush(lowest, (value, number, piece, x, improved))
                break
        return lowest[0][0]

    def _known(
        self, piece: tuple[float, float], x: FloatArray, number: int
    ) -> tuple[float, int, tuple[float, float], FloatArray, bool]:
        """A piece with the prices of another one."""
        return self.dual.value(self.prices(x), piece)[0], number, piece, x, False

    def _best(
        self, piece: tuple[float, float], x: FloatArray, heats: tuple[float, ...], steps: int
    ) -> tuple[float, FloatArray]:
        """The best bound found for a piece, and its prices."""
        from scipy.optimize import minimize

        found = (-np.inf, x)
        for heat in heats:
            x = minimize(
                self._smooth,
                x,
                args=(piece, heat * self.dual.scale / self.dual.frame.slots),
                jac=True,
                method="L-BFGS-B",
                bounds=self._limits(),
                options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20},
            ).x
            found = max(found, (self.dual.value(self.prices(x), piece)[0], x), key=lambda pair: pair[0])
        return found

    # -- prices as numbers of about 1 -----------------------------------------------------------------

    def _units(self) -> tuple[float, FloatArray, float]:
        """Of prices of work, of seconds and of devices."""
        d, scale = self.dual, self.dual.scale
        at_a_time = np.arange(1, d.costs.most_in_flight + 1)
        return scale / d.work_range[1], 0.1 * scale / d.costs.window_s / at_a_time, 0.1 * scale

    def prices(self, x: FloatArray) -> Prices:
        """The prices that x stands for."""
        work, second, device = self._units()
        R, balance = len(second), self.dual.balance
        return Prices(
            training=float(np.exp(x[0])),
            exchange=float(np.exp(x[1])),
            work=float(x[2]) * work,
            second=x[3 : 3 + R] * second,
            device=x[3 + R :] * device if balance.free else balance.given,
        )

    def _smooth(self, x: FloatArray, piece: tuple[float, float], heat: float) -> tuple[float, FloatArray]:
        """What is to be made small, and its derivatives."""
        prices = self.prices(x)
        value, slope = self.dual.value(prices, piece, heat)
        work, second, device = self._units()
        of_sums = [slope.training * prices.training, slope.exchange * prices.exchange, slope.work * work]
        of_devices = slope.device * device if self.dual.balance.free else np.empty(0)
        gradient = np.concatenate([of_sums, slope.second * second, of_devices])
        return -value / self.dual.scale, -gradient / self.dual.scale

    def _limits(self) -> list[tuple[float | None, float | None]]:
        d = self.dual
        devices = len(d.costs.cycles) if d.balance.free else 0
        return [(-100.0, 100.0)] * 2 + [(None, None)] + [(0.0, None)] * (d.costs.most_in_flight + devices)

    def _start(self, work: float) -> FloatArray:
        d, seconds = self.dual, self._units()[1]
        x = np.zeros(len(self._limits()))
        x[0], x[1] = np.log(d.frame.rate * work), np.log(d.most_exchange)
        x[3] = d.frame.weight * d.weights.drift * d.idle_drift / seconds[0]
        return x
