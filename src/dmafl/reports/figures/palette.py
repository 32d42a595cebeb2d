"""Colours and marks of series: the same place has the same look in every picture and page."""

from __future__ import annotations

from typing import Any

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#f0e442")
"""Okabe-Ito: told apart with every kind of colour vision."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "*")


def colour(place: int) -> str:
    """The colour of the series at `place`; after the last colour comes the first again."""
    return COLOURS[place % len(COLOURS)]


def mark(place: int) -> str:
    """The mark of the series at `place`."""
    return MARKS[place % len(MARKS)]


def look(place: int, size: float) -> dict[str, Any]:
    """Colour and mark of the series at `place`, as matplotlib takes them."""
    return {"color": colour(place), "marker": mark(place), "markersize": size}
