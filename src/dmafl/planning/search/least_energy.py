"""Schedules with the least work that overdraw batteries by as little as can be: a start where others break limits.

Every job costs its device an energy that depends on device and slot. Prices of devices rise with what they are asked
for until jobs spread over them; then single jobs change hands, or two are swapped, while that lowers what is overdrawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import block_diag, csr_matrix

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.decision import TaskDecision, all_past, late_s, uplink_and_compute_J
from dmafl.planning.effort import UNLIMITED, Effort
from dmafl.planning.effort_costs import Work
from dmafl.planning.problem import Problem, TaskProblem
from dmafl.planning.search.assignment import in_flight_versions

PRICED = 60
"""Rounds of prices."""
PULL = 0.35
"""How much a price grows with the share of a battery that is asked for, in logarithms."""
SPEEDS = 12
"""Halvings in the search for the slowest speed that is in time."""
MOST_EXCHANGES = 4
"""For every job."""
MOST_PAIRS = 5_000_000
"""Of jobs and devices, up to which jobs are spread: bounds the memory."""
ENOUGH = 1e-12
"""Share of a battery that may be missing."""


@dataclass(frozen=True, eq=False)
class _Jobs:
    """Jobs of all tasks to be given to devices, n in all; I devices."""

    joules: FloatArray
    """Energy by job and device; infinite for those that cannot have it, (n, I)."""
    apart: csr_matrix
    """Which pairs of jobs one device cannot have both of: 1, (n, n)."""
    battery_J: FloatArray
    """What is left for them, (I,)."""

    def load(self, device: IntArray) -> FloatArray:
        """Share of every battery that is asked for, (I,)."""
        joules = self.joules[np.arange(len(device)), device]
        return np.asarray(np.bincount(device, joules, minlength=len(self.battery_J)) / self.battery_J)

    def free(self, jobs: IntArray, device: IntArray) -> NDArray[np.bool_]:
        """Whether each device could have each of these `jobs` beside those that it has, (m, I)."""
        n = len(device)
        has = csr_matrix((np.ones(n), (np.arange(n), device)), shape=self.joules.shape)
        return np.asarray((self.apart[jobs] @ has).toarray() == 0)

    def free_for(self, one: int, device: IntArray) -> NDArray[np.bool_]:
        """Whether device `one` could have each job beside those that it has, (n,)."""
        return np.asarray(self.apart @ (device == one).astype(np.float64) == 0)


def least_energy(
    problem: Problem, effort: Effort = UNLIMITED, flights: Sequence[int] | None = None, seed: int = 0
) -> list[TaskDecision]:
    """Decisions with the least work, as slow as windows allow, on devices whose batteries last if any do.

    `flights`: jobs in flight of every task; by default as few as are in time.
    """
    base = [
        _slowest(problem, task, effort, None if flights is None else flights[j])
        for j, task in enumerate(problem.tasks)
    ]
    if sum(task.slots for task in problem.tasks) * problem.devices > MOST_PAIRS:
        return base
    jobs = _jobs_of(problem, base)
    device = _spread(problem, jobs, effort, seed)
    given, first = [], 0
    for task, decision in zip(problem.tasks, base, strict=True):
        new = task.slots - task.first_free
        devices, frequency = decision.device.copy(), decision.frequency_Hz.copy()
        speed = decision.frequency_Hz[-1] / task.lowest_Hz[decision.device[-1]] if new else 1.0
        devices[task.first_free :] = device[first : first + new]
        own = np.minimum(task.lowest_Hz * speed, task.highest_Hz)
        frequency[task.first_free :] = own[devices[task.first_free :]]
        given.append(decision.with_(device=devices, frequency_Hz=frequency))
        first += new
    return given


def _slowest(problem: Problem, task: TaskProblem, effort: Effort, in_flight: int | None) -> TaskDecision:
    """The least work on devices in turn, with few jobs in flight and at the lowest speed that is in time."""
    if task.first_free == task.slots:
        return all_past(task)
    flights = task.flights if in_flight is None else [min(in_flight, task.most_in_flight)]
    for count in flights:
        effort.spend(Work.REPAIR, problem.quality, task.slots, calls=SPEEDS)
        most = float((task.highest_Hz / task.lowest_Hz)[task.usable].max())
        fast = _at_speed(task, count, most)
        if late_s(task, fast) > 0:
            continue
        low, high = 0.0, float(np.log(most))
        if late_s(task, _at_speed(task, count, 1.0)) <= 0:
            return _at_speed(task, count, 1.0)
        for _ in range(SPEEDS):
            middle = 0.5 * (low + high)
            low, high = (
                (low, middle)
                if late_s(task, _at_speed(task, count, float(np.exp(middle)))) <= 0
                else (middle, high)
            )
        return _at_speed(task, count, float(np.exp(high)))
    return _at_speed(task, flights[-1], float((task.highest_Hz / task.lowest_Hz)[task.usable].max()))


def _at_speed(task: TaskProblem, in_flight: int, speed: float) -> TaskDecision:
    """Devices in turn, with the least work, at so many times the lowest frequency."""
    G = task.slots
    device = np.resize(task.usable, G)
    e, B = np.ceil(task.steps_range[0]), np.ceil(task.batch_range[0])
    frequency = np.minimum(task.lowest_Hz * speed, task.highest_Hz)[device]
    return TaskDecision(
        device, in_flight_versions(G, in_flight), np.full(G, e), np.full(G, B), frequency
    ).after(task.past)


def _jobs_of(problem: Problem, base: Sequence[TaskDecision]) -> _Jobs:
    """The jobs that are not past, with what they cost every device."""
    joules, blocks = [], []
    for task, decision in zip(problem.tasks, base, strict=True):
        free, first = np.arange(task.first_free, task.slots), task.first_free
        if not len(free):
            continue
        speed = decision.frequency_Hz[-1] / task.lowest_Hz[decision.device[-1]]
        f = np.minimum(task.lowest_Hz * speed, task.highest_Hz)
        of_work = problem.energy_per_work(task) * f**2 * decision.work[-1]
        table = problem.upload_J(task)[:, free] + of_work[:, None]
        usable = np.zeros(problem.devices, dtype=bool)
        usable[task.usable] = True
        table = np.where(usable[:, None] & np.isfinite(table), table, np.inf).T
        h, g = np.meshgrid(np.arange(task.slots), free)
        overlap = ((h < g) & (decision.version[g] <= h)) | ((h > g) & (decision.version[h] <= g))
        for row in range(len(free)):  # devices of past jobs that are still under way
            table[row, decision.device[:first][overlap[row, :first]]] = np.inf
        joules.append(table)
        blocks.append(csr_matrix(overlap[:, first:], dtype=np.float64))
    apart = csr_matrix(block_diag(blocks, format="csr") if blocks else (0, 0), dtype=np.float64)
    left = np.maximum(problem.world.devices.battery_J - _spent_before(problem, base), 1e-300)
    return _Jobs(np.concatenate(joules) if joules else np.empty((0, problem.devices)), apart, left)


def _spent_before(problem: Problem, base: Sequence[TaskDecision]) -> FloatArray:
    """What past jobs have used [J], (I,)."""
    spent = np.zeros(problem.devices)
    for task, decision in zip(problem.tasks, base, strict=True):
        past = slice(0, task.first_free)
        np.add.at(spent, decision.device[past], uplink_and_compute_J(problem, task, decision)[past])
    return spent


def _spread(problem: Problem, jobs: _Jobs, effort: Effort, seed: int) -> IntArray:
    """A device for every job."""
    n = len(jobs.joules)
    if not n:
        return np.empty(0, dtype=np.int64)
    rng = np.random.default_rng(seed)
    share = jobs.joules / jobs.battery_J
    price = np.exp(0.05 * rng.standard_normal(share.shape[1])) if seed else np.ones(share.shape[1])
    best, least = None, np.inf
    for number in range(PRICED):
        effort.spend(Work.REPAIR, problem.quality, n, share.shape[1])
        device = _cheapest(jobs, price * share)
        load = jobs.load(device)
        over = float(np.maximum(load - 1.0, 0.0).sum())
        if over < least:
            best, least = device, over
        if over <= ENOUGH:
            break
        price = price * np.exp(PULL / (1.0 + 0.1 * number) * np.clip(load - 1.0, -1.0, 2.0))
    assert best is not None
    return _exchanged(problem, jobs, best, effort)


def _cheapest(jobs: _Jobs, cost: FloatArray) -> IntArray:
    """Job after job the cheapest device that is free then."""
    device = np.asarray(cost.argmin(axis=1))
    if not jobs.apart.nnz:
        return device
    for k in range(len(device)):
        near = jobs.apart.indices[jobs.apart.indptr[k] : jobs.apart.indptr[k + 1]]
        near = near[near < k]
        row = cost[k].copy()
        row[device[near]] = np.inf
        if np.isfinite(row).any():
            device[k] = int(row.argmin())
    return device


def _exchanged(problem: Problem, jobs: _Jobs, device: IntArray, effort: Effort) -> IntArray:
    """Jobs of the device that is overdrawn most change hands, or two are swapped, while less is overdrawn."""
    device = device.copy()
    for _ in range(MOST_EXCHANGES * len(device)):
        load = jobs.load(device)
        over = np.maximum(load - 1.0, 0.0)
        if over.sum() <= ENOUGH:
            break
        effort.spend(Work.REPAIR, problem.quality, len(device), len(load))
        worst = np.flatnonzero(device == int(over.argmax()))
        free = jobs.free(worst, device)
        given = _best_gift(jobs, device, worst, load, free)
        swapped = _best_swap(jobs, device, worst, load, free)
        if max(given[0], swapped[0]) <= ENOUGH:
            break
        if given[0] >= swapped[0]:
            device[given[1]] = given[2]
        else:
            device[swapped[1]], device[swapped[2]] = device[swapped[2]], device[swapped[1]]
    return device


def _best_gift(
    jobs: _Jobs, device: IntArray, worst: IntArray, load: FloatArray, free: NDArray[np.bool_]
) -> tuple[float, int, int]:
    """What is gained if one of the jobs `worst`, all of one device, goes to another; that job, and whose it is then."""
    over, i = np.maximum(load - 1.0, 0.0), int(device[worst[0]])
    share = jobs.joules[worst] / jobs.battery_J
    gain = over + over[i] - np.maximum(load + share - 1.0, 0.0)
    gain -= np.maximum(load[i] - share[:, i] - 1.0, 0.0)[:, None]
    gain[~free] = -np.inf
    gain[:, i] = -np.inf
    k, to = np.unravel_index(int(gain.argmax()), gain.shape)
    return float(gain[k, to]), int(worst[k]), int(to)


def _best_swap(
    jobs: _Jobs, device: IntArray, worst: IntArray, load: FloatArray, free: NDArray[np.bool_]
) -> tuple[float, int, int]:
    """What is gained if one of the jobs `worst` is swapped for one of another device; these two jobs."""
    over, i = np.maximum(load - 1.0, 0.0), int(device[worst[0]])
    rows, battery = np.arange(len(device)), jobs.battery_J
    now = jobs.joules[rows, device] / battery[device]
    own = load[i] - now[worst][:, None] + (jobs.joules[:, i] / battery[i])[None, :]  # afterwards, (m, n)
    others = (load[device] - now)[None, :] + (jobs.joules[worst] / battery)[:, device]
    gain = over[i] + over[device][None, :] - np.maximum(own - 1.0, 0.0) - np.maximum(others - 1.0, 0.0)
    gain[~(free[:, device] & jobs.free_for(i, device)[None, :] & (device != i)[None, :])] = -np.inf
    k, other = np.unravel_index(int(gain.argmax()), gain.shape)
    return float(gain[k, other]), int(worst[k]), int(other)
