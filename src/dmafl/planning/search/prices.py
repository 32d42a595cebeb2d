"""TaskPrices: what a second and a joule cost a task, and the frequency and unit costs that follow from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.planning.problem import Problem, TaskProblem


@dataclass(frozen=True, eq=False)
class TaskPrices:
    """Costs per second of the task's end and of a job's computation, and per joule of each device's battery."""

    end_s: float
    """Of the end of the task, in the units of the objective."""
    in_flight: int
    """Jobs of the task under way at a time: a second of one of them delays the end by this part of it."""
    under_way_s: float
    """Extra price of a second of a job, whatever it does: others' data drift meanwhile."""
    compute_s: FloatArray
    """Extra price of a second of computation by device (drift while computing), (I,)."""
    battery_J: FloatArray
    """Price of a joule of each device beside the objective's own, (I,)."""

    @property
    def job_s(self) -> float:
        """Price of a second of a job."""
        return self.end_s / self.in_flight + self.under_way_s


@dataclass(frozen=True, eq=False)
class UnitCosts:
    """What devices cost at given prices."""

    frequency_Hz: FloatArray
    """The best frequency, (I,)."""
    sample: FloatArray
    """Cost of computing one sample at it, energy and time, (I,)."""
    upload_s: FloatArray
    """Cost of a second of the uplink, energy and time, (I,)."""
    download_s: FloatArray
    """Cost of a second of the downlink, (I,)."""

    def transfers(self, task: TaskProblem, version: IntArray, slots: slice = slice(None)) -> FloatArray:
        """Cost of both transfers of these slots by every device, (slots, I); `version`: received, of all slots."""
        up, down = task.upload_s[:, slots], task.download_s[:, version[slots]]
        return np.asarray((self.upload_s[:, None] * up + self.download_s[:, None] * down).T)


def unit_costs(problem: Problem, task: TaskProblem, prices: TaskPrices) -> UnitCosts:
    """Costs of every device at these prices, each at its best frequency.

    A sample costs kappa f^2 + price c / f, with its minimum at f = (price c / 2 kappa)^(1/3).
    """
    joule = task.price_of_J * problem.c2 + prices.battery_J
    kappa = joule * problem.energy_per_work(task)
    second = prices.job_s + prices.compute_s
    # Where energy costs nothing any price of time asks for full speed, and none for the lowest.
    best = np.cbrt(np.maximum(second, 0.0) * task.cycles / (2.0 * np.maximum(kappa, 1e-150)))
    frequency = np.clip(best, task.lowest_Hz, task.highest_Hz)
    d = problem.world.devices
    return UnitCosts(
        frequency_Hz=frequency,
        sample=kappa * frequency**2 + second * task.cycles / frequency,
        upload_s=joule * d.uplink_power_W + prices.job_s,
        download_s=task.price_of_J * problem.c3 * d.downlink_power_W + prices.job_s,
    )
