"""Rules of the running estimates: they fit periods and tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from dmafl.calibration.running_estimates import LARGEST_GRAM, TESTS
from dmafl.experiments.run.verification.findings import REPLAY_TOLERANCE, Finding, named
from dmafl.experiments.run.verification.opened import Opened
from dmafl.experiments.run.verification.scheme_run_rows import SchemeRunRows

ESTIMATES = (
    "jobs",
    "dissimilarity",
    "gram",
    "regularised_gradient_bound",
    "aggregation",
    "time_s",
    "loss",
    "loss_per_aggregation",
)
GRAM_ROUNDING = 1e-6
"""Entries of a Gram matrix come from 32-bit means; relative to its largest."""


def running(opened: Opened) -> Finding:
    """Running estimates have every scheme run that was begun, and fit its periods and its last tests."""
    estimates = opened.read("running.json", opened.folder.read_running)
    if estimates is None:
        return named([f"running.json: {opened.unreadable['running.json']}"])
    if not isinstance(estimates, dict):
        return named(["running.json: no scheme runs"])
    begun = {rows.key for rows in opened.scheme_runs if rows.record.outcome is not None}
    wrong = [f"running.json: no scheme run {name}" for name in sorted(begun - set(estimates))]
    known = {rows.key for rows in opened.scheme_runs} if not opened.ended else begun
    wrong += [
        f"running.json: a scheme run {str(name)[:80]} that is not there"
        for name in sorted(set(estimates) - known)
    ]
    for rows in opened.scheme_runs:
        if rows.key in estimates and rows.key in known:
            tasks = estimates[rows.key]
            if not isinstance(tasks, dict) or list(tasks) != list(rows.world.task_names):
                wrong.append(f"running.json: {rows.key}: other tasks than those of the scenario")
                continue
            for j, name in enumerate(rows.world.task_names):
                wrong += [
                    f"running.json: {rows.key}, {name}: {problem}"
                    for problem in _estimates(rows, j, tasks[name])
                ]
    return named(wrong)


def _estimates(rows: SchemeRunRows, j: int, recorded: Any) -> list[str]:
    if not isinstance(recorded, dict) or tuple(recorded) != ESTIMATES:
        return ["other entries than those of running estimates"]
    devices = rows.world.device_count
    jobs = recorded["jobs"]
    if not isinstance(jobs, list) or len(jobs) != devices or not all(map(_is_count, jobs)):
        return ["jobs are no counts of all devices"]
    wrong = []
    bound = recorded["regularised_gradient_bound"]
    if (bound is None) != (sum(jobs) == 0) or (bound is not None and not (_is_number(bound) and bound >= 0)):
        wrong.append("regularised_gradient_bound is none")
    wrong += _gram(recorded["gram"], recorded["dissimilarity"], np.asarray(jobs))
    if not rows.ended:
        return wrong
    aggregated = rows.taken_of_task(j) & ~rows.periods.diverged
    counted = np.bincount(rows.periods["device"][aggregated], minlength=devices)
    # A model too far from the one it came from says nothing, and the next ones are not finite then.
    broken = bool(((rows.task == j) & rows.periods.diverged).any())
    if (np.asarray(jobs) > counted).any() or (not broken and (np.asarray(jobs) != counted).any()):
        wrong.append("other jobs than the periods have")
    return wrong + _last_tests(rows, j, recorded)


def _gram(gram: Any, diagonal: Any, jobs: np.ndarray[Any, Any]) -> list[str]:
    """What is wrong with a Gram matrix of centred gradients: it is symmetric, and its rows add up to 0."""
    devices = len(jobs)
    if devices > LARGEST_GRAM:
        return [] if gram is None and diagonal is None else ["gram of a large fleet"]
    try:
        matrix = np.asarray(gram, dtype=np.float64)
        of_devices = np.asarray(diagonal, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return ["gram is no table of numbers"]
    if matrix.shape != (devices, devices) or of_devices.shape != (devices,):
        return ["gram is of other devices"]
    seen = jobs > 0
    numbers = matrix[np.ix_(seen, seen)]
    if not np.isfinite(numbers).all() or np.isfinite(matrix).sum() != numbers.size:
        return ["gram has numbers of other devices than those that sent models"]
    if not np.array_equal(np.diag(matrix), of_devices, equal_nan=True) or (of_devices[seen] < 0).any():
        return ["dissimilarity is not the diagonal of gram"]
    if numbers.size:
        size = GRAM_ROUNDING * max(float(np.abs(numbers).max()), np.finfo(float).tiny)
        if not (
            np.abs(numbers - numbers.T).max() <= size and np.abs(numbers.sum(axis=0)).max() <= devices * size
        ):
            return ["gram is not that of centred gradients"]
    return []


def _last_tests(rows: SchemeRunRows, j: int, recorded: dict[str, Any]) -> list[str]:
    of_task = np.flatnonzero(rows.metrics_task == j)[-TESTS:]
    if not len(of_task):
        return [] if recorded["loss"] is None else ["a loss, but no test"]
    metrics, last = rows.metrics, of_task[-1]
    wrong = [
        f"{name} is not that of the last test"
        for name in ("aggregation", "time_s", "loss")
        if recorded[name] != metrics[name][last]
    ]
    slots, losses = metrics["aggregation"][of_task], metrics["loss"][of_task]
    trend, again = recorded["loss_per_aggregation"], None
    if len(of_task) > 1 and slots[0] != slots[-1]:
        away = slots - slots.mean()
        again = float(away @ losses / (away @ away))
    if (trend is None) != (again is None):
        wrong.append("loss_per_aggregation where there is none, or none where there is one")
    elif again is not None:
        scale = float(np.abs(losses).max())
        if not (_is_number(trend) and abs(trend - again) <= REPLAY_TOLERANCE * max(scale, abs(again))):
            wrong.append("loss_per_aggregation is not that of the last tests")
    return wrong


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and bool(np.isfinite(value))
