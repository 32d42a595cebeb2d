"""What a scheme of a run may ask for: its world, a plan that is given or kept, what is measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from dmafl.calibration.dissimilarity import label_mix
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.real_devices import RealDevices
from dmafl.planning.task_estimates import TaskEstimates, estimates_from
from dmafl.schedule.plan import Plan
from dmafl.schemes.scheme import SchemeContext, nothing_measured
from dmafl.theory.label_mix import LabelMix
from dmafl.training.trainer import Trainer
from dmafl.world.world import World


@dataclass(frozen=True)
class PlansInFolder:
    """Plans kept below `plans` in the folder of a run, and taken from there when it goes on."""

    folder: RunFolder

    def find(self, name: str) -> Plan | None:
        """The plan called `name`, if it is there."""
        kept = self.folder.read_plan(name)
        return None if kept is None else kept.plan

    def keep(self, name: str, plan: Plan) -> None:
        """Write it."""
        self.folder.write_plan(name, plan)


@dataclass(frozen=True)
class Contexts:
    """Makes the context of a scheme in a world of the run."""

    folder: RunFolder
    measured: Mapping[int, Measured]
    """What is measured, by seed."""
    trainer_of: Callable[[int], Trainer]
    effort: float
    quality: str = "calibrated"
    dissimilarity: str = "gram"
    stop_asked: Callable[[], bool] = lambda: False
    devices: RealDevices | None = None
    """Real ones, in place of a simulation."""

    def of(
        self, world: World, given: Plan | None = None, world_now: Callable[[], World] | None = None
    ) -> SchemeContext:
        """The context in `world`, with the plan that is given for it; `world_now` is what is known of it by then."""
        return SchemeContext(
            world,
            given,
            self.effort,
            self.quality,
            self.dissimilarity,
            (lambda: self._estimates(world)) if self.measured else nothing_measured,
            lambda task, share: self._labels(world, task, share),
            PlansInFolder(self.folder),
            self.stop_asked,
            self.devices is not None,
            world_now,
        )

    def _estimates(self, world: World) -> dict[str, TaskEstimates]:
        """What is known of the world's own devices; of other seeds the prediction is taken, never the devices."""
        seed = world.scenario.seed
        if self.devices is not None and self.devices.labels is not None:
            known = next(iter(self.measured.values()))
            return estimates_from(world.scenario, known, self.devices.labels(self.trainer_of(seed)))
        if seed in self.measured:
            return estimates_from(world.scenario, self.measured[seed])
        other = next(iter(self.measured.values()))
        trainer = self.trainer_of(seed)
        labels = {name: label_mix(trainer, j) for j, name in enumerate(world.task_names)}
        return estimates_from(world.scenario, other, labels)

    def _labels(self, world: World, task: int, share: float) -> LabelMix:
        """The labels that devices hold when so much of their streams is over; real ones tell them once."""
        trainer = self.trainer_of(world.scenario.seed)
        if self.devices is not None and self.devices.labels is not None:
            return self.devices.labels(trainer)[world.task_names[task]]
        return label_mix(trainer, task, share)
