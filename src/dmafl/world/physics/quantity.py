"""The type of a physical quantity."""

from __future__ import annotations

from typing import Any, TypeAlias

Quantity: TypeAlias = Any
"""A float, or a float64 array; arrays in one call have one shape. The unit is in the name's suffix."""
