"""What is measured: a scenario with its data, and a trainer that is made when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmafl.calibration.keys import TaskKeys, task_keys
from dmafl.data import Dataset, find
from dmafl.scenario.model import Scenario

if TYPE_CHECKING:  # these bring torch, which a measurement from the cache does not need
    from dmafl.training.trainer import Components, Trainer


@dataclass(frozen=True, eq=False)
class MeasurementSetup:
    """A scenario and the models, data sets and streams that a user brings for it; the rest follows from them."""

    scenario: Scenario
    data_dir: Path | None = None
    models: Mapping[str, Any] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    streams: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def components(self) -> Components:
        """What the user brings, as trainers expect it."""
        from dmafl.training.trainer import Components

        return Components(self.data_dir, self.models, self.datasets, self.streams)

    @cached_property
    def data(self) -> dict[str, Dataset]:
        """The data set of every task."""
        tasks = self.scenario.tasks
        return {
            name: self.datasets[name] if name in self.datasets else find(task.dataset, data_dir=self.data_dir)
            for name, task in tasks.items()
        }

    @cached_property
    def trainer(self) -> Trainer:
        """The trainer of the scenario's seed."""
        from dmafl.training.trainer import Trainer

        self.components.check(self.scenario)
        return Trainer(self.scenario, replace(self.components, datasets=self.data))

    @cached_property
    def keys(self) -> dict[str, TaskKeys]:
        """The keys of every task."""
        user_marks: dict[str, str] = {}
        if self.models or self.streams or self.datasets:
            from dmafl.calibration.own_components import marks

            user_marks = marks(self.trainer, self.components)
        return task_keys(self.scenario, list(self.data.values()), user_marks)
