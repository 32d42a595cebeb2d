"""What server and device send one another: names of entries, their kinds, and a model as one field of bytes."""

from __future__ import annotations

import keyword
import math
from dataclasses import asdict, dataclass, fields
from typing import Any, get_args

import numpy as np

from dmafl.deployment.link import Content
from dmafl.learning.arrays import Vector
from dmafl.learning.sampling import Sampling

PROTOCOL = 1
"""Raised when messages have other entries than before; a device refuses a message of another one."""
TRAIN = "train"
ABOUT = "query.about"
"""The type of the message that asks a device what it has."""
MODEL, DECLINED, PROTOCOL_ENTRY = "model", "declined", "protocol"
NUMBER_BYTES = 4
MOST = 2**53
LONGEST_TEXT = 200


class Unfit(Exception):
    """A message that cannot be what it should be; its text says why."""


@dataclass(frozen=True, slots=True)
class Instructions:
    """What a device is to do with the model that it is sent."""

    job: int
    task: str
    place: int
    """Number of the task."""
    device: int
    version: int
    number: int
    """How many jobs of the task the device has had before."""
    seed: int
    steps: int
    batch: int
    frequency_Hz: float
    """Advice: what the plan computes with; a device that cannot choose its clock leaves it alone."""
    idle_s: float
    """How long the device rests before it computes."""
    learning_rate: float
    proximal: float
    sampling: str
    architecture: str
    """A built-in network, or `custom`: then the device must have a function that makes it."""
    parameters: int
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    """Statistics of the training images, for networks that see standardised ones; empty for others."""

    def content(self, model: Vector) -> Content:
        """The message with `model`."""
        plain = {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }
        return {PROTOCOL_ENTRY: PROTOCOL, **plain, MODEL: packed(model)}


WHOLE = ("job", "place", "device", "version", "number", "seed", "steps", "batch", "parameters")
AT_LEAST_1 = ("steps", "batch", "parameters")
NUMBERS = ("frequency_Hz", "idle_s", "learning_rate", "proximal")
TEXTS = ("task", "sampling", "architecture")
LISTS = ("mean", "std")


def action_of(task: str, place: int) -> str:
    """The type of the messages of a task, which has one action; Flower wants a Python identifier for it."""
    good = task.isidentifier() and not keyword.iskeyword(task)
    return f"{TRAIN}.{task if good else f'task_{place}'}"


def instructions_of(content: Content) -> Instructions:
    """What a message asks for; `Unfit` where an entry is missing, of another kind, or cannot be."""
    check_protocol(content)
    given: dict[str, Any] = {}
    for name in WHOLE:
        given[name] = _whole(content, name, least=1 if name in AT_LEAST_1 else 0)
    for name in NUMBERS:
        given[name] = _number(content.get(name), name)
    for name in TEXTS:
        text = content.get(name)
        if not isinstance(text, str) or not 0 < len(text) <= LONGEST_TEXT:
            raise Unfit(f"{name} is no short text")
        given[name] = text
    for name in LISTS:
        values = content.get(name)
        if not isinstance(values, list | tuple) or len(values) > LONGEST_TEXT:
            raise Unfit(f"{name} is no short list")
        given[name] = tuple(_number(value, name) for value in values)
    told = Instructions(**given)
    if told.learning_rate <= 0 or told.sampling not in get_args(Sampling):
        raise Unfit("learning_rate or sampling is none that there is")
    if len(told.mean) != len(told.std) or not all(value > 0 for value in told.std):
        raise Unfit("mean and std are no statistics of images")
    return told


def check_protocol(content: Content) -> None:
    """Refuse a message of another protocol."""
    spoken = content.get(PROTOCOL_ENTRY)
    if type(spoken) is not int or spoken != PROTOCOL:
        raise Unfit(
            f"protocol {spoken!r:.40}, not {PROTOCOL}: server and devices need the same version of dmafl"
        )


def packed(model: Vector) -> bytes:
    """A model as bytes, little-endian on every machine."""
    return np.ascontiguousarray(model, dtype="<f4").tobytes()


def unpacked(content: Content, parameters: int) -> Vector:
    """The model of a message; `Unfit` unless it has so many parameters, all of them finite."""
    given = content.get(MODEL)
    if not isinstance(given, bytes) or len(given) != NUMBER_BYTES * parameters:
        raise Unfit(f"model is not {parameters:,} numbers of {NUMBER_BYTES} bytes")
    model = np.frombuffer(given, dtype="<f4").astype(np.float32)
    if not np.isfinite(model).all():
        raise Unfit("model is not finite")
    return model


def declined(content: Content, reason: str) -> Content:
    """The reply of a device that does not do what it is told."""
    named = {name: content[name] for name in ("job", "task", "device", "version") if name in content}
    return {PROTOCOL_ENTRY: PROTOCOL, **named, DECLINED: reason[:LONGEST_TEXT]}


def _whole(content: Content, name: str, least: int) -> int:
    value = content.get(name)
    if type(value) is not int or not least <= value < MOST:
        raise Unfit(f"{name} is no whole number from {least} on")
    return value


def _number(value: Any, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise Unfit(f"{name} is no finite number")
    if name in NUMBERS and value < 0:
        raise Unfit(f"{name} is below 0")
    return float(value)


ENTRIES = tuple(field.name for field in fields(Instructions))
"""Names of all entries of a message to a device but its protocol and its model."""
