"""Figures without a window, saved whole or not at all."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from dmafl.base.errors import bad_input, visible
from dmafl.base.files import replacing

PICTURES = (".png", ".svg", ".pdf")
LONGEST_LABEL = 60
"""Signs of a name that are shown; a longer one would leave no room for the picture."""


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size [inch]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def save_figure(figure: Any, path: str | Path, dpi: int = 120) -> None:
    """Write a PNG, SVG or PDF, as the name of the file says."""
    path = Path(path)
    check_picture(path)
    with replacing(path) as part, warnings.catch_warnings():
        # Names in signs that the font has not, or so long that they overlap: the picture is still one.
        warnings.filterwarnings("ignore", "Glyph .* missing|constrained_layout not applied")
        figure.savefig(part, format=path.suffix[1:], dpi=dpi)


def label(name: str) -> str:
    """A name that a picture shows as it is: no formula (`$`), and not left out of a legend (a `_` in front)."""
    short = name if len(name) <= LONGEST_LABEL else f"{name[: LONGEST_LABEL - 1]}…"
    plain = visible(short).replace("$", r"\$")
    return f" {plain}" if not plain or plain.startswith("_") else plain


def check_picture(*paths: Path | None) -> None:
    """Refuse a name that no picture can have, if possible before there is anything to draw."""
    for path in paths:
        if path is not None and path.suffix not in PICTURES:
            raise bad_input(
                str(path), f"must end in {', '.join(PICTURES)}", path.suffix, "Rename the picture."
            )
