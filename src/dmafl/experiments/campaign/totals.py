"""Jobs, steps and energy of a task: the one definition of of the totals of a run or a plan.

Energy is booked when a phase ends, wasted and in-flight work included. So that jobs, steps and energy belong together,
a job counts once its device has computed it, whether or not the server took its model: the energy of its computation is
booked exactly then. Steps and samples are those of these jobs. A job that was ordered and never computed has no steps;
only its download, where that had ended, is in the energy. Steps per job and computing energy per job are then means
over the same jobs.

Sweeps used to count the jobs that the server took, beside steps and energy that include the others. The study used to
count all jobs that were ordered, and steps that no device computed or spent energy on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dmafl.schedule.plan import Plan
from dmafl.simulation.ledger import sum_J
from dmafl.simulation.periods import Periods
from dmafl.simulation.records import AGGREGATED

PHASES = ("uplink_J", "compute_J", "downlink_J")
"""Energies of a job: upload and computation by the device, download by the base station."""


@dataclass(frozen=True)
class Totals:
    """What all jobs of a task came to."""

    jobs: int
    """Jobs that were computed, taken by the server or not."""
    devices: int
    """Devices that computed at least one job."""
    steps: int
    """SGD steps of these jobs."""
    samples: int
    """Samples of these steps, each as often as it was used."""
    compute_s: float
    idle_s: float
    """Idle time before jobs, also before those that were never computed."""
    uplink_J: float
    compute_J: float
    downlink_J: float
    """Energies of all jobs, computed or not."""
    staleness: float | None
    max_staleness: int | None
    """Of the models that the server took; None if it took none."""

    @property
    def energy_J(self) -> float:
        """Energy of devices and base station."""
        return self.uplink_J + self.compute_J + self.downlink_J


def totals(jobs: Periods) -> Totals:
    """Totals of the jobs of one task. Energies are summed as the ledger of a run does."""
    computed, staleness = jobs.computed, jobs["staleness"][jobs.taken]
    return Totals(
        jobs=int(computed.sum()),
        devices=len(np.unique(jobs["device"][computed])),
        steps=int(jobs["steps"][computed].sum()),
        samples=int((jobs["steps"] * jobs["batch"])[computed].sum()),
        compute_s=float(jobs["compute_s"].sum()),
        idle_s=float(jobs["idle_s"].sum()),
        **{phase: sum_J(jobs[phase].tolist()) for phase in PHASES},
        staleness=float(staleness.mean()) if len(staleness) else None,
        max_staleness=int(staleness.max()) if len(staleness) else None,
    )


def jobs_of_plan(plan: Plan, task: int) -> Periods:
    """The jobs of a plan's task, as the periods of a run that carries it out; the server takes each of them."""
    of_task = plan.schedule.task == task
    columns = {name: getattr(plan.schedule, name) for name in ("device", "steps", "batch", "staleness")}
    columns |= {name: getattr(plan.timeline, name) for name in ("end_s", "compute_s", "idle_s", *PHASES)}
    columns["outcome"] = np.full(len(of_task), AGGREGATED, dtype=object)
    return Periods(columns).where(of_task)
