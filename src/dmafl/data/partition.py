"""Which device holds which training samples."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.arrays import FloatArray, IntArray
from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.base.randomness import generator

SCHEMES = ("k_labels", "dirichlet", "varied", "iid")
MAX_CONCENTRATION = 1e6
MOST_DEALT = 200_000_000
"""Samples of all devices together, which take 8 bytes each."""

_CHOOSE, _DEAL, _ORDER = range(3)
"""What a generator of the purpose `partition` is for: its first key."""


@dataclass(frozen=True, eq=False)
class Partition:
    """How many samples of each class each device holds, and which ones; they are dealt when first asked for."""

    seed: int
    task: int
    classes: IntArray
    """Labels, (classes,)."""
    members: list[IntArray]
    """IntArray of all samples of each class."""
    counts: IntArray
    """Samples of each class that each device gets, (devices, classes)."""

    @property
    def shared(self) -> int:
        """Assignments beyond the first one of a sample: 0 when no two devices hold the same sample."""
        sizes = np.array([len(pool) for pool in self.members])
        return int(np.maximum(self.counts.sum(axis=0) - sizes, 0).sum())

    @cached_property
    def indices(self) -> IntArray:
        """Sample indices of each device, (devices, samples).

        Distinct within a row, in random order, so that a prefix of a row has the row's class mix.
        """
        hands: list[list[IntArray]] = [[] for _ in self.counts]
        for label, pool, demand in zip(self.classes, self.members, self.counts.T, strict=True):
            rng = generator(self.seed, "partition", _DEAL, self.task, int(label))
            for device, hand in enumerate(_deal(pool, demand, rng)):
                hands[device].append(hand)
        rows = [
            generator(self.seed, "partition", _ORDER, self.task, device).permutation(np.concatenate(parts))
            for device, parts in enumerate(hands)
        ]
        return np.stack(rows)


def partition(
    labels: ArrayLike,
    devices: int,
    samples: int,
    scheme: str,
    *,
    seed: int,
    labels_per_device: int = 2,
    concentration: float = 0.5,
    task: int = 0,
    only_counts: bool = False,
) -> Partition:
    """Deal `samples` distinct samples to each device; devices share samples only when a class runs out.

    `k_labels`: `labels_per_device` labels each, in equal parts. `varied`: 1 device with 1 label, 2 devices with
    2, 3 with 3 and so on (never more than there are), in equal parts; the last group is cut short. Both give a
    device labels that fewest devices hold so far, ties at random. `dirichlet`: shares ~ Dir(concentration).
    `iid`: a simple random sample of everything.

    Shares become counts by largest remainder (ties to the smaller label). Samples that a class cannot give to a
    device, because it has too few, are spread over the device's other labels in proportion to their shares. Each
    (seed, task, class) has its own randomness. `only_counts`: `indices` are not wanted, so their number is not limited.
    """
    if not only_counts and devices * samples > MOST_DEALT:
        rule = f"must be at most {MOST_DEALT // devices:,} where there are {devices:,} devices"
        raise bad_input("samples", rule, samples, "Have fewer devices, or fewer samples of each.")
    classes, members = _checked(labels, devices, samples, scheme, seed, labels_per_device, concentration)
    rng = generator(seed, "partition", _CHOOSE, task)
    if scheme == "iid":
        classes, members = np.zeros(1, dtype=np.int64), [np.arange(sum(map(len, members)))]
        shares = np.ones((devices, 1))
    elif scheme == "dirichlet":
        shares = rng.dirichlet(np.full(len(classes), concentration), size=devices)
    elif scheme == "varied":
        shares = _equal_parts(_varied(devices, len(classes)), len(classes), rng)
    else:
        shares = _equal_parts(np.full(devices, labels_per_device), len(classes), rng)
    sizes = np.array([len(pool) for pool in members])
    counts = _all_capped(shares, samples, sizes)
    return Partition(seed, task, classes, members, counts)


def largest_remainder(shares: FloatArray, total: int) -> IntArray:
    """Whole numbers that sum to `total`, each within one of its share; ties go to the first."""
    exact = shares / shares.sum() * total
    counts: IntArray = np.floor(exact).astype(np.int64)
    # Rounded so that shares that are equal but for the last bit count as a tie.
    order = np.argsort(-np.round(exact - counts, 9), kind="stable")
    counts[order[: total - counts.sum()]] += 1
    return counts


def _largest_remainders(shares: FloatArray, total: int) -> IntArray:
    """`largest_remainder` of every row (devices, classes) at once."""
    exact = shares / shares.sum(axis=1, keepdims=True) * total
    counts: IntArray = np.floor(exact).astype(np.int64)
    order = np.argsort(-np.round(exact - counts, 9), axis=1, kind="stable")
    one_more = np.arange(shares.shape[1]) < total - counts.sum(axis=1, keepdims=True)
    np.put_along_axis(counts, order, np.take_along_axis(counts, order, axis=1) + one_more, axis=1)
    return counts


def _varied(devices: int, classes: int) -> IntArray:
    """Number of labels of each device: 1, 2, 2, 3, 3, 3, ..."""
    groups = np.arange(1, math.isqrt(2 * devices) + 2)
    labels_held: IntArray = np.minimum(np.repeat(groups, groups)[:devices], classes)
    return labels_held


def _equal_parts(labels_held: IntArray, classes: int, rng: np.random.Generator) -> FloatArray:
    """Shares (devices, classes): each device splits evenly over labels that fewest devices hold so far."""
    shares = np.zeros((len(labels_held), classes))
    holders = np.zeros(classes, dtype=np.int64)
    ties = rng.random((len(labels_held), classes))
    for device, count in enumerate(labels_held):
        chosen = np.lexsort((ties[device], holders))[:count]
        holders[chosen] += 1
        shares[device, chosen] = 1 / count
    return shares


def _all_capped(shares: FloatArray, samples: int, sizes: IntArray) -> IntArray:
    """`_capped` of every device (devices, classes); those of equal shares, and those that no class limits, at once."""
    counts = np.zeros(shares.shape, dtype=np.int64)
    done = np.zeros(len(shares), dtype=bool)
    everything = np.flatnonzero((shares > 0).all(axis=1))
    if len(everything) and sizes.sum() >= samples:
        counts[everything] = _largest_remainders(shares[everything], samples)
        done[everything] = (counts[everything] <= sizes).all(axis=1)
    same: dict[bytes, IntArray] = {}
    for device in np.flatnonzero(~done).tolist():
        key = shares[device].tobytes()
        if key not in same:
            same[key] = _capped(shares[device], samples, sizes, device)
        counts[device] = same[key]
    return counts


def _capped(shares: FloatArray, samples: int, sizes: IntArray, device: int) -> IntArray:
    """Samples of each class for one device, none above the size of its class."""
    room = shares > 0
    limit = int(sizes[room].sum())
    if limit < samples:
        rule = f"must be at most {limit:,}, all that device {device} can have of its labels"
        raise bad_input("samples", rule, samples, "Give fewer samples to a device, or more labels.")
    counts = np.zeros(len(sizes), dtype=np.int64)
    while (missing := samples - int(counts.sum())) > 0:
        counts[room] += largest_remainder(shares[room], missing)
        counts = np.minimum(counts, sizes)
        room &= counts < sizes
    return counts


def _deal(pool: IntArray, demand: IntArray, rng: np.random.Generator) -> Iterator[IntArray]:
    """Each device's samples of one class; the pool is shuffled anew whenever all of it has been dealt."""
    deck = rng.permutation(pool)
    for count in demand:
        hand, deck = deck[:count], deck[count:]
        short = int(count) - len(hand)
        if short:
            deck = rng.permutation(pool)
            twice = np.isin(deck, hand)
            deck = np.concatenate([deck[~twice], deck[twice]])
            hand, deck = np.concatenate([hand, deck[:short]]), deck[short:]
        yield hand


def _checked(
    labels: ArrayLike,
    devices: int,
    samples: int,
    scheme: str,
    seed: int,
    labels_per_device: int,
    concentration: float,
) -> tuple[IntArray, list[IntArray]]:
    """The classes and the indices of the samples of each; wrong arguments are refused."""
    array = np.asarray(labels)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "iu" or array.min() < 0:
        value = ShownAsIs(f"shape {array.shape} of {array.dtype}")
        raise bad_input(
            "labels", "must be a list of whole numbers from 0", value, "Give one label for each sample."
        )
    for name, count in (("devices", devices), ("samples", samples)):
        if count < 1:
            raise bad_input(name, "must be at least 1", count, "Set a whole number from 1.")
    if seed < 0:
        raise bad_input("seed", "must be at least 0", seed, "Set a whole number from 0.")
    if scheme not in SCHEMES:
        near = difflib.get_close_matches(str(scheme), SCHEMES, n=1)
        remedy = f"Did you mean {near[0]}?" if near else "Choose one of these."
        raise bad_input("partition", f"must be one of {', '.join(SCHEMES)}", scheme, remedy)
    classes = np.unique(array).astype(np.int64)
    if scheme == "k_labels" and not 1 <= labels_per_device <= len(classes):
        rule = f"must be between 1 and {len(classes)}, the labels there are"
        raise bad_input("labels_per_device", rule, labels_per_device, "Choose a number in between.")
    if scheme == "dirichlet" and not 0 < concentration <= MAX_CONCENTRATION:
        rule = f"must be above 0 and at most {MAX_CONCENTRATION:g}"
        raise bad_input("concentration", rule, concentration, "0.1 is very uneven, 100 nearly even.")
    return classes, [np.flatnonzero(array == label) for label in classes]
