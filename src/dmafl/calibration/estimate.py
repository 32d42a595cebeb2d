"""A measured constant: its value, how far it varied, how many samples it rests on and how it was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dmafl.base.arrays import FloatArray
from dmafl.base.errors import BadInput, ShownAsIs, bad_input

REMEDY = "Make it again with `dmafl measure`."
ENTRIES = ("value", "low", "high", "samples", "method")


@dataclass(frozen=True, eq=False)
class Estimate:
    """A measured constant: a number, or one for each device (or pair of devices)."""

    value: Any
    low: Any
    high: Any
    """Smallest and largest value over the models at which it was measured, or value and standard error."""
    samples: int
    method: str

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


def check_entries(given: Any, names: tuple[str, ...], source: str) -> None:
    """Refuse what is not an object with exactly these entries."""
    if not isinstance(given, Mapping) or set(given) != set(names):
        found = ", ".join(map(str, given)) if isinstance(given, Mapping) else type(given).__name__
        raise bad_input(source, f"must have the entries {', '.join(names)}", ShownAsIs(found), REMEDY)


def whole(value: Any, source: str) -> int:
    """A whole number >= 0 of a file."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise bad_input(source, "must be a whole number >= 0", value, REMEDY)
    return value


def duration_s(value: Any, source: str) -> float:
    """A time >= 0 of a file [s]."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        raise bad_input(source, "must be a time in seconds >= 0", value, REMEDY)
    return float(value)


def array(given: Any, source: str) -> FloatArray:
    """An array of finite numbers of a file."""
    try:
        found = np.asarray(given)
    except ValueError:
        raise _not_numbers(given, source) from None
    if found.dtype.kind not in "iuf" or not np.isfinite(found).all():
        raise _not_numbers(given, source)
    return found.astype(np.float64)


def _numbers(given: Any, source: str) -> float | FloatArray:
    found = array(given, source)
    return float(found) if found.ndim == 0 else found


def _not_numbers(given: Any, source: str) -> BadInput:
    return bad_input(source, "must be a finite number, or a table of them", given, REMEDY)
