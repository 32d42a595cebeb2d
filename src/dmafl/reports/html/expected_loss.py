"""What was expected of a run: the terms of its plans' quality model, and the predicted loss beside the one reached."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.base.errors import bad_input
from dmafl.experiments.campaign.totals import PHASES
from dmafl.reports.html.curves import thin
from dmafl.reports.html.rounding import short, shorts
from dmafl.reports.html.run_set import RunSet
from dmafl.schedule.plan_files import read_plan

SUM = "quality"


def plan_terms(gathered: RunSet) -> list[dict[str, Any]]:
    """One entry a plan and task: the terms that its quality model adds up, and their sum."""
    found = []
    for number, run in enumerate(gathered.runs):
        for path in sorted((run.path / "plans").glob("*.json")):
            plan = read_plan(path).plan
            for task, terms in plan.terms.items():
                if task not in gathered.tasks:
                    raise bad_input(
                        f"{path}: terms", "must be of the run's tasks", task, "Put the run's own plan back."
                    )
                name = path.stem if len(gathered.runs) == 1 else f"{path.stem} ({gathered.names[number]})"
                found.append(
                    {
                        "plan": name,
                        "model": str(plan.quality),
                        "task": gathered.tasks.index(task),
                        "terms": {
                            term: short(_number(value, f"{path}: terms.{task}.{term}"))
                            for term, value in terms.items()
                            if term not in (*PHASES, SUM)
                        },
                        "sum": short(_number(terms.get(SUM), f"{path}: terms.{task}.{SUM}")),
                    }
                )
    return found


def predictions(gathered: RunSet) -> list[dict[str, Any]]:
    """One entry a unit and task with a prediction: loss reached and predicted, over aggregations."""
    found = []
    for place, unit in enumerate(gathered.units):
        for task in range(len(gathered.tasks)):
            tests = gathered.tests(unit.scheme, task, unit.seed)
            known = np.isfinite(tests["predicted_loss"].astype(np.float64))
            if known.any():
                found.append(
                    {
                        "unit": place,
                        "scheme": unit.scheme,
                        "task": task,
                        "aggregation": shorts(thin(tests["aggregation"][known])),
                        "loss": shorts(thin(tests["loss"][known])),
                        "predicted": shorts(thin(tests["predicted_loss"][known])),
                    }
                )
    return found


def _number(value: object, name: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise bad_input(name, "must be a number", value, "Put the run's own plan back.")
    return float(value)
