"""A measured constant: its value, its spread, the number of samples behind it and the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import BadInput, ShownAsIs, bad_input

REMEDY = "Make it again with `dmafl measure`."


@dataclass(frozen=True, eq=False)
class Estimate:
    """A measured constant: a number, or one for each device (or pair of devices)."""

    value: Any
    low: Any
    high: Any
    """Smallest and largest value over the models at which it was measured, or value and standard error."""
    samples: int
    method: str

    @classmethod
    def largest(cls, values: ArrayLike, samples: int, method: str) -> Estimate:
        """The largest of the values measured at several models, entry by entry; they are the first axis."""
        low, high = (_scalar(bound(values, axis=0)) for bound in (np.min, np.max))
        return cls(high, low, high, samples, method)

    @classmethod
    def mean(cls, values: FloatArray, samples: int, method: str) -> Estimate:
        """The mean of the values measured at several models, entry by entry; they are the first axis."""
        return cls(np.mean(values, axis=0), np.min(values, axis=0), np.max(values, axis=0), samples, method)

    def plain(self) -> dict[str, Any]:
        """As plain values, for a file."""
        numbers = {name: np.asarray(getattr(self, name)).tolist() for name in ENTRIES[:3]}
        return {**numbers, "samples": self.samples, "method": self.method}

    @classmethod
    def from_plain(cls, given: Any, source: str) -> Estimate:
        """From a file's values, which are checked; `source` names the entry in errors."""
        check_entries(given, ENTRIES, source)
        value, low, high = (_numbers(given[name], f"{source}.{name}") for name in ENTRIES[:3])
        for name, other in (("low", low), ("high", high)):
            if np.shape(other) != np.shape(value):
                rule = f"must have the shape of the value, {np.shape(value)}"
                raise bad_input(f"{source}.{name}", rule, ShownAsIs(str(np.shape(other))), REMEDY)
        if not isinstance(given["method"], str):
            raise bad_input(f"{source}.method", "must be text", given["method"], REMEDY)
        return cls(value, low, high, whole(given["samples"], f"{source}.samples"), given["method"])


ENTRIES = tuple(field.name for field in fields(Estimate))


def check_entries(given: Any, names: tuple[str, ...], source: str) -> None:
    """Refuse anything but an object with exactly these entries."""
    if not isinstance(given, Mapping) or set(given) != set(names):
        entries = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        raise bad_input(source, f"must have the entries {', '.join(names)}", ShownAsIs(entries), REMEDY)


def whole(value: Any, source: str) -> int:
    """A whole number >= 0 from a file."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad_input(source, "must be a whole number >= 0", value, REMEDY)
    return value


def duration_s(value: Any, source: str) -> float:
    """A time >= 0 from a file [s]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise bad_input(source, "must be a time in seconds >= 0", value, REMEDY)
    return float(value)


def array(given: Any, source: str) -> FloatArray:
    """An array of finite numbers from a file."""
    try:
        numbers = np.asarray(given)
    except ValueError:
        raise _not_numbers(given, source) from None
    if numbers.dtype.kind not in "iuf" or not np.isfinite(numbers).all():
        raise _not_numbers(given, source)
    return numbers.astype(np.float64)


def _numbers(given: Any, source: str) -> Any:
    return _scalar(array(given, source))


def _scalar(numbers: Any) -> Any:
    """A Python float where there is one number."""
    return float(numbers) if np.ndim(numbers) == 0 else numbers


def _not_numbers(given: Any, source: str) -> BadInput:
    return bad_input(source, "must be a finite number, or a table of them", given, REMEDY)
