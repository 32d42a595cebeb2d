"""Figures without a window, saved whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmafl.errors import bad_input
from dmafl.files import replacing

PICTURES = (".png", ".svg", ".pdf")


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
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix[1:], dpi=dpi)


def check_picture(*paths: Path | None) -> None:
    """Refuse a name that no picture can have, if possible before there is anything to draw."""
    for path in paths:
        if path is not None and path.suffix not in PICTURES:
            raise bad_input(
                str(path), f"must end in {', '.join(PICTURES)}", path.suffix, "Rename the picture."
            )


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of a table as arrays."""
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
