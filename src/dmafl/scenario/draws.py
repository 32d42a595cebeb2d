"""Values that may differ from device to device: a number, or a distribution to draw from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from pydantic import GetCoreSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

from dmafl.base.arrays import FloatArray

KINDS = ("uniform", "log_uniform", "choice")
MOST_CHOICES = 100_000
"""The largest number of devices."""


@dataclass(frozen=True)
class Draw:
    """A number for every device: `constant`, `uniform` or `log_uniform` on [low, high], or one of a `choice`.

    A comparison with a number holds if it holds for all possible values, so that a field's range applies to each.
    """

    kind: str
    values: tuple[float, ...]

    @property
    def low(self) -> float:
        """Smallest value that can be drawn."""
        return min(self.values)

    @property
    def high(self) -> float:
        """Largest value that can be drawn."""
        return max(self.values)

    def __gt__(self, bound: float) -> bool:
        return self.low > bound

    def __ge__(self, bound: float) -> bool:
        return self.low >= bound

    def __lt__(self, bound: float) -> bool:
        return self.high < bound

    def __le__(self, bound: float) -> bool:
        return self.high <= bound

    def sample(self, u: FloatArray) -> FloatArray:
        """The values at the uniform numbers `u` in (0, 1), of the same shape."""
        if self.kind == "uniform":
            return self.low + (self.high - self.low) * u
        if self.kind == "log_uniform":
            return np.asarray(self.low * (self.high / self.low) ** u)
        picks = np.asarray(self.values)
        return np.asarray(picks[(u * len(picks)).astype(np.intp)])

    def plain(self) -> float | dict[str, list[float]]:
        """As written in TOML: a number, or `{ uniform = [low, high] }`."""
        return self.values[0] if self.kind == "constant" else {self.kind: list(self.values)}

    @classmethod
    def parse(cls, given: Any) -> Draw:
        """The draw that a TOML or JSON value describes; pydantic reports errors in it."""
        if isinstance(given, Draw):
            return given
        if is_number(given):
            return cls("constant", (float(given),))
        if not isinstance(given, dict):
            raise PydanticCustomError("draw_type", "must be a number or a distribution")
        if len(given) != 1 or next(iter(given)) not in KINDS:
            raise PydanticCustomError("draw_kind", "must name exactly one of " + ", ".join(KINDS))
        kind, values = next(iter(given.items()))
        if not isinstance(values, list | tuple) or not values or not all(map(is_number, values)):
            raise PydanticCustomError("draw_values", "must list numbers, e.g. { uniform = [1.0, 2.0] }")
        if len(values) > MOST_CHOICES:
            raise PydanticCustomError("draw_length", f"must list at most {MOST_CHOICES:,} numbers")
        values = tuple(float(value) for value in values)
        if kind != "choice" and (len(values) != 2 or values[0] > values[1]):
            raise PydanticCustomError("draw_range", "must list two numbers, the smaller one first")
        if kind == "log_uniform" and values[0] <= 0:
            raise PydanticCustomError("draw_log", "must be > 0 to be drawn on a logarithmic scale")
        return cls(kind, values)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            cls.parse, serialization=core_schema.plain_serializer_function_ser_schema(Draw.plain)
        )


def constant(value: float) -> Draw:
    """The draw that is always `value`."""
    return Draw("constant", (value,))


def uniform(low: float, high: float) -> Draw:
    """The draw that is uniform on [low, high]."""
    return Draw("uniform", (low, high))


def is_number(value: Any) -> bool:
    """Whether a value is a number, whole or not; one that is not finite is refused."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        finite = math.isfinite(value)
    except OverflowError:  # a whole number of more than 308 digits
        finite = False
    if not finite:
        raise PydanticCustomError("finite_number", "must be finite")
    return True
