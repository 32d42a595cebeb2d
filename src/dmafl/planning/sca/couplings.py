"""Convex surrogates of the constraints of the relaxed problem: linearisation plus (L/2) |R (v - v_m)|^2.

Eq. (convexified_nonconvex_inequality_constraint) and Eq. (convexified_nonconvex_equality_constraint). Each touches
the truth at v_m, in value and gradient, and lies above it in the trust region (`within`). Differs from the paper: the
proximal term of a constraint only sees the variables that make it curved, scaled by their curvature (rows R), instead
of L |v - v_m|^2 with one L for all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.sca.relaxation import RelaxedProblem, RelaxedTask
from dmafl.planning.sca.sparse import sparse_of
from dmafl.planning.sca.trust_region import CURVATURE_BOUND, GROWTH_BOUND


@dataclass(frozen=True, eq=False)
class Coupling:
    """A family of m constraints N(v) <= 0 at v_m."""

    name: str
    value: FloatArray
    """N(v_m), (m,)."""
    jacobian: csr_matrix
    """(m, n)."""
    rows: csr_matrix
    """R: the proximal terms, (r, n)."""
    group: IntArray
    """Constraint that each row of R belongs to, (r,)."""

    def above(self, d: FloatArray) -> FloatArray:
        """The surrogate of N: N(v_m) + grad N d + |R d|^2 / 2."""
        proximal = 0.5 * np.bincount(self.group, (self.rows @ d) ** 2, minlength=len(self.value))
        return np.asarray(self.value + self.jacobian @ d + proximal)

    def violation(self) -> FloatArray:
        """How much each constraint is broken at v_m."""
        return np.maximum(self.value, 0.0)


def couplings(relaxed: RelaxedProblem, v: FloatArray) -> tuple[Coupling, ...]:
    """All constraints that tie variables together, with their surrogates at v."""
    return (
        _joined("order", [_order(task, v, relaxed.size) for task in relaxed.tasks]),
        _joined("duration", [_duration(task, v, relaxed.size) for task in relaxed.tasks]),
        _joined("no_longer", [_no_longer(task, v, relaxed.size) for task in relaxed.tasks]),
        _battery(relaxed, v),
        _joined("window", [_window(task, v, relaxed.size) for task in relaxed.tasks]),
    )


def violation(relaxed: RelaxedProblem, v: FloatArray) -> tuple[float, ...]:
    """Largest violation of every family at v."""
    return tuple(float(c.violation().max(initial=0.0)) for c in couplings(relaxed, v))


def _order(task: RelaxedTask, v: FloatArray, size: int) -> Coupling:
    """tau_g >= sum_s y_s tau_{g-s-1} + transfers + T^C: bilinear in shares by age and times. Rule S3.

    The changes of y sum to 0, so that only the time since version g - s came, tau_{g-1} - tau_{g-s-1}, matters, and
    |a b| <= (a^2 + b^2) / 2.
    """
    G, _, S = task.shape
    y = task.get(v, "y").reshape(G, S)
    tau = np.concatenate([[0.0], task.get(v, "end")])
    g, s = (a.ravel() for a in np.meshgrid(np.arange(G), np.arange(S), indexing="ij"))
    g, s = g[s <= g], s[s <= g]
    value = task.get(v, "compute") + task.mean_transfer(v) - tau[1:]
    value = value + np.bincount(g, y[g, s] * tau[g - s], minlength=G)
    slots = np.arange(G)
    end, share = task.at["end"].start, task.at["y"].start
    late = g - s > 0
    transfer = task.transfer_s[task.slot, task.device, task.stale] / task.unit_s
    jacobian = sparse_of(
        [
            (task.slot, task.at["x"].start + np.arange(len(task.slot)), transfer),
            (g, share + g * S + s, tau[g - s]),
            (g[late], end + (g - s - 1)[late], y[g, s][late]),
            (slots, task.at["compute"].start + slots, np.ones(G)),
            (slots, end + slots, -np.ones(G)),
        ],
        (G, size),
    )
    stale = s > 0
    g, s = g[stale], s[stale]
    n, r = len(g), np.arange(len(g))
    late = g - s > 0
    rows = sparse_of(
        [
            (r, share + g * S + s, np.ones(n)),
            (n + r, end + g - 1, np.ones(n)),
            ((n + r)[late], end + (g - s - 1)[late], -np.ones(int(late.sum()))),
        ],
        (2 * n, size),
    )
    return Coupling("order", value, jacobian, rows, np.concatenate([g, g]))


def _duration(task: RelaxedTask, v: FloatArray, size: int) -> Coupling:
    """T^C >= exp(length): Eq. (local_computation_time), with c e B / f as the exponential of a linear function."""
    slots, length = _slots_of(task, "length")
    seconds = np.exp(task.get(v, "length"))
    rows = sparse_of([(slots, length, np.sqrt(CURVATURE_BOUND * seconds))], (len(slots), size))
    jacobian = -_of_duration(task, seconds, size)
    return Coupling("duration", seconds - task.get(v, "compute"), jacobian, rows, slots)


def _no_longer(task: RelaxedTask, v: FloatArray, size: int) -> Coupling:
    """T^C <= exp(length): the other half of the equality. It is concave, so that its linearisation lies above it."""
    seconds = np.exp(task.get(v, "length"))
    return Coupling(
        "no_longer",
        task.get(v, "compute") - seconds,
        _of_duration(task, seconds, size),
        csr_matrix((0, size)),
        np.zeros(0, dtype=np.int64),
    )


def _of_duration(task: RelaxedTask, seconds: FloatArray, size: int) -> csr_matrix:
    """Derivative of T^C - exp(length)."""
    slots, length = _slots_of(task, "length")
    compute = task.at["compute"].start + slots
    return sparse_of([(slots, compute, np.ones(len(slots))), (slots, length, -seconds)], (len(slots), size))


def _slots_of(task: RelaxedTask, part: str) -> tuple[IntArray, IntArray]:
    """The slots, and where a part is for each."""
    slots = np.arange(task.shape[0])
    return slots, task.at[part].start + slots


MARGIN = 1e-6
"""Share of windows and batteries that is kept free, for what the conic solver leaves open."""


def _battery(relaxed: RelaxedProblem, v: FloatArray) -> Coupling:
    """sum of z (E^U + exp(energy)) <= E^B, in shares of the battery. Rule S6."""
    battery = relaxed.problem.world.devices.battery_J * (1.0 - MARGIN)
    I = relaxed.problem.devices  # noqa: E741
    value, entries, rows, group, count = -np.ones(I), [], [], [], 0
    for task in relaxed.tasks:
        G = task.shape[0]
        z = task.get(v, "z").reshape(G, I)
        joules = np.exp(task.get(v, "energy"))
        each = relaxed.problem.upload_J(task.task).T
        each = np.where(np.isfinite(each), each, 0.0) + joules[:, None]
        value += (z * each).sum(axis=0) / battery
        g, i = (a.ravel() for a in np.meshgrid(np.arange(G), np.arange(I), indexing="ij"))
        device_share, energy = task.at["z"].start + g * I + i, task.at["energy"].start + g
        share = joules[g] / battery[i]
        entries += [(i, device_share, each[g, i] / battery[i]), (i, energy, z[g, i] * share)]
        r, n = count + np.arange(len(g)), len(g)
        rows += [
            (r, device_share, np.sqrt(GROWTH_BOUND * share)),
            (n + r, energy, np.sqrt(share * (CURVATURE_BOUND * np.maximum(z[g, i], 0.0) + GROWTH_BOUND))),
        ]
        group += [i, i]
        count += 2 * n
    shape = (I, relaxed.size)
    return Coupling(
        "battery", value, sparse_of(entries, shape), sparse_of(rows, (count, shape[1])), np.concatenate(group)
    )


def _window(task: RelaxedTask, v: FloatArray, size: int) -> Coupling:
    """tau_g <= sum_i z_i T^QoE_i: linear. Rule S4; the last slot decides where all windows are alike."""
    G, I, _ = task.shape  # noqa: E741
    window = task.task.window_s / task.unit_s * (1.0 - MARGIN)
    alike = np.ptp(window[task.task.usable]) == 0
    slots = np.asarray([G - 1]) if alike else np.arange(G)
    r = np.arange(len(slots))
    end = task.at["end"].start + slots
    g, i = (a.ravel() for a in np.meshgrid(slots, np.arange(I), indexing="ij"))
    device_share = task.at["z"].start + g * I + i
    value = v[end] - task.get(v, "z").reshape(G, I)[slots] @ window
    jacobian = sparse_of(
        [(r, end, np.ones(len(r))), (np.repeat(r, I), device_share, -window[i])], (len(r), size)
    )
    none = np.zeros(0, dtype=np.int64)
    return Coupling("window", value, jacobian, csr_matrix((0, size)), none)


def _joined(name: str, parts: list[Coupling]) -> Coupling:
    """Several families as one."""
    from scipy.sparse import vstack

    starts = np.cumsum([0] + [len(p.value) for p in parts])
    return Coupling(
        name,
        np.concatenate([p.value for p in parts]),
        vstack([p.jacobian for p in parts]).tocsr(),
        vstack([p.rows for p in parts]).tocsr(),
        np.concatenate([p.group + starts[k] for k, p in enumerate(parts)]),
    )
