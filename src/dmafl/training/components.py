"""What a user brings besides the scenario, as one value that measuring, planning, running, sweeping and sizing take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.files import sha256_of
from dmafl.base.showing import line, names
from dmafl.data import Dataset, find
from dmafl.scenario.model import Scenario, Task
from dmafl.scenario.toml import from_plain
from dmafl.world.channel import Direction
from dmafl.world.drift.streams import Stream
from dmafl.world.world import World

Factory = Callable[[], Any]
"""Makes a torch module; what it draws from torch's generator is seeded."""
StreamMaker = Callable[[Task, NDArray[np.int64]], Stream]
"""Makes a user's own stream from the task's settings and the samples dealt to devices, shape (I, D)."""
Deal = Callable[[NDArray[np.integer], int, np.random.Generator], Sequence[Any]]
"""A user's own partition: labels, number of devices and a generator -> rows of the training data for each device."""
MARKED = 3
"""Transfers of each device and task, and seconds, at which a user's channel and mobility are looked at."""
DIRECTIONS: tuple[Direction, ...] = ("uplink", "downlink")
BY_TASK = ("models", "data", "partition", "streams")
KINDS = (*BY_TASK, "schemes")
PLACES = ("channel", "mobility", "data_dir")
EXPECTED = {
    "models": ("must be a function that makes a module", "Write def make(): return nn.Sequential(...)."),
    "data": ("must be a data set", "Use dmafl.Dataset.of(x_train, y_train, x_test, y_test)."),
    "partition": ("must be a function", "It takes labels, devices and rng, and gives rows for every device."),
    "streams": ("must be a class, or a function", "It takes a task and the rows dealt to devices."),
    "schemes": ("must be a function", "It takes a world and gives one policy for each task."),
}
"""What each kind must be, and what to do where it is not."""


@dataclass(frozen=True, repr=False)
class Components:
    """What a user brings; all but schemes, channel, mobility and availability by the name of a task."""

    models: Mapping[str, Factory] = field(default_factory=dict)
    """Functions that make a torch module."""
    data: Mapping[str, Dataset] = field(default_factory=dict)
    partition: Mapping[str, Deal] = field(default_factory=dict)
    """Functions (labels, devices, rng) that give the rows of the training data for each device."""
    streams: Mapping[str, StreamMaker] = field(default_factory=dict)
    schemes: Mapping[str, Callable[[World], list[Any]]] = field(default_factory=dict)
    """Functions that make the policies of a world, by the name of the scheme."""
    channel: Any = None
    """A channel, or a function that makes that of a scenario with the seed of a run."""
    mobility: Any = None
    """The same of a mobility."""
    availability: Any = None
    """The same of an availability: when devices are there."""
    data_dir: Path | None = None
    """Where other data sets are looked for."""

    def __post_init__(self) -> None:
        for kind in KINDS:
            given = getattr(self, kind)
            if not isinstance(given, Mapping):
                rule, remedy = (
                    "must be a dictionary by name",
                    f'Write {kind}={{"NAME": ...}}, with the name of a task.',
                )
                raise bad_input(kind, rule, ShownAsIs(type(given).__name__), remedy)
            for name, part in given.items():
                if not (isinstance(part, Dataset) if kind == "data" else _makes(part)):
                    rule, remedy = EXPECTED[kind]
                    raise bad_input(f"{kind}[{name!r}]", rule, ShownAsIs(type(part).__name__), remedy)

    def __repr__(self) -> str:
        named = (f"{kind} {names(list(getattr(self, kind)))}" for kind in KINDS if getattr(self, kind))
        return line("Components", *named, *(kind for kind in PLACES if getattr(self, kind) is not None))

    def looking_in(self, data_dir: str | Path | None) -> Components:
        """The same, with data sets looked for in `data_dir` where it is given."""
        return self if data_dir is None else replace(self, data_dir=Path(data_dir))

    @property
    def of_tasks(self) -> bool:
        """Whether anything decides what tasks learn: a model, data, a partition or a stream."""
        return any(getattr(self, kind) for kind in BY_TASK)

    def dataset(self, name: str, task: Task) -> Dataset:
        """The data of a task."""
        return self.data[name] if name in self.data else find(task.dataset, data_dir=self.data_dir)

    def world(self, scenario: Scenario) -> World:
        """The world of a scenario, with the user's channel, mobility and availability."""
        return World.resolve(
            self.filled(scenario),
            channel=_made(self.channel, "gain", scenario),
            mobility=_made(self.mobility, "distance_m", scenario),
            availability=_made(self.availability, "stretches", scenario),
        )

    def filled(self, scenario: Scenario) -> Scenario:
        """The scenario with `model = "custom"`, parameters and FLOPs of the modules that are brought, as counted."""
        self.check_names(scenario)
        counted: dict[str, dict[str, Any]] = {}
        if self.models:
            from dmafl.learning.cost import cost_of
        for name, factory in self.models.items():
            task = scenario.tasks[name]
            cycles = task.cycles_per_sample is not None
            if task.model == "custom" and task.parameters and (cycles or task.flops_per_sample):
                continue
            cost = cost_of(factory, self.dataset(name, task).x_train)
            counted[name] = {"model": "custom", "parameters": task.parameters or cost.parameters}
            if not cycles and not task.flops_per_sample:
                counted[name]["flops_per_sample"] = cost.flops_per_sample
        if not counted:
            return scenario
        plain = scenario.plain()
        for name, settings in counted.items():
            plain["tasks"][name] |= settings
        return from_plain(plain).in_folder(scenario.folder)

    def marks(self, world: World) -> list[str]:
        """What tells these components from others in the name of what is kept: names, and rates at the beginning."""
        if self.channel is None and self.mobility is None:
            return self._names()
        device, task, index = (
            part.ravel() for part in np.indices((world.device_count, world.task_count, MARKED))
        )
        rates = [
            world.rate_bit_s(direction, device, task, index, np.full(len(device), float(time_s)))
            for direction in DIRECTIONS
            for time_s in range(MARKED)
        ]
        return [*self._names(), sha256_of(np.concatenate(rates).tobytes())]

    def _names(self) -> list[str]:
        """Functions that are brought for tasks, by name: what they do is part of what is measured."""
        return [
            f"{kind}.{name}: {getattr(part, '__qualname__', type(part).__qualname__)}"
            for kind in ("models", "partition", "streams")
            for name, part in getattr(self, kind).items()
        ]

    def check_names(self, scenario: Scenario) -> None:
        """Refuse components for tasks that there are not."""
        for kind in BY_TASK:
            for name in getattr(self, kind):
                if name not in scenario.tasks:
                    known = ", ".join(scenario.tasks)
                    rule = f"must be for one of the tasks {known}"
                    raise bad_input(f"{kind}[{name!r}]", rule, name, "Rename it.")

    def check(self, scenario: Scenario) -> None:
        """The same, and refuse a custom model that nobody brings."""
        self.check_names(scenario)
        for name, task in scenario.tasks.items():
            if task.model == "custom" and name not in self.models:
                raise bad_input(
                    f"tasks.{name}.model",
                    'is "custom", so its module must be brought',
                    ShownAsIs("none"),
                    f'Pass components=dmafl.Components(models={{"{name}": make_module}}).',
                )


NOTHING = Components()


def dealt_by(deal: Deal, name: str, labels: NDArray[np.integer], shape: tuple[int, int], rng: Any) -> Any:
    """What a user's own partition deals, (I, D): of a device with more rows the first, with fewer all again."""
    devices, samples = shape
    hands = [np.asarray(hand) for hand in deal(labels, devices, rng)]
    if len(hands) != devices:
        raise bad_input(
            f"partition[{name!r}]",
            f"must give rows for {devices} devices",
            len(hands),
            "Give one list for each.",
        )
    for device, hand in enumerate(hands):
        whole = hand.ndim == 1 and hand.dtype.kind in "iu" and len(hand) > 0
        if not whole or hand.min() < 0 or hand.max() >= len(labels):
            raise bad_input(
                f"partition[{name!r}], device {device}",
                f"must be at least one row of the training data, 0..{len(labels) - 1}",
                ShownAsIs(f"{hand.dtype} of shape {hand.shape}"),
                "Give whole numbers, e.g. np.flatnonzero(labels == 3).",
            )
    return np.stack([np.resize(hand, samples) for hand in hands]).astype(np.int64)


def _makes(part: Any) -> bool:
    """Whether it can be called to make something; a module can be called too, but gives scores."""
    return callable(part) and (isinstance(part, type) or not hasattr(part, "state_dict"))


def _made(part: Any, method: str, scenario: Scenario) -> Any:
    """A part of a world: as it is given, or made for a scenario."""
    if part is None or (hasattr(part, method) and not isinstance(part, type)):
        return part
    return part(scenario)
