"""One setting varied: the smallest value with which goals can be met, or the largest, by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input
from dmafl.scenario.keys import flat, matching, with_values
from dmafl.scenario.model import Scenario

NARROW = 1.05
"""Bisection of real numbers ends where the two ends differ by this factor."""
DIGITS = 4
"""Significant digits of the real numbers that are tried."""


@dataclass(frozen=True)
class Range:
    """A key of the scenario and the values that it may have."""

    key: str
    low: float
    high: float
    whole: bool

    @classmethod
    def of(cls, scenario: Scenario, vary: Mapping[str, Sequence[float]]) -> Range:
        """Checked: one key that has numbers, with a range in which it may lie."""
        if len(vary) != 1:
            raise bad_input("vary", "must name one key", ShownAsIs(", ".join(vary) or "none"), EXAMPLE)
        key, ends = next(iter(vary.items()))
        if not isinstance(ends, Sequence) or len(ends) != 2 or not all(map(_is_number, ends)):
            raise bad_input(f"vary {key}", "must have a lowest and a highest number", ends, EXAMPLE)
        low, high = ends
        known = flat(scenario.plain())
        now = [known[name] for name in matching(scenario, key)]
        if any(isinstance(value, str | bool | list | tuple) for value in now):
            raise bad_input(f"vary {key}", "must be a key that has a number", now[0], EXAMPLE)
        whole = all(isinstance(value, int) for value in now)
        if low > high:
            shown = ShownAsIs(f"{low:g}..{high:g}")
            raise bad_input(f"vary {key}", "must have LOW <= HIGH", shown, f"Write {key}={high:g}..{low:g}.")
        if whole and not (float(low).is_integer() and float(high).is_integer()):
            raise bad_input(
                f"vary {key}", "must have whole numbers", ShownAsIs(f"{low}..{high}"), "Round them."
            )
        if not whole and low <= 0:
            remedy = "Begin with a small number: the values between are tried by their logarithm."
            raise bad_input(f"vary {key}", "must have LOW > 0", low, remedy)
        varied = cls(key, int(low), int(high), True) if whole else cls(key, float(low), float(high), False)
        for value in (low, high):
            varied.applied(scenario, value)
        return varied

    def applied(self, scenario: Scenario, value: float) -> Scenario:
        """The scenario with a value of the range."""
        return with_values(scenario, {self.key: int(value) if self.whole else float(value)}, "--vary")

    def between(self, low: float, high: float) -> float | None:
        """The value to try next between two that were tried; None where none is left."""
        if self.whole:
            middle = (int(low) + int(high)) // 2
            return None if middle in (low, high) else middle
        if high / low <= NARROW:
            return None
        value = float(f"{math.sqrt(low * high):.{DIGITS}g}")
        return value if low < value < high else None


EXAMPLE = "Write e.g. fleet.devices=5..50."


def bisected(
    varied: Range, works: Callable[[float], bool], low_works: bool, high_works: bool
) -> tuple[float, bool] | None:
    """The smallest value that works, or the largest where high ones do not; and whether it is the smallest.

    None where neither end works. Between the ends, what works is taken to change once.
    """
    if low_works and high_works:
        return varied.low, True
    if not low_works and not high_works:
        return None
    good, bad = (varied.low, varied.high) if low_works else (varied.high, varied.low)
    while (value := varied.between(min(good, bad), max(good, bad))) is not None:
        if works(value):
            good = value
        else:
            bad = value
    return good, not low_works


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
