"""A stand-in for SVHN that needs no download: MNIST digits drawn as house numbers on cluttered colour walls.

It has SVHN's shape and its kind of difficulty (either polarity, colour, gradients, edges, cut-off neighbours),
but it is not SVHN, and results on it say nothing about results on SVHN.

Every number comes from the keyed uniform source and every step is a single IEEE operation (no powers, no sums
whose order could differ), so the pixels are the same on every machine.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dmafl.base.arrays import IntArray
from dmafl.base.randomness import uniform
from dmafl.data.dataset import Bytes, Dataset, content_sha256

Floats = NDArray[np.float32]

SIZE = 32
EMBEDDED_SHA256 = "d5475031f7cd3b75115c2db5253402020cf297bfe62547ad71cbe9405c4454e2"
"""Checksum of the arrays rendered from the embedded MNIST sample."""

_BLOCK = 128
"""Images drawn at a time: their intermediate values stay in cache."""
_DRAWS = 64
"""Random numbers reserved for each image."""
_NOISE = 1 << 17
"""Length of the noise that images take their own stretch of."""
_BELOW_ONE = np.float32(1 - 2**-24)
"""The largest number below 1: rounding to 32 bits must not give 1 itself."""
_GRID = 5
"""Corners of the coarse brightness grid along each side."""
_EDGE = 12
"""Columns at either side in which a neighbouring digit can show."""


def street_digits(mnist: Dataset) -> Dataset:
    """The stand-in rendered from the digits of `mnist`: (samples, 32, 32, 3), with their labels and split."""
    arrays = {
        "x_train": render(mnist.x_train, "street_digits/train"),
        "y_train": mnist.y_train,
        "x_test": render(mnist.x_test, "street_digits/test"),
        "y_test": mnist.y_test,
    }
    return Dataset(
        name="street_digits",
        **arrays,
        source=f"rendered from mnist ({mnist.source})",
        sha256=content_sha256(arrays),
        stand_in=True,
    )


def render(digits: Bytes, purpose: str) -> Bytes:
    """One street picture for each digit, (samples, 32, 32, 3); `purpose` keys the randomness."""
    padded = np.pad(digits, ((0, 0), (1, 1), (1, 1)))
    noise = np.lib.stride_tricks.sliding_window_view(_noise(), SIZE * SIZE * 3)
    pictures = np.empty((len(digits), SIZE, SIZE, 3), dtype=np.uint8)
    for begin in range(0, len(digits), _BLOCK):
        images = np.arange(begin, min(begin + _BLOCK, len(digits)))
        pictures[begin : begin + _BLOCK] = _pictures(padded, images, _Dice(purpose, images), noise)
    return pictures


class _Dice:
    """The random numbers of a block of images, one column for each throw."""

    def __init__(self, purpose: str, images: IntArray) -> None:
        throws = uniform(0, purpose, images[None, :], np.arange(_DRAWS)[:, None]).astype(np.float32)
        self._throws = np.minimum(throws, _BELOW_ONE)
        self._next = 0

    def throw(self, low: float, high: float, *shape: int) -> Floats:
        """Uniform numbers in [low, high), (images, *shape)."""
        count = int(np.prod(shape, dtype=np.int64))
        columns = self._throws[self._next : self._next + count]
        self._next += count
        scaled = columns * np.float32(high - low) + np.float32(low)
        return np.ascontiguousarray(scaled.T).reshape(-1, *shape)


def _pictures(padded: Bytes, images: IntArray, dice: _Dice, noise: Floats) -> Bytes:
    ink = _ink(padded, images, dice)[:, None]
    wall, paint = _colours(dice)
    shade = _shade(dice)[:, None]
    picture = wall[:, :, None, None] + shade  # one plane per colour: operations on long rows are fast
    picture += ink * (paint[:, :, None, None] - picture + np.float32(0.4) * shade)
    starts = (dice.throw(0, 1) * np.float32(len(noise) - 1)).astype(np.int64)
    grain = noise[starts].reshape(picture.shape)
    grain *= dice.throw(0.01, 0.07)[:, None, None, None]
    picture += grain
    np.clip(picture, 0, 1, out=picture)
    picture *= np.float32(255)
    picture += np.float32(0.5)
    return picture.astype(np.uint8).transpose(0, 2, 3, 1)


def _ink(padded: Bytes, images: IntArray, dice: _Dice) -> Floats:
    """How much paint is on each pixel, 0..1, (images, 32, 32): the digit and the visible part of its neighbours."""
    tall, wide = dice.throw(0.95, 1.3), dice.throw(0.8, 1.15)
    slant = dice.throw(-0.2, 0.2)
    y, x = dice.throw(-2, 2) + np.float32(15.5), dice.throw(-2, 2) + np.float32(15.5)
    ink = _placed(padded[images], tall, wide, slant, y, x, np.arange(SIZE))
    for side, columns in ((-1, np.arange(_EDGE)), (1, np.arange(SIZE - _EDGE, SIZE))):
        other = (dice.throw(0, 1) * np.float32(len(padded))).astype(np.int64)
        gap = dice.throw(16, 22) * wide
        is_shown = (dice.throw(0, 1) < np.float32(0.65)).astype(np.float32)
        neighbour = _placed(padded[other], tall, wide, slant, y, x + np.float32(side) * gap, columns)
        edge = ink[:, :, columns[0] : columns[-1] + 1]
        np.maximum(edge, neighbour * is_shown[:, None, None], out=edge)
    ink += (_blurred(ink) - ink) * dice.throw(0, 1)[:, None, None]
    ink *= dice.throw(1.0, 1.6)[:, None, None]
    return np.clip(ink, 0, 1)


def _blurred(ink: Floats) -> Floats:
    """Each pixel mixed with its neighbours, 1:2:1 in both directions; pixels outside are like the border."""
    for axis in (1, 2):
        wide = np.pad(ink, [(1, 1) if axis == a else (0, 0) for a in range(3)], mode="edge")
        before, after = (wide.take(np.arange(SIZE) + shift, axis=axis) for shift in (0, 2))
        ink = ink * np.float32(0.5) + (before + after) * np.float32(0.25)
    return ink


def _placed(
    digits: Bytes, tall: Floats, wide: Floats, slant: Floats, y: Floats, x: Floats, columns: IntArray
) -> Floats:
    """The digits, stretched and slanted with their centres at (y, x), in these columns, by linear interpolation."""
    count, side = len(digits), digits.shape[1]
    middle, last = np.float32((side - 1) / 2), np.float32(side - 1.001)
    offset = (np.arange(SIZE, dtype=np.float32) - y[:, None]) / tall[:, None]
    row, weight = _split(np.clip(offset + middle, 0, last))
    row += np.arange(count)[:, None] * side
    lines = digits.reshape(count * side, side)
    stretched = _between(lines[row], lines[row + 1], weight[..., None])
    across = (columns.astype(np.float32) - x[:, None]) / wide[:, None]
    column, weight = _split(
        np.clip(across[:, None, :] + (slant[:, None] * offset + middle)[..., None], 0, last)
    )
    column += (np.arange(count * SIZE) * side).reshape(count, SIZE, 1)
    flat = stretched.reshape(-1)
    return _between(flat.take(column), flat.take(column + 1), weight) * np.float32(1 / 255)


def _split(position: Floats) -> tuple[IntArray, Floats]:
    """Whole and fractional part."""
    whole = position.astype(np.int64)
    return whole, position - whole.astype(np.float32)


def _between(first: Bytes | Floats, second: Bytes | Floats, weight: Floats) -> Floats:
    start = first.astype(np.float32)
    return start + (second.astype(np.float32) - start) * weight


def _colours(dice: _Dice) -> tuple[Floats, Floats]:
    """Colours of wall and paint, (images, 3); the paint is lighter or darker than the wall by a visible step."""
    wall = dice.throw(0.15, 0.85)
    lighter = dice.throw(0, 1) > wall
    room = np.where(lighter, 1 - wall, wall)
    lighter ^= room < np.float32(0.3)
    room = np.where(lighter, 1 - wall, wall)
    bold = dice.throw(0, 1)
    step = np.float32(0.14) + bold * bold * (room - np.float32(0.14))
    paint = np.where(lighter, wall + step, wall - step)
    return wall[:, None] + dice.throw(-0.08, 0.08, 3), paint[:, None] + dice.throw(-0.08, 0.08, 3)


def _shade(dice: _Dice) -> Floats:
    """Brightness of the wall around its mean, (images, 32, 32): a coarse random grid, and an edge each way."""
    grid = dice.throw(-0.5, 0.5, _GRID, _GRID) * dice.throw(0.1, 0.5)[:, None, None]
    place = np.arange(SIZE, dtype=np.float32) * np.float32((_GRID - 1) / SIZE)
    corner, weight = _split(place)
    down = _between(grid[:, corner], grid[:, corner + 1], weight[:, None])
    shade = _between(down[:, :, corner], down[:, :, corner + 1], weight)
    pixel = np.arange(SIZE, dtype=np.float32)
    upright = (pixel > dice.throw(-10, 42)[:, None]) * dice.throw(-0.2, 0.2)[:, None]
    level = (pixel > dice.throw(-10, 42)[:, None]) * dice.throw(-0.2, 0.2)[:, None]
    shade += upright[:, None, :]
    shade += level[:, :, None]
    return shade


def _noise() -> Floats:
    """Grain: two uniform numbers added, mean 0, variance 1/6."""
    first, second = uniform(0, "street_digits/noise", np.arange(_NOISE)[None, :], np.arange(2)[:, None])
    grain: Floats = (first + second - 1).astype(np.float32)
    return grain
