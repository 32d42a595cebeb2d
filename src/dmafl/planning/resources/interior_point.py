"""A primal-dual interior-point method for the resources of a fixed schedule: Newton steps on the cost itself.

Slacks s > 0 of all limits, duals y > 0, s y = mu, mu -> 0. The Hessian is that of the surrogates, so it is positive
semidefinite and every step descends; sums over a task (training, bends) and batteries border the sparse system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import diags
from scipy.sparse.linalg import splu

from dmafl.base.arrays import FloatArray
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.resources.cone_program import ShadowPrices
from dmafl.planning.resources.fixed_schedule import FixedSchedule, Point
from dmafl.planning.resources.limits import Limits
from dmafl.planning.resources.newton_model import NUDGE, Entries, TaskModel
from dmafl.planning.resources.smooth_cost import scores_of, smooth_cost
from dmafl.theory.jobs import TaskJobs

MAX_ITERATIONS = 150
GAP = 2e-8
"""Complementarity, relative to the cost, at which the method may end; for every ten jobs."""
STALLED = 1e-8
"""Relative decrease that the last step promised, or that the last few made, at which it ends; for every ten jobs."""
FEASIBLE = 1e-9
_PATIENCE = 4
_AHEAD = 0.03
"""Share of the slope that is left which the gap is not to fall below."""
_SETTLED = 1e-3
"""Complementarity below which samples are held."""
_REFRESH = 4
"""Iterations after which they are brought up to date until then."""
_AWAY, _AWAY_WARM = 0.1, 0.01
"""How far the start is moved away from its limits."""
_TO_THE_EDGE = 0.995
_ARMIJO = 1e-4
_SMALLEST_STEP = 1e-9
_ROUNDING = 1e-13
_PIVOT = 1e-6
"""A pivot on the diagonal may be this much smaller than the largest of its column."""


@dataclass(frozen=True, eq=False)
class Interior:
    """Where the method ended."""

    fixed: FixedSchedule
    """The schedule with the samples that the point was found with."""
    point: Point
    prices: ShadowPrices
    residual: float
    iterations: int
    converged: bool


@dataclass(eq=False)
class _State:
    x: FloatArray
    s: FloatArray
    y: FloatArray
    sb: FloatArray
    yb: FloatArray
    nu: FloatArray


class InteriorMethod:
    """Minimises the cost of a schedule from a starting point."""

    def __init__(
        self,
        fixed: FixedSchedule,
        start: Point,
        pull: FloatArray,
        effort: Effort = UNLIMITED,
        *,
        warm: bool = False,
    ) -> None:
        """`pull`: further cost of a second of each job's computing, (n,); `warm`: the start is about the solution."""
        self.fixed, self.limits, self.pull = fixed, Limits(fixed, start), pull
        self.A, self.b = self.limits.less.matrix(self.limits.width)
        self.At = self.A.T.tocsr()
        self.Ae, self.be = self.limits.equal.matrix(self.limits.width)
        place = np.full(fixed.problem.devices, -1)
        place[self.limits.limited] = np.arange(len(self.limits.limited))
        self.battery_of = place[fixed.device]
        self.start, self.warm, self.effort = start, warm, effort
        self.value = np.inf
        self.late_end_helps = np.asarray([task.loss_model.late_end_helps for task in fixed.problem.tasks])
        self.scores: list[FloatArray | None] = []
        """Class scores where the cost was last computed, which is where the next step begins."""
        self.scale, self.strength = 1.0, 0.1
        self.tens = max(1.0, len(fixed) / 10.0)
        self.trace: list[tuple[float, float, float, float]] = []

    # -- cost and limits ------------------------------------------------------------------------------

    def jobs(self, x: FloatArray) -> list[TaskJobs]:
        """The jobs at x, with the slot times of x; the earliest where a late end would be worth something."""
        s, point = self.fixed, self.limits.point(x)
        ends = x[self.limits.tau] * self.limits.unit_tau
        if self.late_end_helps.any():
            ends = np.where(self.late_end_helps[s.task], s.ends_s(point), ends)
        return s.jobs_at(point, ends)

    def cost(self, x: FloatArray) -> float:
        """The cost, in units of that at the start."""
        self._spend(Work.MERIT)
        tasks, point = self.fixed.problem.tasks, self.limits.point(x)
        jobs = self.jobs(x)
        self.scores = scores_of(tasks, jobs)
        loss = sum(
            smooth_cost(task, its_jobs, scores)
            for task, its_jobs, scores in zip(tasks, jobs, self.scores, strict=True)
        )
        energy = self.fixed.price_of_J @ self.fixed.compute_J(point)
        time = self.fixed.price_of_end_s @ (x[self.limits.tau] * self.limits.unit_tau)
        return float(loss + energy + time + self.pull @ point.compute_s)

    def spent(self, x: FloatArray) -> FloatArray:
        """What limited batteries give, in their units."""
        lim, limited = self.limits, self.battery_of >= 0
        z = (lim.unit_z * x[lim.q] ** 3 / x[lim.T] ** 2)[limited]
        where = self.battery_of[limited]
        total = np.bincount(where, z / lim.room_J[where], minlength=len(lim.limited))
        return np.asarray(total, dtype=np.float64)

    def energy_slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of each job's energy, in units of `unit_z`, with respect to q and T."""
        q, T = x[self.limits.q], x[self.limits.T]
        return 3.0 * q**2 / T**2, -2.0 * q**3 / T**3

    # -- the method -----------------------------------------------------------------------------------

    def solve(self) -> Interior:
        """Run until gap and slope vanish, or no step helps."""
        state = self._first()
        self.value = self.cost(state.x)
        self.scale = max(abs(self.value), 1e-300)
        converged, residual = False, np.inf
        while len(self.trace) < MAX_ITERATIONS:
            if len(self.trace) % _REFRESH == 0 and self._gap(state) > _SETTLED:
                self.fixed = self.fixed.refreshed(self.limits.point(state.x))
                self.value = self.cost(state.x)
            self._spend(Work.NEWTON)
            gradient, entries, size = self._model(state)
            mu = self._target(state, residual)
            step = self._direction(state, gradient, entries, size, mu)
            if step is None:
                break
            residual = abs(float(gradient @ step.x))
            taken = self._advance(state, step, gradient, mu)
            self.trace.append((self.value, self._gap(state), residual, taken))
            converged = self._has_converged(state, residual)
            if converged or taken == 0.0:
                break
        point, prices = self.limits.point(state.x), self._prices(state)
        return Interior(self.fixed, point, prices, residual, len(self.trace), converged)

    def _has_converged(self, z: _State, residual: float) -> bool:
        if self._gap(z) > GAP * self.tens or self._infeasibility(z) > FEASIBLE:
            return False
        costs = [entry[0] for entry in self.trace[-_PATIENCE - 1 :]]
        stalled = len(costs) > _PATIENCE and costs[0] - costs[-1] < STALLED * self.tens * self.scale
        return residual < STALLED * self.tens or stalled

    def _first(self) -> _State:
        """The starting point, moved away from its limits; less so when warm."""
        lim, s, start = self.limits, self.fixed, self.start
        away = _AWAY_WARM if self.warm else _AWAY
        e = _moved(start.steps, s.steps, away)
        B = _moved(start.work / start.steps, s.batch, away)
        per_sample = _moved(start.compute_s / start.work, s.s_per_sample, away)
        x = np.empty(lim.width)
        x[lim.e], x[lim.q] = e / lim.unit_e, e * B / lim.unit_q
        x[lim.T] = e * B * per_sample / lim.unit_T
        x[lim.tau] = s.ends_s(lim.point(x)) / lim.unit_tau * (1.0 + 0.01 * away)
        slack = np.maximum(self.b - self.A @ x, 0.1 * away)
        slack_b = np.maximum(self.limits.battery - self.spent(x), 0.1 * away)
        mu = away**2 * 100.0 / (len(slack) + len(slack_b))
        return _State(x, slack, mu / slack, slack_b, mu / slack_b, np.zeros(len(self.be)))

    def _gap(self, z: _State) -> float:
        """Complementarity of all limits, in units of the cost."""
        return float(z.s @ z.y + z.sb @ z.yb)

    def _target(self, z: _State, residual: float) -> float:
        """The next mu, by how uneven the products s y are; not ahead of the slope that is left."""
        products = np.concatenate([z.s * z.y, z.sb * z.yb])
        mean = float(products.mean())
        even = float(products.min()) / mean
        wanted = 0.1 * min(0.05 * (1.0 - even) / max(even, 1e-12), 2.0) ** 3 * mean
        ahead = min(_AHEAD * residual / len(products), mean)
        return max(wanted, ahead, 0.1 * GAP * self.tens / len(products))

    def _infeasibility(self, z: _State) -> float:
        return float(
            max(
                np.abs(self.A @ z.x + z.s - self.b).max(initial=0.0),
                np.abs(self.Ae @ z.x - self.be).max(initial=0.0),
                np.abs(self.spent(z.x) + z.sb - self.limits.battery).max(initial=0.0),
            )
        )

    def _spend(self, work: Work) -> None:
        self.effort.spend(work, self.fixed.problem.quality, len(self.fixed))

    # -- Newton's system ------------------------------------------------------------------------------

    def _model(self, z: _State) -> tuple[FloatArray, Entries, int]:
        """Gradient of the cost and the Hessian of its surrogates, bordered."""
        lim, s, x = self.limits, self.fixed, z.x
        entries, gradient = Entries(), np.zeros(lim.width)
        size = lim.width
        of_q, of_T = self.energy_slopes(x)
        price = s.price_of_J * lim.unit_z / self.scale
        gradient[lim.q] += price * of_q
        gradient[lim.T] += price * of_T + self.pull * lim.unit_T / self.scale
        gradient[lim.tau] += s.price_of_end_s * lim.unit_tau / self.scale
        weight = price.copy()
        limited = self.battery_of >= 0
        where = self.battery_of[limited]
        weight[limited] += z.yb[where] * lim.unit_z[limited] / lim.room_J[where]
        q, T = x[lim.q], x[lim.T]
        entries.add(lim.q, lim.q, weight * 6.0 * q / T**2)
        entries.add(lim.T, lim.T, weight * 6.0 * q**3 / T**4)
        entries.add(lim.q, lim.T, -weight * 6.0 * q**2 / T**3, both=True)
        for j, jobs in enumerate(self.jobs(x)):
            self.effort.look()
            model = TaskModel(self.fixed, lim, j, jobs, self.scale)
            size = model.add(self.scores[j], self.strength, gradient, entries, size)
        return gradient, entries, size

    def _direction(
        self, z: _State, gradient: FloatArray, entries: Entries, size: int, mu: float
    ) -> _State | None:
        lim = self.limits
        rp, re = self.A @ z.x + z.s - self.b, self.Ae @ z.x - self.be
        rb = self.spent(z.x) + z.sb - lim.battery
        sigma = z.y / z.s
        # batteries and equations border the system too
        limited = np.flatnonzero(self.battery_of >= 0)
        where = self.battery_of[limited]
        of_q, of_T = self.energy_slopes(z.x)
        unit = lim.unit_z[limited] / lim.room_J[where]
        rows_b = size + np.arange(len(lim.limited))
        entries.add(rows_b[where], lim.q[limited], of_q[limited] * unit, both=True)
        entries.add(rows_b[where], lim.T[limited], of_T[limited] * unit, both=True)
        entries.add(rows_b, rows_b, -z.sb / z.yb)
        rows_e = size + len(rows_b) + np.arange(len(self.be))
        equal = self.Ae.tocoo()
        entries.add(rows_e[equal.row], equal.col.astype(np.int64), equal.data, both=True)
        entries.add(rows_e, rows_e, np.full(len(rows_e), -NUDGE))
        entries.add(np.arange(lim.width), np.arange(lim.width), np.full(lim.width, NUDGE))
        total = size + len(rows_b) + len(rows_e)
        K = entries.matrix(total)
        condensed = (self.At @ diags(sigma) @ self.A).tocsc()
        condensed.resize(total, total)
        K = (K + condensed).tocsc()
        right = np.zeros(total)
        right[: lim.width] = -gradient - self.At @ (sigma * rp + mu / z.s) - self.Ae.T @ z.nu
        battery_pull = np.zeros(lim.width)
        np.add.at(battery_pull, lim.q[limited], of_q[limited] * unit * z.yb[where])
        np.add.at(battery_pull, lim.T[limited], of_T[limited] * unit * z.yb[where])
        right[: lim.width] -= battery_pull
        right[rows_b] = -rb + z.sb - mu / z.yb
        right[rows_e] = -re
        self.effort.look()
        try:
            factor = splu(
                K, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=_PIVOT, options={"SymmetricMode": True}
            )
        except RuntimeError:
            return None
        solution = factor.solve(right)
        solution += factor.solve(right - K @ solution)
        if not np.isfinite(solution).all():
            return None
        dx = solution[: lim.width]
        ds = -rp - self.A @ dx
        dy = (mu - z.y * ds) / z.s - z.y
        dyb = solution[rows_b]
        dsb = (mu - z.sb * dyb) / z.yb - z.sb
        return _State(dx, ds, dy, dsb, dyb, solution[rows_e])

    # -- steps ----------------------------------------------------------------------------------------

    def _advance(self, z: _State, d: _State, gradient: FloatArray, mu: float) -> float:
        """Move along the direction as far as slacks allow and a merit function falls; returns the step."""
        most = min(_to_edge(z.s, d.s), _to_edge(z.sb, d.sb), _to_edge(z.x, d.x))
        most_dual = min(_to_edge(z.y, d.y), _to_edge(z.yb, d.yb))
        slope = float(gradient @ d.x) - mu * float((d.s / z.s).sum() + (d.sb / z.sb).sum())
        broken = self._violation(z.x, z.s, z.sb)
        penalty = 2.0 * max(float(z.y.max(initial=0.0)), float(z.yb.max(initial=0.0)))
        if broken > 0:
            penalty = max(penalty, 2.0 * slope / broken)
        slope -= penalty * broken
        before = self._merit(self.value, z.x, z.s, z.sb, mu, penalty)
        step = most
        self.strength = max(self.strength / 2.0, 1e-3)
        while step > _SMALLEST_STEP:
            x, s = z.x + step * d.x, z.s + step * d.s
            room = self.limits.battery - self.spent(x)
            sb = np.where(room > (1.0 - _TO_THE_EDGE) * z.sb, room, z.sb + step * d.sb)
            value = self.cost(x)
            after = self._merit(value, x, s, sb, mu, penalty)
            if after <= before + _ARMIJO * step * slope + _ROUNDING * abs(before):
                z.x, z.s, z.sb, self.value = x, s, sb, value
                z.y, z.yb, z.nu = z.y + most_dual * d.y, z.yb + most_dual * d.yb, z.nu + step * d.nu
                return step
            step /= 2.0
            self.strength = min(self.strength * 4.0, 1e3)
        return 0.0

    def _violation(self, x: FloatArray, s: FloatArray, sb: FloatArray) -> float:
        return float(
            np.abs(self.A @ x + s - self.b).sum()
            + np.abs(self.Ae @ x - self.be).sum()
            + np.abs(self.spent(x) + sb - self.limits.battery).sum()
        )

    def _merit(
        self, value: float, x: FloatArray, s: FloatArray, sb: FloatArray, mu: float, penalty: float
    ) -> float:
        barrier = float(np.log(s).sum() + np.log(sb).sum())
        return value / self.scale - mu * barrier + penalty * self._violation(x, s, sb)

    def _prices(self, z: _State) -> ShadowPrices:
        lim = self.limits
        batteries = np.zeros(self.fixed.problem.devices)
        batteries[lim.limited] = z.yb / lim.room_J * self.scale
        dual = z.y * self.scale
        return ShadowPrices(lim.window_prices(dual), lim.job_prices(dual), batteries)


def _moved(value: FloatArray, limits: tuple[FloatArray, FloatArray], share: float) -> FloatArray:
    """`value`, moved by `share` towards the middle of its limits."""
    return np.asarray((1.0 - share) * value + share * np.sqrt(limits[0] * limits[1]))


def _to_edge(value: FloatArray, change: FloatArray) -> float:
    """The longest step, at most 1, that keeps `value` positive."""
    if not len(value):
        return 1.0
    worst = float((-change / value).max())
    return min(1.0, _TO_THE_EDGE / worst) if worst > 0 else 1.0
