"""What the server tells a device with a model: the job's instructions and what the task's training needs."""

from __future__ import annotations

from dmafl.deployment.link import Content
from dmafl.deployment.wire import Instructions
from dmafl.learning.arrays import Vector
from dmafl.learning.inputs import channel_statistics
from dmafl.server.messages import Job
from dmafl.training.trainer import Trainer

STANDARDISED = "cnn"
"""The network that sees images standardised with the server's training images, as in a simulation."""


class Briefs:
    """Makes the message of a job."""

    def __init__(self, trainer: Trainer) -> None:
        self._names = list(trainer.scenario.tasks)
        self._settings = list(trainer.scenario.tasks.values())
        self._sizes = [task.model.size for task in trainer.tasks]
        self._seed = trainer.scenario.seed
        self._statistics: list[tuple[tuple[float, ...], tuple[float, ...]]] = []
        for task in trainer.tasks:
            mean, std = (
                channel_statistics(task.data.x_train) if task.settings.model == STANDARDISED else ((), ())
            )
            self._statistics.append((tuple(map(float, mean)), tuple(map(float, std))))

    def __call__(self, job: Job, model: Vector, rest_s: float) -> Content:
        """The message that sends `model` out; the device rests `rest_s` before it computes."""
        order = job.dispatch
        settings = self._settings[order.task]
        mean, std = self._statistics[order.task]
        return Instructions(
            job=job.id,
            task=self._names[order.task],
            place=order.task,
            device=order.device,
            version=job.version,
            number=job.number,
            seed=self._seed,
            steps=order.steps,
            batch=order.batch,
            frequency_Hz=float(order.frequency_Hz),
            idle_s=float(rest_s),
            learning_rate=settings.learning_rate,
            proximal=settings.proximal,
            sampling=settings.sampling,
            architecture=settings.model,
            parameters=self._sizes[order.task],
            mean=mean,
            std=std,
        ).content(model)
