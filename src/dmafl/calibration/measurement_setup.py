"""What is measured: a scenario with its data, and a trainer that is made when it is first needed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from dmafl.calibration.keys import TaskKeys, task_keys
from dmafl.data import Dataset
from dmafl.scenario.model import Scenario
from dmafl.training.components import NOTHING, Components

if TYPE_CHECKING:  # these bring torch, which a measurement from the cache does not need
    from dmafl.training.trainer import Trainer


@dataclass(frozen=True, eq=False)
class MeasurementSetup:
    """A scenario and what a user brings for it; the rest follows from them."""

    scenario: Scenario
    components: Components = NOTHING

    @cached_property
    def data(self) -> dict[str, Dataset]:
        """The data set of every task."""
        return {name: self.components.dataset(name, task) for name, task in self.scenario.tasks.items()}

    @cached_property
    def trainer(self) -> Trainer:
        """The trainer of the scenario's seed."""
        from dmafl.training.trainer import Trainer

        self.components.check(self.scenario)
        return Trainer(self.scenario, replace(self.components, data=self.data))

    @cached_property
    def keys(self) -> dict[str, TaskKeys]:
        """The keys of every task."""
        user_marks: dict[str, str] = {}
        if self.components.of_tasks:
            from dmafl.calibration.own_components import marks

            user_marks = marks(self.trainer, self.components)
        return task_keys(self.scenario, list(self.data.values()), user_marks)
