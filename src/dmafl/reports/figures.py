"""Figures without a window, saved whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmafl.files import replacing


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
    with replacing(path) as part:
        figure.savefig(part, format=path.suffix.lstrip(".") or "png", dpi=dpi)


def columns_of(table: Any) -> dict[str, Any]:
    """The columns of a table as arrays."""
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
