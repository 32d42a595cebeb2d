"""Rules of learning: mixing weights, accuracies and losses, prediction and bounds."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import (
    REPLAY_TOLERANCE,
    Array,
    Finding,
    largest,
    named,
    together,
)
from dmafl.experiments.run.verification.gone import round_sizes
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows
from dmafl.learning.aggregation import mix_weight
from dmafl.simulation.records import QUALITY
from dmafl.theory.mixing import staleness_factor

LEAST_LOSS_OF_A_MISTAKE = np.log(2.0)
"""A sample that is classified wrongly has a probability of at most one half for its label [nat]."""
LOSS_ROUNDING = 1e-4
"""Losses are summed in 32 bits."""


def weights(rows: SchemeRunRows) -> Finding:
    """Local models have the weight of their staleness and slot, or of their round; those left out have none."""
    periods = rows.periods
    counts = periods.taken & ~periods.diverged
    error = np.where(counts, 0.0, np.abs(periods["mix_weight"]))
    if rows.known_scheme is not None:
        low, high = _expected(rows)
        slack = REPLAY_TOLERANCE * high
        error = np.where(
            counts, np.maximum(low - periods["mix_weight"], periods["mix_weight"] - high) - slack, error
        )
        whole = _whole_rounds(rows, counts)
        error = np.maximum(error, whole)
    return rows.worst(error)


def _expected(rows: SchemeRunRows) -> tuple[Array, Array]:
    """The smallest and largest weight that each period may have."""
    periods, rule = rows.periods, rows.round_rule
    weight = np.zeros(len(rows.task))
    for j, task in enumerate(rows.world.scenario.tasks.values()):
        taken = np.flatnonzero(rows.taken_of_task(j))
        slot = periods["slot"][taken]
        stale = np.maximum(slot - periods["version"][taken], 0)
        if rule is None:
            phi = staleness_factor(task)
            weight[taken] = mix_weight(task.mixing, phi, stale, slot, task.mix_decay or None)
        else:
            weight[taken] = rule.weight(task, stale)
    if rule is None or not rule.of_those_left:
        return weight, weight
    return _of_rounds(rows, weight, rule.size)


def _of_rounds(rows: SchemeRunRows, weight: Array, size: int) -> tuple[Array, Array]:
    """A round is of fewer while devices are lost or away; at the time of a change it may be either."""
    end_s = rows.periods["end_s"]
    if not rows.ended:
        return weight, np.ones(len(weight))
    low, high = weight.copy(), weight.copy()
    for j, name in enumerate(rows.world.task_names):
        changes_s, sizes = round_sizes(rows, name, size)
        of_task = rows.task == j
        before, after = (
            1.0 / sizes[np.searchsorted(changes_s, end_s[of_task], side=side)] for side in ("left", "right")
        )
        low[of_task], high[of_task] = np.minimum(before, after), np.maximum(before, after)
    return low, high


def _whole_rounds(rows: SchemeRunRows, counts: Array) -> Array:
    """How far weights in rounds are from one over a whole number; 0 elsewhere."""
    if rows.round_rule is None or not rows.round_rule.of_those_left:
        return np.zeros(len(counts))
    parts = 1.0 / np.where(counts, rows.periods["mix_weight"], 1.0)
    return np.where(counts, np.abs(parts - np.rint(parts)) / parts - REPLAY_TOLERANCE, 0.0)


def metrics(opened: Opened) -> Finding:
    """Accuracies are shares of the samples, losses fit them, and all schemes of a seed begin with the same model."""
    return together([opened.each(_of_scheme_run), _same_beginnings(opened)])


def _of_scheme_run(rows: SchemeRunRows) -> Finding:
    metrics = rows.metrics
    accuracy, count = metrics["accuracy"], np.maximum(metrics["test_samples"], 1)
    right = np.rint(np.where(np.isfinite(accuracy), accuracy, 0.0) * count)
    not_a_share = ~(accuracy == right / count)
    too_small = ~(metrics["loss"] >= (1.0 - accuracy) * LEAST_LOSS_OF_A_MISTAKE * (1 - LOSS_ROUNDING))
    too_early = (metrics["aggregation"] == 0) & ~np.isnan(metrics["grad_norm2"])
    wrong = [
        f"{rows.test(k)}: accuracy {accuracy[k]!r} of {count[k]} samples" for k in np.flatnonzero(not_a_share)
    ]
    wrong += [
        f"{rows.test(k)}: a loss of {metrics['loss'][k]:.6g} with an accuracy of {accuracy[k]:.6g}"
        for k in np.flatnonzero(too_small)
    ]
    wrong += [f"{rows.test(k)}: grad_norm2 before the first slot" for k in np.flatnonzero(too_early)]
    for j in range(rows.world.task_count):
        of_task = np.flatnonzero(rows.metrics_task == j)
        known = np.isfinite(metrics["grad_norm2"][of_task])
        gone = of_task[~known & (np.cumsum(known) > 0)]
        wrong += [f"{rows.test(k)}: no grad_norm2, but one before it" for k in gone]
    return named(wrong)


def _same_beginnings(opened: Opened) -> Finding:
    wrong = []
    first: dict[tuple[int, int], tuple[float, float]] = {}
    for rows in opened.scheme_runs:
        metrics = rows.metrics
        for k in np.flatnonzero((metrics["aggregation"] == 0) & (metrics["time_s"] == 0)):
            key = (rows.seed, int(rows.metrics_task[k]))
            tested = float(metrics["accuracy"][k]), float(metrics["loss"][k])
            if first.setdefault(key, tested) != tested:
                wrong.append(f"{rows.test(k)}: another first model than that of the scheme above")
    return named(wrong)


def quality(rows: SchemeRunRows) -> Finding:
    """Prediction and bounds follow from periods and measured constants; there are none while a run goes on."""
    out = []
    for name in QUALITY:
        recorded = rows.metrics[name].astype(np.float64)
        again = rows.theory.get(name, np.full(len(recorded), np.nan))
        both = np.isfinite(again) & np.isfinite(recorded)
        size = np.maximum(np.where(both, np.abs(again), 1.0), 1e-300)
        error = np.where(both, np.abs(recorded - again) / size - REPLAY_TOLERANCE, 0.0)
        error[np.isfinite(again) != np.isfinite(recorded)] = 1.0
        out.append(largest(error, lambda k, name=name: f"{rows.test(k)}, {name}"))  # type: ignore[misc]
    return together(out)
