"""How a run came out, as a table."""

from __future__ import annotations

from math import isnan, nan
from typing import Any

import numpy as np

from dmafl.base.files import columns_of
from dmafl.base.statistics import interval
from dmafl.reports.tables.table import Cell, Table, cell, measured

LONG = 1e4
"""From here on a number is shown with an exponent."""
ENORMOUS = 1e3
"""A loss beyond this comes from no model that learns: guessing among 10 labels has 2.3."""


def outcome_table(metrics: Any) -> Table:
    """One row per task and scheme: final accuracy and loss, time and energy, means over seeds (with 95% intervals).

    What was predicted stands beside what was reached, where there is a prediction: the accuracy, else the loss.
    """
    columns = columns_of(metrics)
    by_accuracy = bool(np.isfinite(columns["predicted_accuracy"].astype(float)).any())
    predicted = columns["predicted_accuracy" if by_accuracy else "predicted_loss"].astype(float)
    foreseen = bool(np.isfinite(predicted).any())
    titles = {
        "task": "task",
        "scheme": "scheme",
        "seeds": "seeds",
        "aggregations": "aggregations",
        "accuracy": "accuracy",
        "predicted_accuracy": "predicted",
        "loss": "loss",
        "predicted_loss": "predicted loss",
        "time_s": "time [s]",
        "devices_J": "devices [J]",
        "station_J": "base station [J]",
        "energy_J": "energy [J]",
    }
    rows = []
    for task in dict.fromkeys(columns["task"]):
        for scheme in dict.fromkeys(columns["scheme"]):
            of_scheme = (columns["task"] == task) & (columns["scheme"] == scheme)
            of_seeds = [
                np.flatnonzero(of_scheme & (columns["seed"] == seed))
                for seed in dict.fromkeys(columns["seed"])
            ]
            last = [int(rows_of_seed[-1]) for rows_of_seed in of_seeds if len(rows_of_seed)]
            if not last:
                continue
            value = {
                name: columns[name][last]
                for name in ("aggregation", "accuracy", "loss", "time_s", "energy_J")
            }
            own_J = columns["uplink_J"][last] + columns["compute_J"][last]
            rows.append(
                (
                    str(task),
                    str(scheme),
                    len(last),
                    float(value["aggregation"].mean()),
                    _with_interval(value["accuracy"], 3),
                    _with_interval(predicted[last], 3),
                    _with_interval(value["loss"], 3),
                    _with_interval(predicted[last], 3),
                    float(value["time_s"].mean()),
                    measured(float(own_J.mean())),
                    measured(float(columns["downlink_J"][last].mean())),
                    measured(float(value["energy_J"].mean())),
                )
            )
    made = Table.made(
        "outcome",
        "Outcome (mean over seeds ± half of the 95% t-interval)",
        titles,
        rows,
        left=["scheme"],
        intervals=["accuracy", "predicted_accuracy", "loss", "predicted_loss"],
        only_in_files=["seeds"],
        sections=["task"],
    )
    if by_accuracy:
        return made.without("predicted_loss")
    return made.without("predicted_accuracy", *([] if foreseen else ["predicted_loss"]))


def _with_interval(values: Any, digits: int) -> Cell:
    """The mean over seeds, with its interval where there are several."""
    values = np.asarray(values, dtype=float)
    values = values[np.isfinite(values)]
    if not len(values):
        return cell(None, "", ends=(nan, nan))
    found = interval(values)
    half = "" if isnan(found.half) else f" ± {_short(found.half, digits)}"
    return cell(found.mean, f"{_short(found.mean, digits)}{half}", ends=(found.low, found.high))


def _short(value: float, digits: int) -> str:
    return f"{value:.{digits}f}" if abs(value) < LONG else f"{value:.{digits}g}"


def enormous_losses(metrics: Any) -> list[str]:
    """A sentence for each task that ended, in some scheme, with a loss that no trained model has."""
    last: dict[tuple[str, str, int], float] = {}
    names = ("task", "scheme", "seed", "loss")
    for task, scheme, seed, loss in zip(*(metrics.column(name).to_pylist() for name in names), strict=True):
        if loss is not None:
            last[task, scheme, seed] = float(loss)
    worst: dict[str, tuple[float, str]] = {}
    for (task, scheme, _), loss in last.items():
        if loss > ENORMOUS and loss > worst.get(task, (0.0, ""))[0]:
            worst[task] = loss, scheme
    return [
        f"The loss of {task} is enormous, {loss:.3g} with {scheme}: training diverged. "
        f"Lower tasks.{task}.learning_rate."
        for task, (loss, scheme) in worst.items()
    ]
