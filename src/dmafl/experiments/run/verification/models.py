"""Rules of the saved models: readable, finite, and those of their scheme runs."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from dmafl.experiments.run.verification.findings import Finding, named
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.learning import saving
from dmafl.learning.architectures import ARCHITECTURES


def models(opened: Opened) -> Finding:
    """Every model of a finished scheme run can be read, is finite, and is what the manifest and the metrics say."""
    wrong: list[str] = []
    layouts: dict[str, saving.ParameterLayout] = {}
    for rows in filter(lambda rows: rows.finished, opened.scheme_runs):
        for name in rows.world.task_names:
            file = rows.run_name.model_file(name)
            model = opened.read(file, partial(saving.load, opened.path / file))
            if model is None:
                wrong.append(f"{file}: {opened.unreadable[file]}")
                continue
            layout = layouts.setdefault(name, _layout(rows.world.scenario.tasks[name].model) or model.layout)
            wrong += [f"{file}: {problem}" for problem in _model(rows, name, model, layout)]
    return named(wrong)


def _model(
    rows: SchemeRunRows, name: str, model: saving.SavedModel, layout: saving.ParameterLayout
) -> list[str]:
    task = rows.world.scenario.tasks[name]
    expected = {
        "task": name,
        "architecture": task.model,
        "scheme": rows.scheme,
        "seed": str(rows.seed),
        "aggregation": str(rows.outcome(rows.world.task_names.index(name)).aggregations),
    }
    wrong = [
        f"{entry} is {model.metadata.get(entry)!r}, not {value!r}"
        for entry, value in expected.items()
        if model.metadata.get(entry) != value
    ]
    if set(model.metadata) != set(expected):
        wrong.append("other metadata than those of a model")
    if model.layout != layout:
        wrong.append(f"other arrays than those of {task.model}")
    if task.parameters is not None and len(model.parameters) != task.parameters:
        wrong.append(f"{len(model.parameters)} parameters, not {task.parameters}")
    if not np.isfinite(model.parameters).all():
        wrong.append("not finite")
    return wrong


@cache
def _layout(model: str) -> saving.ParameterLayout | None:
    """Names and shapes of a built-in network; None for one of the user's own."""
    if model not in ARCHITECTURES:
        return None
    from dmafl.learning.models import build
    from dmafl.learning.parameters import FlatModel

    return FlatModel(build(model, 0)).layout
