"""What a measurement works on: a scenario with its data, and a laboratory that is opened when it is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dmafl.data import Dataset, find
from dmafl.measuring.keys import TaskKeys, task_keys
from dmafl.scenario.model import Scenario

if TYPE_CHECKING:  # these bring torch, which a measurement from the cache does not need
    from dmafl.simulation.laboratory import Laboratory, Material


@dataclass(frozen=True, eq=False)
class Workbench:
    """A scenario, what a user brings for it, and what follows from them."""

    scenario: Scenario
    data_dir: Path | None = None
    models: Mapping[str, Any] = field(default_factory=dict)
    datasets: Mapping[str, Dataset] = field(default_factory=dict)
    streams: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def material(self) -> Material:
        """What the user brings, as laboratories take it."""
        from dmafl.simulation.laboratory import Material

        return Material(self.data_dir, self.models, self.datasets, self.streams)

    @cached_property
    def data(self) -> dict[str, Dataset]:
        """The data set of every task."""
        tasks = self.scenario.tasks
        return {
            name: self.datasets[name] if name in self.datasets else find(task.dataset, data_dir=self.data_dir)
            for name, task in tasks.items()
        }

    @cached_property
    def laboratory(self) -> Laboratory:
        """The laboratory of the scenario's seed."""
        from dmafl.simulation.laboratory import Laboratory

        self.material.check(self.scenario)
        return Laboratory(self.scenario, replace(self.material, datasets=self.data))

    @cached_property
    def keys(self) -> dict[str, TaskKeys]:
        """The keys of every task."""
        own = {}
        if self.models or self.streams or self.datasets:
            from dmafl.measuring.own_material import marks

            own = marks(self.laboratory, self.material)
        return task_keys(self.scenario, list(self.data.values()), own)
