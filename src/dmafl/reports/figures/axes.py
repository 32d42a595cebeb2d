"""Axes that pictures share."""

from __future__ import annotations

from typing import Any

SHORT = 500.0
"""Factor from end to end of a short axis."""


def logarithmic(panel: Any) -> None:
    """A logarithmic axis with plain numbers: powers of ten, and on a short one also 2 and 5 times these."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    panel.set_xscale("log")
    low, high = panel.get_xlim()
    panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < SHORT * low else (1.0,)))
    panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_formatter(NullFormatter())
