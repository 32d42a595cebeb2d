"""Streams of a device's data over virtual time. A user's stream is one class with `local` and `test`.

A stream is a function of its progress: 0 at time 0, 1 at the end of the window (`World.stream_progress` makes idle and
active time count differently). So a stream has no state to save, and any moment can be computed again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from dmafl.base.arrays import IntArray
from dmafl.base.randomness import generator
from dmafl.scenario.model import Task
from dmafl.world.physics.stream import sample_count


@dataclass(frozen=True, eq=False)
class View:
    """Samples as a stream shows them: `rows` of the data set, shifted sideways by `roll_px`, labels renamed."""

    rows: IntArray | None = None
    """None: all samples, in their order."""
    roll_px: int = 0
    labels: IntArray | None = None
    """New label of each class; None: unchanged."""


class Stream(Protocol):
    """The samples that a device has of a task, and the test samples, at a stream's `progress`."""

    def local(self, device: int, progress: float) -> View:
        """The device's samples; rows of the training data."""
        ...

    def test(self, progress: float) -> View:
        """The test samples; `View()` where they do not follow the drift."""
        ...


@dataclass(frozen=True, eq=False)
class Still:
    """`none`: all samples, all the time."""

    dealt: IntArray

    def local(self, device: int, progress: float) -> View:
        """All of the device's samples."""
        return View(self.dealt[device])

    def test(self, progress: float) -> View:
        """All test samples, unchanged."""
        return View()


@dataclass(frozen=True, eq=False)
class Growth(Still):
    """`growth`: samples come in, none leave. The paper's drift."""

    at_start: int

    def local(self, device: int, progress: float) -> View:
        """The first D of the device's samples."""
        return View(self.dealt[device, : int(sample_count(self.at_start, self.dealt.shape[1], progress))])


@dataclass(frozen=True, eq=False)
class Window(Still):
    """`window`: as many samples as at the start; new ones come in, the oldest leave."""

    size: int

    def local(self, device: int, progress: float) -> View:
        """The window of the device's samples."""
        begin = int(sample_count(0, self.dealt.shape[1] - self.size, progress))
        return View(self.dealt[device, begin : begin + self.size])


@dataclass(frozen=True, eq=False)
class LabelShift(Still):
    """`label_shift`: a device's samples are replaced one by one by those that its neighbour began with."""

    strength: float

    def local(self, device: int, progress: float) -> View:
        """The device's samples, the first of them replaced."""
        before, neighbours = self.dealt[device], self.dealt[(device + 1) % len(self.dealt)]
        replaced = int(sample_count(0, len(before), progress * self.strength))
        # Distinct even where neighbours share samples: a sample that both have stays.
        incoming = neighbours[~np.isin(neighbours, before[replaced:])][:replaced]
        return View(np.concatenate([incoming, before[replaced:]]))


@dataclass(frozen=True, eq=False)
class CovariateShift(Still):
    """`covariate_shift`: pictures move sideways, by up to `strength` times a quarter of their width; tests follow."""

    strength: float
    width_px: int

    def local(self, device: int, progress: float) -> View:
        """All of the device's samples, moved."""
        return View(self.dealt[device], self._moved_px(progress))

    def test(self, progress: float) -> View:
        """All test samples, moved."""
        return View(None, self._moved_px(progress))

    def _moved_px(self, progress: float) -> int:
        return round(progress * self.strength * self.width_px / 4)


@dataclass(frozen=True, eq=False)
class Abrupt(Still):
    """`abrupt`: at one moment a part of the classes swap names, and tests follow."""

    change_at: float
    renamed: IntArray

    def local(self, device: int, progress: float) -> View:
        """All of the device's samples, under the names of the moment."""
        return View(self.dealt[device], labels=self._names(progress))

    def test(self, progress: float) -> View:
        """All test samples, under the names of the moment."""
        return View(labels=self._names(progress))

    def _names(self, progress: float) -> IntArray | None:
        return self.renamed if progress >= self.change_at else None


def make_stream(
    task: Task, dealt: IntArray, *, width_px: int, classes: int, seed: int, number: int
) -> Stream:
    """The stream that a task's settings describe, over the samples `dealt` to devices, shape (I, D)."""
    drift = task.drift
    match drift.kind:
        case "growth":
            return Growth(dealt, task.samples_at_start)
        case "window":
            return Window(dealt, task.samples_at_start)
        case "label_shift":
            return LabelShift(dealt, drift.strength)
        case "covariate_shift":
            return CovariateShift(dealt, drift.strength, width_px)
        case "abrupt":
            return Abrupt(dealt, drift.change_at, _rename(classes, drift.strength, seed, number))
    return Still(dealt)


def _rename(classes: int, strength: float, seed: int, number: int) -> IntArray:
    """A cyclic swap of a random part of the classes, `strength` of them."""
    names = np.arange(classes)
    # At least two, since one class alone cannot swap.
    count = max(2, round(strength * classes)) if strength > 0 else 0
    part = generator(seed, "drift.abrupt", number).permutation(classes)[:count]
    names[part] = np.roll(part, 1)
    return names
