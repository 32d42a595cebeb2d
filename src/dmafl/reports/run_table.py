"""How a run came out, as a table."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.table import Table

from dmafl.reports.console import number, table


def outcome_table(metrics: Any) -> Table:
    """One row a task and scheme: final accuracy and loss, time and energy, mean over seeds (with the spread).

    The predicted loss stands beside the one reached, where there is a prediction.
    """
    columns = {name: metrics.column(name).to_numpy(zero_copy_only=False) for name in metrics.column_names}
    predicted = columns["predicted_loss"].astype(float)
    foreseen = bool(np.isfinite(predicted).any())
    rows = table(
        "Outcome (mean over seeds ± half the range)",
        "task",
        "scheme",
        "aggregations",
        "accuracy",
        "loss",
        *(["predicted loss"] if foreseen else []),
        "time [s]",
        "devices [J]",
        "base station [J]",
        "energy [J]",
    )
    rows.columns[1].justify = "left"
    for task in dict.fromkeys(columns["task"]):
        for scheme in dict.fromkeys(columns["scheme"]):
            own = (columns["task"] == task) & (columns["scheme"] == scheme)
            of_seeds = [
                np.flatnonzero(own & (columns["seed"] == seed)) for seed in dict.fromkeys(columns["seed"])
            ]
            last = [int(found[-1]) for found in of_seeds if len(found)]
            if not last:
                continue
            value = {
                name: columns[name][last]
                for name in ("aggregation", "accuracy", "loss", "time_s", "energy_J")
            }
            own_J = columns["uplink_J"][last] + columns["compute_J"][last]
            rows.add_row(
                task,
                scheme,
                number(value["aggregation"].mean()),
                _spread(value["accuracy"], 3),
                _spread(value["loss"], 3),
                *([_spread(predicted[last], 3)] if foreseen else []),
                number(value["time_s"].mean()),
                number(own_J.mean()),
                number(columns["downlink_J"][last].mean()),
                number(value["energy_J"].mean()),
            )
        rows.add_section()
    return rows


def _spread(values: Any, digits: int) -> str:
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    half = (values.max() - values.min()) / 2
    return f"{values.mean():.{digits}f}" + (f" ± {half:.{digits}f}" if len(values) > 1 else "")
