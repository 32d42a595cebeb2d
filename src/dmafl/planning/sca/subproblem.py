"""The convex problem of one iteration, Eq. (p_hat_m), given to a conic solver.

Variables: the step d = v - v_m, a slack s >= 0 of every coupling constraint with price rho, and w >= |R d|^2 of every
curved one. Rows that are linear in v are kept as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import block_diag, bmat, csc_matrix, csr_matrix, diags, eye, vstack

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.conic_solver import conic_settings
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.sca.couplings import Coupling
from dmafl.planning.sca.objective_surrogate import ObjectiveSurrogate
from dmafl.planning.sca.relaxation import RelaxedProblem, RelaxedTask
from dmafl.planning.sca.trust_region import LOGARITHMS, TRUST


@dataclass(frozen=True, eq=False)
class LinearRows:
    """equal v = equal_to, below v <= below_to; in every iteration."""

    equal: csr_matrix
    equal_to: FloatArray
    below: csr_matrix
    below_to: FloatArray
    trusted: IntArray
    """Variables that move by at most TRUST."""

    @classmethod
    def of(cls, relaxed: RelaxedProblem) -> LinearRows:
        """All linear rows of a relaxed problem."""
        parts = [_rows_of(task, relaxed.size) for task in relaxed.tasks]
        logs = [np.arange(t.at[name].start, t.at[name].stop) for t in relaxed.tasks for name in LOGARITHMS]
        return cls(
            vstack([p[0] for p in parts]).tocsr(),
            np.concatenate([p[1] for p in parts]),
            vstack([p[2] for p in parts]).tocsr(),
            np.concatenate([p[3] for p in parts]),
            np.concatenate(logs),
        )


@dataclass(frozen=True, eq=False)
class Step:
    """What the conic solver returned."""

    d: FloatArray
    predicted: float
    """The surrogate of the penalised objective at v_m + d."""
    kkt_residual: float
    """Of the penalised problem at v_m with the multipliers found: the larger of stationarity (relative to the
    objective's gradient) and complementarity."""


@dataclass(frozen=True, eq=False)
class ScaSubproblem:
    """One convex problem."""

    linear: LinearRows
    at: FloatArray
    """v_m."""
    objective: ObjectiveSurrogate
    penalty_slope: FloatArray
    """Gradient of the concave integrality penalty at v_m."""
    penalty: float
    """Its value at v_m."""
    couplings: tuple[Coupling, ...]
    prices: tuple[float, ...]
    """rho: cost of a unit of slack of every family."""

    @cached_property
    def slope(self) -> FloatArray:
        """Gradient of objective and penalty."""
        return np.asarray(self.objective.gradient + self.penalty_slope)

    def predicted(self, d: FloatArray) -> float:
        """The surrogate of the penalised objective at v_m + d."""
        broken = sum(
            price * float(np.maximum(c.above(d), 0.0).sum())
            for price, c in zip(self.prices, self.couplings, strict=True)
        )
        return self.objective.above(d) + self.penalty + float(self.penalty_slope @ d) + broken

    def solve(self, effort: Effort = UNLIMITED) -> Step:
        """The best step."""
        import clarabel

        scale = 1.0 / max(float(np.abs(self.slope).max()), 1e-300)
        P, q, A, b, cones = self._conic(scale)
        settings = conic_settings(effort, TOLERANCE)
        settings.max_iter = 80
        settings.direct_solve_method = "qdldl"
        solution = clarabel.DefaultSolver(P, q, A, b, cones, settings).solve()
        effort.look()
        d = np.asarray(solution.x)[: len(self.at)]
        if not np.isfinite(d).all():
            return Step(np.zeros_like(self.at), self.predicted(np.zeros_like(self.at)), np.inf)
        residual = self._kkt_residual(np.asarray(solution.z), A, b, scale)
        return Step(d, self.predicted(d), residual)

    def _conic(self, scale: float) -> tuple[Any, FloatArray, Any, FloatArray, list[Any]]:
        import clarabel

        n, families = len(self.at), self.couplings
        m = [len(c.value) for c in families]
        curved = [np.unique(c.group) for c in families]
        slacks, cones_count = sum(m), sum(map(len, curved))
        lin, bent = self.linear, self.objective.curvature
        extra = slacks + cones_count
        equal, below = _padded(lin.equal, extra), _padded(lin.below, extra)
        trust = csr_matrix(
            (np.ones(len(lin.trusted)), (np.arange(len(lin.trusted)), lin.trusted)),
            shape=(len(lin.trusted), n + extra),
        )
        rows, cones_rows, cone_to, sizes = self._coupling_rows(m, curved, slacks, cones_count)
        positive = csr_matrix(
            (-np.ones(slacks), (np.arange(slacks), n + np.arange(slacks))), shape=(slacks, equal.shape[1])
        )
        flat = vstack([below, trust, -trust, positive, *(row for row, _ in rows)])
        along = len(bent.strength)  # variables for the directions of large curvature come last
        A = vstack([equal, flat, *cones_rows])
        if along:
            A = bmat([[_padded(bent.directions, extra), -eye(along)], [A, None]])
        flat_to = np.concatenate(
            [
                np.maximum(lin.below_to - lin.below @ self.at, 0.0),
                np.full(2 * len(lin.trusted), TRUST),
                np.zeros(slacks),
                *(to for _, to in rows),
            ]
        )
        b = np.concatenate([np.zeros(along), lin.equal_to - lin.equal @ self.at, flat_to, cone_to])
        cones = [clarabel.ZeroConeT(along + len(lin.equal_to)), clarabel.NonnegativeConeT(len(flat_to))]
        cones += [clarabel.SecondOrderConeT(int(size)) for size in sizes]
        P = diags(scale * np.concatenate([bent.diagonal, np.zeros(extra), bent.strength])).tocsc()
        nothing = np.zeros(cones_count + along)
        q = np.concatenate([scale * self.slope, scale * np.repeat(self.prices, m), nothing])
        return P, q, csc_matrix(A), b, cones

    def _coupling_rows(
        self, m: list[int], curved: list[IntArray], slacks: int, count: int
    ) -> tuple[list[tuple[Any, FloatArray]], list[Any], FloatArray, list[int]]:
        """Linear rows N + grad N d + w / 2 <= s, and cones |(2 R d, w - 1)| <= w + 1."""
        n, slack_at, cone_at = len(self.at), 0, 0
        rows, cones, cone_to, sizes = [], [], [], []
        for family, size, bent in zip(self.couplings, m, curved, strict=True):
            slack = csr_matrix(
                (-np.ones(size), (np.arange(size), slack_at + np.arange(size))), shape=(size, slacks)
            )
            half = csr_matrix(
                (np.full(len(bent), 0.5), (bent, cone_at + np.arange(len(bent)))), (size, count)
            )
            rows.append((bmat([[family.jacobian, slack, half]]), -family.value))
            if len(bent):
                A, b, lengths = _cones(family, bent, n, slacks, count, cone_at)
                cones.append(A)
                cone_to.append(b)
                sizes += lengths
            slack_at, cone_at = slack_at + size, cone_at + len(bent)
        return rows, cones, np.concatenate(cone_to) if cone_to else np.zeros(0), sizes

    def _kkt_residual(self, z: FloatArray, A: Any, b: FloatArray, scale: float) -> float:
        """Stationarity and complementarity at v_m itself, where d = 0 and the proximal terms vanish."""
        curved = sum(len(np.unique(c.group)) * 2 + len(c.group) for c in self.couplings)
        flat = len(b) - curved
        along = len(self.objective.curvature.strength)
        n, equal = len(self.at), along + len(self.linear.equal_to)
        off = scale * self.slope + (A[along:flat].T @ z[along:flat])[:n]
        broken = np.concatenate([c.violation() for c in self.couplings])
        room = b[equal:flat].copy()
        at = len(room) - len(broken)
        room[at - len(broken) : at] = broken  # slacks themselves
        room[at:] += broken
        complementarity = np.abs(z[equal:flat] * room).max(initial=0.0)
        return float(max(np.abs(off).max(), complementarity))


TOLERANCE = 1e-6
"""Of the conic solver, with the objective's steepest slope scaled to 1; steps are judged by the truth."""


def _padded(matrix: Any, columns: int) -> Any:
    """The matrix with `columns` columns of zeros after its own."""
    return bmat([[matrix, csr_matrix((matrix.shape[0], columns))]])


def _cones(
    family: Coupling, bent: IntArray, n: int, slacks: int, count: int, cone_at: int
) -> tuple[Any, FloatArray, list[int]]:
    """Rows of the cones (w + 1, w - 1, 2 R d) of one family, constraint after constraint."""
    order = np.argsort(family.group, kind="stable")
    group = family.group[order]
    place = np.searchsorted(bent, group)
    sizes = np.bincount(place, minlength=len(bent)) + 2
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    within = np.arange(len(order)) - np.searchsorted(group, group)
    total = int(sizes.sum())
    move = csr_matrix((np.ones(len(order)), (starts[place] + 2 + within, order)), shape=(total, len(order)))
    steps = -2.0 * (move @ family.rows)
    w = cone_at + np.arange(len(bent))
    extra = csr_matrix(
        (-np.ones(2 * len(bent)), (np.concatenate([starts, starts + 1]), np.concatenate([w, w]))),
        shape=(total, count),
    )
    b = np.zeros(total)
    b[starts], b[starts + 1] = 1.0, -1.0
    A = bmat([[steps, csr_matrix((total, slacks)), extra]])
    assert A.shape[1] == n + slacks + count
    return A, b, sizes.tolist()


def _rows_of(task: RelaxedTask, size: int) -> tuple[Any, FloatArray, Any, FloatArray]:
    """Linear rows of one task: equalities and their right sides, inequalities and theirs."""
    pick = _Columns(task, size)
    G, I, S = task.shape  # noqa: E741
    n = len(task.slot)
    ones = np.ones(n)
    cover = csr_matrix((ones, (task.slot, np.arange(n))), shape=(G, n))
    by_device = csr_matrix((ones, (task.slot * I + task.device, np.arange(n))), shape=(G * I, n))
    by_age = csr_matrix((ones, (task.slot * S + task.stale, np.arange(n))), shape=(G * S, n))
    work = pick("steps") + pick("batch")
    spread = block_diag([csr_matrix(np.ones((1, I)))] * G)

    def mean(values: FloatArray) -> Any:
        return spread @ diags(np.tile(values, G)) @ pick("z")

    equal = [
        (cover @ pick("x"), np.ones(G)),
        (pick("z") - by_device @ pick("x"), np.zeros(G * I)),
        (pick("y") - by_age @ pick("x"), np.zeros(G * S)),
        (pick("length") - mean(task.log_cycles) - work + pick("frequency"), np.zeros(G)),
        (pick("energy") - mean(task.log_energy) - work - 2.0 * pick("frequency"), np.zeros(G)),
    ]
    later = eye(G, k=-1) - eye(G)
    busy = _busy(task)
    low_Hz, high_Hz = np.log(task.task.lowest_Hz), np.log(task.task.highest_Hz)
    below = [
        (-pick("x"), np.zeros(n)),
        (busy @ pick("x"), np.ones(busy.shape[0])),
        (later @ pick("end"), np.zeros(G)),
        (-pick("compute"), np.zeros(G)),
        (pick("frequency") - mean(high_Hz), np.zeros(G)),
        (mean(low_Hz) - pick("frequency"), np.zeros(G)),
    ]
    for part, (low, high) in (("steps", task.log_steps), ("batch", task.log_batch)):
        below += [(pick(part), np.full(G, high)), (-pick(part), np.full(G, -low))]
    if task.task.fewest_slots > 0:
        rows = csr_matrix(np.tile(np.eye(I), (1, G)))[task.task.usable]
        below.append((-rows @ pick("z"), np.full(len(task.task.usable), -float(task.task.fewest_slots))))
    return (
        vstack([a for a, _ in equal]),
        np.concatenate([b for _, b in equal]),
        vstack([a for a, _ in below]),
        np.concatenate([b for _, b in below]),
    )


@dataclass(frozen=True, eq=False)
class _Columns:
    """Selects a part of a task from the whole vector."""

    task: RelaxedTask
    size: int

    def __call__(self, part: str) -> Any:
        place = self.task.at[part]
        k = np.arange(place.stop - place.start)
        return csr_matrix((np.ones(len(k)), (k, place.start + k)), shape=(len(k), self.size))


def _busy(task: RelaxedTask) -> Any:
    """Rows of rule S2: at slot k device i has at most one job; those that could be broken."""
    G, I, S = task.shape  # noqa: E741
    row, column = [], []
    index = np.arange(len(task.slot))
    for age in range(S):
        inside = task.stale >= age
        row.append(((task.slot - age) * I + task.device)[inside])
        column.append(index[inside])
    rows, columns = np.concatenate(row), np.concatenate(column)
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(G * I, len(index)))
    slots = csr_matrix((np.ones(len(rows)), (rows, task.slot[columns])), shape=(G * I, G))
    several = np.diff((slots > 0).indptr) > 1  # one slot alone is kept by its cover row
    return matrix[several]
