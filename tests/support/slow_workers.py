"""Workers whose results are there only after a few looks."""

from __future__ import annotations

from collections import Counter
from typing import Any
from zlib import crc32

import numpy as np

from dmafl.training.workers import InProcess, Lazy, Trainers

LONGEST_WAIT = 3
"""A result is there after at most so many looks."""


class Slow:
    """A result that takes a few looks; `looks` counts them by order, so that a resumed run does not wait for ever."""

    def __init__(self, inner: Lazy[Any], looks: Counter[Any], order: Any) -> None:
        self._inner, self._looks, self._order = inner, looks, order
        self._needed = crc32(repr(order).encode()) % (LONGEST_WAIT + 1)

    def done(self) -> bool:
        self._looks[self._order] += 1
        return self._looks[self._order] > self._needed

    def result(self) -> Any:
        return self._inner.result()


class SlowWorkers:
    """Workers whose results come later, the same ones in every run."""

    def __init__(self, trainers: Trainers) -> None:
        self._inner, self._looks = InProcess(trainers), Counter[Any]()

    def train(self, seed: int, order: Any, received: np.ndarray) -> Any:
        return Slow(
            self._inner.train(seed, order, received), self._looks, (order.task, order.device, order.number)
        )

    def test(self, seed: int, order: Any, parameters: np.ndarray) -> Any:
        return Slow(
            self._inner.test(seed, order, parameters), self._looks, ("test", order.task, order.progress)
        )
