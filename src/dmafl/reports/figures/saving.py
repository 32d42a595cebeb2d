"""Figures without a window, saved whole or not at all."""

from __future__ import annotations

import warnings
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

from dmafl.base.errors import bad_input, visible
from dmafl.base.files import replacing

PICTURES = (".png", ".svg", ".pdf")
DPI = 120
LONGEST_LABEL = 60
"""Signs of a name that are shown; a longer one would leave no room for the picture."""


@cache
def _kind_of_figure() -> Any:
    """A figure of matplotlib that a notebook shows by itself, with and without its inline backend."""
    from matplotlib.figure import Figure

    def as_png(figure: Any) -> bytes:
        picture = BytesIO()
        _write(figure, picture, "png", DPI)
        return picture.getvalue()

    return type("Figure", (Figure,), {"_repr_png_": as_png})


def new_figure(width: float, height: float) -> Any:
    """An empty figure of this size [inch]."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    figure = _kind_of_figure()(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def kept(figure: Any, path: str | Path | None) -> Any:
    """The figure, which is saved in `path` if there is one."""
    if path is not None:
        save_figure(figure, path)
    return figure


def save_figure(figure: Any, path: str | Path, dpi: int = DPI) -> None:
    """Write a PNG, SVG or PDF, as the name of the file says."""
    path = Path(path)
    check_picture(path)
    with replacing(path) as part:
        _write(figure, part, path.suffix[1:], dpi)


def _write(figure: Any, target: Any, kind: str, dpi: int) -> None:
    with warnings.catch_warnings():
        # Names in signs that the font has not, or so long that they overlap: the picture is still one.
        warnings.filterwarnings("ignore", "Glyph .* missing|constrained_layout not applied")
        figure.savefig(target, format=kind, dpi=dpi)


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
