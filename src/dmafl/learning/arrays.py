"""Names for the array types of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]
"""A model's parameters, shape (M,)."""

Rows = NDArray[np.intp]
"""Positions of samples."""

AnyArray = NDArray[Any]
