"""Training and testing in this process: data, streams and networks of all tasks, for one seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.randomness import generator
from dmafl.data import Dataset, partition
from dmafl.learning.architectures import check_fit
from dmafl.learning.arrays import Vector
from dmafl.learning.evaluation import evaluate, fixed_subset
from dmafl.learning.inputs import Inputs, channel_statistics, samples_of, standardised
from dmafl.learning.local_sgd import train
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from dmafl.learning.threads import compute_with_one_thread
from dmafl.scenario.model import Scenario
from dmafl.training.components import Components, dealt_by
from dmafl.training.gradient_sample import GradientSample
from dmafl.training.views import shown
from dmafl.world.drift.streams import Stream, make_stream


@dataclass(frozen=True, slots=True)
class TrainingOrder:
    """All that decides a local model besides the model received."""

    task: int
    device: int
    number: int
    progress: float
    steps: int
    batch: int


@dataclass(frozen=True, slots=True)
class TestingOrder:
    """All that decides a test besides the model."""

    task: int
    progress: float
    everything: bool
    local_progress: tuple[float, ...] | None = None
    """How far the streams of the watched devices have come; None: no gradient is wanted."""


@dataclass(frozen=True, slots=True)
class Tested:
    """Loss and accuracy on test data."""

    loss: float
    accuracy: float
    samples: int
    gradient_norm2: float | None = None
    """Squared norm of the global loss's gradient, estimated from a few samples of all devices; if asked for."""


class Trainer:
    """Trains and tests. Its answers depend on (scenario, seed) and the order alone, in whatever process it is."""

    def __init__(self, scenario: Scenario, components: Components) -> None:
        compute_with_one_thread()
        components.check(scenario)
        self.scenario = scenario
        self.tasks = [
            TaskTrainer(scenario, number, name, components) for number, name in enumerate(scenario.tasks)
        ]

    def first_model(self, task: int) -> Vector:
        """Global model 0."""
        return self.tasks[task].first.copy()

    def samples(self, device: int, task: int, progress: float) -> int | None:
        """Samples of a device under a stream of the user's own; None where the scenario says how many."""
        task_trainer = self.tasks[task]
        return len(task_trainer.local_inputs(device, progress)) if task_trainer.own_stream else None

    def train(self, order: TrainingOrder, received: Vector) -> Vector:
        """The local model of `order`."""
        return self.tasks[order.task].train(order, received)

    def test(
        self,
        task: int,
        parameters: Vector,
        progress: float,
        everything: bool,
        local_progress: Sequence[float] | None = None,
    ) -> Tested:
        """Loss and accuracy of a global model on the fixed subset, or on everything.

        With `local_progress`, how far the streams of `watched_devices` have come, also the squared gradient norm.
        """
        return self.tasks[task].test(parameters, progress, everything, local_progress)

    def watched_devices(self, task: int) -> list[int]:
        """The devices whose data the squared gradient norm is estimated from."""
        return self.tasks[task].gradient_sample.devices


class TaskTrainer:
    """One task of the trainer."""

    def __init__(self, scenario: Scenario, number: int, name: str, components: Components) -> None:
        self.settings = scenario.tasks[name]
        self.seed, self.number = scenario.seed, number
        self.data = components.dataset(name, self.settings)
        if name not in components.models:
            check_fit(name, self.settings.model, self.data.name, self.data.shape, self.data.classes)
        self.dealt = dealt = self._dealt(scenario, name, components)
        factory: Any = components.models.get(name, self.settings.model)
        self.model = FlatModel(build(factory, scenario.seed, number))
        self.first = self.model.values()
        if self.settings.parameters is not None and self.model.size != self.settings.parameters:
            raise bad_input(
                f"tasks.{name}.parameters",
                f"must be the size of the module with its running statistics, {self.model.size:,}",
                self.settings.parameters,
                "Correct the number: payload and energy follow from it.",
            )
        self.train_inputs, self.test_inputs = _inputs(self.data, self.settings.model)
        maker = components.streams.get(name)
        self.own_stream = maker is not None
        self.stream: Stream = (
            maker(self.settings, dealt)
            if maker is not None
            else make_stream(
                self.settings,
                dealt,
                width_px=self._width_px(name),
                classes=self.data.classes,
                seed=scenario.seed,
                number=number,
            )
        )
        self.subset = fixed_subset(self.test_inputs, scenario.evaluation.samples, 0)
        self.gradient_sample = GradientSample(
            scenario.fleet.devices, len(self.train_inputs), len(self.subset), scenario.seed, number
        )

    def _dealt(self, scenario: Scenario, name: str, components: Components) -> NDArray[np.int64]:
        """Rows of the training data for every device, (I, D)."""
        labels, settings = self.data.y_train, self.settings
        shape = (scenario.fleet.devices, settings.samples)
        if name in components.partition:
            rng = generator(scenario.seed, "own partition", self.number)
            return np.asarray(dealt_by(components.partition[name], name, labels, shape, rng))
        return partition(
            labels,
            *shape,
            settings.partition,
            seed=scenario.seed,
            labels_per_device=settings.labels_per_device,
            concentration=settings.concentration,
            task=self.number,
        ).indices

    def _width_px(self, name: str) -> int:
        """Width of an image, along which a covariate shift moves it."""
        if len(self.data.shape) in (2, 3):
            return self.data.shape[1]
        if self.settings.drift.kind == "covariate_shift":
            rule = "must be of images for covariate_shift, which moves them sideways"
            shape = ShownAsIs(f"samples of shape {self.data.shape}")
            raise bad_input(
                f"data of task {name}", rule, shape, "Choose another drift, or a stream of your own."
            )
        return 1

    def local_inputs(self, device: int, progress: float) -> Inputs:
        """The samples that a device has when its stream has come to `progress`."""
        return shown(self.train_inputs, self.stream.local(device, progress))

    def train(self, order: TrainingOrder, received: Vector) -> Vector:
        """The local model of `order`."""
        return train(
            self.model,
            received,
            self.local_inputs(order.device, order.progress),
            steps=order.steps,
            batch=order.batch,
            learning_rate=self.settings.learning_rate,
            proximal=self.settings.proximal,
            generator=generator(self.seed, "batches", order.device, self.number, order.number),
            sampling=self.settings.sampling,
        ).parameters

    def test(
        self,
        parameters: Vector,
        progress: float,
        everything: bool,
        local_progress: Sequence[float] | None = None,
    ) -> Tested:
        """Loss and accuracy of a global model, and its squared gradient norm if asked for."""
        chosen = self.test_inputs if everything else self.subset
        outcome = evaluate(self.model, parameters, shown(chosen, self.stream.test(progress)))
        norm2 = (
            self.gradient_sample.norm2(self.model, parameters, self.train_inputs, self.stream, local_progress)
            if local_progress is not None
            else None
        )
        return Tested(outcome.loss, outcome.accuracy, outcome.samples, norm2)


def _inputs(data: Dataset, model: str) -> tuple[Inputs, Inputs]:
    """Pixels in [0, 1]; for the CNN standardised with the training images' statistics."""
    if model != "cnn":
        return samples_of(data.x_train, data.y_train), samples_of(data.x_test, data.y_test)
    mean, std = channel_statistics(data.x_train)
    return (
        standardised(data.x_train, data.y_train, mean, std),
        standardised(data.x_test, data.y_test, mean, std),
    )
