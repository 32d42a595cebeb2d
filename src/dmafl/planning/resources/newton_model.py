"""The second-order model of a task's cost in a Newton step of the interior-point method.

Sums over a task (training, bends) and the movement of the model border the sparse system.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_matrix, csc_matrix

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.loss_models.surrogate import ExpansionPoint, Movement, Surrogate
from dmafl.planning.resources.fixed_schedule import FixedSchedule
from dmafl.planning.resources.limits import Limits
from dmafl.theory.jobs import TaskJobs

NUDGE = 1e-10
"""Regularisation of the bordered system, relative."""


class Entries:
    """Entries of a symmetric matrix, collected in blocks."""

    def __init__(self) -> None:
        self.row: list[IntArray] = []
        self.column: list[IntArray] = []
        self.value: list[FloatArray] = []

    def add(self, row: IntArray, column: IntArray, value: FloatArray, *, both: bool = False) -> None:
        """Entries, and their mirror images if `both`."""
        self.row.append(row)
        self.column.append(column)
        self.value.append(value)
        if both:
            self.add(column, row, value)

    def matrix(self, size: int) -> csc_matrix:
        """As a matrix."""
        row, column, value = (np.concatenate(part) for part in (self.row, self.column, self.value))
        return coo_matrix((value, (row, column)), shape=(size, size)).tocsc()


@dataclass(frozen=True, eq=False)
class TaskModel:
    """The cost of one task at a point, in units of `scale`."""

    fixed: FixedSchedule
    limits: Limits
    number: int
    """Of the task."""
    jobs: TaskJobs
    scale: float

    @property
    def place(self) -> slice:
        """Where the task's jobs are among those of all tasks."""
        return slice(int(self.fixed.offset[self.number]), int(self.fixed.offset[self.number + 1]))

    def add(
        self,
        scores: FloatArray | None,
        strength: float,
        gradient: FloatArray,
        entries: Entries,
        size: int,
    ) -> int:
        """Add the task's gradient and the Hessian of its surrogate; returns the size of the system with its borders."""
        lim, jobs, place = self.limits, self.jobs, self.place
        task = self.fixed.problem.tasks[self.number]
        f = task.loss_model.surrogate(task.weight, ExpansionPoint(jobs, scores, strength, with_bands=True))
        e_col, q_col = lim.e[place], lim.q[place]
        unit_e, unit_q = lim.unit_e[place], lim.unit_q[place]
        of_e, of_q = f.slopes(jobs)
        gradient[e_col] += of_e * unit_e / self.scale
        gradient[q_col] += of_q * unit_q / self.scale
        gradient[lim.T[place]] += f.compute_s * lim.unit_T[place] / self.scale
        gradient[lim.tau[place]] += f.ends_s * lim.unit_tau[place] / self.scale
        e, q = jobs.steps, jobs.steps * jobs.batch
        noise = 2.0 * f.noise / self.scale
        entries.add(e_col, e_col, (noise / q + f.curvature / self.scale) * unit_e**2)
        entries.add(q_col, q_col, noise * e**2 / q**3 * unit_q**2)
        entries.add(e_col, q_col, -noise * e / q**2 * unit_e * unit_q, both=True)
        for band in f.bands:
            for d, diagonal in enumerate(band):
                value = diagonal / self.scale * unit_e[: len(unit_e) - d] * unit_e[d:]
                entries.add(e_col[: len(e_col) - d], e_col[d:], value, both=d > 0)
        return self._borders(f, entries, size)

    def _borders(self, f: Surrogate, entries: Entries, size: int) -> int:
        """Curvatures along sums over the task: v' (x - x_0) is a variable of its own."""
        lim, jobs, place = self.limits, self.jobs, self.place
        columns = np.concatenate([lim.e[place], lim.q[place], lim.T[place]])
        units = np.concatenate([lim.unit_e[place], lim.unit_q[place], lim.unit_T[place]])
        along: list[tuple[float, FloatArray]] = []
        none = np.zeros(len(jobs))
        if f.share is not None and f.training > 0:
            N = float(f.share @ jobs.steps)
            along.append((f.training * 4.0 / 9.0 * N ** (-7.0 / 3.0), np.concatenate([f.share, none, none])))
        if f.bend is not None:
            b = f.bend
            along.append((b.strength, np.concatenate([b.steps, b.work, b.compute_s])))
        for strength, direction in along:
            border = np.full(len(columns), size)
            value = np.sqrt(strength / self.scale) * direction * units
            entries.add(border, columns, value, both=True)
            entries.add(border[:1], border[:1], -np.ones(1))
            size += 1
        if f.movement is not None:
            size = self._movement(f.movement, entries, size)
        return size

    def _movement(self, move: Movement, entries: Entries, size: int) -> int:
        """du_{k+1} = du_k + per_step_k de_k + alpha_k dd_k, dd_k = du_k - du_{v_k}; 2 square_k dd_k^2 / 2."""
        lim, jobs, place, n = self.limits, self.jobs, self.place, len(self.jobs)
        _, unit = move.travelled(jobs)
        unit = np.maximum(unit, 1e-9 * unit[-1])
        u, rows = size + np.arange(n), size + n + np.arange(n)  # u[k] belongs to slot k + 1
        k, v = np.arange(n), jobs.version
        entries.add(rows, u, np.ones(n), both=True)
        entries.add(rows, lim.e[place], -move.per_step * lim.unit_e[place] / unit[1:], both=True)
        later, received = k[1:], v >= 1
        entries.add(rows[later], u[later - 1], (-(1.0 + jobs.mix) * unit[:-1] / unit[1:])[later], both=True)
        entries.add(rows[received], u[v[received] - 1], (jobs.mix * unit[v] / unit[1:])[received], both=True)
        stale = np.flatnonzero(v < k)
        weight = (2.0 * move.square / self.scale)[stale]
        a, b = unit[stale], np.where(v[stale] >= 1, unit[v[stale]], 0.0)
        first, second = u[stale - 1], u[np.maximum(v[stale] - 1, 0)]
        entries.add(first, first, weight * a**2)
        entries.add(second, second, weight * b**2)
        entries.add(first, second, -weight * a * b, both=True)
        entries.add(u, u, np.full(n, NUDGE))
        entries.add(rows, rows, np.full(n, -NUDGE))
        return size + 2 * n
