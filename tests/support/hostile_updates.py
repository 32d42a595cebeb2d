"""What a faulty or hostile device may send for its job, and the reason for which a server must refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dmafl.server.messages import Job, Period
from dmafl.server.updates import MOST_SAMPLES, UpdateCheck

SIZE = 4
GOOD = np.asarray([1.0, 2.0, 3.0, 4.0], dtype=np.float32)
"""What an honest device sends."""
MAX_NORM = 1e6

Check = UpdateCheck
MODELS: Mapping[str, tuple[Callable[[], Any], UpdateCheck]] = {
    "one number too few": (lambda: GOOD[:-1].copy(), Check.WRONG_SIZE),
    "one number too many": (lambda: np.append(GOOD, np.float32(0)), Check.WRONG_SIZE),
    "a million numbers": (lambda: np.zeros(10**6, dtype=np.float32), Check.WRONG_SIZE),
    "a table": (lambda: GOOD.reshape(2, 2), Check.WRONG_SIZE),
    "a row": (lambda: GOOD.reshape(1, SIZE), Check.WRONG_SIZE),
    "empty": (lambda: GOOD[:0], Check.WRONG_SIZE),
    "without dimensions": (lambda: np.asarray(np.float32(1)), Check.WRONG_SIZE),
    "double precision": (lambda: GOOD.astype(np.float64), Check.WRONG_TYPE),
    "half precision": (lambda: GOOD.astype(np.float16), Check.WRONG_TYPE),
    "whole numbers": (lambda: GOOD.astype(np.int32), Check.WRONG_TYPE),
    "truth values": (lambda: GOOD > 2, Check.WRONG_TYPE),
    "complex numbers": (lambda: GOOD.astype(np.complex64), Check.WRONG_TYPE),
    "bytes in the other order": (lambda: GOOD.astype(GOOD.dtype.newbyteorder()), Check.WRONG_TYPE),
    "objects": (lambda: GOOD.astype(object), Check.WRONG_TYPE),
    "objects without sums": (lambda: np.asarray([None, {}, [], ""], dtype=object), Check.WRONG_TYPE),
    "texts": (lambda: GOOD.astype(str), Check.WRONG_TYPE),
    "times": (lambda: np.zeros(SIZE, dtype="datetime64[s]"), Check.WRONG_TYPE),
    "records": (lambda: np.zeros(SIZE, dtype=[("a", np.float32)]), Check.WRONG_TYPE),
    "numbers behind a mask": (lambda: np.ma.masked_array(GOOD * np.nan, mask=True), Check.WRONG_TYPE),
    "a class of its own": (lambda: GOOD.view(np.recarray), Check.WRONG_TYPE),
    "nothing": (lambda: None, Check.WRONG_TYPE),
    "a list": (lambda: GOOD.tolist(), Check.WRONG_TYPE),
    "bytes": (lambda: GOOD.tobytes(), Check.WRONG_TYPE),
    "a text": (lambda: "1 2 3 4", Check.WRONG_TYPE),
    "one number": (lambda: np.float32(1), Check.WRONG_TYPE),
    "every second number": (lambda: np.repeat(GOOD, 2)[::2], Check.WRONG_LAYOUT),
    "from the last to the first": (lambda: GOOD[::-1], Check.WRONG_LAYOUT),
    "one number again and again": (lambda: np.broadcast_to(np.float32(1), (SIZE,)), Check.WRONG_LAYOUT),
    "one that is not a number": (lambda: _with(np.nan), Check.DIVERGED),
    "none that is a number": (lambda: GOOD * np.float32(np.nan), Check.DIVERGED),
    "infinite": (lambda: _with(np.inf), Check.DIVERGED),
    "infinite below zero": (lambda: _with(-np.inf), Check.DIVERGED),
    "far away": (lambda: GOOD * np.float32(1e7), Check.NORM_TOO_LARGE),
    "as far away as there are numbers": (lambda: _with(3.4e38), Check.NORM_TOO_LARGE),
}
"""For the right job, with an honest report."""

CLAIMS: Mapping[str, tuple[Callable[[Job], Job], UpdateCheck]] = {
    "another task": (lambda job: _ordered(job, task=1 - job.dispatch.task), Check.OTHER_TASK),
    "a task that there is not": (lambda job: _ordered(job, task=99), Check.OTHER_TASK),
    "a task below zero": (lambda job: _ordered(job, task=-1), Check.OTHER_TASK),
    "no order": (lambda job: replace(job, dispatch=None), Check.OTHER_TASK),
    "another device": (lambda job: _ordered(job, device=job.dispatch.device + 1), Check.OTHER_JOB),
    "a device below zero": (lambda job: _ordered(job, device=-1), Check.OTHER_JOB),
    "more steps": (lambda job: _ordered(job, steps=10**9), Check.OTHER_JOB),
    "an older version": (lambda job: replace(job, version=job.version - 1), Check.OTHER_JOB),
    "a version that comes later": (lambda job: replace(job, version=job.version + 5), Check.OTHER_JOB),
    "a version that is not a number": (lambda job: replace(job, version=np.nan), Check.OTHER_JOB),
    "another turn": (lambda job: replace(job, number=job.number + 1), Check.OTHER_JOB),
    "a foreign id": (lambda job: replace(job, id=10**9), Check.UNKNOWN_JOB),
    "an id below zero": (lambda job: replace(job, id=-1), Check.UNKNOWN_JOB),
    "an id beyond 64 bits": (lambda job: replace(job, id=2**70), Check.UNKNOWN_JOB),
    "an id with a point": (lambda job: replace(job, id=float(job.id)), Check.UNKNOWN_JOB),
    "an id as text": (lambda job: replace(job, id=str(job.id)), Check.UNKNOWN_JOB),
    "an id as a list": (lambda job: replace(job, id=[job.id]), Check.UNKNOWN_JOB),
    "no id": (lambda job: replace(job, id=None), Check.UNKNOWN_JOB),
}
"""An honest model and report for another job, or for none. The job itself goes on."""

REPORTS: Mapping[str, Period | Any] = {
    "samples below zero": Period(0.0, samples=-5),
    "no samples": Period(0.0, samples=0),
    "more samples than there are": Period(0.0, samples=MOST_SAMPLES),
    "samples as text": Period(0.0, samples="many"),  # type: ignore[arg-type]
    "half a sample": Period(0.0, samples=0.5),  # type: ignore[arg-type]
    "a loss that is not a number": Period(0.0, loss=np.nan),
    "a loss as a list": Period(0.0, loss=[1.0]),  # type: ignore[arg-type]
    "infinite joules": Period(0.0, compute_J=np.inf),
    "joules below zero": Period(0.0, uplink_J=-1.0),
    "seconds below zero": Period(0.0, compute_s=-1.0),
    "seconds that are not a number": Period(0.0, upload_s=np.nan),
    "seconds beyond all numbers": Period(0.0, idle_s=10**400),
    "a clock below zero": Period(0.0, frequency_Hz=-1e9),
    "no report": None,
    "a report that is cut off": (0.0, 1.0),
}
"""An honest model with a report that cannot be true: refused as `WRONG_REPORT`."""


def _with(value: float) -> np.ndarray:
    model = GOOD.copy()
    model[2] = value
    return model


def _ordered(job: Job, **other: int) -> Job:
    return replace(job, dispatch=replace(job.dispatch, **other))
