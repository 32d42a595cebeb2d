"""Convex surrogates of the relaxed problem at a point: linearisation plus (L/2) |R (v - v_m)|^2.

Eq. (convexified_nonconvex_objective), Eq. (convexified_nonconvex_inequality_constraint) and Eq.
(convexified_nonconvex_equality_constraint). Each touches the truth at v_m, in value and gradient, and lies above it
in the trust region (`within`). Differs from the paper: the proximal term of a constraint only sees the variables
that make it curved, scaled by their curvature (rows R), instead of L |v - v_m|^2 with one L for all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import coo_matrix, csr_matrix

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.randomness import generator
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.sca.relaxation import RelaxedProblem, RelaxedTask

TRUST = 1.0
"""Logarithms (steps, batch, frequency, length, energy) move by at most this much in one step."""
_EXP = 2.0 * (np.exp(TRUST) - 1.0 - TRUST) / TRUST**2
"""exp(d) <= 1 + d + _EXP d^2 / 2 for |d| <= TRUST."""
_EXPM1 = (np.exp(TRUST) - 1.0) / TRUST
"""|exp(d) - 1| <= _EXPM1 |d| for |d| <= TRUST."""
MARGIN = 1e-6
"""Share of windows and batteries that is kept free, for what the conic solver leaves open."""
LOGARITHMS = ("steps", "batch", "frequency", "length", "energy")
_POWER_ITERATIONS = 4
_DIRECTIONS = 3
"""Directions of a block in which the objective may bend more than elsewhere."""
LEAST_CURVATURE = 0.05
"""Curvature of a block that is always assumed, in slopes per unit."""
_SMALL = 1e-4
"""Step of the differences of gradients that measure curvature."""
SAFETY = 1.5
"""Factor on a measured curvature, since it changes within the trust region."""


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


@dataclass(frozen=True, eq=False)
class Curvature:
    """Of the objective near a point, from above: d' (diag(diagonal) + U' diag(strength) U) d."""

    diagonal: FloatArray
    directions: csr_matrix
    """U: unit vectors in which the objective bends more than elsewhere, (k, n)."""
    strength: FloatArray
    """How much more, (k,)."""
    most: float = 1.0
    """The largest lambda that can be needed."""

    def __call__(self, d: FloatArray) -> float:
        """The quadratic form."""
        return float(self.diagonal @ d**2 + self.strength @ (self.directions @ d) ** 2)

    def weighted(self, weight: FloatArray) -> Curvature:
        """With a weight lambda of every variable, the same for all of one direction."""
        strength = self.strength * (abs(self.directions) @ weight) / _lengths(self.directions)
        return Curvature(self.diagonal * weight, self.directions, strength)


@dataclass(frozen=True, eq=False)
class ObjectiveSurrogate:
    """O(v_m) + grad O d + curvature(d) / 2, where the curvature contains lambda."""

    value: float
    gradient: FloatArray
    curvature: Curvature

    def above(self, d: FloatArray) -> float:
        """The surrogate."""
        return self.value + float(self.gradient @ d) + 0.5 * self.curvature(d)


def curvature(relaxed: RelaxedProblem, v: FloatArray, seed: int = 0, effort: Effort = UNLIMITED) -> Curvature:
    """Blocks: shares, steps, batch, computing times, the last end, each of one task; energy, which is exp, by itself.

    The largest eigenvalues of a block are found by subspace iteration on differences of gradients; the smallest of
    them stands for all that are not known. A block has at least what makes a step of one unit cost its slope (of all
    its length, for the end). `most` is the largest eigenvalue of what is left of the Hessian, in units of these.
    """
    rng = generator(seed, "sca.curvature")
    _, slope = relaxed.objective(v)
    diagonal, most = np.zeros(relaxed.size), 1.0
    entries: list[Any] = []
    strengths: list[Any] = []
    for task in relaxed.tasks:
        for name in ("x", "steps", "batch"):
            place = task.at[name]
            size = float(np.ptp(slope[place]) if name == "x" else np.abs(slope[place]).max())
            values, vectors = _eigenvalues(relaxed, task, v, place, rng, effort)
            rest = max(float(np.abs(values).min()), LEAST_CURVATURE * size, 1e-12)
            diagonal[place] = rest
            for value, vector in zip(values, vectors.T, strict=True):
                if value > rest:
                    row = np.full(len(vector), len(strengths))
                    entries.append((row, np.arange(place.start, place.stop), vector))
                    strengths.append(value - rest)
        # The objective is linear in times while the rest stays, and sees few ends, most often only the last.
        diagonal[task.at["compute"]] = max(float(np.abs(task.get(slope, "compute")).max()), 1e-12)
        diagonal[task.at["end"]] = np.abs(task.get(slope, "end")) / np.maximum(task.get(v, "end"), 1.0)
        diagonal[task.at["energy"]] = _EXP * np.maximum(slope[task.at["energy"]], 1e-12)
    none = np.zeros(0)
    known = Curvature(
        diagonal,
        _matrix(entries or [(none.astype(int), none.astype(int), none)], (len(strengths), relaxed.size)),
        np.asarray(strengths),
    )
    for task in relaxed.tasks:
        most = max(most, SAFETY * _left(relaxed, task, v, known, rng, effort))
    return replace(known, most=most)


def _hessian(
    relaxed: RelaxedProblem, task: RelaxedTask, v: FloatArray, direction: FloatArray, effort: Effort
) -> FloatArray:
    """The task's Hessian times a direction."""
    effort.spend(Work.CURVATURE, relaxed.problem.quality, task.last - task.first)
    up, down = np.zeros(relaxed.size), np.zeros(relaxed.size)
    step = _SMALL / max(float(np.abs(direction).max()), 1e-300)
    task.objective(v + step * direction, up)
    task.objective(v - step * direction, down)
    return np.asarray((up - down) / (2.0 * step))


def _eigenvalues(
    relaxed: RelaxedProblem,
    task: RelaxedTask,
    v: FloatArray,
    place: slice,
    rng: np.random.Generator,
    effort: Effort,
) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues of largest size of the Hessian of the variables at `place` along the cover rows, and vectors."""
    along = _Along(task, place)
    size = place.stop - place.start
    count = min(_DIRECTIONS, size)
    basis = np.stack([along(rng.normal(size=size)) for _ in range(count)], axis=1)
    image = basis
    for _ in range(_POWER_ITERATIONS):
        basis = np.linalg.qr(image)[0]
        image = np.zeros_like(basis)
        for k in range(count):
            direction = np.zeros(relaxed.size)
            direction[place] = along(basis[:, k])
            image[:, k] = along(_hessian(relaxed, task, v, direction, effort)[place])
    small = basis.T @ image
    values, rotation = np.linalg.eigh((small + small.T) / 2)
    return values, basis @ rotation


def _left(
    relaxed: RelaxedProblem,
    task: RelaxedTask,
    v: FloatArray,
    modelled: Curvature,
    rng: np.random.Generator,
    effort: Effort,
) -> float:
    """Largest |eigenvalue| of the Hessian less the directions found, in units of the diagonal found."""
    whole = slice(task.first, task.last)
    known = modelled.diagonal[whole] > 0
    scale = np.where(known, 1.0 / np.sqrt(np.where(known, modelled.diagonal[whole], 1.0)), 0.0)
    along = _Along(task, whole)
    direction = along(rng.normal(size=len(scale)) * known)
    largest = 0.0
    for _ in range(_POWER_ITERATIONS):
        moved = np.zeros(relaxed.size)
        moved[whole] = along(scale * direction / max(float(np.linalg.norm(direction)), 1e-300))
        bent = _hessian(relaxed, task, v, moved, effort)
        bent -= modelled.directions.T @ (modelled.strength * (modelled.directions @ moved))
        direction = scale * along(bent[whole])
        largest = float(np.linalg.norm(direction))
    return largest


def _lengths(directions: csr_matrix) -> FloatArray:
    """Sum of absolute entries of each direction."""
    return np.asarray(np.maximum(np.asarray(abs(directions).sum(axis=1)).ravel(), 1e-300))


@dataclass(frozen=True, eq=False)
class _Along:
    """Takes off a direction what would change the sum of a slot's shares, which no step does."""

    task: RelaxedTask
    place: slice

    def __call__(self, direction: FloatArray) -> FloatArray:
        x = self.task.at["x"]
        if not (self.place.start <= x.start and x.stop <= self.place.stop):
            return direction
        out = direction.copy()
        shares = out[x.start - self.place.start : x.stop - self.place.start]
        mean = np.bincount(self.task.slot, shares) / np.bincount(self.task.slot)
        shares -= mean[self.task.slot]
        return out


def within(relaxed: RelaxedProblem, d: FloatArray) -> bool:
    """Whether a step lies in the trust region."""
    return all(
        float(np.abs(task.get(d, part)).max()) <= TRUST * (1 + 1e-9)
        for task in relaxed.tasks
        for part in LOGARITHMS
    )


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
    jacobian = _matrix(
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
    rows = _matrix(
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
    rows = _matrix([(slots, length, np.sqrt(_EXP * seconds))], (len(slots), size))
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
    return _matrix([(slots, compute, np.ones(len(slots))), (slots, length, -seconds)], (len(slots), size))


def _slots_of(task: RelaxedTask, part: str) -> tuple[IntArray, IntArray]:
    """The slots, and where a part is for each."""
    slots = np.arange(task.shape[0])
    return slots, task.at[part].start + slots


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
            (r, device_share, np.sqrt(_EXPM1 * share)),
            (n + r, energy, np.sqrt(share * (_EXP * np.maximum(z[g, i], 0.0) + _EXPM1))),
        ]
        group += [i, i]
        count += 2 * n
    shape = (I, relaxed.size)
    return Coupling(
        "battery", value, _matrix(entries, shape), _matrix(rows, (count, shape[1])), np.concatenate(group)
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
    jacobian = _matrix(
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


def _matrix(entries: list[tuple[IntArray, IntArray, FloatArray]], shape: tuple[int, int]) -> csr_matrix:
    """A sparse matrix from lists of rows, columns and values; entries at one place add up."""
    row, column, value = (np.concatenate([np.asarray(e[k]) for e in entries]) for k in range(3))
    return coo_matrix((value, (row, column)), shape=shape).tocsr()
