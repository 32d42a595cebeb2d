"""Running estimates as a file has them: of every scheme run and task, numbers or nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dmafl.base.errors import ShownAsIs, bad_input

NUMBERS = ("regularised_gradient_bound", "aggregation", "time_s", "loss", "loss_per_aggregation")
LISTS = ("jobs", "dissimilarity")
GRAM = "gram"


def check_running(given: Any, path: Path) -> dict[str, Any]:
    """The estimates of a scheme run: task -> values, each a number, a list or a matrix of numbers, or null."""
    if not isinstance(given, dict):
        raise bad_input(str(path), "must be a table of running estimates", given, "Run again.")
    for task, values in given.items():
        wanted = {*NUMBERS, *LISTS, GRAM}
        if not isinstance(values, dict) or set(values) != wanted:
            rule = "must have the entries " + ", ".join(sorted(wanted))
            raise bad_input(f"{path}: {task[:60]}", rule, ShownAsIs("others"), "Run again.")
        for name, value in values.items():
            good = _is_number if name in NUMBERS else _is_list if name in LISTS else _is_matrix
            if value is not None and not good(value):
                rule = "must be numbers, or null where nothing is known"
                raise bad_input(f"{path}: {task[:60]}.{name}", rule, value, "Run again.")
    return given


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(entry is None or _is_number(entry) for entry in value)


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and all(_is_list(row) and len(row) == len(value) for row in value)
