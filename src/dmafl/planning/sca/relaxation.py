"""The planning problem with its binaries relaxed, as one vector: what successive convex approximation works on.

Of every task: shares x of the candidates (slot, device, staleness); their sums z by (slot, device) and y by (slot,
staleness); logarithms of steps, batch, frequency, of computing time and computing energy; computing and completion
times in units of `unit_s`. Devices' constants enter as sum_i z_i log(constant_i), so that all but three relations are
linear: order of slots, duration of computation, batteries.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.randomness import generator
from dmafl.planning.decision import TaskDecision, jobs_from, times_of
from dmafl.planning.loss_models.relaxed import RelaxedFrame, RelaxedLoss, RelaxedSchedule
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.schedule.earliest_times import earliest_ends_of_shares

PARTS = ("x", "z", "y", "steps", "batch", "frequency", "length", "energy", "compute", "end")
"""Parts of a task's vector, in this order."""
SPREAD = 0.02
"""Relative size of the seeded noise on the first shares, which breaks ties."""
FRESHER = 4.0
"""How much larger the first share of a candidate is than that of one a slot staler: staleness makes work look dear."""
FULL = 0.9
"""Most that the first shares fill of a device's time."""


class NoCandidate(ValueError):
    """A slot that no device can complete."""


@dataclass(frozen=True, eq=False)
class RelaxedTask:
    """One task's part of the vector, from index `first` on."""

    problem: Problem
    task: TaskProblem
    first: int
    slot: IntArray
    device: IntArray
    stale: IntArray
    """Of every candidate, (n,)."""
    samples: FloatArray
    """D of every slot, held, (G,)."""
    ages: int
    """S: staleness 0 to S - 1."""

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """(G, I, S)."""
        return self.task.slots, self.problem.devices, self.ages

    @cached_property
    def unit_s(self) -> float:
        """Unit of times: the window for one slot."""
        return float(self.task.window_s[self.task.usable].min()) / self.task.slots

    @cached_property
    def at(self) -> dict[str, slice]:
        """Where each part is in the whole vector."""
        G, I, S = self.shape  # noqa: E741
        sizes = dict.fromkeys(PARTS, G) | {"x": len(self.slot), "z": G * I, "y": G * S}
        starts = self.first + np.concatenate([[0], np.cumsum([sizes[name] for name in PARTS])])
        return {name: slice(int(starts[k]), int(starts[k + 1])) for k, name in enumerate(PARTS)}

    @property
    def last(self) -> int:
        """Index after the task's part."""
        return int(self.at[PARTS[-1]].stop)

    @cached_property
    def transfer_s(self) -> FloatArray:
        """T^D + T^U by (slot, device, staleness), (G, I, S)."""
        G, _, S = self.shape
        version = np.maximum(np.arange(G)[:, None] - np.arange(S), 0)
        down = self.task.download_s[:, version]
        return np.asarray(np.moveaxis(down + self.task.upload_s[:, :, None], 0, 1))

    @cached_property
    def loss(self) -> RelaxedLoss:
        """The relaxed loss model."""
        settings = self.task.settings
        usual = np.where(np.isfinite(self.transfer_s), self.transfer_s, 0.0)
        return self.task.loss_model.relaxed(
            RelaxedFrame(
                self.task.mix_weights[:, : self.ages],
                self.samples,
                settings.learning_rate,
                settings.proximal,
                usual,
            )
        )

    @cached_property
    def radio_cost(self) -> FloatArray:
        """Cost of every candidate's transfers, (n,)."""
        p, t = self.problem, self.task
        up = p.upload_J(t)[self.device, self.slot]
        down = p.download_J(t)[self.device, self.slot - self.stale]
        return np.asarray(t.price_of_J * (p.c2 * up + p.c3 * down))

    @cached_property
    def log_cycles(self) -> FloatArray:
        """log(c_i / unit), (I,)."""
        return np.asarray(np.log(self.task.cycles / self.unit_s))

    @cached_property
    def log_energy(self) -> FloatArray:
        """log(xi_i c_i), (I,)."""
        return np.asarray(np.log(np.maximum(self.problem.energy_per_work(self.task), 1e-300)))

    @cached_property
    def log_steps(self) -> tuple[float, float]:
        """Limits of log e."""
        low, high = self.task.steps_range
        return float(np.log(low)), float(np.log(high))

    @cached_property
    def log_batch(self) -> tuple[float, float]:
        """Limits of log B."""
        low, high = self.task.batch_range
        return float(np.log(low)), float(np.log(high))

    def get(self, v: FloatArray, part: str) -> FloatArray:
        """One part of the vector (a view)."""
        return v[self.at[part]]

    def shares(self, v: FloatArray) -> FloatArray:
        """x as a table, (G, I, S)."""
        table = np.zeros(self.shape)
        table[self.slot, self.device, self.stale] = self.get(v, "x")
        return table

    def complete(self, v: FloatArray) -> None:
        """Set all that follows from shares, steps, batch and frequency: sums, times (the earliest), energy."""
        x = self.shares(v)
        z, y = x.sum(axis=2), x.sum(axis=1)
        self.get(v, "z")[:] = z.ravel()
        self.get(v, "y")[:] = y.ravel()
        work = self.get(v, "steps") + self.get(v, "batch")
        self.get(v, "length")[:] = z @ self.log_cycles + work - self.get(v, "frequency")
        self.get(v, "energy")[:] = z @ self.log_energy + work + 2.0 * self.get(v, "frequency")
        self.get(v, "compute")[:] = np.exp(self.get(v, "length"))
        busy = self.get(v, "compute") + self.mean_transfer(v)
        self.get(v, "end")[:] = earliest_ends_of_shares(y, busy)

    def mean_transfer(self, v: FloatArray) -> FloatArray:
        """Transfer time of every slot, mean over its candidates [unit], (G,)."""
        each = self.transfer_s[self.slot, self.device, self.stale] * self.get(v, "x")
        return np.asarray(np.bincount(self.slot, each, minlength=self.shape[0])) / self.unit_s

    def objective(self, v: FloatArray, gradient: FloatArray) -> float:
        """The task's part of the objective; its gradient is written to its place in `gradient`."""
        t, p = self.task, self.problem
        e, B = np.exp(self.get(v, "steps")), np.exp(self.get(v, "batch"))
        at = RelaxedSchedule(
            self.shares(v), e, B, self.get(v, "compute") * self.unit_s, self.get(v, "end") * self.unit_s
        )
        value, slope = self.loss(at)
        joules = np.exp(self.get(v, "energy")) * (t.price_of_J * p.c2)
        self.get(gradient, "x")[:] = t.weight * slope.x[self.slot, self.device, self.stale] + self.radio_cost
        self.get(gradient, "steps")[:] = t.weight * slope.steps * e
        self.get(gradient, "batch")[:] = t.weight * slope.batch * B
        self.get(gradient, "compute")[:] = t.weight * slope.compute_s * self.unit_s
        self.get(gradient, "end")[:] = t.weight * slope.end_s * self.unit_s
        self.get(gradient, "end")[-1] += t.price_of_s * self.unit_s
        self.get(gradient, "energy")[:] = joules
        energy = float(joules.sum() + self.radio_cost @ self.get(v, "x"))
        return t.weight * value + energy + t.price_of_s * self.unit_s * float(self.get(v, "end")[-1])


@dataclass(frozen=True, eq=False)
class RelaxedProblem:
    """All tasks, side by side in one vector."""

    problem: Problem
    tasks: tuple[RelaxedTask, ...]
    look: Callable[[], None] = lambda: None
    """Called before long work; may raise."""

    @property
    def size(self) -> int:
        """Length of the vector."""
        return self.tasks[-1].last

    def objective(self, v: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient."""
        gradient = np.zeros(self.size)
        value = 0.0
        for task in self.tasks:
            self.look()
            value += task.objective(v, gradient)
        return value, gradient

    def completed(self, v: FloatArray) -> FloatArray:
        """The same shares, steps, batches and frequencies with all that follows from them."""
        out = v.copy()
        for task in self.tasks:
            task.complete(out)
        return out

    @cached_property
    def share_places(self) -> IntArray:
        """Where the shares are."""
        return np.concatenate([np.arange(t.at["x"].start, t.at["x"].stop) for t in self.tasks])

    def shares(self, v: FloatArray) -> FloatArray:
        """The shares of all tasks, one after another."""
        return v[self.share_places]

    def undecided(self, v: FloatArray) -> float:
        """sum x (1 - x): 0 for a schedule."""
        x = self.shares(v)
        return float(x @ (1.0 - x))


def relax(problem: Problem, look: Callable[[], None] = lambda: None) -> RelaxedProblem:
    """The relaxed form of a problem; `look` is called before long work, and may raise."""
    tasks: list[RelaxedTask] = []
    for task in problem.tasks:
        look()
        tasks.append(_relax_task(problem, task, tasks[-1].last if tasks else 0))
    return RelaxedProblem(problem, tuple(tasks), look)


def first_point(relaxed: RelaxedProblem, seed: int) -> FloatArray:
    """A fractional start: devices share every slot almost evenly, as far as they have time (rule S2)."""
    v = np.zeros(relaxed.size)
    for task in relaxed.tasks:
        rng = generator(seed, "sca.start", task.task.number)
        noise = 1.0 + SPREAD * rng.uniform(-1, 1, len(task.slot))
        task.get(v, "x")[:] = _even_shares(task, noise * FRESHER ** -task.stale.astype(np.float64))
        z = task.shares(v).sum(axis=2)
        for part, (low, high) in (("steps", task.log_steps), ("batch", task.log_batch)):
            task.get(v, part)[:] = (low + high) / 2
        low_Hz, high_Hz = np.log(task.task.lowest_Hz), np.log(task.task.highest_Hz)
        task.get(v, "frequency")[:] = z @ (low_Hz + high_Hz) / 2
        task.complete(v)
    return v


def _relax_task(problem: Problem, task: TaskProblem, first: int) -> RelaxedTask:
    ages = task.most_stale + 1 if task.loss_model.considers_stale else 1
    G = task.slots
    stale = np.arange(ages)
    slot, device, age = (
        a.ravel() for a in np.meshgrid(np.arange(G), np.arange(problem.devices), stale, indexing="ij")
    )
    down = task.download_s[device, np.maximum(slot - age, 0)]
    up = task.upload_s[device, slot]
    possible = (slot >= age) & np.isin(device, task.usable)
    possible &= down + up < task.window_s[device]
    possible &= problem.upload_J(task)[device, slot] < problem.world.devices.battery_J[device]
    if len(np.unique(slot[possible])) < G:
        missing = int(np.setdiff1d(np.arange(G), slot[possible])[0])
        raise NoCandidate(f"no device can complete slot {missing} of task {task.name}")
    slot, device, age = slot[possible], device[possible], age[possible]
    # The samples that a device will have depend on times; those of a fresh schedule with middling work are held.
    middle = np.full(G, 0.5)
    firsts = device[np.searchsorted(slot, np.arange(G))]
    usual = TaskDecision(
        firsts,
        np.arange(G),
        middle * sum(task.steps_range),
        middle * sum(task.batch_range),
        task.highest_Hz[firsts],
    )
    samples = jobs_from(problem, task, usual, times_of(task, usual)).samples
    return RelaxedTask(problem, task, first, slot, device, age, samples, ages)


def _even_shares(task: RelaxedTask, noise: FloatArray) -> FloatArray:
    """Shares in proportion to `noise`, mixed with fresh ones so that no device is filled to more than FULL."""
    even = noise / np.bincount(task.slot, noise)[task.slot]
    fresh = np.where(task.stale == 0, noise, 0.0)
    total = np.bincount(task.slot, fresh)
    if (total == 0).any():
        return np.asarray(even)
    fresh = fresh / total[task.slot]
    busy_even, busy_fresh = occupied(task, even), occupied(task, fresh)
    limit = np.maximum(FULL, busy_fresh)
    over = busy_even > limit
    part = 1.0
    if over.any():
        part = float(((limit - busy_fresh)[over] / (busy_even - busy_fresh)[over]).min())
    return np.asarray(part * even + (1.0 - part) * fresh)


def occupied(task: RelaxedTask, x: FloatArray) -> FloatArray:
    """How much of slot k device i is busy: shares of its jobs that receive a version <= k and complete >= k, (G, I)."""
    G, I, _ = task.shape  # noqa: E741
    change = np.zeros((G + 1, I))
    np.add.at(change, (task.slot - task.stale, task.device), x)
    np.add.at(change, (task.slot + 1, task.device), -x)
    return np.asarray(np.cumsum(change, axis=0)[:G])
