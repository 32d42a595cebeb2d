"""A sweep as pictures: accuracy and loss against energy, and what follows from every key that was varied."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dmafl.reports.figures.saving import save_figure
from dmafl.reports.figures.sweep_pareto import pareto_figure
from dmafl.reports.figures.sweep_responses import responses_figure


def draw_pareto(table: Any, keys: Sequence[str], path: str | Path) -> None:
    """Write a PNG, SVG or PDF of what was reached for which energy; see `pareto_figure`."""
    save_figure(pareto_figure(table, keys), path)


def draw_responses(table: Any, keys: Sequence[str], path: str | Path) -> None:
    """Write a PNG, SVG or PDF of what follows from each key; see `responses_figure`."""
    save_figure(responses_figure(table, keys), path)
