"""What was expected of a run: the terms of its plans' quality model, and the predicted loss beside the one reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.errors import bad_input
from dmafl.reports.html.curves import thin
from dmafl.reports.html.rounding import short, shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.schedule.plan import SUM
from dmafl.schedule.plan_files import read_plan
from dmafl.simulation.records import PREDICTED_ACCURACY


def plan_terms(run_set: RunSet) -> list[dict[str, Any]]:
    """One entry per plan and task, in the order of schemes: the terms that its quality model adds up, and their sum."""
    entries = []
    order = {series.name: place for place, series in enumerate(run_set.series)}
    for number, run in enumerate(run_set.runs):
        paths = sorted((run.path / "plans").glob("*.json"))
        for path in sorted(paths, key=lambda path: order.get(path.stem, len(order))):
            plan = read_plan(path).plan
            for task, terms in plan.terms.items():
                if task not in run_set.tasks:
                    raise bad_input(
                        f"{path}: terms", "must be of the run's tasks", task, "Put the run's own plan back."
                    )
                name = path.stem if len(run_set.runs) == 1 else f"{path.stem} ({run_set.names[number]})"
                entries.append(
                    {
                        "plan": name,
                        "model": str(plan.quality),
                        "task": run_set.tasks.index(task),
                        "terms": {
                            term: short(_number(value, f"{path}: terms.{task}.{term}"))
                            for term, value in plan.quality_parts(task).items()
                        },
                        "sum": short(_number(terms.get(SUM), f"{path}: terms.{task}.{SUM}")),
                    }
                )
    return entries


def predictions(run_set: RunSet) -> list[dict[str, Any]]:
    """One entry per series and task with a prediction: reached and predicted, over aggregations.

    Accuracies with their interval where they are predicted, else losses: `of` says which.
    """
    entries = []
    for place, series in enumerate(run_set.series):
        for task in range(len(run_set.tasks)):
            tests = run_set.tests(series.scheme, task, series.seed)
            known = np.isfinite(tests["predicted_loss"].astype(np.float64))
            if not known.any():
                continue
            entry: dict[str, Any] = {"unit": place, "scheme": series.scheme, "task": task, "of": "loss"}
            columns = {"aggregation": "aggregation", "reached": "loss", "predicted": "predicted_loss"}
            sure = known & np.isfinite(tests["predicted_accuracy"].astype(np.float64))
            if sure.any():
                known, entry["of"] = sure, "accuracy"
                columns |= dict(
                    zip(("predicted", "low", "high"), PREDICTED_ACCURACY, strict=True), reached="accuracy"
                )
            entries.append(
                entry | {name: shorts(thin(tests[column][known])) for name, column in columns.items()}
            )
    return entries


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad_input(name, "must be a number", value, "Put the run's own plan back.")
    return float(value)
