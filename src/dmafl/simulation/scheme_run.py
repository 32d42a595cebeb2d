"""One scheme with one seed, from the first model to the last slot; can be saved and continued at any yield."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.learning.arrays import Vector
from dmafl.server.aggregators import MixAtOnce
from dmafl.server.core import Server
from dmafl.server.messages import Job, Plain, Result
from dmafl.server.policy import Policy
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.observer import Nobody, Observer
from dmafl.simulation.outcome import DeviceLoss, SchemeOutcome, TaskOutcome
from dmafl.simulation.period import Period
from dmafl.simulation.records import Records
from dmafl.simulation.run_name import RunName
from dmafl.training.trainer import Trainer, TrainingOrder
from dmafl.training.workers import Workers, cancel
from dmafl.world.world import World


class _OrderedTraining:
    """The clock's trainer: passes orders of one seed to the workers."""

    def __init__(self, seed: int, workers: Workers) -> None:
        self._seed, self._workers = seed, workers

    def train(self, job: Job, model: Vector, share: float) -> Result:
        order = job.dispatch
        return self._workers.train(
            self._seed,
            TrainingOrder(order.task, order.device, job.number, share, order.steps, order.batch),
            model,
        )


class SchemeRun:
    """A scheme in a world, with the workers that train for it."""

    def __init__(
        self,
        scheme: str,
        world: World,
        trainer: Trainer,
        workers: Workers,
        policies: list[Policy],
        observer: Observer | None = None,
    ) -> None:
        self.scheme, self.seed, self.world = scheme, world.scenario.seed, world
        self.layouts = [task_trainer.model.layout for task_trainer in trainer.tasks]
        self.clock = VirtualClock(world, _OrderedTraining(self.seed, workers), trainer.samples)
        self.observer: Observer = observer if observer is not None else Nobody()
        watched = [trainer.watched_devices(task) for task in range(world.task_count)]
        self.records = Records(scheme, self.seed, self.clock, workers, watched, self.observer)
        self.clock.tick_at(world.scenario.evaluation.at_s)
        first = [trainer.first_model(task) for task in range(world.task_count)]
        self.server = Server(first, world.slots.tolist(), policies, self.clock, self.records)

    @property
    def name(self) -> str:
        """Its name in folders and tables."""
        return str(RunName(self.scheme, self.seed))

    def run(self) -> Iterator[Result | None]:
        """See `Server.run`; tasks that were stopped are tested at the end."""
        yield from self.server.run()
        self.records.ended()
        self.clock.listen()  # it and the records would keep one another alive, with the whole world

    @property
    def aggregations(self) -> int:
        """Slots completed so far, over all tasks."""
        return sum(versions.number for versions in self.server.versions)

    @property
    def slots(self) -> int:
        """Slots to complete, over all tasks."""
        return sum(self.server.slots)

    @property
    def energy_J(self) -> float:
        """Energy spent so far by devices and base station [J]."""
        return sum(sum(self.clock.ledger.task_J(task)) for task in range(self.world.task_count))

    def outcome(self) -> SchemeOutcome:
        """How it ended, or how far it has come."""
        tasks = {
            name: TaskOutcome(versions.number, slots, diverged)
            for name, versions, slots, diverged in zip(
                self.world.task_names,
                self.server.versions,
                self.server.slots,
                self.records.diverged,
                strict=True,
            )
        }
        at_once = all(isinstance(policy.aggregator, MixAtOnce) for policy in self.server.policies)
        return SchemeOutcome(tasks, tuple(DeviceLoss(**loss) for loss in self.records.losses), not at_once)

    def shortfall(self) -> str:
        """The tasks that ended with fewer aggregations than slots though they lost no device; nothing if none did."""
        lost = {loss["task"] for loss in self.records.losses}
        short = [
            f"{versions.number} of {slots} of task {name}"
            for name, versions, slots in zip(
                self.world.task_names, self.server.versions, self.server.slots, strict=True
            )
            if versions.number < slots and name not in lost
        ]
        return ", ".join(short)

    def drop_training(self) -> None:
        """Let workers leave out training that has not begun: the unit is to be saved, and orders it again when it
        goes on."""
        arrived = [] if self.server.arrived is None else [self.server.arrived.result]
        cancel([*arrived, *self.clock.results()])

    def state(self) -> tuple[Plain, dict[str, NDArray[Any]]]:
        """Everything, as plain values and arrays by name."""
        plain, arrays = self.server.state()
        seen, more = self.observer.state()
        whole = {
            "server": plain,
            "arrived": None if self.server.arrived is None else self.clock.arrived_period().plain(),
            "clock": self.clock.state(),
            "records": self.records.state(),
            "observer": seen,
        }
        return whole, arrays | {f"observer.{name}": array for name, array in more.items()}

    def restore(self, plain: Plain, arrays: dict[str, NDArray[Any]]) -> None:
        """Go on from `state`."""
        self.server.restore(plain["server"], arrays)
        self.records.restore(plain["records"])
        self.observer.restore(
            plain["observer"],
            {
                name.removeprefix("observer."): array
                for name, array in arrays.items()
                if name[:9] == "observer."
            },
        )

        def model_of(task: int, version: int) -> Vector:
            return np.asarray(arrays[f"model.{task}.{version}"], dtype=np.float32)

        self.clock.restore(plain["clock"], model_of)
        if plain["arrived"] is not None:
            period = Period.from_plain(plain["arrived"])
            model = model_of(period.job.dispatch.task, period.job.version)
            self.server.arrived = self.clock.arrive_again(period, model)
        for task, versions in enumerate(self.server.versions):
            self.records.models[task] = (versions.number, versions.current)
