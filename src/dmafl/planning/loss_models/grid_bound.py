"""The least of a falling and a rising function on a grid, as a bound that holds between the points too."""

from __future__ import annotations

from dmafl.base.arrays import FloatArray

POINTS = 400
"""Of the grid."""


def least_sum(falling: FloatArray, rising: FloatArray) -> float:
    """A lower bound of the least sum: on each piece the falling one at its right end, the other at its left."""
    return float((falling[1:] + rising[:-1]).min())
