"""What was measured, as tables: the constants of every task, and how well the prediction ranks schedules."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np

from dmafl.calibration.measured import SET_BY_SCENARIO, Measured, MeasuredTask
from dmafl.reports.numbers import number
from dmafl.reports.tables.table import Cell, Table, cell, count
from dmafl.reports.terminal.console import Terminal
from dmafl.scenario.model import Scenario
from dmafl.theory.calibrated import Calibration
from dmafl.theory.calibration_fit import FEWEST_PROBES

SYMBOLS = {
    "smoothness": "β",
    "local_smoothness": "β local",
    "weak_convexity": "ρ_w",
    "variability": "Θ",
    "gradient_bound": "V_1",
    "regularised_gradient_bound": "V_2",
    "first_loss": "F(w⁰)",
    "lowest_loss": "F*",
    "sample_variance": "S_i",
    "dissimilarity": "δ_i",
    "gram": "Γ",
    "drift_idle": "Δ_i^ID [1/s]",
    "drift_active": "Δ_i^AC [1/s]",
    "drift_idle_size": "|Δ_i^ID| [1/s]",
    "drift_active_size": "|Δ_i^AC| [1/s]",
}


def print_measured(out: Terminal, scenario: Scenario, measured: Measured) -> None:
    """Print the tables of every task, and what to know before relying on them."""
    for name, task in measured.tasks.items():
        out.print(constants_table(scenario, name, task))
        out.note(f"Constants took {number(task.cost.constants_s)} s of CPU time.")
        if task.calibration is not None:
            out.print(calibration_table(name, task.calibration))
        for line in calibration_lines(task):
            out.sentence(line)


def constants_table(scenario: Scenario, name: str, task: MeasuredTask) -> Table:
    """One row per constant; where devices have one each, the range over devices."""
    columns = {
        "task": "task",
        "constant": "constant",
        "symbol": "symbol",
        "value": "value",
        "spread": "spread",
        "used": "used",
        "samples": "samples",
        "method": "method",
    }
    rows = []
    for constant, symbol in SYMBOLS.items():
        if constant not in task.estimates:
            continue
        estimate = task.estimates[constant]
        given = getattr(scenario.theory, constant) if constant in SET_BY_SCENARIO else None
        value = _range(estimate.value)
        shown = value.text
        if given is not None:
            shown = f"used: {number(given)} (set by the scenario), measured {shown}"
        rows.append(
            (
                name,
                constant,
                symbol,
                cell(value.value, shown, ends=value.ends),
                _between(np.min(estimate.low), np.max(estimate.high)),
                given,
                count(estimate.samples),
                estimate.method,
            )
        )
    return Table.made(
        "constants",
        f"Constants of {name}",
        columns,
        rows,
        left=["constant", "symbol", "method"],
        intervals=["value", "spread"],
        only_in_files=["task", "used"],
        spare=["symbol", "samples", "method"],
    )


def calibration_table(name: str, calibration: Calibration) -> Table:
    """One row per term of the prediction: its weight, and the values that probes had."""
    columns = {"task": "task", "term": "term", "weight": "weight", "in_probes": "in probes"}
    low, high = calibration.low, calibration.high
    nothing = cell(None, ends=(nan, nan))
    rows = [
        (
            name,
            term,
            float(weight),
            nothing if term == "constant" else _between(getattr(low, term), getattr(high, term)),
        )
        for term, weight in calibration.weights.terms().items()
    ]
    title = f"Prediction of the loss of {name}"
    return Table.made(
        "prediction",
        title,
        columns,
        rows,
        left=["term"],
        intervals=["in_probes"],
        only_in_files=["task"],
    )


def calibration_lines(task: MeasuredTask) -> list[str]:
    """How well the prediction ranks, what it cost, and a warning where there is one."""
    cost, calibration = task.cost, task.calibration
    if not cost.probes:
        return ["No probes were run: there is no prediction. Measure with probes to plan with `calibrated`."]
    warm_up = f" after a warm-up of {cost.warm_up_slots} slots" if cost.warm_up_slots else ""
    lost = f", {cost.diverged} of them diverged and were left out" if cost.diverged else ""
    lines = [
        f"{cost.probes} probes of {cost.slots} slots{warm_up}{lost}: {number(cost.probes_s)} s of CPU time."
    ]
    if calibration is None:
        finite = cost.probes - cost.diverged
        lines.append(
            f"Warning: {finite} probes stayed finite, fewer than the {FEWEST_PROBES} that a prediction needs. "
            "Lower the learning rate of the task."
        )
        return lines
    lines.append(
        "Cross-validated over them: rank correlation with the loss reached "
        f"{calibration.correlation:.3f}, relative error {100 * calibration.spread:.1f} %."
    )
    if calibration.accuracy is not None:
        best = calibration.accuracy
        low, high = best.interval(best.error[0])
        lines.append(
            f"Of probes with the highest predicted accuracy, {best.accuracy[0]:.3f}, 80 % end between {low:.3f} "
            f"and {high:.3f}."
        )
    return lines + ([f"Warning: {calibration.warning}"] if calibration.warning else [])


def _range(value: Any) -> Cell:
    return _between(np.min(value), np.max(value))


def _between(low: Any, high: Any) -> Cell:
    """A range; its value is the middle."""
    ends = float(low), float(high)
    first, last = map(_short, ends)
    return cell(sum(ends) / 2, first if first == last else f"{first} … {last}", ends=ends)


def _short(value: float) -> str:
    """A number; with an exponent, three digits, so that a range of them is not too wide."""
    text = number(value)
    return f"{value:.2e}" if "e" in text else text
