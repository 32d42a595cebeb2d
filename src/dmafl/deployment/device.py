"""What a device does with a message: checks it, trains on its own data, reports what that took by its own clock."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dmafl.base.errors import BadInput
from dmafl.base.randomness import generator
from dmafl.deployment.link import Content
from dmafl.deployment.own_data import MODELS, Config, function_named, own_samples
from dmafl.deployment.wire import (
    ABOUT,
    MODEL,
    PROTOCOL,
    PROTOCOL_ENTRY,
    Instructions,
    Unfit,
    action_of,
    check_protocol,
    declined,
    instructions_of,
    packed,
    unpacked,
)
from dmafl.learning.arrays import Vector
from dmafl.learning.divergence import LocalModelDiverged
from dmafl.learning.evaluation import evaluate
from dmafl.learning.inputs import Inputs
from dmafl.learning.local_sgd import train
from dmafl.learning.models import build
from dmafl.learning.parameters import FlatModel
from dmafl.learning.threads import compute_with_one_thread
from dmafl.machine.energy_meter import EnergyMeter, find_energy_meter

log = logging.getLogger(__name__)
LOSS_SAMPLES = 1000
"""The loss that a device reports is that of its model on at most so many of its own samples."""
LIMITS = {"max-steps": 100_000, "max-batch": 65_536, "max-parameters": 250_000_000}
"""What a device refuses beyond, unless its owner sets other limits."""
SHARE_LABELS, SLOWER = "share-labels", "slower"
"""Settings of a device: whether it tells how many samples of each label it has; `slower` is for trying out."""


@dataclass
class Clocks:
    """Where a device takes its times from [s]; tests give it others."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep


@dataclass
class Device:
    """A device with its owner's settings."""

    config: Config
    clocks: Clocks = field(default_factory=Clocks)
    find_meter: Callable[[], EnergyMeter] = find_energy_meter

    def answer(
        self, action: str, content: Content, sent_at_s: float | None = None, ttl_s: float = 0.0
    ) -> Content:
        """The reply to a message of type `action`, sent at `sent_at_s` by the server's clock, void after `ttl_s`."""
        try:
            if action == ABOUT:
                return self._about(content)
            return self._trained(action, content, sent_at_s, ttl_s)
        except Unfit as error:
            reason = str(error)
        except BadInput as error:
            reason = str(error.problems[0])
        log.warning("declined: %s", reason)
        return declined(content, reason)

    def _trained(self, action: str, content: Content, sent_at_s: float | None, ttl_s: float) -> Content:
        told = instructions_of(content)
        if action_of(told.task, told.place) != action:
            raise Unfit(f"instructions for {told.task} in a message for {action}")
        self._check_limits(told)
        received = unpacked(content, told.parameters)
        if told.idle_s > ttl_s:
            raise Unfit("idle_s is longer than the message lasts")
        download_s = self._since(sent_at_s)
        if told.idle_s:
            self.clocks.sleep(told.idle_s)
        compute_with_one_thread()
        meter = self.find_meter()
        begun_s = self.clocks.monotonic()
        samples = own_samples(told.task, self.config)
        data = samples.inputs(told.mean, told.std)
        model = self._model(told)
        local = _local(model, received, data, told)
        self._slow_down(begun_s)
        compute_s, joules = self.clocks.monotonic() - begun_s, meter.joules()
        reply: dict[str, Any] = {
            PROTOCOL_ENTRY: PROTOCOL,
            "job": told.job,
            "task": told.task,
            "device": told.device,
            "version": told.version,
            "download_s": download_s,
            "compute_s": compute_s,
            "finished_at_s": self.clocks.wall(),
            "samples": len(data),
            "energy_source": meter.source[:200],
            MODEL: packed(local),
        }
        if joules is not None:
            reply["joules"] = float(joules)
        loss = _loss(model, local, data)
        return reply if loss is None else {**reply, "loss": loss}

    def _about(self, content: Content) -> Content:
        """How many samples the device has of each task that is asked for; their labels if its owner allows it."""
        check_protocol(content)
        tasks, classes = content.get("tasks"), content.get("classes")
        if not isinstance(tasks, list) or not isinstance(classes, list) or len(tasks) != len(classes):
            raise Unfit("tasks and classes are no lists of the same length")
        reply: dict[str, Any] = {
            PROTOCOL_ENTRY: PROTOCOL,
            "share_labels": bool(self.config.get(SHARE_LABELS, False)),
        }
        for task, count in zip(tasks, classes, strict=True):
            if not isinstance(task, str) or type(count) is not int or not 0 < count <= 256:
                raise Unfit("a task without a name, or without a number of classes")
            samples = own_samples(task, self.config)
            if reply["share_labels"]:
                reply[f"samples.{task}"] = len(samples.y)
                reply[f"labels.{task}"] = samples.labels(count)
        return reply

    def _model(self, told: Instructions) -> FlatModel:
        maker: Any = told.architecture
        if told.architecture == "custom":
            named = self.config.get(MODELS)
            if not isinstance(named, str):
                raise Unfit(
                    f'the network is of the user\'s own: set {MODELS}="module:function" on the device'
                )
            make, task = function_named(named, MODELS), told.task
            maker = lambda: make(task)  # noqa: E731
        model = FlatModel(build(maker, told.seed, told.place))
        if model.size != told.parameters:
            raise Unfit(f"the network here has {model.size:,} parameters, not {told.parameters:,}")
        return model

    def _check_limits(self, told: Instructions) -> None:
        for name, usual in LIMITS.items():
            limit, asked = self.config.get(name, usual), getattr(told, name.removeprefix("max-"))
            if asked > limit:
                raise Unfit(
                    f"{asked:,} {name.removeprefix('max-')} are more than the device's limit {limit:,}"
                )
        tasks = self.config.get("tasks")
        if isinstance(tasks, str) and told.task not in tasks.replace(",", " ").split():
            raise Unfit(f"the device takes no part in task {told.task}")

    def _since(self, sent_at_s: float | None) -> float:
        """Seconds from the sending of the message until now; 0 where the two clocks cannot agree."""
        if sent_at_s is None:
            return 0.0
        return max(0.0, self.clocks.wall() - sent_at_s)

    def _slow_down(self, begun_s: float) -> None:
        """Take as many times longer as the owner says, to try out a slow device on a fast machine."""
        times = self.config.get(SLOWER, 1)
        if not isinstance(times, bool) and isinstance(times, int | float) and times > 1:
            self.clocks.sleep((times - 1) * (self.clocks.monotonic() - begun_s))


def _local(model: FlatModel, received: Vector, data: Inputs, told: Instructions) -> Vector:
    """The local model; not a number throughout where training diverges, as in a simulation."""
    try:
        return train(
            model,
            received,
            data,
            steps=told.steps,
            batch=told.batch,
            learning_rate=told.learning_rate,
            proximal=told.proximal,
            generator=generator(told.seed, "batches", told.device, told.place, told.number),
            sampling=told.sampling,  # type: ignore[arg-type]
        ).parameters
    except LocalModelDiverged:
        return np.full_like(received, np.nan)


def _loss(model: FlatModel, local: Vector, data: Inputs) -> float | None:
    """Mean loss of the local model on some of the device's own samples; None where it is none."""
    try:
        return evaluate(model, local, data.select(np.arange(min(LOSS_SAMPLES, len(data))))).loss
    except BadInput:
        return None
