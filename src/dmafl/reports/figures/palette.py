"""Colours and marks: a scheme has the same in every picture and page, light and dark.

The colours are told apart with every kind of colour vision, and stand out from the page: a test computes both.
Marks and dashes differ too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Look(NamedTuple):
    """What a series looks like; `dark` is its colour on a dark page."""

    light: str
    dark: str
    mark: str
    """As matplotlib calls it."""


LOOKS = {
    "dma-fl": Look("#1a51b7", "#0780e7", "o"),
    "fedasync": Look("#b03d05", "#ce5428", "s"),
    "fedavg-full": Look("#25875c", "#88bb78", "^"),
    "fedavg-partial": Look("#9d89a1", "#e98fb0", "D"),
    "dma-fl-nr": Look("#c08900", "#f9dd3d", "v"),
    "dma-fl-ns": Look("#4c93f8", "#59daff", "P"),
    "dma-fl-online": Look("#000000", "#ffffff", "X"),
    "fedbuff": Look("#565459", "#887e6d", "*"),
    "scheduled": Look("#571151", "#8f558d", "p"),
}
"""By scheme. A scheme that is not here, e.g. a user's own, takes what the others on its page leave free."""
PLACES = tuple(LOOKS.values())
COLOURS = tuple(look.light for look in PLACES)
DARK = {look.light: look.dark for look in PLACES}
"""The colour on a dark page for each on a light one."""
MARKS = tuple(look.mark for look in PLACES)
TINTS = {
    "light": ("#3c29e0", "#ab8520", "#16a679", "#59171e", "#8284f0", "#62642c", "#0f1258", "#46786c"),
    "dark": ("#ba9bf7", "#e8e32f", "#77ac47", "#cd21a6", "#a8eeef", "#746c16", "#d69ba1", "#327a67"),
}
"""Of what is no scheme, on light and dark pages: causes of a predicted loss, samples beside losses."""


def places_of(schemes: Sequence[str]) -> list[int]:
    """The place in `LOOKS` of each scheme of a page; of two with one name the second takes a free one."""
    known = list(LOOKS)
    places: list[int | None] = []
    for scheme in schemes:
        place = known.index(scheme) if scheme in LOOKS else None
        places.append(None if place in places else place)
    free = (place for place in _from_last(len(schemes) + len(LOOKS)) if place not in places)
    return [next(free) if place is None else place for place in places]


def colour(place: int) -> str:
    """The colour of the series at `place`; after the last colour comes the first again."""
    return COLOURS[place % len(COLOURS)]


def mark(place: int) -> str:
    """The mark of the series at `place`."""
    return MARKS[place % len(MARKS)]


def look(place: int, size: float) -> dict[str, Any]:
    """Colour and mark of the series at `place`, as matplotlib takes them."""
    return {"color": colour(place), "marker": mark(place), "markersize": size}


def _from_last(count: int) -> list[int]:
    """Places for schemes without one: those that are seldom taken come first."""
    return [*reversed(range(len(LOOKS))), *range(len(LOOKS), count)]
