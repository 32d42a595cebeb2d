"""The convex problem of one iteration as a cone program for Clarabel: linear rows, second-order and power cones.

Variables, each in units in which it is about 1: of every job its steps e, work q, computing time T, end tau, energy z
and noise y; of every task the training term, the bend, the movement and the largest steps, where it has them.

    z >= kappa q^3 / T^2    power cone       y >= e^2 / q    second-order cone       t >= N^(-1/3)    power cone
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
from scipy.sparse import csc_matrix, csr_matrix, diags, vstack

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.conic_solver import conic_settings
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.loss_models.surrogate import Surrogate
from dmafl.planning.resources.fixed_schedule import FixedSchedule, Point
from dmafl.planning.resources.limits import Limits, Rows


@dataclass(frozen=True, eq=False)
class ShadowPrices:
    """What limits cost: derivatives of the objective."""

    window_s: FloatArray
    """Saved by another second of the windows of each task, (J,)."""
    job_s: FloatArray
    """Cost of another second of each job's transfers, through the slots that wait for it, (n,)."""
    battery_J: FloatArray
    """Saved by another joule in each device's battery, (I,)."""


@dataclass(frozen=True, eq=False)
class Answer:
    """What the cone solver found."""

    solved: bool
    infeasible: bool
    point: Point
    prices: ShadowPrices
    window_slack_s: FloatArray
    """By how much the windows are stretched, one for each of `FixedSchedule.window_rows`; 0 unless allowed."""
    battery_slack_J: FloatArray
    """By how much the batteries are enlarged, (I,)."""


TOLERANCE = 1e-9
"""Of the conic solver: feasibility and gap, relative."""
ACCEPTED = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations", "NumericalError")
"""Statuses of the conic solver whose point is used; the objective judges it."""


class ConeProgram:
    """Solves the surrogates of a schedule; units come from `reference`.

    Elastic: nothing counts but by how much batteries must be stretched, and windows too.
    """

    def __init__(
        self,
        fixed: FixedSchedule,
        reference: Point,
        effort: Effort = UNLIMITED,
        *,
        elastic: bool = False,
        windows_too: bool = False,
    ) -> None:
        self.effort = effort
        self.fixed, self.elastic, self.windows_too = fixed, elastic, windows_too
        self.limits = Limits(fixed, reference)
        self.unit_y = reference.steps**2 / reference.work

    def solve(self, surrogates: list[Surrogate], at: Point) -> Answer:
        """The minimiser of the surrogates, made at `at`, under all rules."""
        n, limits = len(self.fixed), self.limits
        self.effort.spend(Work.CONE, self.fixed.problem.quality, n)
        self._width = limits.width
        self._equal, self._less = limits.equal.copy(), limits.less.copy()
        self._cone_rows = Rows()
        self._cones: list[clarabel.SecondOrderConeT] = []
        self._linear: list[tuple[IntArray, FloatArray]] = []
        self._square: list[tuple[IntArray, FloatArray]] = []
        self._z, self._u, self._y = (self._columns(n) for _ in range(3))
        self._batteries()
        self._powers()
        if not self.elastic:
            self._linear.append((self._z, self.fixed.price_of_J * limits.unit_z))
            self._linear.append((limits.tau, self.fixed.price_of_end_s * limits.unit_tau))
            for j, surrogate in enumerate(surrogates):
                self._task(j, surrogate, at)
        return self._run()

    # -- variables and rows ---------------------------------------------------------------------------

    def _columns(self, count: int) -> IntArray:
        made = self._width + np.arange(count)
        self._width += count
        return made

    def _batteries(self) -> None:
        """S6, and slacks of S4 and S6 if elastic."""
        s, limits = self.fixed, self.limits
        self._battery_rows = self._less.add(limits.battery)
        place = np.full(s.problem.devices, -1)
        place[limits.limited] = np.arange(len(limits.limited))
        limited = np.flatnonzero(place[s.device] >= 0)
        where = place[s.device[limited]]
        self._less.entries(
            self._battery_rows[where], self._z[limited], limits.unit_z[limited] / limits.room_J[where]
        )
        if self.elastic:
            windows = limits.windows if self.windows_too else limits.windows[:0]
            rows = np.concatenate([windows, self._battery_rows])
            self._slack = self._columns(len(rows))
            self._less.entries(rows, self._slack, -1.0)
            self._less.add(np.zeros(len(rows)), (self._slack, -1.0))
            self._linear.append((self._slack, np.ones(len(rows))))

    def _powers(self) -> None:
        """z T^2 >= q^3 in relative units, as T u >= q^2 and q z >= u^2, for jobs whose energy counts."""
        s, limits = self.fixed, self.limits
        counts = np.isin(s.device, limits.limited)
        if not self.elastic:
            counts |= s.price_of_J * limits.unit_z > 0
        self._equal.add(np.zeros(int((~counts).sum())), (self._z[~counts], 1.0))
        self._products(limits.T[counts], self._u[counts], limits.q[counts])
        self._products(limits.q[counts], self._z[counts], self._u[counts])

    def _products(self, first: IntArray, second: IntArray, root: IntArray) -> None:
        """first second >= root^2, one cone (first + second, first - second, 2 root) a row."""
        count = len(first)
        rows = self._cone_rows.add(np.zeros(3 * count))
        for place, column, value in (
            (0, first, 1.0),
            (0, second, 1.0),
            (1, first, 1.0),
            (1, second, -1.0),
            (2, root, 2.0),
        ):
            self._cone_rows.entries(rows[place::3], column, np.full(count, -value))
        self._cones += [clarabel.SecondOrderConeT(3)] * count

    # -- the objective of a task ----------------------------------------------------------------------

    def _task(self, j: int, f: Surrogate, at: Point) -> None:
        place = slice(int(self.fixed.offset[j]), int(self.fixed.offset[j + 1]))
        e, unit_e = self.limits.e[place], self.limits.unit_e[place]
        self._linear.append((e, f.steps * unit_e))
        self._square.append((e, f.curvature * unit_e**2))
        self._linear.append((self.limits.T[place], f.compute_s * self.limits.unit_T[place]))
        self._linear.append((self.limits.tau[place], f.ends_s * self.limits.unit_tau[place]))
        self._noise(place, f)
        if f.share is not None and f.training > 0:
            self._training(e, f.share * unit_e, f.training)
        if f.movement is not None:
            self._movement(j, place, f)
        if f.bend is not None:
            self._bend(place, f, at)
        if f.most_curvature > 0 or f.most_steps > 0:
            self._largest(e, unit_e, f)

    def _noise(self, place: slice, f: Surrogate) -> None:
        jobs = np.arange(place.start, place.stop)[f.noise > 0]
        if not len(jobs):
            return
        self._linear.append((self._y[jobs], f.noise[f.noise > 0] * self.unit_y[jobs]))
        self._products(self.limits.q[jobs], self._y[jobs], self.limits.e[jobs])

    def _training(self, e: IntArray, share: FloatArray, weight: float) -> None:
        """t >= N^(-1/3), N in units of what it is at the reference."""
        unit = float(share.sum())
        N, t, root, unity = (self._columns(1) for _ in range(4))
        row = self._equal.add(np.zeros(1), (N, -1.0))
        self._equal.entries(np.repeat(row, len(e)), e, share / unit)
        self._equal.add(np.ones(1), (unity, 1.0))
        self._products(t, N, root)
        self._products(t, root, unity)
        self._linear.append((t, np.asarray([weight * unit ** (-1.0 / 3.0)])))

    def _movement(self, j: int, place: slice, f: Surrogate) -> None:
        """u_{k+1} = u_k + per_step_k e_k + alpha_k d_k, d_k = u_k - u_{v_k}, in units of each at the reference."""
        assert f.movement is not None
        jobs, move = self.fixed.jobs[j], f.movement
        d, unit = move.travelled(jobs.with_(steps=self.limits.unit_e[place]))
        unit = np.maximum(unit, 1e-12 * unit[-1])
        u, k, v = self._columns(len(unit)), np.arange(len(jobs)), jobs.version
        self._equal.add(np.zeros(1), (u[:1], 1.0))
        here = unit[1:]
        self._equal.add(
            np.zeros(len(k)),
            (u[1:], 1.0),
            (self.limits.e[place], -move.per_step * self.limits.unit_e[place] / here),
            (u[k], -(1.0 + jobs.mix) * unit[k] / here),
            (u[v], jobs.mix * unit[v] / here),
        )
        self._linear.append((u[k], move.linear * unit[k]))
        self._linear.append((u[v], -move.linear * unit[v]))
        stale = np.flatnonzero((v < k) & (move.square > 0))
        size = np.maximum(d[stale], 1e-12 * unit[-1])
        apart = self._columns(len(stale))
        self._equal.add(
            np.zeros(len(stale)),
            (apart, 1.0),
            (u[stale], -unit[stale] / size),
            (u[v[stale]], unit[v[stale]] / size),
        )
        self._square.append((apart, 2.0 * move.square[stale] * size**2))

    def _bend(self, place: slice, f: Surrogate, at: Point) -> None:
        assert f.bend is not None
        y, b = self._columns(1), f.bend
        parts = (
            (self.limits.e[place], b.steps * self.limits.unit_e[place], float(b.steps @ at.steps[place])),
            (self.limits.q[place], b.work * self.limits.unit_q[place], float(b.work @ at.work[place])),
            (
                self.limits.T[place],
                b.compute_s * self.limits.unit_T[place],
                float(b.compute_s @ at.compute_s[place]),
            ),
        )
        row = self._equal.add(np.asarray([sum(value for _, _, value in parts)]), (y, -1.0))
        for column, value, _ in parts:
            self._equal.entries(np.repeat(row, len(column)), column, value)
        self._square.append((y, np.asarray([b.strength])))

    def _largest(self, e: IntArray, unit_e: FloatArray, f: Surrogate) -> None:
        m, unit = self._columns(1), float(unit_e.max())
        self._less.add(np.zeros(len(e)), (e, unit_e / unit), (np.repeat(m, len(e)), -1.0))
        self._linear.append((m, np.asarray([f.most_steps * unit])))
        self._square.append((m, np.asarray([f.most_curvature * unit**2])))

    # -- the solver -----------------------------------------------------------------------------------

    def _run(self) -> Answer:
        width = self._width
        cost, square = np.zeros(width), np.zeros(width)
        for column, value in self._linear:
            np.add.at(cost, column, value)
        for column, value in self._square:
            np.add.at(square, column, value)
        blocks = [rows.matrix(width) for rows in (self._equal, self._less, self._cone_rows)]
        size = max(float(np.abs(cost).max(initial=0.0)), float(square.max(initial=0.0)), 1e-300)
        size = float(np.abs(cost).sum()) or size
        A, b, factor = _joined_rows(blocks)
        cones = [
            clarabel.ZeroConeT(self._equal.height),
            clarabel.NonnegativeConeT(self._less.height),
            *self._cones,
        ]
        solver = clarabel.DefaultSolver(
            diags(square / size, format="csc"),
            cost / size,
            A,
            b,
            cones,
            conic_settings(self.effort, TOLERANCE),
        )
        solution = solver.solve()
        self.effort.look()
        status = str(solution.status)
        x, dual = np.asarray(solution.x), np.asarray(solution.z) * size
        infeasible = "Infeasible" in status
        usable = bool(np.isfinite(x).all()) and not infeasible and status in ACCEPTED
        return self._answer(x, dual * factor, usable, infeasible)

    def _answer(self, x: FloatArray, dual: FloatArray, solved: bool, infeasible: bool) -> Answer:
        s, limits = self.fixed, self.limits
        price = dual[self._equal.height :]
        batteries, battery_slack = np.zeros(s.problem.devices), np.zeros(s.problem.devices)
        batteries[limits.limited] = price[self._battery_rows] / limits.room_J
        window_slack = np.zeros(len(s.window_rows))
        if self.elastic:
            slack = np.maximum(x[self._slack], 0.0)
            of_windows, others = np.split(slack, [len(slack) - len(limits.limited)])
            window_slack[: len(of_windows)] = of_windows * s.window_s[s.window_rows][: len(of_windows)]
            battery_slack[limits.limited] = others * limits.room_J
        prices = ShadowPrices(limits.window_prices(price), limits.job_prices(price), batteries)
        return Answer(solved, infeasible, limits.point(x), prices, window_slack, battery_slack)


def _joined_rows(
    blocks: list[tuple[csr_matrix, FloatArray]],
) -> tuple[csc_matrix, FloatArray, FloatArray]:
    """All rows; those that are no cones are divided by their largest entry, whose inverse is returned too."""
    A = vstack([matrix for matrix, _ in blocks], format="csr")
    b = np.concatenate([bound for _, bound in blocks])
    plain = blocks[0][0].shape[0] + blocks[1][0].shape[0]
    factor = np.ones(len(b))
    largest = abs(A[:plain]).max(axis=1).toarray().ravel() if plain else np.empty(0)
    factor[:plain] = 1.0 / np.where(largest > 0, largest, 1.0)
    return (diags(factor) @ A).tocsc(), b * factor, factor
