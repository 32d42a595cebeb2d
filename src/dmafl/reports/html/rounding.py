"""Numbers short enough for a page: a few digits, nothing for what is not finite."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

LARGEST_EXACT_POWER = 22
"""10 to this is the last power of ten that a double holds exactly."""


def short(value: float, digits: int = 5) -> float | int | None:
    """`value` with so many significant digits; None for NaN and infinity."""
    if not isfinite(value):
        return None
    rounded = float(f"{value:.{digits}g}")
    return int(rounded) if rounded.is_integer() and abs(rounded) < 1e15 else rounded


def shorts(values: Any, digits: int = 5) -> list[float | int | None]:
    """The same for every number of an array of one dimension."""
    array = np.asarray(values, dtype=np.float64)
    sizes = np.abs(array)
    usual = (sizes == 0) | ((sizes > 1e-15) & (sizes < 1e15))
    if not usual.all():
        return [short(value, digits) for value in array.tolist()]
    # A whole number over an exact power of ten is the double that is nearest to the decimal number: it prints short.
    decimals = digits - 1 - np.floor(np.log10(np.where(sizes == 0, 1.0, sizes)))
    power = 10.0 ** np.clip(decimals, 0, LARGEST_EXACT_POWER)
    above = 10.0 ** np.clip(-decimals, 0, LARGEST_EXACT_POWER)
    rounded = np.round(array * power / above) * above / power
    return [int(value) if value.is_integer() else value for value in rounded.tolist()]
