"""Test the last models of a run again: the only numbers of learning that can be had without training."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from dmafl.base.errors import BadInput
from dmafl.experiments.run.verification.findings import Finding, named
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.learning import saving
from dmafl.training.components import Components
from dmafl.training.trainer import TaskTrainer

LOSS_TOLERANCE = 1e-4
"""Relative difference of losses: another CPU, or another version of torch, adds 32-bit numbers in another order."""
ACCURACY_TOLERANCE = 1e-3
"""Share of samples whose class may be another for that reason."""


def retest(opened: Opened, data_dir: Path | None) -> Finding:
    """Accuracy and loss of the last test of every finished scheme run are those of its saved models."""
    wrong: list[str] = []
    own = opened.manifest.own
    not_in_files = sorted({*own.models, *own.datasets, *own.streams})
    for seed in opened.manifest.seeds:
        scenario = opened.worlds[seed].scenario
        for j, name in enumerate(scenario.tasks):
            scheme_runs = [rows for rows in opened.scheme_runs if rows.seed == seed and rows.finished]
            if name in not_in_files or not scheme_runs:
                continue
            try:
                task_trainer = TaskTrainer(scenario, j, name, Components(data_dir=data_dir))
            except BadInput as error:
                wrong.append(f"task {name}: its data cannot be had ({error.problems[0]})")
                continue
            if task_trainer.data.sha256 != opened.manifest.data[name].sha256:
                wrong.append(f"task {name}: the data here are others than those of the run")
                continue
            wrong += [line for rows in scheme_runs for line in _again(opened, rows, j, task_trainer)]
    note = (
        f"Not tested again, since they need what is in no file: {', '.join(not_in_files)}."
        if not_in_files
        else ""
    )
    return named(wrong, note)


def _again(opened: Opened, rows: SchemeRunRows, j: int, task_trainer: TaskTrainer) -> list[str]:
    name = rows.world.task_names[j]
    of_task = np.flatnonzero(rows.metrics_task == j)
    file = rows.run_name.model_file(name)
    model = opened.read(file, partial(saving.load, opened.path / file))
    if model is None or not len(of_task):
        return [f"{file}: no model or no test of it"]
    last, metrics = of_task[-1], rows.metrics
    count = int(metrics["test_samples"][last])
    share = rows.world.progress_of_test(j, int(metrics["aggregation"][last]), float(metrics["time_s"][last]))
    try:
        tested = task_trainer.test(model.parameters, share, count == len(task_trainer.test_inputs))
    except BadInput as error:
        return [f"{file}: {error.problems[0]}"]
    loss, accuracy = float(metrics["loss"][last]), float(metrics["accuracy"][last])
    right = (
        tested.samples == count
        and abs(tested.loss - loss) <= LOSS_TOLERANCE * max(loss, tested.loss)
        and abs(tested.accuracy - accuracy) <= max(ACCURACY_TOLERANCE, 1.0 / count)
    )
    recorded = f"accuracy {accuracy:.6g} and loss {loss:.6g} recorded"
    again = f"{tested.accuracy:.6g} and {tested.loss:.6g} found"
    return [] if right else [f"{rows.test(last)}: {recorded}, {again}"]
