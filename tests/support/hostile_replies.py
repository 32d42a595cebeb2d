"""What a hostile device may send over the wire, and what becomes of it: refused for a reason, or a job that failed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmafl.deployment.link import Reply
from dmafl.deployment.wire import packed
from dmafl.server.updates import UpdateCheck as Check
from support.pretended_network import Sent

MARK = 3e3
"""What hostile models are made of; honest ones of these sizes have no number above 10."""
Attack = Callable[[Reply, Sent], list[Reply]]


def having(**entries: Any) -> Attack:
    """The honest reply with other entries, and a model that would be seen wherever it is mixed in."""
    return lambda reply, sent: [replace(reply, content={**marked(reply), **entries})]


def without(name: str) -> Attack:
    """The same without an entry."""
    return lambda reply, sent: [
        replace(reply, content={key: value for key, value in marked(reply).items() if key != name})
    ]


def marked(reply: Reply) -> dict[str, Any]:
    """The content with a hostile model."""
    assert reply.content is not None
    count = len(reply.content["model"]) // 4
    return {**reply.content, "model": packed(np.full(count, MARK, dtype=np.float32))}


def model_of(numbers: Callable[[int], np.ndarray]) -> Attack:
    """A model of other numbers, given how many there should be."""

    def change(reply: Reply, sent: Sent) -> list[Reply]:
        assert reply.content is not None
        made = numbers(len(reply.content["model"]) // 4)
        return [replace(reply, content={**reply.content, "model": made.tobytes()})]

    return change


def full(count: int, value: float, kind: Any = np.float32) -> np.ndarray:
    return np.full(count, value, dtype=kind)


def with_one(value: float) -> Attack:
    def numbers(count: int) -> np.ndarray:
        made = full(count, 0.0)
        made[count // 2] = value
        return made

    return model_of(numbers)


def other(name: str, by: int) -> Attack:
    """An honest number that is off."""
    return lambda reply, sent: [replace(reply, content={**marked(reply), name: sent.content[name] + by})]


def twice(reply: Reply, sent: Sent) -> list[Reply]:
    """The second copy is a forgery under the same message."""
    return [reply, replace(reply, content=marked(reply))]


def foreign(reply: Reply, sent: Sent) -> list[Reply]:
    """Somebody else answers; then the one who was asked."""
    return [replace(reply, node=999, content=marked(reply))]


def unknown_message(reply: Reply, sent: Sent) -> list[Reply]:
    """A reply to a message that nobody sent, before the honest one."""
    return [replace(reply, message="message of nobody", content=marked(reply)), reply]


REFUSED: Mapping[str, tuple[Attack, Check]] = {
    "no model": (without("model"), Check.WRONG_TYPE),
    "an empty model": (having(model=b""), Check.WRONG_SIZE),
    "a model as text": (having(model="0.1 0.2"), Check.WRONG_TYPE),
    "a model as a list": (having(model=[MARK] * 51), Check.WRONG_TYPE),
    "a number for a model": (having(model=7), Check.WRONG_TYPE),
    "bytes that are no whole numbers": (having(model=b"abc"), Check.WRONG_TYPE),
    "a pickle": (having(model=b"\x80\x04\x95\x00."), Check.WRONG_TYPE),
    "one number too few": (model_of(lambda count: full(count - 1, MARK)), Check.WRONG_SIZE),
    "one number too many": (model_of(lambda count: full(count + 1, MARK)), Check.WRONG_SIZE),
    "a million numbers": (model_of(lambda count: full(10**6, MARK)), Check.WRONG_SIZE),
    "double precision": (model_of(lambda count: full(count, MARK, np.float64)), Check.WRONG_SIZE),
    "not a number": (with_one(np.nan), Check.DIVERGED),
    "infinite": (with_one(np.inf), Check.DIVERGED),
    "infinite below zero": (with_one(-np.inf), Check.DIVERGED),
    "nothing but no numbers": (model_of(lambda count: full(count, np.nan)), Check.DIVERGED),
    "far away": (model_of(lambda count: full(count, MARK)), Check.NORM_TOO_LARGE),
    "as far away as there are numbers": (with_one(3.4e38), Check.NORM_TOO_LARGE),
    "joules below zero": (having(joules=-1.0), Check.WRONG_REPORT),
    "joules without end": (having(joules=float("inf")), Check.WRONG_REPORT),
    "joules as text": (having(joules="2 J"), Check.WRONG_REPORT),
    "a loss that is none": (having(loss=float("nan")), Check.WRONG_REPORT),
    "samples below zero": (having(samples=-5), Check.WRONG_REPORT),
    "no samples": (having(samples=0), Check.WRONG_REPORT),
    "half a sample": (having(samples=0.5), Check.WRONG_REPORT),
    "more samples than there are": (having(samples=10**15), Check.WRONG_REPORT),
    "time that goes backwards": (having(compute_s=-3.0), Check.WRONG_REPORT),
    "more time than has passed": (having(compute_s=1e6), Check.WRONG_REPORT),
    "time as text": (having(download_s="soon"), Check.WRONG_REPORT),
    "a time that is none": (having(compute_s=float("nan")), Check.WRONG_REPORT),
    "another job": (other("job", 1000), Check.UNKNOWN_JOB),
    "a job below zero": (having(job=-1), Check.UNKNOWN_JOB),
    "a job as text": (having(job="0"), Check.UNKNOWN_JOB),
    "no job": (without("job"), Check.UNKNOWN_JOB),
    "a truth value for a job": (having(job=True), Check.UNKNOWN_JOB),
    "another device": (other("device", 1), Check.UNKNOWN_JOB),
    "another version of the model": (other("version", 1), Check.OTHER_JOB),
    "no version": (without("version"), Check.OTHER_JOB),
    "another task": (having(task="two"), Check.OTHER_TASK),
    "a task that there is not": (having(task="three"), Check.OTHER_TASK),
    "a number for a task": (having(task=0), Check.OTHER_TASK),
    "another protocol": (having(protocol=99), Check.UNKNOWN_JOB),
    "no protocol": (without("protocol"), Check.UNKNOWN_JOB),
    "nothing at all": (lambda reply, sent: [replace(reply, content={})], Check.UNKNOWN_JOB),
    "from another device's address": (foreign, Check.UNKNOWN_JOB),
}
"""Each with the reason that it is counted for."""
IGNORED: Mapping[str, Attack] = {"twice": twice, "to a message that nobody sent": unknown_message}
"""The honest reply is taken, and nothing else."""
