"""Rules of the saved models: readable, finite, and those of their units."""

from __future__ import annotations

from functools import cache, partial

import numpy as np

from dmafl.experiments.run.verification.findings import Finding, named
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.unit_rows import UnitRows
from dmafl.learning import saving
from dmafl.learning.architectures import ARCHITECTURES


def models(opened: Opened) -> Finding:
    """Every model of a finished unit can be read, is finite, and is what the manifest and the metrics say."""
    wrong: list[str] = []
    layouts: dict[str, saving.ParameterLayout] = {}
    for unit in filter(lambda unit: unit.finished, opened.units):
        for name in unit.world.task_names:
            file = unit.run_name.model_file(name)
            model = opened.read(file, partial(saving.load, opened.path / file))
            if model is None:
                wrong.append(f"{file}: {opened.unreadable[file]}")
                continue
            layout = layouts.setdefault(name, _layout(unit.world.scenario.tasks[name].model) or model.layout)
            wrong += [f"{file}: {problem}" for problem in _model(unit, name, model, layout)]
    return named(wrong)


def _model(unit: UnitRows, name: str, model: saving.SavedModel, layout: saving.ParameterLayout) -> list[str]:
    task = unit.world.scenario.tasks[name]
    expected = {
        "task": name,
        "architecture": task.model,
        "scheme": unit.scheme,
        "seed": str(unit.seed),
        "aggregation": str(unit.outcome(unit.world.task_names.index(name)).aggregations),
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
