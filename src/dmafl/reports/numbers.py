"""How every report writes a number for a person."""

from __future__ import annotations


def number(value: float) -> str:
    """A number with four significant digits and a thousands separator."""
    if value == 0 or 1e-3 <= abs(value) < 1e6:
        return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
    return f"{value:.3e}"
