"""The labels that real devices hold, for plans: what they tell if their owners allow it, and even shares otherwise."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.deployment.link import Content, Link, LinkDown
from dmafl.deployment.members import Members
from dmafl.deployment.real_time import RealTime
from dmafl.deployment.wire import ABOUT, PROTOCOL, PROTOCOL_ENTRY
from dmafl.server.updates import MOST_SAMPLES
from dmafl.theory.label_mix import LabelMix
from dmafl.training.trainer import Trainer

log = logging.getLogger(__name__)
ANSWER_S = 120.0
"""How long devices are waited for that are asked what they have."""


class ReportedLabels:
    """Asks every device that is there, once, when somebody plans."""

    def __init__(self, link: Link, time: RealTime, names: Sequence[str]) -> None:
        """`names` of the devices of the world."""
        self._link, self._time, self._names = link, time, tuple(names)
        self._known: dict[str, LabelMix] | None = None

    def __call__(self, trainer: Trainer) -> Mapping[str, LabelMix]:
        """By task; `trainer` has the test data."""
        if self._known is None:
            tasks = dict(zip(trainer.scenario.tasks, trainer.tasks, strict=True))
            classes = {name: task.data.classes for name, task in tasks.items()}
            told = self._told(classes)
            self._known = {
                name: _mix(name, classes[name], of_task.test_inputs.labels, len(self._names), told)
                for name, of_task in tasks.items()
            }
        return self._known

    def _told(self, classes: Mapping[str, int]) -> dict[int, Content]:
        """What devices answer, by their numbers."""
        question = {PROTOCOL_ENTRY: PROTOCOL, "tasks": list(classes), "classes": list(classes.values())}
        waiting: dict[str, int] = {}
        told: dict[int, Content] = {}
        try:
            members = Members(self._names)
            members.update(self._link.nodes())
            for device in sorted(members.present):
                asked = {**question, "device": device}
                message = self._link.push(members.node(device), ABOUT, asked, ANSWER_S)
                if message is not None:
                    waiting[message] = device
            begun = self._time.source()
            while waiting and self._time.source() - begun < ANSWER_S:
                for reply in self._link.pull(list(waiting)):
                    device = waiting.pop(reply.message, -1)
                    if reply.content is not None and device >= 0:
                        told[device] = reply.content
                if waiting:
                    self._time.sleep(0.5)
        except LinkDown as error:
            log.warning("devices are not asked for their labels: %s", error)
        return told


def _mix(name: str, classes: int, asked: Any, devices: int, told: Mapping[int, Content]) -> LabelMix:
    """The labels of a task; a device that does not tell has as many of each."""
    held = np.full((devices, classes), 1.0 / classes)
    for device, content in told.items():
        counts = counts_in(content, name, classes)
        if counts is None:
            log.info("device %d does not tell its labels of %s: even shares are planned with", device, name)
        else:
            held[device] = counts / counts.sum()
    counted = np.bincount(np.asarray(asked).astype(np.int64), minlength=classes)
    return LabelMix(held, counted / counted.sum())


def counts_in(content: Content, task: str, classes: int) -> FloatArray | None:
    """How many samples of each label a device says it has; None where it does not, or where that cannot be."""
    counts = content.get(f"labels.{task}")
    if not isinstance(counts, list | tuple) or len(counts) != classes:
        return None
    if not all(type(count) is int and 0 <= count < MOST_SAMPLES for count in counts) or not sum(counts):
        return None
    return np.asarray(counts, dtype=np.float64)
