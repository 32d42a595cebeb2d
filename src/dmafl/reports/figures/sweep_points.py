"""What both pictures of a sweep draw: means over seeds with their intervals, as far as there are any."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from dmafl.base.statistics import Interval
from dmafl.experiments.sweep.summary import Group

WIDE_RANGE = 20.0
"""Values that differ by more than this factor get a logarithmic axis."""


def has(groups: Sequence[Group], column: str) -> bool:
    """Whether any group has numbers in a column."""
    return any(group.values[column].n for group in groups)


def having(groups: Sequence[Group], column: str) -> list[Group]:
    """The groups that have numbers in a column."""
    return [group for group in groups if group.values[column].n]


def of_task(groups: Sequence[Group], task: str) -> list[Group]:
    """The groups of a task."""
    return [group for group in groups if group.task == task]


def means(groups: Sequence[Group], column: str) -> list[float]:
    """The means of a column."""
    return [group.values[column].mean for group in groups]


def error_bars(panel: Any, x: Sequence[Any], y: Sequence[Interval], **style: Any) -> None:
    """A curve of means with their intervals; `x` are numbers, or intervals too."""
    across = [value for value in x if isinstance(value, Interval)]
    panel.errorbar(
        [value.mean for value in across] if across else x,
        [value.mean for value in y],
        xerr=_halves(across),
        yerr=_halves(y),
        **style,
    )


def is_wide(values: Sequence[float]) -> bool:
    """Whether values need a logarithmic axis."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > WIDE_RANGE


def _halves(values: Sequence[Interval]) -> list[float] | None:
    """Half widths, or nothing where no point has any."""
    halves = [value.half if isfinite(value.half) else 0.0 for value in values]
    return halves if any(halves) else None
