"""Streams of a device's data over virtual time. A user's own is one class with `local` and `test`.

A stream is a function of its progress: 0 at time 0, 1 at the end of the window (`World.stream_progress` makes idle and
active time count differently). So nothing about a stream has to be saved, and any moment can be asked for again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dmafl.base.randomness import generator
from dmafl.scenario.model import Task
from dmafl.world.physics.stream import sample_count

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class View:
    """Samples as a stream shows them: `rows` of the data set, shifted sideways by `roll_px`, labels renamed."""

    rows: Indices | None = None
    """None: all of them, in their order."""
    roll_px: int = 0
    labels: Indices | None = None
    """New label of each class, None: as they are."""


class Stream(Protocol):
    """What a device of a task has, and what the test data look like, when the stream has come to `progress`."""

    def local(self, device: int, progress: float) -> View:
        """The device's samples; rows of the training data."""
        ...

    def test(self, progress: float) -> View:
        """The test samples; `View()` where they do not follow the drift."""
        ...


@dataclass(frozen=True, eq=False)
class Still:
    """`none`: all samples, all the time."""

    dealt: Indices

    def local(self, device: int, progress: float) -> View:
        """All of the device's samples."""
        return View(self.dealt[device])

    def test(self, progress: float) -> View:
        """As they are."""
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
        """Own samples, the first of them replaced."""
        own, other = self.dealt[device], self.dealt[(device + 1) % len(self.dealt)]
        replaced = int(sample_count(0, len(own), progress * self.strength))
        # Distinct even where neighbours progress samples: what both have stays.
        incoming = other[~np.isin(other, own[replaced:])][:replaced]
        return View(np.concatenate([incoming, own[replaced:]]))


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
    renamed: Indices

    def local(self, device: int, progress: float) -> View:
        """All of the device's samples, under the names of the moment."""
        return View(self.dealt[device], labels=self._names(progress))

    def test(self, progress: float) -> View:
        """All test samples, under the names of the moment."""
        return View(labels=self._names(progress))

    def _names(self, progress: float) -> Indices | None:
        return self.renamed if progress >= self.change_at else None


def make_stream(task: Task, dealt: Indices, *, width_px: int, classes: int, seed: int, number: int) -> Stream:
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


def _rename(classes: int, strength: float, seed: int, number: int) -> Indices:
    """A cyclic swap of a random part of the classes, `strength` of them."""
    names = np.arange(classes)
    count = (
        max(2, round(strength * classes)) if strength > 0 else 0
    )  # one class alone has nobody to swap with
    part = generator(seed, "drift.abrupt", number).permutation(classes)[:count]
    names[part] = np.roll(part, 1)
    return names
