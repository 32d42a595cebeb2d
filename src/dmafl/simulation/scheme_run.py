"""One scheme with one seed, from the first model to the last slot; can be saved and continued at any yield."""

from __future__ import annotations

from collections.abc import Iterator

from dmafl.learning.arrays import Vector
from dmafl.server.aggregators import MixAtOnce
from dmafl.server.core import Server, named
from dmafl.server.messages import Arrays, Job, Plain, Result
from dmafl.server.policy import Policy
from dmafl.simulation.clock import VirtualClock
from dmafl.simulation.model_tests import ModelTests, total_J
from dmafl.simulation.observer import Nobody, Observer
from dmafl.simulation.outcome import Absence, DeviceLoss, SchemeOutcome, TaskOutcome
from dmafl.simulation.recorder import RunRecorder
from dmafl.simulation.run_name import RunName
from dmafl.simulation.run_transport import RunTransport
from dmafl.training.trainer import Trainer, TrainingOrder
from dmafl.training.workers import Workers, cancel
from dmafl.world.world import World


class _OrderedTraining:
    """The clock's trainer: passes orders of one seed to the workers."""

    def __init__(self, seed: int, workers: Workers) -> None:
        self._seed, self._workers = seed, workers

    def train(self, job: Job, model: Vector, progress: float) -> Result:
        order = job.dispatch
        return self._workers.train(
            self._seed,
            TrainingOrder(order.task, order.device, job.number, progress, order.steps, order.batch),
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
        transport: RunTransport | None = None,
        gradient_norms: bool = True,
        refuse_diverged: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """`transport`: a virtual clock where none is given. `gradient_norms`: whether tests estimate them.

        `timeout_s`: yield at least so often, where real time passes.

        `refuse_diverged`: order a job again whose model is not finite, instead of giving it a slot. Not for a simulated
        device, which would do the same again.
        """
        self.scheme, self.seed, self.world = scheme, world.scenario.seed, world
        self.layouts = [task_trainer.model.layout for task_trainer in trainer.tasks]
        if transport is None:
            transport = VirtualClock(world, _OrderedTraining(self.seed, workers), trainer.samples)
            transport.tick_at(world.scenario.evaluation.at_s)
        self.transport = transport
        self.observer: Observer = observer if observer is not None else Nobody()
        watched = (
            [trainer.watched_devices(task) for task in range(world.task_count)] if gradient_norms else None
        )
        name = RunName(scheme, self.seed)
        tests = ModelTests(name, world, transport, workers, watched, self.observer)
        self.records = RunRecorder(name, world, tests, self.observer)
        first = [trainer.first_model(task) for task in range(world.task_count)]
        rules = world.scenario.server
        self.server = Server(
            first,
            world.slots.tolist(),
            policies,
            transport,
            self.records,
            timeout_s=timeout_s,
            max_norm=rules.max_update_norm,
            clip_norm=rules.clip_norm,
            refuse_diverged=refuse_diverged,
        )

    @property
    def name(self) -> str:
        """Its name in folders and tables."""
        return str(RunName(self.scheme, self.seed))

    def run(self) -> Iterator[Result | None]:
        """See `Server.run`; tasks that were stopped are tested at the end."""
        yield from self.server.run()
        self.records.tests.on_end()

    @property
    def aggregations(self) -> int:
        """Slots completed so far, over all tasks."""
        return sum(versions.number for versions in self.server.versions)

    @property
    def slots(self) -> int:
        """Slots to complete, over all tasks."""
        return sum(self.server.slots)

    @property
    def energy_J(self) -> float | None:
        """Energy spent so far by devices and base station [J]; None where a part of it was not measured."""
        return total_J([total_J(self.transport.energy_J(task)) for task in range(self.world.task_count)])

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
        losses = tuple(DeviceLoss(**loss) for loss in self.records.losses)
        clipped = {name: number for name, number in zip(tasks, self.records.clipped, strict=True) if number}
        absences = tuple(Absence(**absence) for absence in self.records.absences)
        refused = dict(self.records.refused)
        return SchemeOutcome(tasks, losses, not at_once, refused, clipped=clipped, absences=absences)

    def shortfall(self) -> str:
        """The tasks that ended with fewer aggregations than slots though they lost no device; nothing if none did.

        Devices that leave may be what a task waited for until its window was over.
        """
        if self.records.absences:
            return ""
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
        """Let workers leave out training that has not begun: the run is to be saved, and orders it again when it
        goes on."""
        arrived = [] if self.server.arrived is None else [self.server.arrived.result]
        cancel([*arrived, *self.transport.results()])

    def state(self) -> tuple[Plain, Arrays]:
        """Everything, as plain values and arrays by name."""
        server, arrays = self.server.state()
        transport, of_transport = self.transport.state(self.server.arrived)
        observer, of_observer = self.observer.state()
        plain = {
            "server": server,
            "transport": transport,
            "records": self.records.state(),
            "observer": observer,
        }
        arrays |= {f"transport.{name}": array for name, array in of_transport.items()}
        return plain, arrays | {f"observer.{name}": array for name, array in of_observer.items()}

    def restore(self, plain: Plain, arrays: Arrays) -> None:
        """Go on from `state`."""
        self.server.restore(plain["server"], arrays)
        self.records.restore(plain["records"])
        self.observer.restore(plain["observer"], named(arrays, "observer."))

        def model_of(task: int, version: int) -> Vector:
            return self.server.versions[task].received(version)

        self.server.arrived = self.transport.restore(
            plain["transport"], named(arrays, "transport."), model_of
        )
        for task, versions in enumerate(self.server.versions):
            self.records.tests.models[task] = (versions.number, versions.current)
