"""Rules of learning: mixing weights, accuracies and losses, prediction and bounds."""

from __future__ import annotations

import numpy as np

from dmafl.experiments.run.verification.findings import (
    REPLAY_TOLERANCE,
    Array,
    Found,
    largest,
    named,
    together,
)
from dmafl.experiments.run.verification.made import round_size
from dmafl.experiments.run.verification.opened import Opened, UnitRows
from dmafl.learning.aggregation import mix_weight
from dmafl.simulation.records import DIVERGED, QUALITY
from dmafl.theory.mixing import staleness_factor

LEAST_LOSS_OF_A_MISTAKE = np.log(2.0)
"""A sample that is classified wrongly has a probability of at most one half for its label [nat]."""
LOSS_ROUNDING = 1e-4
"""Losses are summed in 32 bits."""


def weights(u: UnitRows) -> Found:
    """Local models have the weight of their staleness and slot, or of their round; those left out have none."""
    p = u.periods
    counts = u.taken & (p["outcome"] != DIVERGED)
    error = np.where(counts, 0.0, np.abs(p["mix_weight"]))
    if u.ours:
        low, high = _expected(u)
        slack = REPLAY_TOLERANCE * high
        error = np.where(counts, np.maximum(low - p["mix_weight"], p["mix_weight"] - high) - slack, error)
        whole = _whole_rounds(u, counts)
        error = np.maximum(error, whole)
    return u.worst(error)


def _expected(u: UnitRows) -> tuple[Array, Array]:
    """The smallest and largest weight that each period may have."""
    p, size = u.periods, round_size(u)
    weight = np.zeros(len(u.task))
    for j, task in enumerate(u.world.scenario.tasks.values()):
        own = np.flatnonzero((u.task == j) & u.taken)
        stale, slot = np.maximum(p["slot"][own] - p["version"][own], 0), p["slot"][own]
        phi = staleness_factor(task)
        if u.scheme == "fedbuff":
            weight[own] = u.world.scenario.schemes.buffer_learning_rate * phi(stale) / (size or 1)
        elif size is None:
            weight[own] = mix_weight(task.mixing, phi, stale, slot, task.mix_decay or None)
        else:
            weight[own] = 1.0 / size
    if size is None or u.scheme == "fedbuff":
        return weight, weight
    return _of_rounds(u, weight, size)


def _of_rounds(u: UnitRows, weight: Array, size: int) -> tuple[Array, Array]:
    """A round is of fewer once devices are lost; at the time of a loss it may be either."""
    devices, end_s = u.world.device_count, u.periods["end_s"]
    if not u.ended:
        return weight, np.ones(len(weight))
    low, high = weight.copy(), weight.copy()
    for j, name in enumerate(u.world.task_names):
        lost_s = np.sort([loss.time_s for loss in u.losses if loss.task == name])
        own = u.task == j
        for bound, side in ((low, "left"), (high, "right")):
            gone = np.searchsorted(lost_s, end_s[own], side=side)  # type: ignore[call-overload]
            bound[own] = 1.0 / np.maximum(1, np.minimum(size, devices - gone))
    return low, high


def _whole_rounds(u: UnitRows, counts: Array) -> Array:
    """How far weights in rounds are from one over a whole number; 0 elsewhere."""
    if round_size(u) is None or u.scheme == "fedbuff":
        return np.zeros(len(counts))
    parts = 1.0 / np.where(counts, u.periods["mix_weight"], 1.0)
    return np.where(counts, np.abs(parts - np.rint(parts)) / parts - REPLAY_TOLERANCE, 0.0)


def metrics(opened: Opened) -> Found:
    """Accuracies are shares of the samples, losses fit them, and all schemes of a seed begin with the same model."""
    return together([opened.each(_of_unit), _same_beginnings(opened)])


def _of_unit(u: UnitRows) -> Found:
    m = u.metrics
    accuracy, count = m["accuracy"], np.maximum(m["test_samples"], 1)
    right = np.rint(np.where(np.isfinite(accuracy), accuracy, 0.0) * count)
    not_a_share = ~(accuracy == right / count)
    too_small = ~(m["loss"] >= (1.0 - accuracy) * LEAST_LOSS_OF_A_MISTAKE * (1 - LOSS_ROUNDING))
    too_early = (m["aggregation"] == 0) & ~np.isnan(m["grad_norm2"])
    wrong = [
        f"{u.test(k)}: accuracy {accuracy[k]!r} of {count[k]} samples" for k in np.flatnonzero(not_a_share)
    ]
    wrong += [
        f"{u.test(k)}: a loss of {m['loss'][k]:.6g} with an accuracy of {accuracy[k]:.6g}"
        for k in np.flatnonzero(too_small)
    ]
    wrong += [f"{u.test(k)}: grad_norm2 before the first slot" for k in np.flatnonzero(too_early)]
    for j in range(u.world.task_count):
        rows = np.flatnonzero(u.metrics_task == j)
        known = np.isfinite(m["grad_norm2"][rows])
        gone = rows[~known & (np.cumsum(known) > 0)]
        wrong += [f"{u.test(k)}: no grad_norm2, but one before it" for k in gone]
    return named(wrong)


def _same_beginnings(opened: Opened) -> Found:
    wrong = []
    first: dict[tuple[int, int], tuple[float, float]] = {}
    for u in opened.units:
        m = u.metrics
        for k in np.flatnonzero((m["aggregation"] == 0) & (m["time_s"] == 0)):
            key = (u.seed, int(u.metrics_task[k]))
            found = float(m["accuracy"][k]), float(m["loss"][k])
            if first.setdefault(key, found) != found:
                wrong.append(f"{u.test(k)}: another first model than that of the scheme above")
    return named(wrong)


def quality(u: UnitRows) -> Found:
    """Prediction and bounds follow from periods and measured constants; there are none while a run goes on."""
    out = []
    for name in QUALITY:
        recorded = u.metrics[name].astype(np.float64)
        again = u.theory.get(name, np.full(len(recorded), np.nan))
        both = np.isfinite(again) & np.isfinite(recorded)
        size = np.maximum(np.where(both, np.abs(again), 1.0), 1e-300)
        error = np.where(both, np.abs(recorded - again) / size - REPLAY_TOLERANCE, 0.0)
        error[np.isfinite(again) != np.isfinite(recorded)] = 1.0
        out.append(largest(error, lambda k, name=name: f"{u.test(k)}, {name}"))  # type: ignore[misc]
    return together(out)
