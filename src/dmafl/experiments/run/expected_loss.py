"""Predictions and bounds beside the loss that a run reached, for the realised schedule so far.

A pure function of periods, worlds and measured constants, so that anyone can compute it again from the files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from dmafl.base.arrays import FloatArray
from dmafl.calibration.measured import Measured
from dmafl.experiments.run.folder import RunFolder
from dmafl.experiments.run.manifest import Manifest
from dmafl.scenario.model import Task
from dmafl.simulation.periods import Metrics, Periods, Rows
from dmafl.simulation.records import METRICS, QUALITY
from dmafl.simulation.run_name import RunName
from dmafl.theory.calibrated import Calibration, predict
from dmafl.theory.constants import Constants
from dmafl.theory.features import features
from dmafl.theory.jobs import TaskJobs
from dmafl.theory.label_bias import RECENT, label_bias_of_slots
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.sharp import sharp
from dmafl.theory.theorem1 import theorem1
from dmafl.world.world import World

MOST_SLOTS = 2_000_000
"""Most slots evaluated for one scheme run and task, over all its tests; of longer runs some tests are left out."""

KEYS = ("scheme", "seed", "task", "aggregation")


@dataclass(frozen=True, eq=False)
class TaskTheory:
    """What is needed to judge the schedules of a task."""

    settings: Task
    constants: Constants
    prediction_constants: Constants
    labels: LabelMix | None
    calibration: Calibration | None

    @classmethod
    def of(cls, measured: Measured, world: World, task: str) -> TaskTheory:
        """From measured constants, which must fit the world."""
        scenario, of_task = world.scenario, measured.of(task)
        return cls(
            scenario.tasks[task],
            measured.constants(scenario, task),
            measured.prediction_constants(scenario, task),
            of_task.labels,
            of_task.calibration,
        )


def quality(
    metrics: pa.Table,
    periods: pa.Table,
    alone: Mapping[RunName, bool],
    world_of: Callable[[int], World],
    measured: Mapping[int, Measured],
) -> dict[str, FloatArray]:
    """The columns QUALITY for every row of `metrics`, NaN where theory has no value.

    `alone` says of the run of a scheme and seed whether each of its aggregations is one job: rounds have no schedule
    that the theory is about. `measured` by seed.
    """
    tests, all_periods = Metrics.of_table(metrics.select(list(KEYS))), Periods.of_table(periods)
    taken = all_periods.where(all_periods.taken)
    out = {name: np.full(metrics.num_rows, np.nan) for name in QUALITY}
    for seed, constants in measured.items():
        world = world_of(seed)
        for task in world.task_names:
            theory = TaskTheory.of(constants, world, task)
            for name in (name for name, is_alone in alone.items() if is_alone and name.seed == seed):
                rows = np.flatnonzero(_of(tests, name, task))
                jobs = realised(taken.where(_of(taken, name, task)), theory.settings)
                if jobs is not None:
                    aggregations = tests["aggregation"][rows].tolist()
                    for column, values in judged(jobs, aggregations, theory).items():
                        out[column][rows] = values
    return out


def fill_in(folder: RunFolder, manifest: Manifest, measured: Mapping[int, Measured]) -> None:
    """Add the columns to the metrics of a run whose rows are complete."""
    metrics = folder.read_table("metrics")
    columns = quality(metrics, folder.read_table("periods"), one_by_one(manifest), manifest.world, measured)
    for name, values in columns.items():
        column = metrics.schema.get_field_index(name)
        metrics = metrics.set_column(column, METRICS.field(name), pa.array(values, from_pandas=True))
    folder.write_table("metrics", metrics.combine_chunks())


def one_by_one(manifest: Manifest) -> dict[RunName, bool]:
    """Whether each aggregation of a scheme's run is one job; not known before the run has ended."""
    return {name: manifest.scheme_run(name).one_by_one for name in manifest.run_names}


def realised(periods: Periods, settings: Task) -> TaskJobs | None:
    """The jobs of a task as they happened, from the periods that the server took; None if they are no schedule."""
    c = periods
    slot, version = c["slot"], c["version"]
    whole = (slot == np.arange(len(slot))) & (version >= 0) & (version <= slot)
    if not (whole & (c["steps"] > 0) & (c["batch"] > 0) & (c["samples"] > 0)).all():
        return None
    return TaskJobs(
        device=c["device"],
        version=version,
        steps=c["steps"].astype(np.float64),
        batch=c["batch"].astype(np.float64),
        samples=c["samples"].astype(np.float64),
        mix=c["mix_weight"],
        rate=np.full(len(slot), settings.learning_rate),
        proximal=settings.proximal,
        idle_s=c["idle_s"],
        start_s=c["start_s"],
        download_s=c["download_s"],
        compute_s=c["compute_s"],
        upload_s=c["upload_s"],
        end_s=c["end_s"],
    )


def judged(jobs: TaskJobs, aggregations: list[int], theory: TaskTheory) -> dict[str, FloatArray]:
    """Prediction and bounds of the first `aggregations` jobs each; NaN where there are none, or too large a value."""
    out = {name: np.full(len(aggregations), np.nan) for name in QUALITY}
    labels, calibration = theory.labels, theory.calibration
    biases = (
        label_bias_of_slots(jobs, labels, calibration.response)
        if labels is not None and calibration is not None and len(jobs)
        else np.zeros(len(jobs))
    )
    rates = _error_rates(jobs, theory)
    for row in _looked_at(aggregations):
        count = aggregations[row]
        if not 0 < count <= len(jobs) or not jobs.mix[:count].any():
            continue  # nothing was mixed in yet
        # Class scores after a slot do not depend on later ones, so they are computed once for all rows.
        bias = float(biases[max(0, count - RECENT) : count].mean())
        with np.errstate(all="ignore"):
            predicted, *bounds = _values(jobs.first(count), bias, theory)
            error = predicted if rates is None else float(rates[count - 1])
            values = (predicted, *_accuracies(error, calibration), *bounds)
        for name, value in zip(QUALITY, values, strict=True):
            out[name][row] = value if math.isfinite(value) else math.nan
    return out


def _error_rates(jobs: TaskJobs, theory: TaskTheory) -> FloatArray | None:
    """The error rate after every slot; None where accuracies follow from the predicted loss, or from nothing."""
    calibration = theory.calibration
    if calibration is None or calibration.error_rate is None or theory.labels is None or not len(jobs):
        return None
    with np.errstate(all="ignore"):
        return calibration.error_rate.of_slots(jobs, theory.labels, np.arange(1, len(jobs) + 1))


def _accuracies(error: float, calibration: Calibration | None) -> tuple[float, float, float]:
    """The accuracy that goes with a predicted error, and its interval; NaN where nothing measured tells it."""
    if calibration is None or calibration.accuracy is None or not math.isfinite(error):
        return math.nan, math.nan, math.nan
    return (calibration.accuracy.at(error), *calibration.accuracy.interval(error))


def _values(jobs: TaskJobs, bias: float, theory: TaskTheory) -> tuple[float, float, float]:
    predicted = math.nan
    if theory.calibration is not None:
        seen = replace(features(jobs, theory.prediction_constants), label_bias=bias)
        predicted = predict(seen, theory.calibration).value
    # Theorem 1 as printed has no weights: it does not hold for a schedule in which a model was left out.
    worst = theorem1(jobs, theory.constants, theory.settings.mixing).value if jobs.mix.all() else math.nan
    return predicted, worst, sharp(jobs, theory.constants).value


def _looked_at(aggregations: list[int]) -> Iterator[int]:
    """Rows that are computed: all, or every n-th counted from the last."""
    every = max(1, -(-sum(aggregations) // MOST_SLOTS))
    return iter(range(len(aggregations) - 1, -1, -every))


def _of(rows: Rows, name: RunName, task: str) -> np.ndarray[Any, Any]:
    of_run = (rows["scheme"] == name.scheme) & (rows["seed"] == name.seed)
    return np.asarray(of_run & (rows["task"] == task), dtype=bool)
