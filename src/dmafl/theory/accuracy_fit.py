"""The fit of the predicted accuracy: error rates of probes, cross-validated, and how far the truth was from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from dmafl.base.arrays import BoolArray, FloatArray, IntArray
from dmafl.theory.accuracy import AccuracyCurve
from dmafl.theory.error_model import ErrorModel
from dmafl.theory.error_rate import Handicaps
from dmafl.theory.error_rate_fit import fit_error_rate
from dmafl.theory.label_mix import LabelMix
from dmafl.theory.proxy_data import ProxyData
from dmafl.theory.proxy_fit import fit_proxy
from dmafl.theory.proxy_model import ProxyModel, log_exchange
from dmafl.theory.tested_jobs import TestedJobs

RESPONSES = (5.0, 10.0, 20.0, 40.0, 80.0, 160.0)
"""Responses of class scores that are tried."""
FOLDS = 8
KNOTS = 12
"""Most knots of the curve."""
ROWS_OF_KNOT = 30
"""Fewest held-out tests for each of them."""
LEVELS = tuple(np.round(np.arange(0.02, 0.99, 0.04), 2).tolist())
LEAST_SPREAD = 0.01
"""By about so much tests of a good model a few slots apart differ: no prediction is closer."""


def fit_accuracy(
    probes: Sequence[TestedJobs],
    labels: LabelMix,
    *,
    proxy: ProxyData | None = None,
    early: TestedJobs | None = None,
    trained: float = 0.0,
    exchanged: float = 0.0,
) -> tuple[ErrorModel, AccuracyCurve]:
    """The error rate fitted to tests of all probes, and accuracies that go with held-out error rates.

    With `proxy`, samples for a proxy model, it is trained under every probe; otherwise error rates follow from class
    scores. `early`: a run whose tests count in every fit and are never held out; probes go on from its N and V.
    """
    probe = np.concatenate([np.full(len(each.slots), k) for k, each in enumerate(probes)])
    accuracies = np.concatenate([each.accuracies for each in probes])
    if proxy is not None:
        fitted: _Fitted = _by_proxy(probes, labels, proxy, accuracies, exchanged)
    else:
        fitted = _by_class_scores(probes, labels, accuracies, early, trained, exchanged)
    held_out = np.empty_like(accuracies)  # error rates
    for fold in range(FOLDS):
        out = probe % FOLDS == fold
        if out.any():
            held_out[out] = fitted.held_out(out)
    return fitted.model, fit_curve(held_out, accuracies, probe)


class _Fitted(NamedTuple):
    """A model of the error rate fitted to all tests, and error rates of some tests by a fit to all others."""

    model: ErrorModel
    held_out: Callable[[BoolArray], FloatArray]


def _by_proxy(
    probes: Sequence[TestedJobs],
    labels: LabelMix,
    data: ProxyData,
    accuracies: FloatArray,
    exchanged: float,
) -> _Fitted:
    bare = ProxyModel(data)
    of_proxy = np.concatenate([bare.accuracies(each.jobs, labels, each.slots) for each in probes])
    exchange = np.concatenate([log_exchange(each.jobs, each.slots, exchanged) for each in probes])

    def held_out(out: BoolArray) -> FloatArray:
        of_fold = fit_proxy(data, of_proxy[~out], exchange[~out], accuracies[~out])
        return 1.0 - of_fold.right(of_proxy[out], exchange[out])

    return _Fitted(fit_proxy(data, of_proxy, exchange, accuracies), held_out)


def _by_class_scores(
    probes: Sequence[TestedJobs],
    labels: LabelMix,
    accuracies: FloatArray,
    early: TestedJobs | None,
    trained: float,
    exchanged: float,
) -> _Fitted:
    fits = []
    for response in RESPONSES:
        seen = Handicaps.joined(
            [Handicaps.of(each.jobs, labels, response, each.slots, trained, exchanged) for each in probes]
        )
        first = None if early is None else Handicaps.of(early.jobs, labels, response, early.slots)
        whole, reached = _with_early(seen, accuracies, first, early)
        rate, error = fit_error_rate(whole, reached, labels.asked, response)
        fits.append((error, rate, seen, first))
    _, rate, seen, first = min(fits, key=lambda each: each[0])

    def held_out(out: BoolArray) -> FloatArray:
        rows, reached = _with_early(seen.rows(~out), accuracies[~out], first, early)
        of_fold, _ = fit_error_rate(rows, reached, labels.asked, rate.response)
        return 1.0 - of_fold.right(seen.rows(out), labels.asked)

    return _Fitted(rate, held_out)


def _with_early(
    seen: Handicaps, accuracies: FloatArray, first: Handicaps | None, early: TestedJobs | None
) -> tuple[Handicaps, FloatArray]:
    if first is None or early is None:
        return seen, accuracies
    return Handicaps.joined([first, seen]), np.concatenate([early.accuracies, accuracies])


def fit_curve(
    errors: FloatArray, accuracies: FloatArray, probe: IntArray, *, of_rate: bool = True
) -> AccuracyCurve:
    """Accuracies that were reached where an error was predicted: the middle, the spread, and quantiles.

    `errors` are held-out error rates (`of_rate`: 1 less the error is the accuracy, but for a correction), or held-out
    losses where there are no classes. Rows of one probe are alike, so that every probe has the same weight, however
    often it was tested.
    """
    count = int(np.clip(len(errors) // ROWS_OF_KNOT, 2, KNOTS))
    groups = np.array_split(np.argsort(errors, kind="stable"), count)
    at = np.asarray([errors[group].mean() for group in groups])
    at = np.maximum.accumulate(at + np.arange(count) * 1e-9)  # knots must differ
    plain, at_knots = (1.0 - errors, 1.0 - at) if of_rate else (np.zeros_like(errors), np.zeros(count))
    correction = np.asarray([np.median((accuracies - plain)[group]) for group in groups])
    middle = np.clip(_falling(at_knots + (_smoothed(correction) if of_rate else correction)), 0.0, 1.0)
    residual = accuracies - np.interp(errors, at, middle)
    spread = np.asarray(
        [max(float(np.sqrt(np.mean(residual[group] ** 2))), LEAST_SPREAD) for group in groups]
    )
    spread = _smoothed(spread)
    share = 1.0 / np.bincount(probe)[probe]
    quantiles = _quantiles(residual / np.interp(errors, at, spread), share)
    return AccuracyCurve(
        *(tuple(float(value) for value in column) for column in (at, middle, spread, LEVELS, quantiles))
    )


def _falling(values: FloatArray) -> FloatArray:
    """The nearest falling sequence: neighbours that rise are replaced by their mean."""
    blocks: list[tuple[float, int]] = []
    for value in values.tolist():
        blocks.append((value, 1))
        while len(blocks) > 1 and blocks[-2][0] < blocks[-1][0]:
            (last, many), (before, few) = blocks.pop(), blocks.pop()
            blocks.append(((last * many + before * few) / (many + few), many + few))
    return np.asarray([value for value, count in blocks for _ in range(count)])


def _smoothed(values: FloatArray) -> FloatArray:
    """Each value with half the weight of its neighbours on both sides: spreads of few rows are noisy."""
    padded = np.concatenate([values[:1], values, values[-1:]])
    return np.asarray((padded[:-2] + 2.0 * padded[1:-1] + padded[2:]) / 4.0)


def _quantiles(values: FloatArray, weight: FloatArray) -> FloatArray:
    """Weighted quantiles at `LEVELS`."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    middle = (total - weight[order] / 2.0) / total[-1]
    return np.asarray(np.interp(LEVELS, middle, values[order]))
