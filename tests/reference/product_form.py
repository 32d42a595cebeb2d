"""A reference for tests and benchmarks: Algorithm 1 on the paper's own variables R, U, X, in CVXPY, at tiny sizes.

A plain transcription: the binaries R (receive), U (upload) and X = R U prod (1 - U) of Fact 1 as corrected, per-slot
steps, batch, frequency, computing time and energy and completion times; every non-convex function is linearised and
gets (L/2) |v - v_m|^2 over the whole vector. Without slack it cannot leave a binary point; with slack whose price grows
it can. Derivatives of constraints are differences: short, and slow.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import cvxpy as cp
import numpy as np

from dmafl.planning.decision import TaskDecision
from dmafl.planning.loss_models.relaxed import RelaxedSchedule
from dmafl.planning.problem import Problem
from dmafl.planning.sca.relaxation import RelaxedTask, relax
from dmafl.planning.sca.rounding import Rounded, _order, polish

LIPSCHITZ = 1.0
"""L_IE = L_EQ, in scaled variables."""
PROXIMAL = 0.05
"""lambda, in units of the objective."""
EPSILON = 0.9
PARTS = ("R", "U", "X", "e", "B", "f", "T", "E", "tau")


@dataclass(frozen=True)
class ProductResult:
    decisions: tuple[TaskDecision, ...]
    objective: float
    iterations: int
    seconds: float
    moved: float
    """Largest change of a variable in all iterations."""


class ProductTask:
    """One task; v holds, scaled to about [0, 1], the parts named in PARTS."""

    def __init__(self, problem: Problem, relaxed: RelaxedTask) -> None:
        self.problem, self.relaxed, self.task = problem, relaxed, relaxed.task
        self.G, self.I, self.S = relaxed.shape
        G, I, n = self.G, self.I, len(relaxed.slot)  # noqa: E741
        sizes = {"R": G * I, "U": G * I, "X": n} | dict.fromkeys(PARTS[3:], G)
        ends = np.cumsum([sizes[name] for name in PARTS])
        self.at = {
            name: slice(int(end - sizes[name]), int(end)) for name, end in zip(PARTS, ends, strict=True)
        }
        self.size = int(ends[-1])
        self.version = relaxed.slot - relaxed.stale

    @cached_property
    def scale(self) -> np.ndarray:
        t = self.task
        units = {"e": t.steps_range[1], "B": t.batch_range[1], "f": float(t.highest_Hz.max())}
        units |= {"T": self.relaxed.unit_s, "tau": self.relaxed.unit_s * self.G, "E": self.joules}
        out = np.ones(self.size)
        for name, unit in units.items():
            out[self.at[name]] = unit
        return out

    @cached_property
    def joules(self) -> float:
        t = self.task
        work = np.sqrt(np.prod(t.steps_range) * np.prod(t.batch_range))
        return float(np.median(self.problem.energy_per_work(t)) * work * (t.highest_Hz / 2).mean() ** 2)

    def get(self, v: np.ndarray, name: str) -> np.ndarray:
        return v[self.at[name]] * self.scale[self.at[name]]

    def objective(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """c_1 gamma Conv + energies, and the gradient in scaled variables."""
        r, t, p = self.relaxed, self.task, self.problem
        x = np.zeros(r.shape)
        x[r.slot, r.device, r.stale] = v[self.at["X"]]
        e, B = np.maximum(self.get(v, "e"), 0.5), np.maximum(self.get(v, "B"), 0.5)
        value, slope = r.loss(RelaxedSchedule(x, e, B, self.get(v, "T"), self.get(v, "tau")))
        gradient = np.zeros(self.size)
        gradient[self.at["X"]] = t.weight * slope.x[r.slot, r.device, r.stale] + r.radio_cost
        for name, part in (
            ("e", slope.steps),
            ("B", slope.batch),
            ("T", slope.compute_s),
            ("tau", slope.end_s),
        ):
            gradient[self.at[name]] = t.weight * part
        gradient[self.at["E"]] = t.price_of_J * p.c2
        energy = t.price_of_J * p.c2 * self.get(v, "E").sum() + r.radio_cost @ v[self.at["X"]]
        return t.weight * value + float(energy), gradient * self.scale

    def equalities(self, v: np.ndarray) -> np.ndarray:
        """N^EQ: Fact 1, Eq. (eq:local_computation_time), Eq. (eq:local_computation_energy)."""
        r, t, G, I = self.relaxed, self.task, self.G, self.I  # noqa: E741
        R, U = v[self.at["R"]].reshape(G, I), v[self.at["U"]].reshape(G, I)
        X = v[self.at["X"]]
        product = R[self.version, r.device] * U[r.slot, r.device]
        for k in range(G):
            inside = (self.version <= k) & (k < r.slot)
            product = product * np.where(inside, 1.0 - U[k, r.device], 1.0)
        e, B, f = self.get(v, "e"), self.get(v, "B"), self.get(v, "f")
        cycles = np.bincount(r.slot, X * t.cycles[r.device], minlength=G)
        heat = np.bincount(r.slot, X * self.problem.energy_per_work(t)[r.device], minlength=G)
        T, E = self.get(v, "T"), self.get(v, "E")
        time_off = (T * f - cycles * e * B) / (self.relaxed.unit_s * float(t.highest_Hz.max()))
        return np.concatenate([X - product, time_off, (E - heat * e * B * f**2) / self.joules])

    def inequalities(self, v: np.ndarray) -> np.ndarray:
        """N^IE: binaries, Eq. (const:force_downlink_transfer) and on; order of slots (S3)."""
        r, G = self.relaxed, self.G
        R, U, X = (v[self.at[name]] for name in "RUX")
        tau = np.concatenate([[0.0], self.get(v, "tau")])
        start = tau[self.version] + r.transfer_s[r.slot, r.device, r.stale]
        order = np.bincount(r.slot, X * start, minlength=G) + self.get(v, "T") - tau[1:]
        return np.concatenate([R * (1 - R), U * (1 - U), order / r.unit_s])

    def spent(self, v: np.ndarray) -> np.ndarray:
        """E^U + E^C by device, in batteries."""
        r = self.relaxed
        each = v[self.at["X"]] * (
            self.problem.upload_J(self.task)[r.device, r.slot] + self.get(v, "E")[r.slot]
        )
        return np.bincount(r.device, each, minlength=self.I) / self.problem.world.devices.battery_J

    def convex(self, v: cp.Expression) -> list[cp.Constraint]:
        """C^EQ and C^IE."""
        r, t, G, I = self.relaxed, self.task, self.G, self.I  # noqa: E741
        R, U, X, tau = (v[self.at[name]] for name in ("R", "U", "X", "tau"))
        once = np.kron(np.eye(G), np.ones((1, I)))
        cover = np.zeros((G, len(r.slot)))
        cover[r.slot, np.arange(len(r.slot))] = 1.0
        low, high = np.zeros(self.size), np.ones(self.size)
        low[self.at["e"]] = t.steps_range[0] / t.steps_range[1]
        low[self.at["B"]] = t.batch_range[0] / t.batch_range[1]
        low[self.at["f"]] = float(t.lowest_Hz.max() / t.highest_Hz.max())
        high[self.at["T"]] = high[self.at["E"]] = np.inf
        high[self.at["tau"]] = float(t.window_s.min()) / (r.unit_s * G)
        limited = np.isfinite(high)
        return [
            once @ U == 1,
            cover @ X == 1,
            cp.sum(R) >= G,
            cp.sum(R) <= G + t.most_stale,
            tau[1:] >= tau[:-1],
            v >= low,
            v[limited] <= high[limited],
        ]

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """A fractional point: every device a little of every slot."""
        v = np.full(self.size, 0.5)
        v[self.at["R"]] = v[self.at["U"]] = 1.0 / self.I
        noise = rng.uniform(0.9, 1.1, len(self.relaxed.slot)) * 4.0**-self.relaxed.stale
        v[self.at["X"]] = noise / np.bincount(self.relaxed.slot, noise)[self.relaxed.slot]
        v[self.at["tau"]] = np.arange(1, self.G + 1) / self.G
        return v

    def at_decision(self, decision: TaskDecision, end_s: np.ndarray) -> np.ndarray:
        """The binary point of a schedule."""
        v, slot = np.zeros(self.size), np.arange(self.G)
        v[self.at["R"]].reshape(self.G, self.I)[decision.version, decision.device] = 1.0
        v[self.at["U"]].reshape(self.G, self.I)[slot, decision.device] = 1.0
        r = self.relaxed
        v[self.at["X"]] = (decision.device[r.slot] == r.device) & (decision.version[r.slot] == self.version)
        f, i = decision.frequency_Hz, decision.device
        values = {"e": decision.steps, "B": decision.batch, "f": f, "tau": end_s}
        values["T"] = self.task.cycles[i] * decision.work / f
        values["E"] = self.problem.energy_per_work(self.task)[i] * decision.work * f**2
        for name, value in values.items():
            v[self.at[name]] = value / self.scale[self.at[name]]
        return v


class ProductForm:
    """All tasks in one vector."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.tasks = [ProductTask(problem, task) for task in relax(problem).tasks]
        ends = np.cumsum([task.size for task in self.tasks])
        self.places = [slice(int(e - t.size), int(e)) for e, t in zip(ends, self.tasks, strict=True)]
        self.size = int(ends[-1])

    def objective(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        parts = [task.objective(v[place]) for task, place in zip(self.tasks, self.places, strict=True)]
        return sum(value for value, _ in parts), np.concatenate([slope for _, slope in parts])

    def curved(self, v: np.ndarray) -> tuple[np.ndarray, int]:
        """All non-convex constraints, equalities first, and how many of those there are."""
        parts = [v[place] for place in self.places]
        equal = np.concatenate([t.equalities(one) for t, one in zip(self.tasks, parts, strict=True)])
        below = [t.inequalities(one) for t, one in zip(self.tasks, parts, strict=True)]
        spent = sum(t.spent(one) for t, one in zip(self.tasks, parts, strict=True))
        return np.concatenate([equal, *below, spent - 1.0]), len(equal)

    def jacobian(self, v: np.ndarray) -> np.ndarray:
        columns = []
        for k in range(self.size):
            h = np.zeros(self.size)
            h[k] = 1e-6
            columns.append((self.curved(v + h)[0] - self.curved(v - h)[0]) / 2e-6)
        return np.stack(columns, axis=1)

    def step(self, v: np.ndarray, price: float | None, weight: float) -> np.ndarray:
        """The minimiser of the surrogate problem at v; `price` None: no slack, as the paper has it."""
        _, slope = self.objective(v)
        curved, equal = self.curved(v)
        d = cp.Variable(self.size)
        square = cp.Variable()
        slack = cp.Variable(len(curved), nonneg=True) if price is not None else np.zeros(len(curved))
        linear = curved + self.jacobian(v) @ d
        rules = [square >= cp.sum_squares(d), linear + LIPSCHITZ / 2 * square <= slack]
        rules.append(-linear[:equal] + LIPSCHITZ / 2 * square <= slack[:equal])
        for task, place in zip(self.tasks, self.places, strict=True):
            rules += task.convex(v[place] + d[place])
        cost = slope @ d + weight / 2 * cp.sum_squares(d)
        if price is not None:
            cost = cost + price * cp.sum(slack)
        unit = max(float(np.abs(slope).max()), 1e-12)
        cp.Problem(cp.Minimize(cost / unit), rules).solve(solver=cp.CLARABEL)
        return v + d.value


def product_sca(problem: Problem, *, seed: int = 0, iterations: int = 25) -> ProductResult:
    """Algorithm 1 with slack whose price grows, from a fractional start; then rounding and polish as in `sca`."""
    began = time.perf_counter()
    form = ProductForm(problem)
    rng = np.random.default_rng(seed)
    v = np.concatenate([task.start(rng) for task in form.tasks])
    value, slope = form.objective(v)
    price, moved, count = 0.1 * float(np.abs(slope).max()), 0.0, 0
    while count < iterations:
        count += 1
        target = form.step(v, price, PROXIMAL * abs(value))
        change = float(np.abs(target - v).max())
        v, moved, price = v + EPSILON * (target - v), max(moved, change), price * 1.4
        if change < 1e-3:
            break
    found = _rounded(form, v)
    return ProductResult(found.decisions, found.objective, count, time.perf_counter() - began, moved)


def _rounded(form: ProductForm, v: np.ndarray) -> Rounded:
    decisions = []
    for task, place in zip(form.tasks, form.places, strict=True):
        r, own, t = task.relaxed, v[place], task.task
        x = np.zeros(r.shape)
        x[r.slot, r.device, r.stale] = np.maximum(own[task.at["X"]], 0.0)
        device, stale = _order(r, x, None)
        decisions.append(
            TaskDecision(
                device,
                np.arange(task.G) - stale,
                np.clip(task.get(own, "e"), *t.steps_range),
                np.clip(task.get(own, "B"), *t.batch_range),
                np.clip(task.get(own, "f"), t.lowest_Hz[device], t.highest_Hz[device]),
            )
        )
    return polish(form.problem, decisions)
