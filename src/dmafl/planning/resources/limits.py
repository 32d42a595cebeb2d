"""The limits of a fixed schedule as linear rows in steps, work, computing times and slot times.

Each variable is in units in which it is about 1. Batteries are not linear and left to the solvers.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.resources.fixed_schedule import FixedSchedule, Point

MARGIN = 1e-8
"""Share of a window or battery that is left free, so that what a solver leaves open breaks no rule."""
_SAME = 1e-12
"""Relative width of a range that is one number."""


@dataclass(eq=False)
class Rows:
    """Rows a'x <= b, a'x = b or of cones, collected in blocks."""

    height: int = 0
    _row: list[IntArray] = field(default_factory=list)
    _column: list[IntArray] = field(default_factory=list)
    _value: list[FloatArray] = field(default_factory=list)
    _bound: list[FloatArray] = field(default_factory=list)

    def add(self, bound: FloatArray, *terms: tuple[IntArray, FloatArray | float]) -> IntArray:
        """One row, the sum of value x[column], for each entry of `bound`; returns their numbers."""
        rows = self.height + np.arange(len(bound))
        for column, value in terms:
            self.entries(rows, column, value)
        self._bound.append(np.asarray(bound, dtype=np.float64))
        self.height += len(bound)
        return rows

    def entries(self, rows: IntArray, column: IntArray, value: FloatArray | float) -> None:
        """Further entries of rows that exist."""
        self._row.append(rows)
        self._column.append(column)
        self._value.append(np.broadcast_to(np.asarray(value, dtype=np.float64), rows.shape))

    def copy(self) -> Rows:
        """Rows to which more can be added."""
        return Rows(self.height, list(self._row), list(self._column), list(self._value), list(self._bound))

    def matrix(self, width: int) -> tuple[csr_matrix, FloatArray]:
        """As a sparse matrix and right-hand sides."""
        if not self.height:
            return csr_matrix((0, width)), np.empty(0)
        parts = (self._value, self._row, self._column)
        values, rows, columns = (
            np.concatenate(part) if part else np.empty(0, dtype=np.int64) for part in parts
        )
        made = coo_matrix((values, (rows, columns)), shape=(self.height, width))
        return made.tocsr(), np.concatenate(self._bound)


class Limits:
    """Linear limits of a schedule; units come from a point."""

    def __init__(self, fixed: FixedSchedule, reference: Point) -> None:
        self.fixed, s, n = fixed, fixed, len(fixed)
        self.unit_e, self.unit_q, self.unit_T = reference.steps, reference.work, reference.compute_s
        self.unit_z = s.kappa * self.unit_q**3 / self.unit_T**2
        lengths = [of_task.mean() for of_task in s.per_task(s.radio_s + self.unit_T)]
        self.unit_tau = np.asarray(lengths)[s.task]
        self.width = 4 * n
        self.e, self.q, self.T, self.tau = np.arange(4 * n).reshape(4, n)
        self.equal, self.less = Rows(), Rows()
        self._ranges()
        self._order()
        rows = s.window_rows
        relative = self.unit_tau[rows] / s.window_s[rows]
        self.windows = self.less.add(np.full(len(rows), 1.0 - MARGIN), (self.tau[rows], relative))
        self.limited = self._limited_devices()
        """Devices whose battery could run out."""
        self.room_J = np.maximum(s.battery_J, self._least_J())[self.limited]
        """Units of their batteries."""
        self.battery = s.battery_J[self.limited] / self.room_J * (1.0 - MARGIN)
        """What they hold, in these units."""

    def point(self, x: FloatArray) -> Point:
        """The variables in their own units."""
        return Point(x[self.e] * self.unit_e, x[self.q] * self.unit_q, x[self.T] * self.unit_T)

    def window_prices(self, dual: FloatArray) -> FloatArray:
        """Cost saved by another second of the windows of each task, from the duals of `less`, (J,)."""
        s = self.fixed
        prices = np.zeros(len(s.jobs))
        np.add.at(prices, s.task[s.window_rows], dual[self.windows] / s.window_s[s.window_rows])
        return prices

    def job_prices(self, dual: FloatArray) -> FloatArray:
        """Cost of another second of each job, through the slots that wait for it, (n,)."""
        prices = np.zeros(len(self.fixed))
        prices[self._free] = dual[self._fits] / self.unit_tau[self._free]
        np.add.at(prices, self._stale, -dual[self._starts] / self.unit_tau[self._stale])
        return np.asarray(prices)

    def _limited_devices(self) -> IntArray:
        s = self.fixed
        most = s.kappa * s.steps[1] * s.batch[1] / s.s_per_sample[0] ** 2
        need = np.bincount(s.device, most, minlength=s.problem.devices)
        return np.flatnonzero((need > s.battery_J * (1.0 - 2.0 * MARGIN)) & (need > 0))

    def _least_J(self) -> FloatArray:
        """The least that the devices' computing can cost, (I,)."""
        s = self.fixed
        least = s.kappa * s.steps[0] * s.batch[0] / s.s_per_sample[1] ** 2
        return np.asarray(np.bincount(s.device, least, minlength=s.problem.devices), dtype=np.float64)

    def _ranges(self) -> None:
        """S5 and S7: ranges of e, B = q / e and f = c q / T."""
        s, none = self.fixed, np.zeros(len(self.fixed))
        low, high = s.steps[0] / self.unit_e, s.steps[1] / self.unit_e
        same = high <= low * (1.0 + _SAME)
        self.less.add(-low[~same], (self.e[~same], -1.0))
        self.less.add(high[~same], (self.e[~same], 1.0))
        self.equal.add(high[same], (self.e[same], 1.0))
        for (lowest, highest), column, unit, per, per_unit in (
            (s.batch, self.q, self.unit_q, self.e, self.unit_e),
            (s.s_per_sample, self.T, self.unit_T, self.q, self.unit_q),
        ):
            low, high = lowest * per_unit / unit, highest * per_unit / unit
            same = high <= low * (1.0 + _SAME)
            free = ~same
            self.less.add(none[free], (column[free], -1.0), (per[free], low[free]))
            self.less.add(none[free], (column[free], 1.0), (per[free], -high[free]))
            self.equal.add(none[same], (column[same], 1.0), (per[same], -high[same]))

    def _order(self) -> None:
        """S3: a job fits between its version and its slot, starts while that version is current; slots in order."""
        s, unit = self.fixed, self.unit_tau
        self._free = free = np.flatnonzero(~s.begun)
        later = s.waits_for[free] >= 0
        self._fits = self.less.add(
            -s.radio_s[free] / unit[free],
            (self.T[free], self.unit_T[free] / unit[free]),
            (self.tau[free], -1.0),
        )
        self.less.entries(self._fits[later], self.tau[s.waits_for[free[later]]], 1.0)
        self._stale = stale = np.flatnonzero((s.version < s.slot) & ~s.begun)
        replaced = s.offset[s.task[stale]] + s.version[stale]
        self._starts = self.less.add(
            s.radio_s[stale] / unit[stale],
            (self.tau[stale], 1.0),
            (self.T[stale], -self.unit_T[stale] / unit[stale]),
            (self.tau[replaced], -1.0),
        )
        self.less.add(np.zeros(len(stale)), (self.tau[stale - 1], 1.0), (self.tau[stale], -1.0))
        self._after_now()

    def _after_now(self) -> None:
        """What is begun ends when it does; no other job starts before now."""
        s, unit = self.fixed, self.unit_tau
        begun, waits = np.flatnonzero(s.begun), np.flatnonzero(~s.begun & (s.earliest_s > 0))
        self.equal.add(s.fixed_end_s[begun] / unit[begun], (self.tau[begun], 1.0))
        self.less.add(
            -(s.radio_s[waits] + s.earliest_s[waits]) / unit[waits],
            (self.T[waits], self.unit_T[waits] / unit[waits]),
            (self.tau[waits], -1.0),
        )
