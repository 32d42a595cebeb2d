"""Log ratios as factors, for a person."""

from __future__ import annotations

from math import exp, inf, isfinite, isnan

from dmafl.base.statistics import Interval

SMALL = 0.1
"""Below, a factor is one over a number."""


def factor(log_ratio: float, digits: int = 3) -> str:
    """A factor with so many digits."""
    if log_ratio == inf:
        return "∞"
    size = exp(log_ratio)
    return f"1/{_plain(1 / size, digits)}" if 0 < size < SMALL else _plain(size, digits)


def factor_with_interval(effect: Interval, ends: tuple[float, float], unit: str = "", digits: int = 3) -> str:
    """A mean with its interval; missed targets leave that without an end.

    A bound (≥, ≤) where one side missed targets, the interval alone where both did.
    """
    if isnan(effect.mean):
        return ""
    mean = factor(effect.mean, digits) + unit
    if isnan(effect.half):
        return mean
    low, high = ends
    interval = f"[{factor(low, digits)}, {factor(high, digits)}]"
    if not isfinite(low) and not isfinite(high):
        return interval
    return ("≤ " if low == -inf else "≥ " if high == inf else "") + f"{mean} {interval}"


def _plain(size: float, digits: int) -> str:
    rounded = float(f"{size:.{digits}g}")
    return f"{rounded:,.0f}" if rounded >= 10 ** (digits - 1) else f"{rounded:.{digits}g}"
